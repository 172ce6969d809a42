"""Max unpooling: values put back at the indices of their maxima, zeros elsewhere.

Of several values with the same index the last is kept, but each receives the gradient at it.
"""

from __future__ import annotations

import numpy as np

from impl.core.memory_formats import formatted_as
from impl.dispatch.definition import Array, native, operator
from impl.dispatch.facts import NoComplex
from impl.dispatch.not_implemented import require_floating
from impl.operators.images.pooling_windows import check_not_empty
from impl.tensor.tensor import Tensor


def _unpool(self, indices, shape, ndim: int):
    lead = self.shape[: self.ndim - ndim]
    count, plane = int(np.prod(lead)), int(np.prod(shape))
    at = indices.reshape(count, self.size // count if count else 0)
    outside = at[(at < 0) | (at >= plane)]
    if outside.size:
        sizes = "x".join(map(str, shape))
        raise RuntimeError(
            f"Found an invalid max index: {outside[0]} (output volumes are of size {sizes})"
        )
    flat = np.zeros((count, plane), self.dtype)
    if not self.size:
        return flat.reshape((*lead, *shape))
    np.put_along_axis(flat, at, self.reshape(count, -1), 1)
    return flat.reshape((*lead, *shape))


@operator(
    node="MaxUnpool2DBackward0",
    function=False,
    method=False,
    fresh=True,
    autocast="fp32",
    complex=NoComplex("max_unpool2d"),
)
def max_unpool2d_to(self: Array, indices: Array, output_size) -> Array:
    require_floating(self, "max_unpool2d")
    return formatted_as(_unpool(self, indices, output_size, 2), self)


@operator(
    node="MaxUnpool3DBackward0",
    function=False,
    method=False,
    autocast="fp32",
    complex=NoComplex("max_unpool3d"),
)
def max_unpool3d_to(self: Array, indices: Array, output_size) -> Array:
    require_floating(self, "max_unpool3d")
    return _unpool(self, indices, output_size, 3)


max_unpool2d_to.gradient(self=lambda F, grad, indices: F.gather_plane(grad, indices, 2))
max_unpool3d_to.gradient(self=lambda F, grad, indices: F.gather_plane(grad, indices, 3))
max_unpool2d_to.forward("linear")
max_unpool3d_to.forward("linear")


def _check(indices, input, ndim: int) -> None:
    shape = input._raw.shape
    if indices.dtype.name != "int64":
        raise RuntimeError(
            f"elements in indices should be type int64 but got: {indices.dtype.legacy}"
        )
    if indices._raw.shape != input._raw.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({[*shape]}) but got indices tensor with shape: {[*indices._raw.shape]}"
        )
    if len(shape) not in (ndim + 1, ndim + 2):
        raise RuntimeError(
            f"Input to max_unpooling{ndim}d should be a {ndim + 1}d or {ndim + 2}d Tensor, but got "
            f"a tensor with {len(shape)} dimensions."
        )
    check_not_empty(shape, 1, f"max_unpooling{ndim}d_forward_out_cpu")


@native()
def max_unpool2d(input, indices, output_size) -> Tensor:
    """Values put back at `indices` of planes of zeros of the size `output_size`."""
    _check(indices, input, 2)
    return max_unpool2d_to(input, indices, output_size)


@native()
def max_unpool3d(input, indices, output_size, stride, padding) -> Tensor:
    """As `max_unpool2d`, over three dimensions."""
    _check(indices, input, 3)
    return max_unpool3d_to(input, indices, output_size)
