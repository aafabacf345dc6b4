"""How fast the served pipeline is, and why: `python -m benchmarks`, for developers, not part of the wheel.

- `callers`: what is sent, and who sends it: to the server, through the client's own chain, or to networks here
- `load`: closed and open load
- `server`: the measured server, its processes, its own statistics
- `measures`: loads, targets, stages, networks, overload: one module each
- `report`: the figures as JSON, tables, plots, and `docs/explanation/performance/`
- `variants`, `model_repository`: other ways to build the pipeline, and their models
"""
