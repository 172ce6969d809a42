"""Tensor, views, memory overlap, writes, the conj bit and forward gradients (csrc/autograd)."""
