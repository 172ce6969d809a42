"""The recorded graph: nodes, edges, leaves, hooks (PyTorch's csrc/autograd/function.h)."""
