"""Copying variants of view operators: expand_copy, view_copy, unbind_copy and others.

Each is a primitive in torch, with the formulas of its view and a separate node, such as
`ExpandBackward0_copy`. The results are row-major.
"""

from __future__ import annotations

import contextlib
import functools
import inspect

import numpy as np

from impl.core import inference_mode, messages
from impl.core.dims import wrap_dim
from impl.core.dtypes import dtype
from impl.core.grad_mode import no_grad
from impl.core.memory_formats import contiguous_format
from impl.core.meta_arrays import row_major_copy
from impl.core.registry import OPERATORS, array_ops, tensor_ops
from impl.core.sizes import negative_size, sizes_of
from impl.dispatch.batching_rules import RULES, in_aten
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.facts import NoComplex
from impl.dispatch.not_implemented import no_derivative
from impl.dispatch.out import check_out, store_resized
from impl.dispatch.record import store_underived
from impl.dispatch.view_operator import ViewOperator
from impl.operators.views import expansion, shape, slicing, splitting, transposition
from impl.operators.views.as_strided import alias_, as_strided
from impl.tensor.geometry import geometry, of_pairs
from impl.tensor.tensor import Tensor, new
from impl.tensor.write import resize


class ViewCopy(ViewOperator):
    """A primitive whose results are copies of the views of its first argument."""

    fast_path = None
    has_one_gradient = False

    def __init__(self, view: ViewOperator, batching: str = "dims") -> None:
        super().__init__(
            view.geometry,
            f"{view.node_name}_copy",
            view.multiple,
            saved_as=view.saved_as,
            writes=1,
            batching=batching,
        )
        self.name = f"{view.name}_copy"
        self.bounded = view.bounded
        self.gradient(**{name: formula for (name,), formula, _ in view.formulas})
        OPERATORS[self.name] = self

    def views(self, tensor: Tensor, args) -> list[Tensor]:
        copies = [new(row_major_copy(v._raw)) for v in super().views(tensor, args)]
        if tensor._inference:
            inference_mode.count_making(self, (tensor, *args), copies)
        return copies


class _CopyOfView(ViewCopy):
    """One that a batch is given as a copy of the view's batch, row-major for each example."""

    def __init__(self, view: ViewOperator) -> None:
        super().__init__(view)
        self.view = view
        self.batches(self._of_batch)

    def _of_batch(self, args, level):
        return self.view(*args).clone(memory_format=contiguous_format)


class _SqueezeCopy(_CopyOfView):
    """`squeeze_copy`, in which the mapped dimension of a batch stays in its place."""

    def _of_batch(self, args, level):
        batch = self.view(*args)
        return batch._over(batch._value.clone(memory_format=contiguous_format))


class _Reshape(ViewCopy):
    """`view_copy`, which copies the elements first where the sizes make no view."""

    def views(self, tensor: Tensor, args) -> list[Tensor]:
        if not tensor.is_contiguous():
            tensor = new(np.array(tensor._raw, order="C"))
        return super().views(tensor, args)


def _published(copies):
    """Publish a function of the torch namespace, with an `out=` that must have the same dtype.

    For an operator of several results `out=` is a sequence; the function then returns None and is
    not recorded. Raises RuntimeError for another number of tensors, and as `_store` does.
    """
    name = copies.__name__
    first = next(iter(inspect.signature(copies).parameters))

    @functools.wraps(copies)
    def call(*args, out=None, **named):
        if out is None:
            return copies(*args, **named)
        if name in _OVERLOADS:
            if name == "unbind_copy":  # the only one of these that refuses what requires grad
                for part in out:
                    check_out(name, part, False)
            with no_grad():
                _store_several(name, out, copies(*args, **named))
            return None
        input, compute = args[0] if args else named[first], lambda: copies(*args, **named)
        return store_underived(f"aten::{name}", (input,), out, compute, store_resized)

    return function(method=False)(call)


