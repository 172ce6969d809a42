"""`torch.functional`: the functions of torch that are written in Python.

They hand their arguments to functions of `torch._C`, whose parsers refuse wrong ones.
"""

from __future__ import annotations

import itertools
import operator
import string
from collections.abc import Sequence
from functools import reduce

from impl._distinct import unique, unique_consecutive
from impl._lowrank import pca_lowrank, svd_lowrank
from impl.core.dtypes import bool_, int64
from impl.core.registry import C
from impl.core.sizes import Size
from impl.dispatch.boolean_dispatch import boolean_dispatch
from impl.operators.fourier.stft import centred
from impl.operators.linalg.legacy_norms import norm_dims
from impl.tensor.overridable import overridable
from impl.tensor.tensor import Tensor

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "lu",
    "meshgrid",
    "norm",
    "pca_lowrank",
    "split",
    "stft",
    "svd_lowrank",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
]


# -- shapes ---------------------------------------------------------------------------------------


@overridable("tensors")
def atleast_1d(*tensors):
    """Tensors with one dimension at least (torch.atleast_1d)."""
    return C.atleast_1d(tensors[0] if len(tensors) == 1 else tensors)


@overridable("tensors")
def atleast_2d(*tensors):
    """Tensors with two dimensions at least, vectors as rows (torch.atleast_2d)."""
    return C.atleast_2d(tensors[0] if len(tensors) == 1 else tensors)


@overridable("tensors")
def atleast_3d(*tensors):
    """Tensors with three dimensions at least (torch.atleast_3d)."""
    return C.atleast_3d(tensors[0] if len(tensors) == 1 else tensors)


@overridable("tensors")
def broadcast_tensors(*tensors):
    """All tensors expanded to their common shape (torch.broadcast_tensors)."""
    return C.broadcast_tensors(tensors)


def broadcast_shapes(*shapes) -> Size:
    """The shape to which the shapes, tuples or numbers, broadcast (torch.broadcast_shapes).

    Raises RuntimeError for shapes that do not, and for other objects.
    """
    given = [(s,) if isinstance(s, int) else s for s in shapes if s is not None]
    for shape in given:
        if not isinstance(shape, Sequence):
            raise RuntimeError(
                "Input shapes should be of type ints, a tuple of ints, or a list of ints, got "
                f"{shape}"
            )
    common = [1] * reduce(max, map(len, given), 0)
    for place, shape in enumerate(given):
        for dim in range(-1, -1 - len(shape), -1):
            if shape[dim] == common[dim]:
                continue
            if common[dim] == 1:
                if shape[dim] < 0:
                    raise ValueError("Attempting to broadcast a dimension with negative length!")
                common[dim] = shape[dim]
            elif shape[dim] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[dim]} at {dim}! "
                    f"Mismatching argument at index {place} had {shape}; but expected shape should "
                    f"be broadcastable to {common}"
                )
    return Size(common)


@overridable("tensor")
def split(tensor, split_size_or_sections, dim=0):
    """Views of a number of elements each (the last may be smaller), or of the given sizes
    (torch.split).

    Returns a tuple of multi-output views, which may not be modified in place while recorded. Raises
    RuntimeError when the sizes do not add up.
    """
    return tensor.split(split_size_or_sections, dim)


@overridable("tensors")
def meshgrid(*tensors, indexing=None):
    """Grids of coordinates: every 1-d tensor expanded along the others (torch.meshgrid)."""
    return _meshgrid(*tensors, indexing=indexing)


@overridable("tensors")
def _meshgrid(*tensors, indexing):
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        (tensors,) = tensors
    return C.meshgrid(tensors) if indexing is None else C.meshgrid(tensors, indexing=indexing)


