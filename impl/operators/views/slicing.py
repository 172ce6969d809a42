"""Parts of a tensor as views: select, slice, narrow, diagonal, unfold."""

from __future__ import annotations

import operator as _python

import numpy as np

from impl.core.dims import wrap_dim
from impl.core.meta_functions import of_sizes
from impl.core.registry import array_ops, tensor_ops
from impl.dispatch import view_operator
from impl.dispatch.batching_rules import RULES, in_aten
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.vmap_rules import fronted, hide
from impl.tensor.geometry import Geometry
from impl.tensor.tensor import Tensor


def _replace(values, dim: int, value) -> tuple:
    return (*values[:dim], value, *values[dim + 1 :])


def _without(values, dim: int) -> tuple:
    return (*values[:dim], *values[dim + 1 :])


# -- one index --------------------------------------------------------------------------------


@view_operator.view(node="SelectBackward0")
def select(self: Geometry, dim, index) -> Geometry:
    """The slice at `index` of dimension `dim`, which is removed (torch.select).

    Raises IndexError out of range.
    """
    dim, index = check_select(self.shape, dim, index)
    return Geometry(
        _without(self.shape, dim),
        _without(self.strides, dim),
        self.offset + index * self.strides[dim],
    )


def check_select(shape, dim, index) -> tuple[int, int]:
    """The dimension and the index, neither negative. Raises IndexError out of range."""
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(shape))
    index, size = _python.index(index), shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(shape)} at "
            f"dimension {dim}"
        )
    return dim, index % size


@operator(function=False, method=False, batching="dims")
def select_backward(grad_output: Array, input_sizes, dim, index) -> Array:
    result = np.zeros(input_sizes, grad_output.dtype)
    result[(slice(None),) * wrap_dim(dim, len(input_sizes)) + (index,)] = grad_output
    return result


select.gradient(
    self=lambda F, grad, self_shape, dim, index: F.select_backward(grad, self_shape, dim, index)
)
select_backward.gradient(grad_output=lambda F, grad, dim, index: F.select(grad, dim, index))
select_backward.forward("linear")


# -- slices -----------------------------------------------------------------------------------


def _bounds(size: int, start, end, step) -> tuple[int, int, int]:
    """The start, length and step of a slice of a dimension; bounds are clamped as in Python."""
    step = _python.index(step)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    start = 0 if start is None else _python.index(start)
    end = size if end is None else _python.index(end)
    start = min(max(start + size if start < 0 else start, 0), size)
    end = min(max(end + size if end < 0 else end, start), size)
    return start, (end - start + step - 1) // step, step


@view_operator.view(node="SliceBackward0", function=False, method=False)
def slice_(self: Geometry, dim=0, start=None, end=None, step=1) -> Geometry:
    if not self.shape:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(self.shape))
    start, length, step = _bounds(self.shape[dim], start, end, step)
    stride = self.strides[dim]
    return Geometry(
        _replace(self.shape, dim, length),
        _replace(self.strides, dim, stride * step),
        self.offset + start * stride,
    )


@operator(function=False, method=False, batching="dims")
def slice_backward(grad_output: Array, input_sizes, dim, start, end, step) -> Array:
    result = np.zeros(input_sizes, grad_output.dtype)
    dim = wrap_dim(dim, len(input_sizes))
    result[(slice(None),) * dim + (_python_slice(input_sizes[dim], start, end, step),)] = (
        grad_output
    )
    return result


def _python_slice(size: int, start, end, step) -> slice:
    start, length, step = _bounds(size, start, end, step)
    return slice(start, start + length * step, step)


slice_.gradient(self="F.slice_backward(grad, self_shape, dim, start, end, step)")
slice_backward.gradient(
    grad_output=lambda F, grad, dim, start, end, step: F.slice(grad, dim, start, end, step)
)
slice_backward.forward("linear")


@function("narrow")
def narrow(input, dim, start, length):
    """`length` elements of dimension `dim` from `start` on (torch.narrow).

    Raises RuntimeError when they exceed the dimension, IndexError for a start out of range.
    """
    if isinstance(start, Tensor):
        return narrow_from(input, dim, start, length)
    start = _first(input._raw.shape, dim, start, length)
    return tensor_ops.slice(input, dim, start, start + length, 1)


