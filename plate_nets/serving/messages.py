"""How the server's error messages begin; part of what clients rely on."""

BAD_INPUT = "PLATES_BAD_INPUT"
"""The caller is to blame. It stays in the message through nested calls, where Triton loses an error's code."""

INTERNAL = "PLATES_INTERNAL"
"""The server is to blame."""
