"""The networks as OpenVINO graphs, built from their weights without torch.

Each network is described twice. `plate_nets.networks` is the definition: torch modules, which training changes. The
graphs here compute the same from the same weights, so that OpenVINO's files can be made without torch, for example
during the build of a wheel. The tests, and each conversion where torch is installed, compare a graph with its torch
module (`conversion.table` has the tolerances). Where torch is missing, a conversion compares the graph with recorded
results of the module (`conversion.reference`).
"""
