"""Licence-plate recognition: networks, pipeline, Triton serving and client."""

__version__ = "0.1.0"
