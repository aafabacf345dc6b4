"""Other ways to build the same pipeline inside Triton, to measure beside the production one.

Their models are in `benchmarks/model_repository/`. The server loads them by name beside the production models, in
explicit mode. They compute with the production models' code.
"""
