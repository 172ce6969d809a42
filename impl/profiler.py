"""`torch.profiler`: labels of regions, without a profile."""

from impl.autograd.profiler import record_function

__all__ = ["record_function"]
