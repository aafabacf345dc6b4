"""What runs a converted network: OpenVINO on a CPU, TorchScript anywhere; and where the converted files lie."""
