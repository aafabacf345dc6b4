"""A `tritonserver` process of our own: which one, how it starts, how it is watched, and how it stops cleanly."""

from plate_nets.networks.runtimes.networks import default_repository
from plate_nets.triton.server.embedded import EmbeddedTriton
from plate_nets.triton.server.ports import choose_ports

__all__ = ["EmbeddedTriton", "choose_ports", "default_repository"]
