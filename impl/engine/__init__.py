"""The backward pass (PyTorch's csrc/autograd/engine.cpp), and `backward()` and `grad()`."""
