"""Runs converted networks, with OpenVINO on a CPU and TorchScript on any device, and knows where their files are."""
