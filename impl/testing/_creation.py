"""`torch.testing.make_tensor`: tensors of random values, by dtype and range."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from impl.core.dtypes import COMPLEX, FLOATING, bool_, int64
from impl.core.registry import FUNCTIONS, C
from impl.factories.type_info import finfo, iinfo
from impl.tensor.tensor import Tensor

_EQUAL = (
    "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
    "deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead."
)


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of values drawn evenly from `low` to `high`, by default from -9 to 9
    (torch.testing.make_tensor).

    Raises ValueError for a range that the dtype does not have, for options that exclude each other,
    and for a gradient of integers.
    """
    sizes = tuple(shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    exact = dtype.category < FLOATING
    if requires_grad and exact:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"dtype={dtype!r}"
        )
    spread = noncontiguous and math.prod(sizes) > 1
    if spread:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    result: Any
    if exact:
        least, below = _range(low, high, dtype, *_limits(dtype))
        result = C.randint(math.ceil(least), math.ceil(below), sizes, device=device, dtype=dtype)
    else:
        limits = finfo(dtype)
        least, below = _range(low, high, dtype, limits.min, limits.max, -9, 9)
        result = C.empty(sizes, device=device, dtype=dtype)
        parts = FUNCTIONS["view_as_real"](result) if dtype.category == COMPLEX else result
        if below - least >= limits.max:
            parts.uniform_(least / 2, below / 2).mul_(2)
        else:
            parts.uniform_(least, below)
    if spread:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = 1 if exact else finfo(dtype).tiny
    if not exact:
        result.requires_grad = requires_grad
    return result


def _limits(dtype: Any) -> tuple[int, int, int, int]:
    """The least value of a dtype, the bound above its values, and the range by default."""
    if dtype is bool_:
        return 0, 2, 0, 2
    limits = iinfo(dtype)
    return limits.min, limits.max + (dtype is not int64), -9, 10


def _range(
    low: Any, high: Any, dtype: Any, least: float, bound: float, *defaults: float
) -> tuple[Any, Any]:
    """The range within the limits of a dtype."""
    low, high = (d if v is None else v for v, d in zip((low, high), defaults, strict=True))
    if any(isinstance(value, float) and math.isnan(value) for value in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and dtype.category >= FLOATING:
        warnings.warn(_EQUAL, FutureWarning, stacklevel=3)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= bound:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} "
            f"only supports [{least}, {bound})"
        )
    return min(max(low, least), bound), min(max(high, least), bound)