_OVERLOADS = {"split_with_sizes_copy": "out", "unbind_copy": "int_out", "split_copy": "out"}


def _store_several(name: str, out, results: tuple[Tensor, ...]) -> None:
    """Store copies in the tensors of `out`."""
    if len(out) != len(results):
        raise RuntimeError(
            f"{name}_{_OVERLOADS[name]} expected an out= argument of size {len(results)}, got "
            f"size {len(out)}"
        )
    for one, result in zip(out, results, strict=True):
        if name == "split_copy":  # which resizes nothing
            one.copy_(result)
            continue
        if one._raw.shape != result._raw.shape:
            inference_mode.count(one)
        store_resized(name, one, result)


_alias, _as_strided = _CopyOfView(alias_), _CopyOfView(as_strided)
_expand, _permute = _CopyOfView(expansion.expand_), _CopyOfView(transposition.permute_)
_split, _split_with_sizes = ViewCopy(splitting.split_equal), ViewCopy(splitting.split_with_sizes_)
_squeeze_all, _squeeze_dim = _SqueezeCopy(shape.squeeze_all), _SqueezeCopy(shape.squeeze_dim)
_squeeze_dims, _unsqueeze = _SqueezeCopy(shape.squeeze_dims), _CopyOfView(shape.unsqueeze)
_select, _slice = ViewCopy(slicing.select, "fallback"), ViewCopy(slicing.slice_, "fallback")
_t, _transpose = _CopyOfView(transposition.t), _CopyOfView(transposition.transpose)
_unbind, _unfold = ViewCopy(splitting.unbind), ViewCopy(slicing.unfold)
_view = _Reshape(shape.view_)


@_published
def alias_copy(input):
    """A copy of all elements (torch.alias_copy)."""
    return _alias(input)


@_published
def as_strided_copy(input, size, stride, storage_offset=None):
    """A copy of `as_strided` (torch.as_strided_copy)."""
    if 0 in size and min(size) < 0:
        with contextlib.suppress(NotImplementedError):  # torch makes that view, but no copy of it
            as_strided.geometry(geometry(input), tuple(size), tuple(stride), storage_offset)
        raise negative_size(size)
    return _as_strided(input, tuple(size), tuple(stride), storage_offset)


@_published
def expand_copy(input, size, *, implicit=False):
    """A copy of `expand` (torch.expand_copy). Raises RuntimeError for sizes that do not fit."""
    sizes = sizes_of((size,))
    expansion.check_dims(input, sizes)
    return _expand(input, sizes)


@_published
def permute_copy(input, dims):
    """A copy of `permute` (torch.permute_copy)."""
    return _permute(input, sizes_of((dims,)))


@_published
def select_copy(input, dim, index):
    """A copy of `select` (torch.select_copy)."""
    return _select(input, dim, index)


@_published
def slice_copy(input, dim=0, start=None, end=None, step=1):
    """A copy of a slice of one dimension (torch.slice_copy)."""
    return _slice(input, dim, start, end, step)


@_published
@RULES["no_rule"]
@in_aten("split_copy.Tensor")
def split_copy(tensor, split_size, dim=0):
    """Copies of `split` (torch.split_copy)."""
    return _split(tensor, split_size, dim)


@_published
def split_with_sizes_copy(input, split_sizes, dim=0):
    """Copies of `split_with_sizes` (torch.split_with_sizes_copy)."""
    return _split_with_sizes(input, tuple(split_sizes), dim)


@_published
def squeeze_copy(input, dim=None):
    """A copy of `squeeze` (torch.squeeze_copy)."""
    if dim is None:
        return _squeeze_all(input)
    if isinstance(dim, (tuple, list)):
        return _squeeze_dims(input, tuple(dim))
    return _squeeze_dim(input, dim)


@_published
def t_copy(input):
    """A copy of `t` (torch.t_copy). Raises RuntimeError for more than two dimensions."""
    return _t(input)


