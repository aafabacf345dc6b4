"""A `tritonserver` process of our own: which one, how it is started, watched and stopped with nothing left behind."""

from plate_nets.embedded.installation import response_cache_options
from plate_nets.embedded.ports import choose_ports
from plate_nets.embedded.repository import default_repository
from plate_nets.embedded.server import EmbeddedTriton

__all__ = ["EmbeddedTriton", "choose_ports", "default_repository", "response_cache_options"]
