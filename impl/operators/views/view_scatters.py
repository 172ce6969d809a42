"""Copies of a tensor with one part written: select_scatter and its relatives.

The copy lies in memory as the tensor does: the whole memory is copied.
"""

from __future__ import annotations

import numpy as np

from impl.core import inference_mode, messages
from impl.core.dims import wrap_dim
from impl.core.registry import array_ops, tensor_ops
from impl.core.state import STATE
from impl.core.storage import address, owner_of
from impl.core.strides import element_strides, extent, has_zero_strides, may_overlap, strided
from impl.core.warning import warn_once
from impl.dispatch import forward_rules
from impl.dispatch.definition import FUNCTIONS, Array, operator, written
from impl.dispatch.facts import NoComplex, SavedAs
from impl.dispatch.operator import Operator
from impl.dispatch.out import store_resized
from impl.dispatch.record import underived_out
from impl.dispatch.vmap_rules import along
from impl.kernels.casting import converted, discards
from impl.operators.views.as_strided import as_strided
from impl.tensor.aliases import alias, on_copied_memory
from impl.tensor.batched_tensor import innermost
from impl.tensor.geometry import check_bounds, geometry
from impl.tensor.lazy_conj import LazyConjTensor
from impl.tensor.memory_overlap import check_overlap
from impl.tensor.tensor import Tensor, new, requires_grad

_NOT_CONTIGUOUS = messages.internal_assert(
    "!self.requires_grad() || self.is_contiguous()",
    "aten/src/ATen/native/TensorShape.cpp",
    4747,
    "as_strided_scatter is currently only supported for contiguous inputs",
)


def _with_its_memory(tensor: Tensor) -> Tensor:
    """A copy with the strides and the offset of a tensor, over a copy of the memory around it.

    Where elements share memory, and for a pending conjugate, only the elements are copied.
    """
    if isinstance(tensor, LazyConjTensor) or has_zero_strides(tensor._raw.shape, tensor.stride()):
        return new(np.array(tensor._raw, order="C"))
    return on_copied_memory(tensor)


def _check_fits(part, src) -> None:
    if part.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(part.shape)}"
        )


def _written_in_clone(self, src, view, *place):
    """The composition of a kernel: it clones the whole memory, of which the result is a view, and
    copies `src` to a view of that."""
    if isinstance(self, LazyConjTensor) or has_zero_strides(self._raw.shape, self.stride()):
        result = self.clone()
    else:
        count = self.untyped_storage().nbytes() // self.element_size()
        memory = self.as_strided((count,), (1,), 0).clone()
        result = memory.as_strided(self._raw.shape, self.stride(), self._offset)
    part = view(result, *place)
    _check_fits(part, src)
    part.copy_(src)
    return result


class _Scatter(Operator):
    """A primitive whose result, and its gradient, lie in memory as the first argument does."""

    fast_path = None

    def __init__(self, *args, **settings) -> None:
        super().__init__(*args, **settings)
        self.node_class._keeps_memory = True

    def _output(self, raw, raws, strided: bool, args) -> Tensor:
        result = _with_its_memory(args[0])
        result._array()[...] = raw
        return result


def _scattered(self, src, view, *place):
    """A copy in which the view at this place is `src`."""
    result = _copied(self)
    part = view(result, *place)
    _check_fits(part, src)
    part[...] = _cast(src, self.dtype)
    return result


def _copied(value):
    """A copy of an array, whose elements share memory where those of the array do; row-major where
    one element stands for several along a dimension (ATen's clone_preserve_strides)."""
    strides = element_strides(value)
    if has_zero_strides(value.shape, strides):
        return np.array(value, order="C")
    if not may_overlap(value.shape, strides):
        return np.array(value, order="K")
    result = strided(np.empty(extent(value.shape, strides), value.dtype), value.shape, strides, 0)
    result[...] = value
    return result


