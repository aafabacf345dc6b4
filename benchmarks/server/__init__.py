"""The measured server: its address, its processes and its own statistics."""
