"""Max unpooling: values put back at the indices of their maxima, zeros elsewhere.

Of several values with the same index the last is kept, but each receives the gradient at it.
"""

from __future__ import annotations

import numpy as np

from impl.core.memory_formats import formatted_as
from impl.dispatch.definition import Array, native, operator
from impl.dispatch.facts import NoComplex
from impl.dispatch.not_implemented import require_floating
from impl.operators.images.adaptive_pooling import repeated
from impl.operators.images.pooling_windows import check_not_empty
from impl.tensor.tensor import Tensor


def _unpool(self, indices, shape, ndim: int):
    lead = self.shape[: self.ndim - ndim]
    count, plane = int(np.prod(lead)), int(np.prod(shape))
    flat = np.zeros((count, plane), self.dtype)
    if not flat.size:
        return flat.reshape((*lead, *shape))
    at = indices.reshape(count, -1)
    outside = at[(at < 0) | (at >= plane)]
    if outside.size:
        sizes = "x".join(map(str, shape))
        raise RuntimeError(
            f"Found an invalid max index: {outside[-1]} (output volumes are of size {sizes})"
        )
    np.put_along_axis(flat, at, self.reshape(count, -1), 1)
    return flat.reshape((*lead, *shape))


@operator(
    node="MaxUnpool2DBackward0",
    function=False,
    method=False,
    fresh=True,
    autocast="fp32",
    complex=NoComplex("max_unpool2d"),
    writes=2,
    batching="fallback",
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
    writes=2,
    batching="fallback",
)
def max_unpool3d_to(self: Array, indices: Array, output_size) -> Array:
    require_floating(self, "max_unpool3d")
    return _unpool(self, indices, output_size, 3)


max_unpool2d_to.gradient(self=lambda F, grad, indices: F.gather_plane(grad, indices, 2))
max_unpool3d_to.gradient(self=lambda F, grad, indices: F.gather_plane(grad, indices, 3))
max_unpool2d_to.forward("linear")
max_unpool3d_to.forward("linear")


_SIZES = {2: "two elements (height, width)", 3: "three elements (depth, height, width)"}


def _check(input, indices, output_size, ndim: int) -> None:
    shape, ranks = input._raw.shape, (ndim + 1, ndim + 2)
    if indices.dtype.name != "int64":
        raise RuntimeError(
            f"elements in indices should be type int64 but got: {indices.dtype.legacy}"
        )
    if len(shape) not in ranks:
        raise RuntimeError(
            f"Input to max_unpooling{ndim}d should be a {ranks[0]}d or {ranks[1]}d Tensor, but got "
            f"a tensor with {len(shape)} dimensions."
        )
    if len(output_size) != ndim:
        raise RuntimeError(
            f"There should be exactly {_SIZES[ndim]} in output_size, but got {len(output_size)} "
            "elements."
        )
    if indices._raw.shape != shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({[*shape]}) but got indices tensor with shape: {[*indices._raw.shape]}"
        )


def _check_sizes(input, output_size, ndim: int) -> None:
    name = f"max_unpooling{ndim}d"
    check_not_empty(input._raw.shape, 1, f"{name}_forward_out_cpu")
    if min(output_size) < 0:
        raise RuntimeError(
            f"{name}(): output_size must contain non-negative spatial dimensions, but got "
            f"output_size={[*output_size]}"
        )


@native()
def max_unpool2d(input, indices, output_size) -> Tensor:
    """Values put back at `indices` of planes of zeros of the size `output_size`.

    Raises RuntimeError for an index outside, and for sizes that do not fit.
    """
    output_size = repeated(output_size, 2)
    max_unpool2d_to.check_saved(input, indices, output_size)
    _check(input, indices, output_size, 2)
    _check_sizes(input, output_size, 2)
    return max_unpool2d_to(input, indices, output_size)


@native()
def max_unpool3d(input, indices, output_size, stride, padding) -> Tensor:
    """As `max_unpool2d`, over three dimensions; nothing depends on the stride and the padding."""
    output_size, stride = repeated(output_size, 3), repeated(stride, 3)
    max_unpool3d_to.check_saved(input, indices, output_size)
    _check(input, indices, output_size, 3)
    for name, value in (("stride", stride), ("padding", repeated(padding, 3))):
        if len(value) != 3:
            raise RuntimeError(
                f"There should be exactly {_SIZES[3]} in {name}, but got: {len(value)} elements."
            )
    if min(stride) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {[*stride]}")
    _check_sizes(input, output_size, 3)
    return max_unpool3d_to(input, indices, output_size)