def _cast(src, dtype):
    """`src` in another dtype, with a warning if that discards imaginary parts."""
    if discards(src.dtype, dtype):
        warn_once(messages.DISCARDED)
    return converted(src, dtype)


@operator(
    kind=_Scatter,
    out=True,
    complex=NoComplex(derivative="select_scatter"),
    saved_as=SavedAs(parts=()),
)
def select_scatter(self: Array, src: Array, dim, index) -> Array:
    """A copy in which `select(dim, index)` is `src` (torch.select_scatter)."""
    return _scattered(self, src, array_ops.select, dim, index)


@select_scatter.composes
def _selection_in_clone(self, src, *place):
    return _written_in_clone(self, src, Tensor.select, *place)


@select_scatter.batches
def _select_scatter_of_batch(args, level):
    """`scatter` (ATen/functorch/BatchRulesScatterOps.cpp), whose result is row-major."""
    input, src, dim, index = args
    shape = input._raw.shape
    place = new(np.int64(wrap_dim(index, shape[dim])))
    return input.scatter(dim, place.expand(shape), src.unsqueeze(dim).expand(shape))


select_scatter.gradient(
    self=lambda F, grad, src_shape, src_dtype, dim, index: F.select_scatter(
        grad, F.zeros(src_shape, src_dtype), dim, index
    ),
    src=lambda F, grad, dim, index: F.select(grad, dim, index),
)
select_scatter.forward("linear")


@operator(
    kind=_Scatter,
    out=True,
    complex=NoComplex(derivative="slice_scatter"),
    saved_as=SavedAs(parts=()),
)
def slice_scatter(self: Array, src: Array, dim=0, start=None, end=None, step=1) -> Array:
    """A copy in which a slice is `src` (torch.slice_scatter)."""
    return _scattered(self, src, array_ops.slice, dim, start, end, step)


@slice_scatter.composes
def _slice_in_clone(self, src, *place):
    return _written_in_clone(self, src, tensor_ops.slice, *place)


@slice_scatter.batches
def _slice_scatter_of_batch(args, level):
    """`scatter`, as `select_scatter`."""
    input, src, dim, start, end, step = args
    stop = input._raw.shape[dim] if end is None else end
    places = FUNCTIONS["arange"](start or 0, stop, step)
    return input.scatter(dim, along(places, dim, input), src)


slice_scatter.gradient(
    self=lambda F, grad, src_shape, src_dtype, dim, start, end, step: F.slice_scatter(
        grad, F.zeros(src_shape, src_dtype), dim, start, end, step
    ),
    src=lambda F, grad, dim, start, end, step: F.slice(grad, dim, start, end, step),
)
slice_scatter.forward("linear")
FUNCTIONS["slice_scatter"] = underived_out("aten::slice_scatter", store_resized)(
    FUNCTIONS["slice_scatter"]
)


@operator(kind=_Scatter, out=True, saved_as=SavedAs(parts=()), batching="dims")
def diagonal_scatter(self: Array, src: Array, offset=0, dim1=0, dim2=1) -> Array:
    """A copy in which a diagonal is `src` (torch.diagonal_scatter)."""
    return _scattered(self, src, array_ops.diagonal, offset, dim1, dim2)


@diagonal_scatter.composes
def _diagonal_in_clone(self, src, *place):
    return _written_in_clone(self, src, Tensor.diagonal, *place)


diagonal_scatter.gradient(
    self=lambda F, grad, src_shape, src_dtype, offset, dim1, dim2: F.diagonal_scatter(
        grad, F.zeros(src_shape, src_dtype), offset, dim1, dim2
    ),
    src=lambda F, grad, offset, dim1, dim2: F.diagonal(grad, offset, dim1, dim2),
)
diagonal_scatter.forward("linear")


