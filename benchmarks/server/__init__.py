"""The server that is measured: its address, its processes, and what it says of itself."""
