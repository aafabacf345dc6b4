"""Reads the plates of a picture, in any process."""
