"""Shapes: the same elements seen with other sizes, or in another order of dimensions."""

from __future__ import annotations

import warnings

from impl import inplace, views
from impl.dimensions import wrap_dim
from impl.operator import RAW, TAPED, function
from impl.sizes import infer_size, restride, sizes_of
from impl.storage import is_contiguous
from impl.tensor import Tensor, requires_grad
from impl.views import Geometry

# -- other sizes ------------------------------------------------------------------------------


@views.view(node="ViewBackward0", function=False, method=False)
def view_(self: Geometry, size) -> Geometry:
    shape = infer_size(size, _count(self.shape))
    strides = restride(self.shape, self.strides, shape)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return Geometry(shape, strides, self.offset)


view_.gradient(self=lambda F, grad, self_shape: F.reshape(grad, self_shape))


@views.view(node="ReshapeAliasBackward0", function=False, method=False)
def reshape_alias(self: Geometry, size, stride) -> Geometry:
    return Geometry(tuple(size), tuple(stride), self.offset)


reshape_alias.gradient(self=lambda F, grad, self_shape: F.reshape(grad, self_shape))


def _unsafe_view(tensor: Tensor, shape) -> Tensor:
    """A view of a tensor that nobody else has: not related to it, so it counts as a copy."""
    target = view_.geometry(views.geometry(tensor), shape)
    result = views.alias(tensor, target)
    if tensor._node is not None:
        result._node = unsafe_view.node((tensor, shape), (result,), 1, (views.gradient_edge(tensor),))
    return result


@views.view(node="UnsafeViewBackward0", function=False, method=False)
def unsafe_view(self: Geometry, size) -> Geometry:
    return view_.geometry(self, size)


unsafe_view.gradient(self=lambda F, grad, self_shape: F.reshape(grad, self_shape))


def _count(shape) -> int:
    n = 1
    for size in shape:
        n *= size
    return n


@function("view", torch=False)
def view(self, *shape, size=None, dtype=None):
    """A view with other sizes, one of which may be -1 (torch.Tensor.view).

    Raises RuntimeError when the sizes do not fit or the strides do not allow it.
    """
    if shape and not isinstance(shape[0], (tuple, list)) and hasattr(shape[0], "numpy"):
        if not isinstance(shape[0], Tensor):
            dtype = shape[0]
    if dtype is not None:
        return views.reinterpret(self, dtype)
    return TAPED.view(self, sizes_of(shape if size is None else (size,)))


def _reshape(self: Tensor, shape) -> Tensor:
    if self._strides is None or is_contiguous(self._raw.shape, self._strides):
        return TAPED.view(self, shape)
    shape = infer_size(shape, self._raw.size)
    strides = restride(self._raw.shape, self._strides, shape)
    if strides is not None:
        return TAPED.reshape_alias(self, shape, strides)
    from impl.operators.copies import contiguous_format

    return _unsafe_view(self.clone(memory_format=contiguous_format), shape)


TAPED.reshape = _reshape
RAW.reshape = lambda value, shape: value.reshape(infer_size(shape, value.size))


@function("reshape")
def reshape(input, *shape, **named):
    """A view with other sizes where the strides allow it, else a copy (torch.reshape)."""
    return _reshape(input, sizes_of(shape or (named.get("shape"),)))


@function("view_as", torch=False)
def view_as(self, other):
    """`self.view(other.size())` (torch.Tensor.view_as)."""
    return TAPED.view(self, other._raw.shape)


@function("reshape_as", torch=False)
def reshape_as(self, other):
    """`self.reshape(other.size())` (torch.Tensor.reshape_as)."""
    return _reshape(self, other._raw.shape)


@function("flatten")
def flatten(input, start_dim=0, end_dim=-1):
    """Dimensions start_dim to end_dim made one; the tensor itself if that changes nothing.

    Raises IndexError for dimensions out of range, RuntimeError when they are in the wrong order.
    """
    shape = input._raw.shape
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return _reshape(input, (1,))
    if start == end:
        return input
    return _reshape(
        input, (*shape[:start], _count(shape[start : end + 1]), *shape[end + 1 :])
    )


@function("ravel")
def ravel(input):
    """One dimension, a view if contiguous (torch.ravel)."""
    return input.contiguous().view(-1)