@overridable("indices")
def unravel_index(indices, shape):
    """The coordinates, one tensor for each dimension, of indices into a flattened tensor
    (torch.unravel_index).

    Raises TypeError for indices and sizes that are not integers, ValueError for negative sizes.
    """
    if indices.is_complex() or indices.is_floating_point() or indices.dtype == bool_:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    if 0 in sizes and indices.numel():
        raise ValueError(
            f"'shape' cannot have zero dimensions when 'indices' is non-empty, but got {sizes}"
        )
    steps = [*itertools.accumulate((1, *sizes[:0:-1]), operator.mul)][::-1]
    options = {"device": indices.device, "dtype": int64}
    places = indices.unsqueeze(-1).floor_divide(C.tensor(steps, **options))
    return (places % C.tensor(sizes, **options)).unbind(-1)


# -- products and distances -----------------------------------------------------------------------

_LETTERS = string.ascii_uppercase + string.ascii_lowercase  # the subscripts 0 to 51 of lists


@overridable("args")
def einsum(*args) -> Tensor:
    """The sum of products that an equation describes, such as "ij,jk->ik" (torch.einsum).

    A name given twice in an operand is its diagonal; an ellipsis stands for dimensions that
    broadcast. Each operand may instead be followed by a list of its dimensions' numbers, and the
    last of them by the output's; `...` stands for an ellipsis. Raises RuntimeError for an equation
    that does not fit its operands, ValueError without operands.
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    equation, operands = args[0], args[1:]
    if isinstance(equation, Tensor):
        equation, operands = _from_lists(args)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return einsum(equation, *operands[0])
    return C.einsum(equation, operands)


def _from_lists(args: tuple) -> tuple[str, tuple]:
    """The equation and the operands of a call with lists of subscripts."""
    equation = ",".join(map(_term, args[1::2]))
    if len(args) % 2 == 0:
        return equation, args[::2]
    return f"{equation}->{_term(args[-1])}", args[:-1:2]


def _term(subscripts) -> str:
    """The letters of a list of subscripts. Raises ValueError for a number outside [0, 52)."""
    letters = []
    for subscript in subscripts:
        if subscript == Ellipsis:
            letters.append("...")
        elif 0 <= subscript < len(_LETTERS):
            letters.append(_LETTERS[subscript])
        else:
            raise ValueError(
                "einsum(): subscript in subscript list is not within the valid range [0, 52)"
            )
    return "".join(letters)


@overridable("a", "b")
def tensordot(a, b, dims=2, out=None) -> Tensor:
    """Contract dimensions of `a` with dimensions of `b` (torch.tensordot).

    `dims` is a number (the last of a with the first of b) or a pair of lists. Raises RuntimeError
    when the sizes differ.
    """
    if not isinstance(dims, (tuple, list, Tensor, int)):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={dims}"
        )
    if isinstance(dims, (tuple, list)):
        of_a, of_b = dims
    elif isinstance(dims, Tensor) and dims.numel() > 1:
        if dims.size()[0] != 2:
            raise AssertionError(
                f"dims tensor must have size 2 in first dimension, got {dims.size()[0]}"
            )
        of_a, of_b = (part.tolist() for part in dims.unbind())
    else:
        count = int(dims.item()) if isinstance(dims, Tensor) else dims
        if count < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if isinstance(dims, int) and dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        of_a, of_b = [*range(-count, 0)], [*range(count)]
    if out is None:
        return C.tensordot(a, b, of_a, of_b)
    return C.tensordot(a, b, of_a, of_b, out=out)


@overridable("matrices")
def chain_matmul(*matrices, out=None) -> Tensor:
    """The product of matrices (torch.chain_matmul), deprecated in favour of `linalg.multi_dot`."""
    return C.chain_matmul(matrices) if out is None else C.chain_matmul(matrices, out=out)


@overridable("tensors")
def cartesian_prod(*tensors) -> Tensor:
    """The Cartesian product of vectors, one tuple a row (torch.cartesian_prod).

    Raises RuntimeError unless all are 1-D.
    """
    return C.cartesian_prod(tensors)


@overridable("tensors")
def block_diag(*tensors) -> Tensor:
    """The tensors, of up to two dimensions, as blocks along the diagonal of a matrix
    (torch.block_diag).

    Vectors are rows. Raises RuntimeError for more dimensions.
    """
    return C.block_diag(tensors)


_DISTANCES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


@overridable("x1", "x2")
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The distances of order `p` of the rows of `x1` (..., n, k) from those of `x2` (..., m, k), as
    (..., n, m) (torch.cdist).

    Euclidean distances of more than 25 rows are computed by a matrix product, unless
    `compute_mode` forbids it. Raises ValueError for another mode, RuntimeError for less than two
    dimensions, different numbers of columns, integers and complex numbers, and a negative `p`.
    """
    if not isinstance(compute_mode, str) or compute_mode not in _DISTANCES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return C.cdist(x1, x2, p, _DISTANCES[compute_mode])


