"""Networks with their weights -> the model files that Triton serves, after a comparison with the networks."""
