"""The definition of element-wise functions of one tensor that NumPy or SciPy computes."""

from __future__ import annotations

from typing import Any

from impl.dispatch.definition import Array, operator
from impl.dispatch.operator import Operator


def unary(name: str, compute, words: str, **options: Any) -> Operator:
    """Define the operator of an element-wise function that takes integers to the default floating
    dtype, in all its spellings; `options` are those of `operator` that differ from that."""

    def kernel(self: Array) -> Array:
        return compute(self)

    kernel.__name__, kernel.__doc__ = name, f"{words} (torch.{name})."
    all_spellings = {"promote": "float", "elementwise": True, "inplace": True, "out": True}
    return operator(**{**all_spellings, **options})(kernel)
