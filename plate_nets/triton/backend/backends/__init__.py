"""Triton backends written in Python; this folder is linked into the embedded server's backend directory."""
