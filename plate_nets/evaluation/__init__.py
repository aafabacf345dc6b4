"""Measures how well plates are found and read."""
