"""The definition of operators that take or make sparse tensors."""

from __future__ import annotations

from impl.core.sparse_array import SparseArray
from impl.core.state import STATE
from impl.dispatch import sparse_path
from impl.dispatch.autocast import CastPolicy, cast_operands
from impl.dispatch.definition import operator
from impl.dispatch.operator import Operator
from impl.tensor import batched_tensor


class SparseOperator(Operator):
    """An operator whose kernel takes and returns sparse and dense values alike."""

    fast_path = None

    def __init__(self, *args, **facts) -> None:
        super().__init__(*args, **facts)
        self.sparse_kernel = self.kernel

    def slow_path(self, *args):
        if STATE.batched and (batch := batched_tensor.innermost(args)) is not None:
            return batch._applied(self, args)
        if STATE.autocast is not None:
            args = cast_operands(self.autocast, args)
        return sparse_path.call(self, args)


def sparse_operator(node: str, autocast: CastPolicy | None = None):
    """Define an operator without public spellings, of which formulas find the kernel as `F.name`
    when gradients are arrays, and the operator when they are tensors."""
    return operator(node=node, function=False, method=False, kind=SparseOperator, autocast=autocast)


def is_sparse(raw) -> bool:
    """Whether a raw value is one of a sparse tensor."""
    return type(raw) is SparseArray
