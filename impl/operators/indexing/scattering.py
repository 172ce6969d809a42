"""Scatter: writing along one dimension by an index per element (scatter and scatter_add)."""

from __future__ import annotations

import numpy as np

from impl.core.dims import wrap_dim
from impl.core.indices import INDEX_DTYPES, check_along
from impl.core.meta_functions import like_first
from impl.core.registry import array_ops, tensor_ops
from impl.core.warning import warn_once
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.facts import MemoryOverlap
from impl.dispatch.not_implemented import no_derivative
from impl.dispatch.record import check_write
from impl.kernels.casting import storable
from impl.kernels.reduced_precision import add_at, combine_at
from impl.operators.indexing.gathering import along, with_dims
from impl.operators.indexing.out_of_range import set_at, stopped
from impl.tensor.tensor import Tensor, requires_grad


def check_scatter(self, dim: int, index, src=None) -> None:
    """Raise RuntimeError for dtypes and shapes that do not fit, IndexError where torch looks up a
    size that is not there."""
    if index.size and index.dtype not in INDEX_DTYPES:
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype != self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.size:
        return
    if max(self.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    places, target = with_dims(index), with_dims(self)
    source = None if src is None else with_dims(src)
    wrong = any(
        n > m for d, (n, m) in enumerate(zip(places.shape, target.shape, strict=True)) if d != dim
    )
    if source is not None:
        if max(index.ndim, 1) != max(src.ndim, 1):
            # ATen looks up the sizes before it compares the numbers of dimensions.
            if src.ndim and src.ndim < index.ndim and _fits(places, source, src.ndim):
                wrap_dim(src.ndim, src.ndim)
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        wrong = wrong or any(n > m for n, m in zip(places.shape, source.shape, strict=True))
    if wrong:
        text = (
            f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} "
            f"apart from dimension {dim}"
        )
        if src is not None:
            text += f" and to be no larger size than src {list(src.shape)}"
        raise RuntimeError(text)


def scatter_meta(self, dim, index, src=None, *rest):
    """The meta function of every scatter."""
    source = src if isinstance(src, (np.ndarray, np.generic)) else None
    check_scatter(self, wrap_dim(dim, self.ndim), index, source)
    return self.shape, self.dtype


def _fits(places, source, ndim: int) -> bool:
    return all(places.shape[d] <= source.shape[d] for d in range(ndim))


def scattered(self, dim, index, src, combine, reduce="add"):
    """A copy into which `combine(target, key, values)` has written `src` at `index` along `dim`.

    Raises RuntimeError for an index out of range, shapes or dtypes that do not fit, and then for a
    name `reduce` of no reduction.
    """
    dim = wrap_dim(dim, self.ndim)
    check_scatter(self, dim, index, src if isinstance(src, (np.ndarray, np.generic)) else None)
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    result = np.array(with_dims(self), order="C")
    if not index.size:
        return result if self.ndim else result[0]
    places = with_dims(index)
    if isinstance(src, (np.ndarray, np.generic)):
        src = with_dims(src)[tuple(slice(n) for n in places.shape)]
    else:
        src = _number_at(places, dim, result, src)
    size = result.shape[dim]
    try:
        check_along(places, dim, size)
    except RuntimeError as error:
        key = along(dim, np.where(places < 0, size, places))
        raise stopped(error, result, key, src, combine)  # noqa: B904
    result = combine(result, along(dim, places), src)
    return result if self.ndim else result[0]


def _number_at(places, dim, result, number):
    """A number as an element of the result. Raises RuntimeError where it is none, but first for a
    first index that is out of range, which ATen looks at before it converts."""
    try:
        return storable(number, result.dtype)
    except RuntimeError:
        check_along(places[(slice(1),) * places.ndim], dim, result.shape[dim])
        raise


def _multiply(target, key, values):
    return combine_at(np.multiply, target, key, values)


@operator(
    function=False,
    method=False,
    node="ScatterBackward0",
    torch_name="scatter",
    writes=1,
    copies=0,
    numbers=False,
    memory=MemoryOverlap(disjoint="late", copied=True),
    batching="elements",
)
def scatter_src(self: Array, dim, index: Array, src: Array) -> Array:
    return scattered(self, dim, index, src, set_at)


@operator(
    function=False,
    method=False,
    node="ScatterBackward1",
    torch_name="scatter",
    writes=1,
    copies=0,
    numbers=False,
    memory=MemoryOverlap(disjoint="late", copied=True),
    batching="elements",
)
def scatter_value(self: Array, dim, index: Array, value) -> Array:
    return scattered(self, dim, index, value, set_at)