@function("unflatten")
def unflatten(input, dim, sizes):
    """One dimension made several, one of which may be -1 (torch.unflatten).

    Raises RuntimeError when the sizes do not multiply to the dimension's.
    """
    shape = input._raw.shape
    if not shape:
        raise RuntimeError(
            "unflatten got an unexpected error:\nDimension specified as "
            f"{dim} but tensor has no dimensions"
        )
    dim = wrap_dim(dim, len(shape))
    sizes = tuple(sizes)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        inferred = infer_size(sizes, shape[dim])
    except RuntimeError as error:
        if "is invalid" not in str(error):
            raise
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim "
            f"{dim} ({shape[dim]}) in the input tensor"
        ) from None
    return TAPED.view(input, (*shape[:dim], *inferred, *shape[dim + 1 :]))


# -- dimensions of size one -------------------------------------------------------------------


def _without(self: Geometry, dims) -> Geometry:
    kept = [i for i, n in enumerate(self.shape) if n != 1 or i not in dims]
    return Geometry(
        tuple(self.shape[i] for i in kept), tuple(self.strides[i] for i in kept), self.offset
    )


@views.view(node="SqueezeBackward0", inplace_node="SqueezeBackward3", function=False, method=False)
def squeeze_all(self: Geometry) -> Geometry:
    return _without(self, range(len(self.shape)))


@views.view(node="SqueezeBackward1", inplace_node="SqueezeBackward4", function=False, method=False)
def squeeze_dim(self: Geometry, dim) -> Geometry:
    return _without(self, (wrap_dim(dim, len(self.shape)),))


@views.view(node="SqueezeBackward2", inplace_node="SqueezeBackward5", function=False, method=False)
def squeeze_dims(self: Geometry, dim) -> Geometry:
    dims = [wrap_dim(d, len(self.shape)) for d in dim]
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return _without(self, dims)


def _unsqueezed(F, grad, shape, dims):
    for d in sorted(dims):
        if shape[d] == 1:
            grad = F.unsqueeze(grad, d)
    return grad


squeeze_all.gradient(
    self=lambda F, grad, self_shape: _unsqueezed(F, grad, self_shape, range(len(self_shape)))
)
squeeze_dim.gradient(
    self=lambda F, grad, self_shape, dim: _unsqueezed(
        F, grad, self_shape, (wrap_dim(dim, len(self_shape)),) if self_shape else ()
    )
)
squeeze_dims.gradient(
    self=lambda F, grad, self_shape, dim: _unsqueezed(
        F, grad, self_shape, [wrap_dim(d, len(self_shape)) for d in dim] if self_shape else ()
    )
)


@function("squeeze")
def squeeze(input, dim=None, *more):
    """Without the dimensions of size one, all of them or those named (torch.squeeze).

    Raises IndexError for a dimension out of range.
    """
    if dim is None:
        return TAPED.squeeze_all(input)
    if isinstance(dim, (tuple, list)):
        return TAPED.squeeze_dims(input, tuple(dim))
    if more:
        return TAPED.squeeze_dims(input, (dim, *more))
    return TAPED.squeeze_dim(input, dim)


@function("squeeze_", torch=False)
def squeeze_(self, dim=None):
    """Drop dimensions of size one in place (torch.Tensor.squeeze_)."""
    if dim is None:
        return squeeze_all.inplace(self)
    if isinstance(dim, (tuple, list)):
        return squeeze_dims.inplace(self, tuple(dim))
    return squeeze_dim.inplace(self, dim)


@views.view(node="UnsqueezeBackward0", inplace_node="UnsqueezeBackward1", inplace=True)
def unsqueeze(self: Geometry, dim) -> Geometry:
    """A new dimension of size one at `dim` (torch.unsqueeze). Raises IndexError out of range."""
    shape, strides = self.shape, self.strides
    dim = wrap_dim(dim, len(shape) + 1)
    step = shape[dim] * strides[dim] if dim < len(shape) else 1
    return Geometry(
        (*shape[:dim], 1, *shape[dim:]), (*strides[:dim], step, *strides[dim:]), self.offset
    )


unsqueeze.gradient(self=lambda F, grad, dim: F.squeeze_dim(grad, dim))


# -- the order of dimensions ------------------------------------------------------------------


def _permuted(self: Geometry, order) -> Geometry:
    return Geometry(
        tuple(self.shape[i] for i in order), tuple(self.strides[i] for i in order), self.offset
    )


def _swapped(self: Geometry, dim0, dim1) -> Geometry:
    ndim = len(self.shape)
    dim0, dim1 = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    order = list(range(ndim))
    if ndim:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return _permuted(self, order)


