"""Puts a new version of a network into a running server: tested first, loaded beside the old one, undone on failure."""
