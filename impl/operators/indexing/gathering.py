"""Reading by index along one dimension: gather, index_select, take_along_dim, nonzero."""

from __future__ import annotations

import functools

import numpy as np

from impl.core import inference_mode, messages
from impl.core.dims import existing_dim, wrap_dim
from impl.core.dtypes import BY_NUMPY, int64
from impl.core.indices import GATHER_DTYPE, INDEX_DTYPES, check_along
from impl.core.meta_arrays import MetaArray, is_meta
from impl.core.registry import FUNCTIONS, array_ops, tensor_ops
from impl.core.sizes import broadcast_shapes
from impl.core.state import STATE
from impl.dispatch import vmap_rules
from impl.dispatch.batching_rules import RULES
from impl.dispatch.definition import Array, OfArguments, counted, function, operator, written
from impl.dispatch.dispatch_modes import called_aten
from impl.dispatch.facts import MemoryOverlap
from impl.dispatch.out import store, write_out
from impl.tensor.batched_tensor import innermost
from impl.tensor.memory_overlap import check_overlap
from impl.tensor.tensor import Tensor, new
from impl.tensor.torch_dispatch import asks


def along(dim: int, index) -> tuple:
    """The indexing key that addresses, for each element of `index`, its element along `dim`."""
    grid = np.ogrid[tuple(slice(n) for n in index.shape)]
    return (*grid[:dim], index, *grid[dim + 1 :])


def with_dims(value) -> np.ndarray:
    """A 0-dim value as an array of one element, as torch treats it here."""
    return np.reshape(value, (1,)) if value.ndim == 0 else value


def shaped(value, shape):
    """The array itself if it has the shape, else its one element as a 0-dim value."""
    return value if value.shape == tuple(shape) else value.reshape(shape)[()]


@operator(
    out=True,
    numbers=False,
    memory=MemoryOverlap(disjoint=True, operands="all"),
    batching="elements",
)
def gather(self: Array, dim, index: Array, *, sparse_grad=False) -> Array:
    """For each element of `index` the element at that position along `dim` (torch.gather).

    The result has the index's shape. Raises RuntimeError for an index out of range, of another
    number of dimensions, or larger than the tensor in another dimension.
    """
    dim = wrap_dim(dim, self.ndim)
    if index.size and index.dtype not in INDEX_DTYPES:
        raise RuntimeError(GATHER_DTYPE)
    if not index.size:
        return np.empty(index.shape, self.dtype)
    if max(self.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    value, places = with_dims(self), with_dims(index)
    for d, (n, m) in enumerate(zip(places.shape, value.shape, strict=True)):
        if d != dim and n > m:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be "
                f"no larger than self {list(self.shape)} apart from dimension {dim}"
            )
    check_along(places, dim, value.shape[dim])
    # Row-major, also where NumPy keeps the order of the index's dimensions.
    return shaped(np.ascontiguousarray(value[along(dim, places)]), index.shape)


gather.index_position = gather.position["index"]
gather.gradient(
    self=written(
        lambda F, grad, self, dim, index, sparse_grad: (
            F.gather_sparse_backward(grad, self.shape, dim, index)
            if sparse_grad
            else F.gather_backward(grad, self.shape, dim, index)
        ),
        OfArguments(lambda self, dim, index, sparse_grad: int(not sparse_grad)),
    )
)
gather.forward("linear")
array_ops.gather_backward = lambda grad, shape, dim, index: array_ops.scatter_add(
    np.zeros(shape, grad.dtype), dim, index, grad
)
tensor_ops.gather_backward = lambda grad, shape, dim, index: counted(
    tensor_ops.scatter_add(tensor_ops.new_zeros(grad, shape), dim, index, grad)
)


def check_selected(value, dim: int, places) -> None:
    """Raise for numbers of slices out of range: IndexError, or RuntimeError from the kernels of
    later dimensions and of arrays without elements."""
    if not places.size:
        return
    if value.ndim > 1 and not value.shape[dim]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    if places.min() >= 0 and places.max() < value.shape[dim]:
        return
    if value.ndim > 1 and (dim == 1 or not value.size):
        wrong = places[(places < 0) | (places >= value.shape[dim])]
        raise RuntimeError(
            f"INDICES element is out of DATA bounds, id={int(wrong[0])} axis_dim={value.shape[dim]}"
        )
    raise IndexError("index out of range in self")