# -- norms and factorisations ---------------------------------------------------------------------


@overridable("input")
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None) -> Tensor:
    """A vector norm of any order, or "fro" for order 2; or a matrix norm by name (torch.norm)."""
    _ = input.layout, input.device.type  # here torch refuses other objects than tensors
    dims = [dim] if isinstance(dim, int) else dim
    options = {"dtype": dtype} if out is None else {"dtype": dtype, "out": out}
    if input.is_sparse and p != "nuc":
        return _sparse_norm(input, p, dims, keepdim, options)
    if not isinstance(p, str):
        return C.linalg_vector_norm(input, 2.0 if p is None else p, dims, keepdim, **options)
    if p == "fro" and (dims is None or len(dims) <= 2):
        return C.linalg_vector_norm(input, 2, dims, keepdim, **options)
    if dims is None:
        dims = [*range(input.ndim)]
    return C.linalg_matrix_norm(input, p, dims, keepdim, **options)


def _sparse_norm(input, p, dims, keepdim: bool, options: dict):
    """The norm of a sparse tensor, which has a node of its own. Raises ValueError for a dtype with
    "fro"."""
    if p == "fro" and options["dtype"] is not None:
        raise ValueError("dtype argument is not supported in frobenius norm")
    order = 2.0 if p in (None, "fro") else p
    if "out" in options or options["dtype"] is not None:
        return C.linalg_vector_norm(input, order, dims, keepdim, **options)
    every = () if p == "fro" else range(input.ndim)
    return norm_dims(input, order, tuple(every if dims is None else dims), keepdim)


def _stored(result: tuple, get_infos, out):
    if out is None:
        return result
    if len(out) - (1 if get_infos else 0) != 2:
        raise TypeError(f"expected tuple of {2 + int(get_infos)} elements but got {len(out)}")
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    for target, part in zip(out, result, strict=False):
        target.resize_as_(part).copy_(part)
    return out


@overridable("A")
def _lu_with_infos(A, pivot=True, get_infos=False, out=None):
    result = C._lu_with_info(A, pivot=pivot, check_errors=not get_infos)
    return _stored(result, get_infos, out)


@overridable("A")
def _lu_no_infos(A, pivot=True, get_infos=False, out=None):
    result = C._lu_with_info(A, pivot=pivot, check_errors=not get_infos)
    return _stored((result[0], result[1]), get_infos, out)


lu = boolean_dispatch("lu", "get_infos", 2, _lu_with_infos, _lu_no_infos)
lu.__doc__ = """The factors in one matrix, the row exchanges, and with `get_infos` error codes,
which are not raised (torch.lu). Warns that it is deprecated."""


# -- spectra --------------------------------------------------------------------------------------


@overridable("input")
def stft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
) -> Tensor:
    """The Fourier transforms of frames of n_fft elements, hop_length apart (torch.stft).

    From (L,) or (B, L) to (B?, N, T): N frequencies of T frames; N is n_fft // 2 + 1 if `onesided`,
    the default for real numbers. `center` pads so that frame t is centred at t * hop_length. Raises
    RuntimeError for sizes that do not fit and for real input without `return_complex`.
    """
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        input = centred(input, n_fft, pad_mode)
    return C.stft(
        input,
        n_fft,
        hop_length,
        win_length,
        window,
        normalized,
        onesided,
        return_complex,
        align_to_window,
    )