@_published
def transpose_copy(input, dim0, dim1):
    """A copy of `transpose` (torch.transpose_copy)."""
    return _transpose(input, dim0, dim1)


@_published
def unbind_copy(input, dim=0):
    """Copies of the slices along a dimension, a tuple (torch.unbind_copy)."""
    return _unbind(input, dim)


@_published
def unfold_copy(input, dimension, size, step):
    """A copy of all windows along a dimension (torch.unfold_copy)."""
    return _unfold(input, dimension, size, step)


@_published
def unsqueeze_copy(input, dim):
    """A copy of `unsqueeze` (torch.unsqueeze_copy)."""
    return _unsqueeze(input, dim)


@_published
def view_copy(input, size):
    """A copy with other sizes, or of the memory as another dtype (torch.view_copy). Raises
    RuntimeError when they do not fit."""
    if isinstance(size, dtype):
        return input.view(size).clone(memory_format=contiguous_format)
    return _view(input, sizes_of((size,)))


@operator(out=True, batching="dims")
def narrow_copy(self: Array, dim, start, length) -> Array:
    """A copy of `narrow` (torch.narrow_copy). Raises RuntimeError for elements that do not exist,
    IndexError for a dimension or a start out of range."""
    if self.ndim and dim >= self.ndim:
        raise RuntimeError(messages.expected("dim < static_cast<int64_t>(self_sizes.size())"))
    if self.ndim and length < 0:
        size = self.shape[wrap_dim(dim, self.ndim)]
        if not -size <= start <= size:
            raise IndexError(
                f"start out of range (expected to be in range of [{-size}, {size}], but got "
                f"{start})"
            )
        start = start + size if start < 0 else start
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return np.array(array_ops.narrow(self, dim, start, length), order="C")


def _check_narrow_out(out, self, dim, start, length) -> None:
    if not self.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if out != self.dtype:
        raise RuntimeError(messages.expected("self.dtype() == output.dtype()"))


narrow_copy.checks_out(_check_narrow_out, first=True)


@functools.partial(narrow_copy.prepares_out, late=True)
def _resize_silently(out, self, dim, start, length):
    resize(out, np.shape(narrow_copy.kernel(self, dim, start, length)))
    return [self, dim, start, length]


narrow_copy.gradient(self="F.slice_backward(grad, self_shape, dim, start, start + length, 1)")
narrow_copy.forward("linear")


@operator(node="NotImplemented", method=False, batching="fallback")
def detach_copy(self: Array) -> Array:
    """A copy; recorded, but its backward raises, as in torch (torch.detach_copy)."""
    return np.array(self)


detach_copy.gradients("self")(no_derivative("detach_copy"))
_published(tensor_ops.detach_copy)


@operator(node="ViewAsRealBackward0_copy", method=False, batching="fallback")
def view_as_real_copy(self: Array) -> Array:
    """Complex numbers as pairs of real ones, copied (torch.view_as_real_copy)."""
    if self.dtype.kind != "c":
        raise TypeError("view_as_real is only supported for complex tensors")
    return np.stack([self.real, self.imag], -1)


view_as_real_copy.gradient(self=lambda F, grad: F.view_as_complex(F.contiguous(grad)))
_published(tensor_ops.view_as_real_copy)


@operator(
    node="ViewAsComplexBackward0_copy",
    torch_name="view_as_complex_copy",
    function=False,
    method=False,
    complex=NoComplex(derivative="view_as_complex_copy"),
    batching="fallback",
)
def _pairs_as_complex(self: Array) -> Array:
    return np.array(array_ops.view_as_complex(np.ascontiguousarray(self)))


_pairs_as_complex.gradient(self=lambda F, grad: F.view_as_real(F.contiguous(grad)))


@_published
def view_as_complex_copy(input):
    """Pairs of real numbers as complex ones, copied (torch.view_as_complex_copy); its backward
    raises, as in torch. Errors as `view_as_complex`."""
    of_pairs(input)
    return _pairs_as_complex(input)