@operator(out=True, numbers=False, memory=MemoryOverlap(disjoint=True, operands="all"))
def index_select(self: Array, dim, index: Array) -> Array:
    """The slices along `dim` at a vector of indices (torch.index_select).

    Raises IndexError for an index out of range or with more than one dimension.
    """
    dim = _check_vector(self, dim, index)
    value, places = with_dims(self), with_dims(index)
    check_selected(value, dim, places)
    result = np.take(value, places, dim)
    return shaped(result, ()) if not self.ndim else result


def _check_vector(value, dim: int, index) -> int:
    dim = wrap_dim(dim, value.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not value.ndim and index.size != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
        )
    if index.dtype not in INDEX_DTYPES:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    return dim


def _same_scalar_type(out, value, dim, index) -> None:
    _check_vector(value, dim, index)
    if out != value.dtype:
        raise RuntimeError("index_select(): self and result must have the same scalar type")


index_select.index_position = index_select.position["index"]
index_select.checks_out(_same_scalar_type, first=True)


@functools.partial(index_select.structured, late=True)
def _selected_output(self, dim, index):
    shape = [*self.shape]
    if shape:
        shape[wrap_dim(dim, self.ndim)] = index.size
    return shape, None


index_select.gradient(
    self=written(
        lambda F, grad, self_shape, dim, index: F.index_select_backward(
            grad, self_shape, dim, index
        )
    )
)
index_select.forward("linear")
array_ops.index_select_backward = lambda grad, shape, dim, index: array_ops.index_add(
    np.zeros(shape, grad.dtype), dim, index, grad
)
tensor_ops.index_select_backward = lambda grad, shape, dim, index: counted(
    tensor_ops.index_add(tensor_ops.new_zeros(grad, shape), dim, index, grad)
)


@function("take_along_dim")
def take_along_dim(input, indices, dim=None, *, out=None):
    """`gather` with tensor and indices broadcast, or flattened without `dim`.

    Raises RuntimeError for indices that are not int64 or have another number of dimensions
    (torch.take_along_dim).
    """
    gathered = _taken_along(input, indices, dim)
    return tensor_ops.gather(*gathered) if out is None else FUNCTIONS["gather"](*gathered, out=out)


def _taken_along(input, indices, dim):
    """The arguments of `gather`."""
    if dim is None:
        return tensor_ops.view(input, (-1,)), 0, tensor_ops.view(indices, (-1,))
    ndim = input._raw.ndim
    if ndim != indices._raw.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {ndim} dimensions for input, and {indices._raw.ndim} dimensions for indices"
        )
    if indices._raw.dtype != np.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{BY_NUMPY[indices._raw.dtype].legacy}"
        )
    if input.is_meta != indices.is_meta:
        raise RuntimeError(
            f"Expected tensor to have {input.device} Device, but got tensor with {indices.device} "
            "Device (while checking arguments for torch.take_along_dim():)"
        )
    dim = existing_dim(wrap_dim(dim, ndim), ndim)
    indices = tensor_ops.remainder(indices, input._raw.shape[dim])
    own, other = list(input._raw.shape), list(indices._raw.shape)
    own_wide, other_wide = own.copy(), other.copy()
    own_wide[dim], other_wide[dim] = other[dim], own[dim]
    index = tensor_ops.expand(indices, broadcast_shapes(tuple(own_wide), tuple(other)))
    spread = tensor_ops.expand(input, broadcast_shapes(tuple(other_wide), tuple(own)))
    return spread, dim, index


def _store_indices(name: str, out, indices: Tensor):
    if isinstance(out, Tensor) and out.dtype is not int64:
        raise RuntimeError(
            "nonzero: Expected out tensor to have scalar type Long but got scalar type"
            f"{out.dtype.legacy}"
        )
    if isinstance(out, Tensor):
        check_overlap(out)
    return store(name, out, indices)


