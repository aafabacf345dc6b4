"""How fast the served pipeline is, and why: `python -m benchmarks`, for developers, not part of the wheel.

- `callers`: the pictures to send, and callers of the server, of a chain in the client, and of networks in this process
- `load`: closed and open load
- `server`: the measured server, its processes, its own statistics
- `measures`: loads, targets, stages, networks, overload: one module each
- `report`: the figures as JSON, tables, plots, and `docs/explanation/performance/`
- `variants`, `model_repository`: other ways to build the pipeline, and their models
"""