@views.view(node="TBackward0", inplace_node="TBackward1")
def t(self: Geometry) -> Geometry:
    """The transpose of a matrix; fewer dimensions stay as they are (torch.t).

    Raises RuntimeError for more than two dimensions.
    """
    ndim = len(self.shape)
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return _permuted(self, range(ndim - 1, -1, -1))


t.gradient(self=lambda F, grad: F.t(grad))


@function("t_", torch=False)
def t_(self):
    """Transpose a matrix in place (torch.Tensor.t_). Raises RuntimeError for more dimensions."""
    inplace.check(self, requires_grad(self))
    if self._raw.ndim > 2:
        raise RuntimeError(
            f"t_() expects a tensor with <= 2 dimensions, but self is {self._raw.ndim}D"
        )
    return t.inplace(self)


@views.view(node="TransposeBackward0", inplace_node="TransposeBackward1", inplace=True)
def transpose(self: Geometry, dim0, dim1) -> Geometry:
    """Two dimensions swapped (torch.transpose). Raises IndexError out of range."""
    return _swapped(self, dim0, dim1)


transpose.gradient(self=lambda F, grad, dim0, dim1: F.transpose(grad, dim0, dim1))


@views.view(node="PermuteBackward0", function=False, method=False)
def permute_(self: Geometry, dims) -> Geometry:
    ndim = len(self.shape)
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not "
            f"equal to len(dims) = {len(dims)}"
        )
    order = [wrap_dim(d, ndim) for d in dims]
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _permuted(self, order)


def _inverse(dims) -> tuple[int, ...]:
    result = [0] * len(dims)
    for i, d in enumerate(dims):
        result[d % len(dims)] = i
    return tuple(result)


permute_.gradient(self=lambda F, grad, dims: F.permute(grad, _inverse(dims)))


@function("permute")
def permute(input, *dims, **named):
    """The dimensions in another order (torch.permute).

    Raises RuntimeError unless each dimension is named once, IndexError out of range.
    """
    if not dims and not named:
        raise TypeError('permute() missing 1 required positional arguments: "dims"')
    return TAPED.permute(input, sizes_of(dims if "dims" not in named else (named["dims"],)))


@function("swapaxes")
def swapaxes(input, axis0, axis1):
    """Two dimensions swapped (torch.swapaxes)."""
    return TAPED.transpose(input, axis0, axis1)


@function("swapdims")
def swapdims(input, dim0, dim1):
    """Two dimensions swapped (torch.swapdims)."""
    return TAPED.transpose(input, dim0, dim1)


@function("swapaxes_", torch=False)
def swapaxes_(self, axis0, axis1):
    """Two dimensions swapped in place (torch.Tensor.swapaxes_)."""
    return transpose.inplace(self, axis0, axis1)


@function("swapdims_", torch=False)
def swapdims_(self, dim0, dim1):
    """Two dimensions swapped in place (torch.Tensor.swapdims_)."""
    return transpose.inplace(self, dim0, dim1)


@function("movedim")
def movedim(input, source, destination):
    """Dimensions moved to other places, the others keep their order (torch.movedim).

    Raises RuntimeError when the lists differ in length or name a dimension twice.
    """
    ndim = input._raw.ndim
    source = (source,) if isinstance(source, int) else tuple(source)
    destination = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(source) != len(destination):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({list(source)} dims) should contain the same number of dims as destination "
            f"({list(destination)} dims)"
        )
    sources = [wrap_dim(d, ndim) for d in source]
    destinations = [wrap_dim(d, ndim) for d in destination]
    for what, given, dims in (("source", source, sources), ("destination", destination,
                                                            destinations)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({list(given)})")
    if not ndim:
        return views.alias_view(input)
    order = [-1] * ndim
    for s, d in zip(sources, destinations, strict=True):
        order[d] = s
    rest = iter(i for i in range(ndim) if i not in sources)
    return TAPED.permute(input, tuple(next(rest) if i < 0 else i for i in order))


@function("moveaxis")
def moveaxis(input, source, destination):
    """`movedim` under NumPy's name (torch.moveaxis)."""
    return movedim(input, source, destination)


@function("adjoint")
def adjoint(input):
    """The last two dimensions swapped, conjugated if complex (torch.adjoint)."""
    if not input._raw.ndim:
        _warn_of_scalar("adjoint()", "Consider using x.conj().")
        return input
    result = TAPED.transpose(input, -2, -1)
    return result.conj() if input.is_complex() else result


def _warn_of_scalar(name: str, advice: str) -> None:
    warnings.warn(f"{name} is deprecated on 0-D tensors. {advice}", UserWarning, stacklevel=3)


def _numpy_transpose(self):
    ndim = self._raw.ndim
    if not ndim:
        _warn_of_scalar("Tensor.T", "This function is the identity in these cases.")
    if ndim not in (0, 2):
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated and it will throw an error in a future release. Consider `x.mT` to "
            "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor.",
            UserWarning,
            stacklevel=2,
        )
    return TAPED.permute(self, tuple(range(ndim - 1, -1, -1)))


