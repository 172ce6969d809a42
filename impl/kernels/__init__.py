"""Numerical kernels on arrays, shared by operators and the engine (PyTorch's ATen/native)."""
