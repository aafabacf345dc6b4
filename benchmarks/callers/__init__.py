"""Callers: a picture to a pipeline -> the number of plates in the answer."""
