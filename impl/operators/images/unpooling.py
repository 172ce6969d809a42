"""Max unpooling: values put back at the indices of their maxima, zeros elsewhere.

Of several values with the same index the last is kept, but each receives the gradient at it.
"""

from __future__ import annotations

import numpy as np

from impl.core.memory_formats import formatted_as
from impl.core.registry import tensor_ops
from impl.dispatch.definition import Array, operator
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


def _max_unpool(input, indices, ndim: int, kernel_size, stride, padding, output_size) -> Tensor:
    def several(value):
        return (value,) * ndim if isinstance(value, int) else tuple(value)

    kernel = several(kernel_size)
    step = kernel if stride is None else several(stride)
    pad = several(padding)
    if input._raw.ndim < ndim:
        raise IndexError("tuple index out of range")
    spatial = input._raw.shape[-ndim:]
    default = [
        (n - 1) * s + k - 2 * p for n, s, k, p in zip(spatial, step, kernel, pad, strict=True)
    ]
    size = _output_size(default, step, ndim, output_size)
    if indices.dtype.name != "int64":
        raise RuntimeError(
            f"elements in indices should be type int64 but got: {indices.dtype.legacy}"
        )
    if ndim == 1:
        input, indices, size = (
            tensor_ops.unsqueeze(input, -1),
            tensor_ops.unsqueeze(indices, -1),
            (*size, 1),
        )
    _check_unpooled(input._raw.shape, max(ndim, 2))
    if indices._raw.shape != input._raw.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({[*input._raw.shape]}) but got indices tensor with shape: {[*indices._raw.shape]}"
        )
    check_not_empty(input._raw.shape, 1, f"max_unpooling{max(ndim, 2)}d_forward_out_cpu")
    if ndim == 3:
        return max_unpool3d_to(input, indices, size)
    result = max_unpool2d_to(input, indices, size)
    return tensor_ops.squeeze_dim(result, -1) if ndim == 1 else result


def _check_unpooled(shape, ndim: int) -> None:
    if len(shape) not in (ndim + 1, ndim + 2):
        raise RuntimeError(
            f"Input to max_unpooling{ndim}d should be a {ndim + 1}d or {ndim + 2}d Tensor, but got "
            f"a tensor with {len(shape)} dimensions."
        )


def _output_size(default, step, ndim: int, asked):
    if asked is None:
        return tuple(default)
    asked = tuple(asked)
    if len(asked) == ndim + 2:
        asked = asked[-ndim:]
    if len(asked) != ndim:
        raise ValueError(
            f"output_size should be a sequence containing {ndim} or {ndim + 2} elements, but it "
            f"has a length of '{len(asked)}'"
        )
    for d in range(ndim):
        low, high = default[d] - step[d], default[d] + step[d]
        if not low < asked[d] < high:
            raise ValueError(
                f'invalid output_size "{asked}" (dim {d} must be between {low} and {high})'
            )
    return asked


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Values put back at the indices that max_pool1d returned, zeros elsewhere.

    Raises RuntimeError for an index outside (torch.nn.functional.max_unpool1d).
    """
    return _max_unpool(input, indices, 1, kernel_size, stride, padding, output_size)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """As `max_unpool1d`, over two dimensions (torch.nn.functional.max_unpool2d)."""
    return _max_unpool(input, indices, 2, kernel_size, stride, padding, output_size)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """As `max_unpool1d`, over three dimensions (torch.nn.functional.max_unpool3d)."""
    return _max_unpool(input, indices, 3, kernel_size, stride, padding, output_size)
