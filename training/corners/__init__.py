"""CornerNet: what it is trained on, its training, and how well it finds the corners of plates."""
