"""Sparse COO tensors: construction, conversions, arithmetic, and the gradients of lookups."""