@function("nonzero", out=True, derived=False, storing=_store_indices)
def nonzero(input, *, as_tuple=False):
    """The indices of the elements that are not zero, one row each (torch.nonzero).

    With `as_tuple` one vector per dimension.
    """
    if not as_tuple and asks((input,)):
        return called_aten("nonzero", input)
    return nonzero_numpy(input) if as_tuple else _rows_found(input)


@RULES["composed_no_rule"]
def nonzero_numpy(input):
    """The columns of `nonzero`, views of its rows' memory, as ATen makes them."""
    matrix = input if input._raw.ndim else tensor_ops.unsqueeze(input.detach(), 0)
    return FUNCTIONS["unbind"](nonzero(matrix), 1)


def _nonzero(input):
    raw = input._raw
    if is_meta(raw):
        raise NotImplementedError(messages.META_NONZERO)
    count = int(np.count_nonzero(raw))
    columns = np.empty((raw.ndim, count), np.int64)
    if raw.ndim:
        columns[...] = np.nonzero(raw)
    # torch stores the result column by column.
    return inference_mode.count_made(input, new(columns.T, (1, count)))


_nonzero.__name__ = "nonzero"  # which the refusal of batched tensors shows
_rows_found = RULES["dynamic"](_nonzero)


@function("nonzero_static", batching="fallback")
def nonzero_static(input, *, size, fill_value=-1, out=None):
    """The first `size` rows of `nonzero`, followed by rows of `fill_value` (torch.nonzero_static).

    Raises RuntimeError for a negative size and an `out=` that is not int64.
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if out is not None and out.dtype is not int64:
        raise RuntimeError(
            "nonzero_static: Expected out tensor to have scalar type Long but got scalar type"
            f"{out.dtype.legacy}"
        )
    raw = np.asarray(input._raw)
    rows = np.full((size, raw.ndim), fill_value, np.int64)
    if raw.ndim:
        found = np.argwhere(raw)[:size]
        rows[: len(found)] = found
    if out is None:
        return new(rows)
    write_out(out, rows)
    return out


@function("argwhere", batching="composed_fallback")
def argwhere(input):
    """The indices of the elements that are not zero (torch.argwhere)."""
    return nonzero(input)


@gather.structured
def _gather_meta(self, dim, index, *rest):
    wrap_dim(dim, self.ndim)
    return index.shape, self.dtype


def one_hot(tensor, num_classes=-1):
    """Rows of zeros with a one at each class (torch.nn.functional.one_hot).

    int64; as many columns as classes, one more than the largest by default. Raises RuntimeError
    for classes that are not int64, negative, or too large.
    """
    if STATE.batched and innermost((tensor,)) is not None:
        return _one_hot_of_batch(tensor, num_classes)
    raw = tensor._raw
    if raw.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not raw.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if raw.size and raw.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(raw.max()) + 1
    elif raw.size and num_classes <= raw.max():
        raise RuntimeError("Class values must be smaller than num_classes.")
    result = new((np.expand_dims(raw, -1) == np.arange(num_classes)).astype(np.int64))
    result._storage.version = 2  # zeroed, then scattered into
    return result


def _one_hot_of_batch(tensor, num_classes: int):
    """The comparison with all classes, whose elements are not looked at."""
    if tensor._raw.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor.")
    if num_classes <= 0:
        raise RuntimeError(
            "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive "
            "num_classes argument."
        )
    return (tensor.unsqueeze(-1) == FUNCTIONS["arange"](num_classes)).to(int64)


@index_select.batches
def _index_select_of_batch(args, level):
    """`gather` (ATen/functorch/BatchRulesScatterOps.cpp)."""
    input, dim, index = args
    result = input.gather(dim, vmap_rules.along(index, dim, input))
    return result if input._raw.ndim or not index._raw.ndim else result.squeeze(-1)


index_select.on_large_meta(lambda self, dim, index: np.take(self, index, dim))
gather.on_large_meta(lambda self, dim, index, *rest: MetaArray(index.shape, self.dtype))