def _matrix_transpose(self):
    ndim = self._raw.ndim
    if not ndim:
        _warn_of_scalar("Tensor.mT", "This function is the identity in these cases.")
        return self
    if ndim < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{ndim}-D tensor."
        )
    return TAPED.transpose(self, -2, -1)


def _matrix_adjoint(self):
    ndim = self._raw.ndim
    if not ndim:
        _warn_of_scalar("Tensor.mH", "Consider using x.conj().")
        return self
    if ndim < 2:
        raise RuntimeError(
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got "
            f"{ndim}-D tensor."
        )
    return adjoint(self)


def _hermitian(self):
    ndim = self._raw.ndim
    if ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if ndim > 2 else "")
        )
    if not ndim:
        _warn_of_scalar("Tensor.H", "Consider using x.conj().")
        return self
    return adjoint(self)


Tensor.T = property(_numpy_transpose)
Tensor.mT = property(_matrix_transpose)
Tensor.mH = property(_matrix_adjoint)
Tensor.H = property(_hermitian)


# -- repeated by stride zero ------------------------------------------------------------------


@views.view(node="ExpandBackward0", function=False, method=False)
def expand_(self: Geometry, size) -> Geometry:
    shape, strides = self.shape, self.strides
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"the number of sizes provided ({len(size)}) must be greater or equal to the number "
            f"of dimensions in the tensor ({len(shape)})"
        )
    if not shape:
        for i, n in enumerate(size):
            if n < 0:
                raise RuntimeError(_leading(n, i))
        return Geometry(tuple(size), (0,) * len(size), self.offset)
    result = [*size]
    steps = [0] * len(size)
    for i in range(len(size) - 1, -1, -1):
        if i >= lead:
            have, step = shape[i - lead], strides[i - lead]
        else:
            have, step = 1, result[i + 1] * steps[i + 1]
        want = size[i]
        if want == -1:
            if i < lead:
                raise RuntimeError(_leading(want, i))
            want = have
        if want != have:
            if have != 1:
                raise RuntimeError(
                    f"The expanded size of the tensor ({want}) must match the existing size "
                    f"({have}) at non-singleton dimension {i}.  Target sizes: {list(size)}.  "
                    f"Tensor sizes: {list(shape)}"
                )
            step = 0
        result[i], steps[i] = want, step
    return Geometry(tuple(result), tuple(steps), self.offset)


def _leading(size: int, dim: int) -> str:
    return (
        f"The expanded size of the tensor ({size}) isn't allowed in a leading, non-existing "
        f"dimension {dim}"
    )


expand_.gradient(self=lambda F, grad, self_shape: grad if self_shape else F.sum_all(grad))


@function("expand", torch=False)
def expand(self, *sizes, size=None, implicit=False):
    """Dimensions of size one repeated, and new leading ones, without a copy (torch.Tensor.expand).

    Raises RuntimeError when a dimension of another size would change.
    """
    sizes = sizes_of(sizes if size is None else (size,))
    if len(sizes) < self._raw.ndim:
        raise RuntimeError(
            f"expand(torch.{self.dtype.legacy}Tensor{{{list(self._raw.shape)}}}, "
            f"size={list(sizes)}): the number of sizes provided ({len(sizes)}) must be greater or "
            f"equal to the number of dimensions in the tensor ({self._raw.ndim})"
        )
    return TAPED.expand(self, sizes)


@function("expand_as", torch=False)
def expand_as(self, other):
    """`self.expand(other.size())` (torch.Tensor.expand_as)."""
    return expand(self, other._raw.shape)


@function("broadcast_to")
def broadcast_to(input, *size, **named):
    """`input.expand(size)` (torch.broadcast_to)."""
    return expand(input, sizes_of(size or (named["size"],)))
