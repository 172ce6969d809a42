"""Dtypes, devices, storages, strides, sizes and thread-local state (PyTorch's c10)."""
