"""What is asked and who asks: a picture to a pipeline -> how many plates were answered."""
