"""A `tritonserver` process of our own: which one, how it is started, watched and stopped with nothing left behind."""

from plate_nets.runtimes.networks import default_repository
from plate_nets.server.embedded import EmbeddedTriton
from plate_nets.server.installation import response_cache_options
from plate_nets.server.ports import choose_ports

__all__ = ["EmbeddedTriton", "choose_ports", "default_repository", "response_cache_options"]
