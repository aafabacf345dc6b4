"""Training of the detector of plates and vehicles, as its recipe says."""
