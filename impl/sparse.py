"""`torch.sparse`: the implemented subset."""

from impl.operators.sparse.products import addmm, mm
from impl.operators.sparse.reductions import log_softmax, softmax, sum

__all__ = ["addmm", "log_softmax", "mm", "softmax", "sum"]
