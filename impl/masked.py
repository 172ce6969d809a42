"""`torch.masked`: reductions and normalisations of the elements that a mask selects.

A mask broadcasts to the input and is true for selected elements. The others are replaced by the
operation's identity (0 for a sum), and torch's ordinary operators compute the result, so that the
graph contains only their nodes. A result without selected elements is the identity, NaN for a mean.
"""

from __future__ import annotations

import builtins
import math

import numpy as np

from impl import linalg
from impl.core.dtypes import COMPLEX, FLOATING, INTEGRAL, dtype, float32, int64, real_of, uint8
from impl.core.memory_formats import strided
from impl.core.registry import C, tensor_ops
from impl.factories.creation import ones
from impl.factories.type_info import iinfo
from impl.nn import functional as F
from impl.tensor.tensor import Tensor, new

_ONES = ("prod", "cumprod")
_LOWEST = ("amax", "argmax", "logaddexp", "logsumexp")
_HIGHEST = ("amin", "argmin")


def _extreme(operation: str, kind: dtype):
    """The identity of a minimum or maximum. Raises NotImplementedError for a dtype that has none,
    TypeError for complex numbers, of which only `logsumexp` has one."""
    lowest = operation in _LOWEST
    complex_too = operation == "logsumexp" and kind.category == COMPLEX
    if kind.category == FLOATING or complex_too:
        return -math.inf if lowest else math.inf
    if not kind.is_signed and kind is not uint8:
        raise NotImplementedError(f"identity of {operation} on {kind} input")
    limits = iinfo(kind)
    return limits.min if lowest else limits.max


def _identity(operation: str, input: Tensor, ord=2.0) -> Tensor:
    """The identity of an operation, 0-dim: the replacement of masked-out elements.

    Raises NotImplementedError and TypeError for a dtype without one, AssertionError for the norm of
    order minus infinity of integers.
    """
    kind = input.dtype
    value: float = 0
    if operation in _ONES:
        value = 1
    elif operation in _LOWEST or operation in _HIGHEST:
        value = _extreme(operation, kind)
    elif operation == "norm" and ord == -math.inf:
        if kind.category != FLOATING:
            raise AssertionError(f"input must be floating point, got {kind}")
        value = math.inf
    elif operation == "median":
        value = math.nan
    return new(kind.numpy.type(value))


def _dims(dim, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce, nonnegative and sorted; None and () stand for all.

    Raises IndexError for one out of range, RuntimeError for a duplicate.
    """
    if dim is None or dim == ():
        return tuple(range(ndim))
    ndim = builtins.max(ndim, 1)
    dims: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in dims:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if d >= ndim or d < -ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but "
                f"got {d})"
            )
        dims.append(d % ndim)
    return tuple(sorted(dims))


def _broadcast(input: Tensor, mask: Tensor) -> Tensor:
    """The mask as bools of the input's shape. Raises IndexError if it has more dimensions."""
    _require_strided(input)
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of "
                "the input)"
            )
        mask = mask.clone().broadcast_to(input.shape)
    return mask.bool()


def _combined(operation: str, input: Tensor, mask, ord=2.0):
    """The input with the operation's identity in place of masked-out elements."""
    if mask is None:
        _require_strided(input)
        return input
    return tensor_ops.where(_broadcast(input, mask), input, _identity(operation, input, ord))


def _require_strided(input: Tensor) -> None:
    if input.layout is not strided:
        raise NotImplementedError(f"masked operations on tensors of the layout {input.layout}")


def _widened(input: Tensor, kind):
    """The dtype of a sum or product: int64 for bool and integers."""
    if kind is None:
        _require_strided(input)
        return int64 if input.dtype.category <= INTEGRAL else input.dtype
    return kind


# -- reductions -------------------------------------------------------------------------------


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of the selected elements (torch.masked.sum)."""
    kind = _widened(input, dtype)
    dims = _dims(dim, input.ndim)
    return _combined("sum", input, mask).sum(dims, bool(keepdim), dtype=kind)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The product of the selected elements, dimension by dimension (torch.masked.prod)."""
    kind = _widened(input, dtype)
    dims = _dims(dim, input.ndim)
    result = _combined("prod", input, mask).to(dtype=kind)
    for d in reversed(dims):
        result = result.prod(d, bool(keepdim))
    return result


def cumsum(input, dim, *, dtype=None, mask=None) -> Tensor:
    """The cumulative sum of the selected elements (torch.masked.cumsum)."""
    kind = input.dtype if dtype is None else dtype
    dim = _dims(dim, input.ndim)[0]
    return _combined("sum", input, mask).cumsum(dim, dtype=kind).to(dtype=kind)


def cumprod(input, dim, *, dtype=None, mask=None) -> Tensor:
    """The cumulative product of the selected elements (torch.masked.cumprod)."""
    kind = input.dtype if dtype is None else dtype
    dim = _dims(dim, input.ndim)[0]
    return _combined("prod", input, mask).cumprod(dim, dtype=kind).to(dtype=kind)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The maximum of the selected elements (torch.masked.amax)."""
    kind = input.dtype if dtype is None else dtype
    values = _combined("amax", input, mask)
    return values.amax(_dims(dim, values.ndim), bool(keepdim)).to(dtype=kind)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The minimum of the selected elements (torch.masked.amin)."""
    kind = input.dtype if dtype is None else dtype
    values = _combined("amin", input, mask)
    return values.amin(_dims(dim, values.ndim), bool(keepdim)).to(dtype=kind)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The index of the maximum of the selected elements (torch.masked.argmax)."""
    kind = input.dtype if dtype is None else dtype
    return C.argmax(_combined("argmax", input, mask), dim, bool(keepdim)).to(dtype=kind)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The index of the minimum of the selected elements (torch.masked.argmin)."""
    kind = input.dtype if dtype is None else dtype
    return C.argmin(_combined("argmin", input, mask), dim, bool(keepdim)).to(dtype=kind)