scatter_src.structured(scatter_meta)
scatter_value.structured(scatter_meta)
scatter_src.gradient(
    self=lambda F, grad, dim, index: F.scatter_value(grad, dim, index, 0),
    src=lambda F, grad, dim, index: F.gather(grad, dim, index),
)
scatter_src.forward("reapplied")
scatter_value.forward("reapplied", value=0)
scatter_value.gradient(self=lambda F, grad, dim, index: F.scatter_value(grad, dim, index, 0))


def _warn_of_reduce(source, reduce) -> None:
    if reduce is not None and isinstance(source, (Tensor, np.ndarray, np.generic)):
        warn_once(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be "
            "removed in a future PyTorch release. Use torch.scatter_reduce instead for more "
            "reduction options.",
        )


def _reduce_meta(self, dim, index, src, reduce):
    """The meta function of scatter(reduce=...)."""
    _warn_of_reduce(src, reduce)
    return scatter_meta(self, dim, index, src)


def _reducing(name: str, aten: str, annotation: str):
    """The operator of scatter(reduce=...), which has no derivative: its node raises in backward."""

    def kernel(self: Array, dim, index: Array, src, reduce) -> Array:
        return scattered(self, dim, index, src, add_at if reduce == "add" else _multiply, reduce)

    kernel.__name__ = name
    kernel.__annotations__["src"] = annotation
    op = operator(
        function=False,
        method=False,
        node="NotImplemented",
        writes=1,
        copies=0,
        batching="elements",
        numbers=False,
        torch_name=aten,
        memory=MemoryOverlap(disjoint="late", copied=True),
    )(kernel)
    op.structured(_reduce_meta)
    refuse = no_derivative(aten)
    op.gradient(self=refuse, index=refuse)
    if annotation == "Array":
        op.gradient(src=refuse)
    return op


_reduce_src = {
    inplace_: _reducing(f"scatter{inplace_}_reduce_src", f"scatter{inplace_}", "Array")
    for inplace_ in ("", "_")
}
_reduce_value = {
    inplace_: _reducing(f"scatter{inplace_}_reduce_value", f"scatter{inplace_}", "number")
    for inplace_ in ("", "_")
}


def _variant(suffix: str, source, reduce):
    """The operator for a source, a tensor or a number, and its arguments besides."""
    if reduce is None:
        return scatter_src if isinstance(source, Tensor) else scatter_value, (source,)
    reducing = _reduce_src if isinstance(source, Tensor) else _reduce_value
    return reducing[suffix], (source, reduce)


@function("scatter")
def scatter(input, dim, index, src=None, *, value=None, reduce=None, out=None):
    """A copy with `src` (a tensor or a number) written at `index` along `dim` (torch.scatter).

    With duplicate indices, the source that is kept is unspecified. Raises RuntimeError for an index
    out of range, shapes that do not fit, and another dtype.
    """
    source = value if src is None else src
    op, rest = _variant("", source, reduce)
    if out is None:
        _warn_of_reduce(source, reduce)
        return op(input, dim, index, *rest)
    return op.call_out(out, (input, dim, index, *rest))


@function("scatter_", torch=False)
def scatter_(self, dim, index, src=None, *, value=None, reduce=None):
    """`scatter` in place (torch.Tensor.scatter_)."""
    source = value if src is None else src
    if isinstance(source, Tensor):
        check_write(self, requires_grad(source))
    _warn_of_reduce(source, reduce)
    op, rest = _variant("_", source, reduce)
    return op.inplace(self, dim, index, *rest)


tensor_ops.scatter = scatter


def _raw_scatter(self, dim, index, src):
    return scattered(self, dim, index, src, set_at)


array_ops.scatter = _raw_scatter


@operator(
    inplace=True,
    out=True,
    writes=1,
    copies=0,
    numbers=False,
    memory=MemoryOverlap(disjoint="late", copied=True),
    batching="elements",
)
def scatter_add(self: Array, dim, index: Array, src: Array) -> Array:
    """A copy with `src` added at `index` along `dim` (torch.scatter_add).

    Raises RuntimeError for an index out of range, shapes that do not fit, and another dtype.
    """
    return scattered(self, dim, index, src, add_at)


scatter_add.structured(scatter_meta)
scatter_add.gradient(
    self=lambda F, grad: grad,
    src=lambda F, grad, dim, index: F.gather(grad, dim, index),
)
scatter_add.forward("linear")


for _op in (scatter_add, scatter_src, scatter_value):
    _op.on_large_meta(like_first)
for _op in (scatter_src, scatter_value):
    _op.index_position = _op.position["index"]
