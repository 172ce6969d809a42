"""Block diagonal matrices: block_diag."""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import get_default_dtype, result_dtype
from impl.dispatch.definition import Array, counted, native, operator
from impl.tensor.tensor import new


def _places(shapes):
    """(start, end) of the rows and of the columns of each block; a vector is a row, a 0-D 1x1."""
    row = column = 0
    for shape in shapes:
        rows, columns = (1, 1, *shape)[-2:]
        yield (row, row + rows), (column, column + columns)
        row, column = row + rows, column + columns


@operator(function=False, method=False, node="BlockDiagBackward0")
def block_diagonal(tensors: list[Array]) -> Array:
    places = list(_places([t.shape for t in tensors]))
    rows, columns = (end for _, end in places[-1])
    result = np.zeros((rows, columns), result_dtype(tensors).numpy)
    for tensor, ((top, bottom), (left, right)) in zip(tensors, places, strict=True):
        result[top:bottom, left:right] = tensor
    return result


def _as_matrix(tensor):
    return tensor if tensor._raw.ndim == 2 else tensor.expand((1, 1, *tensor._raw.shape)[-2:])


@block_diagonal.composes
def _copied_to_blocks(tensors):
    places = list(_places([t._raw.shape for t in tensors]))
    size = [end for _, end in places[-1]]
    result = counted(new(np.zeros(size, result_dtype([t._raw for t in tensors]).numpy)))
    for tensor, ((top, bottom), (left, right)) in zip(tensors, places, strict=True):
        block = result.narrow(0, top, bottom - top).narrow(1, left, right - left)
        block.copy_(_as_matrix(tensor))
    return result


def _block_gradients(F, grad, tensors_shape, tensors_dtype):
    result = []
    places = _places(tensors_shape)
    for shape, dtype, (rows, columns) in zip(tensors_shape, tensors_dtype, places, strict=True):
        part = F.slice(F.slice(grad, 0, *rows, 1), 1, *columns, 1)
        part = F.real_part(part) if F.is_complex(grad) and dtype.kind != "c" else part
        for _ in range(2 - len(shape)):
            part = F.squeeze_dim(part, -1)
        result.append(part)  # a vector's may be 2-D (squeeze_dim kept it); the engine sums it
    return result


block_diagonal.gradient(tensors=_block_gradients)
block_diagonal.forward("linear")


@native()
def block_diag(tensors):
    """The tensors, of up to two dimensions, as blocks along the diagonal of a matrix.

    Vectors are rows. Raises RuntimeError for more dimensions.
    """
    if not tensors:
        return new(np.zeros((1, 0), get_default_dtype().numpy))
    for i, tensor in enumerate(tensors):
        ndim = tensor._raw.ndim
        if ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. "
                f"Input {i} has {ndim} dimensions"
            )
    return block_diagonal(tensors)
