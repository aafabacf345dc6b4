"""The client of a plate recognition server; needs neither torch nor OpenCV."""

from plate_nets.client.client import PlateClient, plates
from plate_nets.client.url import ServerAddress, WireProtocol, parse_url

__all__ = ["PlateClient", "ServerAddress", "WireProtocol", "parse_url", "plates"]
