"""Products of several matrices, in the order that takes the fewest multiplications."""

from __future__ import annotations

from collections.abc import Sequence

from impl.core.registry import tensor_ops
from impl.core.warning import warn_once
from impl.dispatch.batching_rules import RULES
from impl.dispatch.definition import native
from impl.dispatch.out import fit
from impl.operators.products.matmul import mm
from impl.tensor.tensor import Tensor

_DEPRECATED = (
    "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
    "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than "
    "multiple parameters."
)


def multi_dot(tensors, *, out=None):
    """The product of two or more matrices, of which the first may be a row and the last a column
    vector (torch.linalg.multi_dot).

    Raises RuntimeError for other dimensions, sizes that do not fit, and different dtypes.
    """
    tensors = list(tensors)
    matrices, sizes = _matrices(tensors)
    _check(tensors, matrices)
    if isinstance(out, Tensor):
        if out.dtype is not tensors[0].dtype:
            raise RuntimeError(
                f"multi_dot(): expected out tensor to have dtype {tensors[0].dtype.c_name} but got "
                f"{out.dtype.c_name}"
            )
        fit(out, sizes)
    if len(matrices) == 3:
        factors = _of_three(*matrices)
    else:
        factors = _factors(matrices, _splits(matrices), 0, len(matrices) - 1)
    if out is None:
        return tensor_ops.view(mm(*factors), sizes)
    rows, columns = matrices[0]._raw.shape[0], matrices[-1]._raw.shape[-1]
    mm.call_out(tensor_ops.view(out, (rows, columns)), factors)
    return out


def _matrices(tensors: list[Tensor]) -> tuple[list[Tensor], tuple[int, ...]]:
    """The factors as matrices, and the sizes of their product."""
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    matrices, sizes = list(tensors), []
    for place, which, own, new in ((0, "first", 0, 0), (-1, "last", 1, -1)):
        ndim = tensors[place]._raw.ndim
        if ndim == 2:
            sizes.append(tensors[place]._raw.shape[own])
        elif ndim == 1:
            matrices[place] = tensor_ops.unsqueeze(tensors[place], new)
        else:
            raise RuntimeError(f"multi_dot(): the {which} tensor must be 1D or 2D but got {ndim}D")
    return matrices, tuple(sizes)


def _check(tensors: list[Tensor], matrices: list[Tensor]) -> None:
    for i, matrix in enumerate(matrices[1:-1], 1):
        if matrix._raw.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {matrix._raw.ndim}D")
    first = matrices[0].dtype
    for i in range(1, len(matrices)):
        dtype = matrices[i].dtype
        if dtype is not first:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{first.c_name} and tensor {i} {dtype.c_name}"
            )
        if matrices[i - 1]._raw.shape[-1] != matrices[i]._raw.shape[0]:
            one, two = ([*t._raw.shape] for t in tensors[i - 1 : i + 1])
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {one} and {two} cannot be "
                "multiplied"
            )


def _of_three(one: Tensor, two: Tensor, three: Tensor) -> tuple[Tensor, Tensor]:
    """The factors of the last product."""
    (a, b), (c, d) = one._raw.shape, three._raw.shape
    if a * c * (b + d) > b * d * (a + c):
        return one, mm(two, three)
    return mm(one, two), three


def _splits(matrices: Sequence[Tensor]) -> dict[tuple[int, int], int]:
    """For the first and last factor of each subchain, the factor after which the product is best
    split (T. H. Cormen et al., "Introduction to algorithms", matrix-chain multiplication)."""
    count = len(matrices)
    sizes = [matrices[0]._raw.shape[0], *(m._raw.shape[1] for m in matrices)]
    costs = {(i, i): 0 for i in range(count)}
    splits = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            found = [
                (costs[i, k] + costs[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            costs[i, j], splits[i, j] = min(found)
    return splits


def _factors(matrices: Sequence[Tensor], splits, i: int, j: int) -> tuple[Tensor, Tensor]:
    """The factors of the last product in a subchain of at least two."""
    k = splits[i, j]
    return _product(matrices, splits, i, k), _product(matrices, splits, k + 1, j)


def _product(matrices: Sequence[Tensor], splits, i: int, j: int) -> Tensor:
    return matrices[i] if i == j else mm(*_factors(matrices, splits, i, j))


@native()
@RULES["composed_no_rule"]
def chain_matmul(matrices, *, out=None):
    """The product of matrices, deprecated in favour of `linalg.multi_dot`.

    Raises RuntimeError as `linalg.multi_dot`, and for other dimensions than two.
    """
    warn_once(_DEPRECATED)
    for matrix in matrices:
        if matrix._raw.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {matrix._raw.ndim}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    if len(matrices) == 1:
        return matrices[0].clone()
    return multi_dot(matrices, out=out)
