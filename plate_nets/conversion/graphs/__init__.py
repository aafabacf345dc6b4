"""The networks as OpenVINO graphs, built from their weights without torch.

There are two descriptions of each network. `plate_nets.nets` is the definition: torch modules, which training changes.
The graphs here compute the same from the same weights, so that a machine without torch, and a wheel's build, can make
OpenVINO's files. Each conversion where torch is installed, and each test run, compares a graph with its torch module
(`conversion.table` has the tolerances); where it is not, the numbers that the module gave are compared
(`conversion.reference`).
"""
