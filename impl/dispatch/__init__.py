"""The definition, the calls and the recording of operators (PyTorch's dispatcher and torchgen)."""
