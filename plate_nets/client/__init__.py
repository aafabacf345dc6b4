"""Asks a served pipeline for plates; needs neither torch nor OpenCV."""

from plate_nets.client.client import PlateClient, WireProtocol, parse_url, plates

__all__ = ["PlateClient", "WireProtocol", "parse_url", "plates"]
