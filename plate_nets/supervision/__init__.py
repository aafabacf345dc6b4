"""Keeps a server answering: watches it, heals a model whose process died, restarts it, and says how it stands."""
