"""Networks with their weights -> the model files that Triton serves, compared with the networks first."""
