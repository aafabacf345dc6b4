"""Other ways to build the same pipeline inside Triton, to be measured beside the production one.

Their models lie in `benchmarks/model_repository/`, converted by `python -m benchmarks.variants`, and are loaded beside
the production models by name, in explicit mode. All that they compute is the production models' code.
"""
