"""Keeps a server running: watches it, heals a model whose process died, restarts it, and reports its state."""
