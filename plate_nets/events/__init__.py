"""An event, and where it goes."""