def _counted(input: Tensor, dim, keepdim: bool, mask) -> Tensor:
    """The number of selected elements, int64."""
    if mask is None:
        return sum(ones(input.shape, dtype=int64), dim, keepdim=keepdim)
    return mask.sum(dim=dim, keepdim=keepdim)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The mean of the selected elements (torch.masked.mean). Raises ValueError for integers."""
    kind = input.dtype if dtype is None else dtype
    if not (kind.is_floating_point or kind.is_complex):
        source = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point "
            f"or complex dtype. Got: {kind}"
        )
    chosen = None if mask is None else _broadcast(input, mask)
    count = _counted(input, dim, bool(keepdim), chosen)
    return sum(input, dim, keepdim=keepdim, dtype=kind, mask=chosen) / count


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The median of the selected elements along `dim` (torch.masked.median).

    Raises ValueError for integer inputs if a median has no selected elements.
    """
    kind = input.dtype if dtype is None else dtype
    dim = _dims(dim, input.ndim)[0]
    floating = input.dtype.category == FLOATING
    values = input if floating else input.to(dtype=float32)
    result = _combined("median", values, mask).nanmedian(dim, keepdim)[0]
    if floating:
        return result
    if np.isnan(result._raw).any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return result.to(dtype=kind)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The logarithm of the sum of exponentials of the selected elements
    (torch.masked.logsumexp)."""
    kind = input.dtype if dtype is None else dtype
    dims = _dims(dim, input.ndim)
    return _combined("logsumexp", input, mask).logsumexp(dims, keepdim=keepdim).to(dtype=kind)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None) -> Tensor:
    """`torch.logaddexp` of two inputs, each with a mask (torch.masked.logaddexp)."""
    kind = input.dtype if dtype is None else dtype
    first = _combined("logaddexp", input, input_mask)
    second = _combined("logaddexp", other, other_mask)
    return tensor_ops.logaddexp(first, second).to(dtype=kind)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm of the selected elements (torch.masked.norm)."""
    kind = input.dtype if dtype is None else dtype
    values = _combined("norm", input, mask, ord)
    dims = _dims(dim, input.ndim)
    return linalg.vector_norm(values, ord, dims, bool(keepdim), dtype=kind)


def _variance(input, dim, unbiased, correction, keepdim, dtype, mask) -> Tensor:
    if unbiased is not None:
        assert correction is None, "Only one of unbiased and correction may be given"
        correction = 1.0 if unbiased else 0.0
    correction = 1.0 if correction is None else float(correction)
    kind = input.dtype if dtype is None else dtype
    if dtype is None and kind.category < FLOATING:
        kind = float32
    wide = kind if kind.category >= FLOATING else float32
    chosen = None if mask is None else _broadcast(input, mask)
    count = _counted(input, dim, True, chosen)
    total = sum(input, dim, keepdim=True, dtype=kind, mask=chosen)
    distance = input - total / count
    squares = distance * distance.conj()
    total = sum(squares, dim, keepdim=keepdim, dtype=wide, mask=chosen)
    if not keepdim:
        count = count.reshape(total.shape)
    if correction != 0:
        count = count.to(real_of(wide) if wide.category == COMPLEX else wide)
        count = tensor_ops.sub_scalar(count, correction)
        count = tensor_ops.maximum(count, count.new_zeros([]))
    return (total / count).to(dtype=kind)


def var(
    input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None
) -> Tensor:
    """The variance of the selected elements (torch.masked.var)."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None
) -> Tensor:
    """The standard deviation of the selected elements (torch.masked.std)."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


# -- normalisations ---------------------------------------------------------------------------


def softmax(input, dim, *, dtype=None, mask=None) -> Tensor:
    """The softmax of the selected elements, zero elsewhere (torch.masked.softmax)."""
    kind = input.dtype if dtype is None else dtype
    dim = _dims(dim, input.ndim)[0]
    return F.softmax(_combined("amax", input, mask), dim, dtype=kind)


def log_softmax(input, dim, *, dtype=None, mask=None) -> Tensor:
    """The logarithm of `softmax` (torch.masked.log_softmax)."""
    kind = input.dtype if dtype is None else dtype
    dim = _dims(dim, input.ndim)[0]
    return F.log_softmax(_combined("amax", input, mask), dim, dtype=kind)


def softmin(input, dim, *, dtype=None, mask=None) -> Tensor:
    """The softmin of the selected elements, zero elsewhere (torch.masked.softmin)."""
    kind = input.dtype if dtype is None else dtype
    dim = _dims(dim, input.ndim)[0]
    return F.softmin(_combined("amin", input, mask), dim, dtype=kind)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None) -> Tensor:
    """The selected elements divided by their norm along `dim`, at least `eps`
    (torch.masked.normalize)."""
    kind = input.dtype if dtype is None else dtype
    values = _combined("sum", input, mask)
    length = norm(input, ord, dim, keepdim=True, dtype=kind, mask=mask)
    return values / tensor_ops.maximum(length, length.new_full([], eps))
