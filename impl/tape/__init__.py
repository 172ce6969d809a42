"""Saved variables, rewritten histories and custom Functions (PyTorch's csrc/autograd)."""