@RULES["composed_no_view_rule"]
@in_aten("narrow.Tensor")
def narrow_from(input, dim, start, length):
    """`narrow` from the element of a tensor on."""
    if start._raw.ndim or start._raw.dtype.kind not in "iu":
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return narrow(input, dim, start.item(), length)


def _first(shape, dim, start, length) -> int:
    """The validated start of a `narrow`, with a negative one wrapped."""
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    size = shape[wrap_dim(dim, len(shape))]
    start = _python.index(start)
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return start


def _narrow_raw(value, dim, start, length):
    start = _first(value.shape, dim, start, length)
    return array_ops.slice(value, dim, start, start + length, 1)


tensor_ops.narrow, array_ops.narrow = narrow, _narrow_raw


# -- diagonals --------------------------------------------------------------------------------


@view_operator.view(node="DiagonalBackward0")
def diagonal(self: Geometry, offset=0, dim1=0, dim2=1) -> Geometry:
    """The diagonal of two dimensions as the last one (torch.diagonal).

    Raises IndexError for dimensions out of range, RuntimeError when they are the same.
    """
    ndim = len(self.shape)
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = self.shape[first], self.shape[second]
    if offset >= 0:
        length, start = min(rows, columns - offset), offset * self.strides[second]
    else:
        length, start = min(rows + offset, columns), -offset * self.strides[first]
    if length <= 0:
        length = start = 0
    kept = [i for i in range(ndim) if i not in (first, second)]
    return Geometry(
        (*(self.shape[i] for i in kept), length),
        (*(self.strides[i] for i in kept), self.strides[first] + self.strides[second]),
        self.offset + start,
    )


@operator(function=False, method=False, batching="dims")
def diagonal_backward(grad_output: Array, input_sizes, offset, dim1, dim2) -> Array:
    result = np.zeros(input_sizes, grad_output.dtype)
    array_ops.diagonal(result, offset, dim1, dim2)[...] = grad_output
    return result


diagonal.gradient(self="F.diagonal_backward(grad, self_shape, offset, dim1, dim2)")
diagonal_backward.gradient(
    grad_output=lambda F, grad, offset, dim1, dim2: F.diagonal(grad, offset, dim1, dim2)
)
diagonal_backward.forward("linear")


# -- windows ----------------------------------------------------------------------------------


@view_operator.view(node="UnfoldBackward0", function=False)
def unfold(self: Geometry, dimension, size, step) -> Geometry:
    """All windows of `size` elements along a dimension, `step` apart, as a new last dimension.

    Raises RuntimeError for a window larger than the dimension or a step below one
    (torch.Tensor.unfold).
    """
    ndim = len(self.shape)
    dim = wrap_dim(dimension, ndim)
    available = self.shape[dim] if ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > available:
        raise RuntimeError(
            f"maximum size for tensor at dimension {dim} is {available} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    stride = self.strides[dim] if ndim else 1
    if not ndim:
        return Geometry((size,), (1,), self.offset)
    return Geometry(
        (*_replace(self.shape, dim, (available - size) // step + 1), size),
        (*_replace(self.strides, dim, stride * step), stride),
        self.offset,
    )


@unfold.batches
def _unfold_of_batch(args, level):
    """An example without dimensions gets one, and its windows lose their last if it has size one
    (ATen/functorch/BatchRulesViews.cpp)."""
    batch, dim, size, step = args
    value, rank = fronted(batch, level), batch._raw.ndim
    windows = unfold(value if rank else value.unsqueeze(1), wrap_dim(dim, rank) + 1, size, step)
    return hide(windows if rank else windows.squeeze(-1), level)


@operator(function=False, method=False, batching="fallback")
def unfold_backward(grad_in: Array, input_sizes, dim, size, step) -> Array:
    result = np.zeros(input_sizes, grad_in.dtype)
    windows = array_ops.unfold(result, dim, size, step)
    # One position of the windows at a time, so that elements in several windows add up; from the
    # last position to the first, so that they are added in the order of the windows.
    for i in reversed(range(size)):
        windows[..., i] += grad_in[..., i]
    return result


unfold.gradient(self="F.unfold_backward(grad, self_shape, dimension, size, step)")
unfold_backward.gradient(grad_in=lambda F, grad, dim, size, step: F.unfold(grad, dim, size, step))
unfold_backward.forward("linear")


for _op in (select_backward, slice_backward):
    _op.on_large_meta(of_sizes)
