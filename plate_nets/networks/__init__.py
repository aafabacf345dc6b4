"""The three networks, and how their weights are loaded."""
