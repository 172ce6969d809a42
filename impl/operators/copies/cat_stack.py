"""Concatenation and stacking (cat, stack, hstack, …), and broadcasting to a common shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core.dims import wrap_dim
from impl.core.dtypes import BY_NUMPY, result_dtype
from impl.core.memory_formats import contiguous_format, formatted, suggested_by
from impl.core.meta_arrays import is_meta, meta_strided
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.core.sizes import broadcast_shapes
from impl.core.tensor_lists import require_tensors
from impl.core.warning import warn_once
from impl.dispatch.definition import Array, function, native, operator
from impl.dispatch.out import fit, refuse_links
from impl.dispatch.vmap_rules import ensured, hide
from impl.tensor import memory_overlap
from impl.tensor.formatting import tensor_text
from impl.tensor.tensor import Tensor


def _is_legacy_empty(shape) -> bool:
    """Whether cat skips the tensor: a 1-d tensor without elements fits tensors of any shape."""
    return shape == (0,)


@operator(
    function=False,
    method=False,
    node="CatBackward0",
    fresh=True,
    lays_out=True,
    autocast="promote",
    takes_real_part=True,
)
def cat(tensors: list[Array], dim=0) -> Array:
    _refuse_scalars(tensors)
    d = result_dtype(tensors).numpy
    solid = [(i, t) for i, t in enumerate(tensors) if not _is_legacy_empty(t.shape)]
    if not solid:  # ATen does not look at the dimension
        return np.empty(0, d)
    first = solid[0][1].shape
    dim = wrap_dim(dim, len(first))
    for i, t in solid:
        _check_joins(first, t.shape, dim, i)
    return _joined([t for _, t in solid], dim, d)


def _refuse_scalars(tensors) -> None:
    for i, t in enumerate(tensors):
        if not t.shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")


def _joined(arrays, dim: int, dtype):
    """Arrays joined; the memory format (channels last) is kept if it is the same for all."""
    joined: Any = np.concatenate([a.astype(dtype, copy=False) for a in arrays], dim)
    formats = {suggested_by(a) for a in arrays}
    format = formats.pop() if len(formats) == 1 else contiguous_format
    return (
        meta_strided(joined.shape, joined.dtype, format.strides(joined.shape))
        if is_meta(joined)
        else formatted(joined, format)
    )


def _check_joins(first, shape, dim: int, number: int) -> None:
    if len(shape) != len(first):
        raise RuntimeError(
            f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
        )
    for a, b in zip(first[:dim] + first[dim + 1 :], shape[:dim] + shape[dim + 1 :], strict=True):
        if a != b:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but "
                f"got size {b} for tensor number {number} in the list."
            )


def _cat_gradient(F, grad, tensors_shape, tensors_dtype, dim):
    if not all(map(_is_legacy_empty, tensors_shape)):
        dim = wrap_dim(dim, grad.ndim)
    result, start = [], 0
    for shape, dtype in zip(tensors_shape, tensors_dtype, strict=True):
        if _is_legacy_empty(shape):
            result.append(F.zeros(shape, dtype))
            continue
        whole = F.real_part(grad) if F.is_complex(grad) and dtype.kind != "c" else grad
        result.append(F.slice(whole, dim, start, start + shape[dim], 1))
        start += shape[dim]
    return result


@cat.batches
def _cat_of_batch(args, level):
    tensors, dim = args
    rank = max(t._raw.ndim for t in tensors)
    whole = [ensured(t, level) for t in tensors if not _is_legacy_empty(t._raw.shape)]
    return hide(cat(whole or [ensured(tensors[0], level)], wrap_dim(dim, rank) + 1), level)


cat.gradient(tensors=_cat_gradient)
cat.forward("linear")


def _tensor_list(name: str, tensors) -> list[Tensor]:
    if isinstance(tensors, Tensor):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor"
        )
    tensors = list(tensors)
    require_tensors(tensors)
    return tensors


@cat.checks_out
def _check_out(out, tensors, dim) -> None:
    """Raise TypeError for an `out=` to whose dtype the tensors cannot be cast."""
    if BY_NUMPY[out].category < result_dtype(tensors).category:
        raise TypeError(
            "torch.cat(): input types can't be cast to the desired output type "
            f"{BY_NUMPY[out].legacy}"
        )


def _check_joined_out(out: Tensor, items: list[Tensor], dim: int) -> None:
    """Raise RuntimeError for an `out=` that shares memory with a tensor, after it is resized."""
    raws = [item._raw for item in items]
    _refuse_scalars(raws)
    if not out.is_meta and any(item._storage.buffer is out._storage.buffer for item in items):
        shape = np.shape(cat.kernel(raws, dim))
        _check_out(out._raw.dtype, raws, dim)
        fit(out, shape)
    memory_overlap.check_memory(out, items, True, disjoint=True)


def _published_cat(name: str):
    def joined(tensors, dim=0, *, out=None):
        items = _tensor_list(name, tensors)
        if not items:
            raise ValueError("torch.cat(): expected a non-empty list of Tensors")
        if out is not None:
            if isinstance(out, Tensor):
                refuse_links("cat", items, out)
                _check_joined_out(out, items, dim)
            return cat.call_out(out, (items, dim))
        return cat(items, dim)

    joined.__name__ = name
    joined.__doc__ = f"Tensors joined along an existing dimension (torch.{name})."
    return function(name, method=False)(joined)


for _name in ("cat", "concat", "concatenate"):
    _published_cat(_name)


@operator(
    function=False,
    method=False,
    fresh=True,
    node="StackBackward0",
    autocast="promote",
    takes_real_part=True,
)
def stack(tensors: list[Array], dim=0) -> Array:
    shape = _stacked(tensors, dim)
    d = result_dtype(tensors).numpy
    dim = wrap_dim(dim, len(shape))
    if dim == len(shape) - 1:
        return np.ascontiguousarray(np.stack([t.astype(d, copy=False) for t in tensors], dim))
    # Joined along the dimension that is divided, as in ATen.
    return _joined(tensors, dim, d).reshape(shape)


def _stacked(tensors, dim: int) -> tuple[int, ...]:
    """The shape of the result. Raises RuntimeError when the shapes differ, IndexError for a
    dimension out of range."""
    first = tensors[0].shape
    dim = wrap_dim(dim, len(first) + 1)
    for i, t in enumerate(tensors):
        if t.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 "
                f"and {list(t.shape)} at entry {i}"
            )
    return (*first[:dim], len(tensors), *first[dim:])


stack.checks_out(_check_out)


@stack.composes
def _joined_in_view(tensors, dim):
    shape = _stacked([t._raw for t in tensors], dim)
    dim = wrap_dim(dim, len(shape))
    return NotImplemented if dim == len(shape) - 1 else cat(tensors, dim).view(shape)


@stack.batches
def _stack_of_batch(args, level):
    tensors, dim = args
    place = wrap_dim(dim, tensors[0]._raw.ndim + 1) + 1
    return hide(stack([ensured(t, level) for t in tensors], place), level)


stack.gradient(
    tensors=lambda F, grad, tensors_shape, dim: [
        F.select(grad, dim, i) for i in range(len(tensors_shape))
    ]
)
stack.forward("linear")


@function("stack", method=False)
def stack_(tensors, dim=0, *, out=None):
    """Tensors of one shape joined along a new dimension (torch.stack).

    Raises RuntimeError when the shapes differ, IndexError for a dimension out of range.
    """
    items = _tensor_list("stack", tensors)
    if not items:
        raise RuntimeError("stack expects a non-empty TensorList")
    if out is None:
        return stack(items, dim)
    if isinstance(out, Tensor):
        refuse_links("stack", items, out)
        raws = [item._raw for item in items]
        shape = _stacked(raws, dim)
        if wrap_dim(dim, len(shape)) == len(shape) - 1:  # of which ATen has a kernel of its own
            _check_out(out._raw.dtype, raws, dim)
        fit(out, shape)
        memory_overlap.check_memory(out, items, True, disjoint=True)
    return stack.call_out(out, (items, dim))


def _at_least(tensor: Tensor, ndim: int) -> Tensor:
    if tensor._raw.ndim >= ndim:
        return tensor
    if tensor._raw.ndim == 0:
        return tensor_ops.reshape(tensor, (1,) * ndim)
    return tensor_ops.unsqueeze(tensor, 0)


@function("hstack", method=False)
def hstack(tensors, *, out=None):
    """Tensors joined along the second dimension, or the first if 1-d (torch.hstack)."""
    items = [_at_least(t, 1) for t in _tensor_list("hstack", tensors)]
    if not items:
        raise RuntimeError("hstack expects a non-empty TensorList")
    return FUNCTIONS["cat"](items, 0 if items[0]._raw.ndim == 1 else 1, out=out)


@function("row_stack", method=False)
@function("vstack", method=False)
def vstack(tensors, *, out=None):
    """Tensors joined as rows (torch.vstack, torch.row_stack)."""
    items = [_at_least(t, 2) for t in _tensor_list("vstack", tensors)]
    if not items:
        raise RuntimeError("vstack expects a non-empty TensorList")
    return FUNCTIONS["cat"](items, 0, out=out)


@function("dstack", method=False)
def dstack(tensors, *, out=None):
    """Tensors joined along the third dimension (torch.dstack)."""
    items = [atleast_3d(t) for t in _tensor_list("dstack", tensors)]
    if not items:
        raise RuntimeError("dstack expects a non-empty TensorList")
    return FUNCTIONS["cat"](items, 2, out=out)


@function("column_stack", method=False)
def column_stack(tensors, *, out=None):
    """Vectors as columns of a matrix, matrices side by side (torch.column_stack)."""
    items = [
        tensor_ops.reshape(t, (t._raw.size, 1)) if t._raw.ndim <= 1 else t
        for t in _tensor_list("column_stack", tensors)
    ]
    if not items:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    return hstack(items, out=out)


def _each(of, tensors):
    """The function of a tensor, or of each in a list."""
    return of(tensors) if isinstance(tensors, Tensor) else tuple(map(of, tensors))


@native()
def atleast_1d(tensors):
    """Tensors with one dimension at least."""
    return _each(lambda t: _at_least(t, 1), tensors)


@native()
def atleast_2d(tensors):
    """Tensors with two dimensions at least, vectors as rows."""
    return _each(lambda t: _at_least(t, 2), tensors)


@native()
def atleast_3d(tensors):
    """Tensors with three dimensions at least."""

    def of(t):
        if t._raw.ndim == 0:
            return tensor_ops.reshape(t, (1, 1, 1))
        if t._raw.ndim == 1:
            t = tensor_ops.unsqueeze(t, 0)
        return tensor_ops.unsqueeze(t, -1) if t._raw.ndim == 2 else t

    return _each(of, tensors)


@native()
def broadcast_tensors(tensors):
    """All tensors expanded to their common shape."""
    shape = broadcast_shapes(*(t._raw.shape for t in tensors))
    return tuple(t if t._raw.shape == shape else tensor_ops.expand(t, shape) for t in tensors)


@native()
def meshgrid(tensors, *, indexing=None):
    """Grids of coordinates: every 1-d tensor expanded along the others."""
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument.",
        )
    _check_coordinates(tensors, indexing)
    if indexing == "xy" and len(tensors) >= 2:
        second, first, *rest = _grids([tensors[1], tensors[0], *tensors[2:]])
        return (first, second, *rest)
    return tuple(_grids(tensors))


def _check_coordinates(tensors, indexing) -> None:
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if len({tensor.dtype for tensor in tensors}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    for tensor in tensors:
        if tensor._raw.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                + tensor_text(tensor._raw)
            )


def _grids(tensors) -> list[Tensor]:
    shape = tuple(t._raw.size for t in tensors)
    grids = []
    for i, t in enumerate(tensors):
        view = tensor_ops.view(t, (1,) * i + (-1,) + (1,) * (len(tensors) - i - 1))
        grids.append(tensor_ops.expand(view, shape))
    return grids


stack.on_large_meta(lambda tensors, dim=0: np.stack(tensors, dim))
