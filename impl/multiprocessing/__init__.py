"""`torch.multiprocessing`: the refusal of tensors that cannot go to another process."""

from impl.multiprocessing import reductions

__all__ = ["reductions"]
