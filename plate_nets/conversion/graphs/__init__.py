"""The networks as OpenVINO graphs, built from their weights without torch.

Each network is described twice. `plate_nets.networks` is the definition: torch modules, which training changes. The
graphs here compute the same from the same weights, so that a machine without torch, and a wheel's build, can make
OpenVINO's files. Each conversion with torch, and each test run, compares a graph with its torch module
(`conversion.table` has the tolerances); without torch, the graph is compared with numbers that the module once gave
(`conversion.reference`).
"""
