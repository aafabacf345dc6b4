"""What the `model.py` files of the repository call, inside Triton's Python stubs."""