class _AsStridedScatter(Operator):
    """Writes by a geometry in the whole memory, which a kernel does not see."""

    fast_path = None

    def slow_path(self, input, src, size, stride, storage_offset=None):
        args = (input, src, tuple(size), tuple(stride), storage_offset)
        if STATE.batched and (batch := innermost((input, src))) is not None:
            return batch._applied(self, args)
        mask = self.grad_input_mask(args)
        if requires_grad(input) and not input.is_contiguous():
            raise RuntimeError(_NOT_CONTIGUOUS)
        composed = inference_mode.composed(self, args)
        if composed is not NotImplemented:
            return composed
        result = _with_its_memory(input)
        target = as_strided.geometry(geometry(result), *args[2:])
        check_bounds(result, target)
        part = alias(result, target)
        _check_fits(part, src)
        check_overlap(part)
        part._array()[...] = src._raw
        if mask:
            self.record(args, (result,), mask)
        forward_rules.propagate(self, args, (result,))
        return result


@operator(kind=_AsStridedScatter, method=True, saved_as=SavedAs(parts=()))
def as_strided_scatter(self: Array, src: Array, size, stride, storage_offset=None) -> Array:
    """A copy in which `as_strided(size, stride, storage_offset)` is `src`
    (torch.as_strided_scatter).

    Raises RuntimeError for a `src` of other sizes, and for one outside the memory.
    """
    memory = np.array(self, order="C").reshape(-1)
    strided(memory, size, stride, storage_offset or 0)[...] = _cast(src, self.dtype)
    return memory.reshape(self.shape)


def _part_raw(grad, size, stride, storage_offset):
    """`as_strided` of a gradient made contiguous, whose memory may begin before it does."""
    array = np.ascontiguousarray(grad)
    memory, start, owner = array.reshape(-1), 0, owner_of(array)
    if isinstance(owner, np.ndarray) and owner.dtype == array.dtype and owner.flags.c_contiguous:
        memory = np.asarray(owner).reshape(-1)
        start = (address(array) - address(owner)) // array.itemsize
    return strided(memory, size, stride, start if storage_offset is None else storage_offset)


@as_strided_scatter.composes
def _geometry_in_clone(self, src, *place):
    return _written_in_clone(self, src, Tensor.as_strided, *place)


@as_strided_scatter.batches
def _refuse_batch(args, level):
    raise RuntimeError(
        "Error: aten::as_strided_scatter requires special handling, and does not yet have a "
        "batching rule. Feel free to file a github issue!"
    )


def _kept_raw(grad, layout, size, stride, storage_offset):
    shape, strides, offset = layout
    memory = np.zeros(offset + extent(shape, strides), grad.dtype)
    first = offset if storage_offset is None else storage_offset
    strided(memory, size, stride, first)[...] = _part_raw(grad, size, stride, storage_offset)
    return strided(memory, shape, strides, offset)


def _kept_taped(grad, layout, size, stride, storage_offset):
    shape, strides, offset = layout
    memory = tensor_ops.new_zeros(grad, (offset + extent(shape, strides),))
    first = offset if storage_offset is None else storage_offset
    part = tensor_ops.as_strided(grad.contiguous(), size, stride, storage_offset)
    tensor_ops.as_strided(memory, size, stride, first).copy_(part)
    return tensor_ops.as_strided(memory, shape, strides, offset)


# The gradient of `self` is the one that torch gives: the cotangent where `src` was written, else
# zeros.
array_ops.kept_of_strided, tensor_ops.kept_of_strided = _kept_raw, _kept_taped
array_ops.part_of_strided = _part_raw
tensor_ops.part_of_strided = lambda grad, size, stride, storage_offset: tensor_ops.as_strided(
    grad.contiguous(), size, stride, storage_offset
)
as_strided_scatter.gradient(
    self=written(
        lambda F, grad, self_layout, size, stride, storage_offset: F.kept_of_strided(
            grad, self_layout, size, stride, storage_offset
        )
    ),
    src="F.part_of_strided(grad, size, stride, storage_offset)",
)
as_strided_scatter.forward("linear")
