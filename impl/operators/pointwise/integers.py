"""Operators of integers: gcd, lcm, isin and unravel_index."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core.dtypes import BY_NUMPY, FLOATING, bool_, result_dtype
from impl.core.registry import tensor_ops
from impl.core.strides import unboxed
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.out import check_dtypes, fit, store
from impl.tensor.tensor import Tensor, new


def _require_integers(value, kernel: str) -> None:
    if value.dtype.kind not in "iu":
        raise not_implemented(kernel, BY_NUMPY[value.dtype])


_OF_INTEGERS: dict[str, Any] = {
    **{"promote": "arithmetic", "elementwise": True, "numbers": False},
    **{"node": "NotImplemented", "inplace": True, "out": True},
}


@operator(**_OF_INTEGERS)
def gcd(self: Array, other: Array) -> Array:
    """The greatest common divisor (torch.gcd). NotImplementedError for all but integers."""
    _require_integers(self, "gcd_cpu")
    return np.gcd(self, other)


@operator(**_OF_INTEGERS)
def lcm(self: Array, other: Array) -> Array:
    """The least common multiple (torch.lcm). NotImplementedError for all but integers."""
    _require_integers(self, "lcm_cpu")
    return np.lcm(self, other)


for _op in (gcd, lcm):
    _op.forward("unknown")


def _store_found(name: str, out, result: Tensor):
    check_dtypes((out,), result.dtype)
    return store(name, out, result)


def _common_dtype(values):
    """The dtype in which tensors and numbers are compared. Raises NotImplementedError for bools and
    complex numbers."""
    for value in values:
        if isinstance(value, (np.ndarray, np.generic, bool, complex)):
            d = BY_NUMPY[np.asarray(value).dtype]
            if d.category > FLOATING or d.name == "bool":
                raise NotImplementedError(
                    f"Unsupported input type encountered for isin(): {d.legacy}"
                )
    return result_dtype(values)


def _raws(*values) -> list:
    return [v._raw if isinstance(v, Tensor) else v for v in values]


def _prepare_found(out, elements, test_elements, **_) -> None:
    """Let `out=` have no elements, as torch's meta function does where one number is looked for."""
    if isinstance(out, Tensor) and not isinstance(elements, Tensor):
        _common_dtype(_raws(elements, test_elements))
        check_dtypes((out,), bool_)
        fit(out, (0,))


def _check_view(elements, test_elements: Tensor) -> None:
    """Raise RuntimeError for test elements that cannot be viewed as a line, where they are so few
    that ATen compares each with all elements."""
    size = elements.numel() if isinstance(elements, Tensor) else 1
    if size and test_elements.numel() < 10 * size**0.145:
        tensor_ops.view(test_elements, (-1,))


@function(
    method=False,
    out=True,
    derived=False,
    storing=_store_found,
    before=_prepare_found,
    batching="fallback",
)
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Whether each of `elements` occurs in `test_elements`; either may be a number (torch.isin).

    Raises NotImplementedError for bools and complex numbers, RuntimeError for few test elements
    that cannot be viewed as a line.
    """
    raws = _raws(elements, test_elements)
    common = _common_dtype(raws)
    if isinstance(test_elements, Tensor):
        _check_view(elements, test_elements)
    whole, others = (np.asarray(r).astype(common.numpy) for r in raws)
    found = np.isin(whole, others, invert=invert)
    return new(unboxed(found))
