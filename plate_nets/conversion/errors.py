"""What can go wrong in a conversion."""

from plate_nets.errors import PlateError


class ConversionError(PlateError):
    """A converted model cannot be built, read, or does not give the network's numbers."""
