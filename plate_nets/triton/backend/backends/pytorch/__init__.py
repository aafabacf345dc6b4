"""Serves ``backend: "pytorch"`` where Triton has no libtorch."""
