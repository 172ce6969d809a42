"""The order of dimensions: transpose, permute, movedim, and the attributes T, mT, H and mH."""

from __future__ import annotations

from operator import attrgetter

from impl.core.dims import wrap_dim
from impl.core.read_only import add_read_only
from impl.core.registry import tensor_ops
from impl.core.sizes import sizes_given
from impl.core.warning import warn_once
from impl.dispatch import view_operator
from impl.dispatch.definition import function
from impl.dispatch.record import check_write
from impl.dispatch.spellings import spelled
from impl.dispatch.vmap_rules import fronted, hide
from impl.operators.views import as_strided
from impl.tensor.geometry import Geometry
from impl.tensor.tensor import Tensor


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


@view_operator.view(
    node="TBackward0",
    inplace_node="TBackward1",
    array=attrgetter("T"),
    view_backward=attrgetter("T"),
)
def t(self: Geometry) -> Geometry:
    """The transpose of a matrix; a view of tensors with fewer dimensions (torch.t).

    Raises RuntimeError for more than two dimensions.
    """
    ndim = len(self.shape)
    _require_at_most_matrix(ndim)
    return _permuted(self, range(ndim - 1, -1, -1))


def _require_at_most_matrix(ndim: int) -> None:
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")


t.gradient(self="F.t(grad)")


@t.batches
def _t_of_batch(args, level):
    value = fronted(args[0], level)
    ndim = value._raw.ndim - 1
    _require_at_most_matrix(ndim)
    return hide(transpose(value, 1, ndim) if ndim else value, level)


@function("t_", torch=False)
def t_(self):
    """Transpose a matrix in place (torch.Tensor.t_). Raises RuntimeError for more dimensions."""
    check_write(self)
    if self._raw.ndim > 2:
        raise RuntimeError(
            f"t_() expects a tensor with <= 2 dimensions, but self is {self._raw.ndim}D"
        )
    return t.inplace(self)


@view_operator.view(
    node="TransposeBackward0",
    inplace_node="TransposeBackward1",
    inplace=True,
    array=lambda raw, dim0, dim1: raw.swapaxes(dim0, dim1) if raw.ndim else raw.T,
)
def transpose(self: Geometry, dim0, dim1) -> Geometry:
    """Two dimensions swapped (torch.transpose). Raises IndexError out of range."""
    return _swapped(self, dim0, dim1)


transpose.gradient(self=lambda F, grad, dim0, dim1: F.transpose(grad, dim0, dim1))


@view_operator.view(
    node="PermuteBackward0",
    function=False,
    method=False,
    array=lambda raw, dims: raw.transpose(permutation(dims, raw.ndim)),
)
def permute_(self: Geometry, dims) -> Geometry:
    return _permuted(self, permutation(dims, len(self.shape)))


def permutation(dims, ndim: int) -> list[int]:
    """The dimensions, counted from the first. Raises RuntimeError unless each occurs once."""
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not "
            f"equal to len(dims) = {len(dims)}"
        )
    order: list[int] = []
    for one in dims:
        dim = wrap_dim(one, ndim)
        if dim in order:
            raise RuntimeError("permute(): duplicate dims are not allowed.")
        order.append(dim)
    return order


def _inverse(dims) -> tuple[int, ...]:
    result = [0] * len(dims)
    for i, d in enumerate(dims):
        result[d % len(dims)] = i
    return tuple(result)


@permute_.batches
def _permute_of_batch(args, level):
    value, dims = fronted(args[0], level), args[1]
    order = (0, *(wrap_dim(d, len(dims)) + 1 for d in dims))
    return hide(tensor_ops.permute(value, order), level)


permute_.gradient(self=lambda F, grad, dims: F.permute(grad, _inverse(dims)))


@function("permute")
def permute(input, *dims, **named):
    """The dimensions in another order (torch.permute).

    Raises RuntimeError unless each dimension is named once, IndexError out of range.
    """
    return tensor_ops.permute(input, sizes_given("dims", dims, named))


@function("swapaxes")
def swapaxes(input, axis0, axis1):
    """Two dimensions swapped (torch.swapaxes)."""
    return tensor_ops.transpose(input, axis0, axis1)


@function("swapdims")
def swapdims(input, dim0, dim1):
    """Two dimensions swapped (torch.swapdims)."""
    return tensor_ops.transpose(input, dim0, dim1)


@function("swapaxes_", torch=False)
@spelled("swapaxes_")
def swapaxes_(self, axis0, axis1):
    """Two dimensions swapped in place (torch.Tensor.swapaxes_)."""
    return transpose.inplace(self, axis0, axis1)


@function("swapdims_", torch=False)
@spelled("swapdims_")
def swapdims_(self, dim0, dim1):
    """Two dimensions swapped in place (torch.Tensor.swapdims_)."""
    return transpose.inplace(self, dim0, dim1)


@function("movedim")
def movedim(input, source, destination):
    """Dimensions moved to other positions; the others keep their order (torch.movedim).

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
    for what, given, dims in (
        ("source", source, sources),
        ("destination", destination, destinations),
    ):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({list(given)})")
    if not ndim:
        return as_strided.alias_view(input)
    order = [-1] * ndim
    for s, d in zip(sources, destinations, strict=True):
        order[d] = s
    rest = iter(i for i in range(ndim) if i not in sources)
    return tensor_ops.permute(input, tuple(next(rest) if i < 0 else i for i in order))


@function("moveaxis")
def moveaxis(input, source, destination):
    """`movedim` under NumPy's name (torch.moveaxis)."""
    return movedim(input, source, destination)


@function("adjoint")
def adjoint(input):
    """The last two dimensions swapped, conjugated if complex (torch.adjoint)."""
    if not input._raw.ndim:
        _warn_of_scalar("adjoint()", "Consider using x.conj().")
        return input.conj() if input.is_complex() else input
    _require_matrix("adjoint()", input)
    result = tensor_ops.transpose(input, -2, -1)
    return result.conj() if input.is_complex() else result


def _warn_of_scalar(name: str, advice: str) -> None:
    warn_once(f"{name} is deprecated on 0-D tensors. {advice}")


def _numpy_transpose(self):
    ndim = self._raw.ndim
    if not ndim:
        _warn_of_scalar("Tensor.T", "This function is the identity in these cases.")
    if ndim not in (0, 2):
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated and it will throw an error in a future release. Consider `x.mT` to "
            "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor.",
        )
    return tensor_ops.permute(self, tuple(range(ndim - 1, -1, -1)))


def _matrix_transpose(self):
    ndim = self._raw.ndim
    if not ndim:
        _warn_of_scalar("Tensor.mT", "This function is the identity in these cases.")
        return self
    _require_matrix("mT", self)
    return tensor_ops.transpose(self, -2, -1)


def _matrix_adjoint(self):
    ndim = self._raw.ndim
    if not ndim:
        _warn_of_scalar("Tensor.mH", "Consider using x.conj().")
        return self.conj()
    _require_matrix("mH", self)
    return adjoint(self)


def _require_matrix(name: str, tensor) -> None:
    ndim = tensor._raw.ndim
    if ndim < 2:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. "
            f"Got {ndim}-D tensor."
        )


def _hermitian(self):
    ndim = self._raw.ndim
    if ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if ndim > 2 else "")
        )
    if not ndim:
        _warn_of_scalar("Tensor.H", "Consider using x.conj().")
        return self.conj()
    return adjoint(self)


add_read_only(Tensor, "T", _numpy_transpose)
add_read_only(Tensor, "mT", _matrix_transpose)
add_read_only(Tensor, "mH", _matrix_adjoint)
add_read_only(Tensor, "H", _hermitian)
