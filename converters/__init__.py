"""Networks with their weights -> the model files that Triton serves, proven equal to the networks first."""
