"""What exists because Triton serves: code inside its models, the server, its supervision, the swap of weights."""
