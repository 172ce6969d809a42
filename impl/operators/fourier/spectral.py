"""Fourier transforms over given dimensions: the primitives on which `impl.fft` is built.

The derivatives are adjoints: a transform's gradient is the transform in the other direction, with
the same scale.
"""

from __future__ import annotations

import numpy as np
import scipy.fft

from impl.core.dtypes import BY_NUMPY, COMPLEX, FLOATING, REDUCED
from impl.core.registry import tensor_ops
from impl.dispatch.definition import (
    Array,
    formula_operation,
    operator,
    unless_recorded,
    written,
)
from impl.dispatch.gradient_plan import OfArguments
from impl.operators.pointwise.arithmetic import mul_scalar

# The scales of a transform of n points, as torch numbers them: 1, 1 / sqrt(n), 1 / n.
UNSCALED, BY_ROOT, BY_COUNT = 0, 1, 2
# SciPy's names of the scales, for a forward and for a backward transform.
_FORWARD = {UNSCALED: "backward", BY_ROOT: "ortho", BY_COUNT: "forward"}
_BACKWARD = {UNSCALED: "forward", BY_ROOT: "ortho", BY_COUNT: "backward"}


def _by_stride(self, dims) -> list[int]:
    """The dimensions by descending stride."""
    return sorted(dims, key=lambda d: -self.strides[d])


def _without(ndim: int, dims) -> list[int]:
    """The other dimensions, in the order in which C++'s std::partition leaves them."""
    order = list(range(ndim))
    first, last = 0, ndim
    while first < last:
        if order[first] not in dims:
            first += 1
            continue
        last -= 1
        while last > first and order[last] in dims:
            last -= 1
        if last > first:
            order[first], order[last] = order[last], order[first]
            first += 1
    return order[:first]


def _transformed(transform, self, dims):
    """`transform` of an array permuted so that `dims` come last, with the permutation undone.

    In memory the batch dimensions come first, by descending stride, and then `dims`: MKL's layout.
    """
    order = [*_by_stride(self, _without(self.ndim, dims)), *dims]
    return transform(self.transpose(order)).transpose(np.argsort(order))


def _last(dims) -> tuple[int, ...]:
    return tuple(range(-len(dims), 0))


@operator(node="FftC2CBackward0", fresh=True, method=False, batching="dims")
def _fft_c2c(self: Array, dim, normalization, forward) -> Array:
    """The transform of complex numbers, scaled by `normalization`: 1, 1 / sqrt(n) or 1 / n."""
    if not len(dim):
        return np.array(self)
    function = scipy.fft.fftn if forward else scipy.fft.ifftn
    norm = (_FORWARD if forward else _BACKWARD)[normalization]
    return _transformed(
        lambda batch: function(batch, axes=_last(dim), norm=norm), self, _by_stride(self, dim)
    )


@operator(node="FftR2CBackward0", fresh=True, method=False, batching="dims")
def _fft_r2c(self: Array, dim, normalization, onesided) -> Array:
    """The transform of real numbers; with `onesided` only the half that determines the other."""
    axes, norm = _last(dim), _FORWARD[normalization]

    def transform(batch):
        half = scipy.fft.rfftn(batch, axes=axes, norm=norm)
        return half if onesided else _both_sides(half, axes, batch.shape[-1])

    return _transformed(transform, self, [*_by_stride(self, dim[:-1]), dim[-1]])


def _both_sides(half, axes, size: int) -> np.ndarray:
    """The transform of real numbers with its other half, the conjugates of that at the opposite
    frequencies."""
    more = size - half.shape[-1]
    if not more:
        return half
    other = half[..., more:0:-1]
    for axis in axes[:-1]:
        other = np.roll(np.flip(other, axis), 1, axis)
    return np.concatenate([half, np.conj(other)], -1)


@operator(node="FftC2RBackward0", fresh=True, method=False, batching="dims")
def _fft_c2r(self: Array, dim, normalization, last_dim_size) -> Array:
    """The backward transform of one half of a Hermitian signal, to real numbers."""
    if len(dim) > 1:
        self = _fft_c2c.kernel(self, dim[:-1], normalization, False)
    norm = _BACKWARD[normalization]
    return _transformed(
        lambda batch: scipy.fft.irfft(batch, last_dim_size, norm=norm), self, dim[-1:]
    )


@_fft_c2c.checked
@_fft_c2r.checked
def _check_complex(self, *rest) -> None:
    _check_kind("complex", self)


@_fft_r2c.checked
def _check_real(self, *rest) -> None:
    _check_kind("floating-point", self)
    if self.dtype in REDUCED:
        legacy = BY_NUMPY[self.dtype].legacy
        raise NotImplementedError(f"MKL FFT doesn't support tensors of type: {legacy}")


def _check_kind(kind: str, value) -> None:
    d = BY_NUMPY[value.dtype]
    if d.category != (COMPLEX if kind == "complex" else FLOATING):
        raise TypeError(f"Only supports {kind} dtypes, but found: {d.legacy}")


# -- derivatives --------------------------------------------------------------------------------


@formula_operation
def zero_extended(value, dim, size):
    """The array padded with zeros at the end of `dim` to `size`."""
    if value.shape[dim] >= size:
        return value
    shape = [*value.shape]
    shape[dim] = size
    result = np.zeros(shape, value.dtype)
    result[(slice(None),) * dim + (slice(value.shape[dim]),)] = value
    return result


def _zero_extended(value, dim, size):
    held = value.shape[dim]
    if held >= size:
        return value
    shape = [*value.shape]
    shape[dim] = size
    result = tensor_ops.new_zeros(value, tuple(shape))
    tensor_ops.narrow(result, dim, 0, held).copy_(value)
    return result


@formula_operation
def doubled_within(value, dim, size):
    """The one-sided `value`, doubled in place where an element represents two of `size`."""
    value[(slice(None),) * dim + (slice(1, 1 + size - value.shape[dim]),)] *= 2
    return value


def _doubled_within(value, dim, size):
    paired = size - value.shape[dim]
    if paired > 0:
        mul_scalar.inplace(tensor_ops.narrow(value, dim, 1, paired), 2)
    return value


tensor_ops.zero_extended, tensor_ops.doubled_within = _zero_extended, _doubled_within


@_fft_r2c.gradients("self")
def _of_reals(F, grad, self, dim, normalization, onesided):
    if onesided:
        grad = F.zero_extended(grad, dim[-1], tuple(self.shape)[dim[-1]])
    return F.real_part(F._fft_c2c(grad, dim, normalization, False))


def _of_half(F, grad, dim, normalization):
    half = F._fft_r2c(grad, dim, normalization, True)
    return F.doubled_within(half, dim[-1], tuple(grad.shape)[dim[-1]])


def _doublings(self, dim, normalization, last_dim_size):
    """The writes of `doubled_within`, which does nothing where all elements have no partner."""
    return unless_recorded(lambda *_: int(last_dim_size > 2))


_fft_c2r.gradient(self=written(_of_half, OfArguments(_doublings)))

_fft_c2c.gradient(self="F._fft_c2c(grad, dim, normalization, not forward)")
for _op in (_fft_r2c, _fft_c2r, _fft_c2c):
    _op.forward("linear")
