"""The networks, and how to load their weights."""
