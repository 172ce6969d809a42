"""Composite products: matmul, outer, inner and tensordot.

The reshapes, expansions and copies on the way are visible in the recorded graph, so each product is
composed as in ATen (LinearAlgebra.cpp).
"""

from __future__ import annotations

import functools
import itertools
import math

from impl.core.dims import wrap_dims
from impl.core.registry import FUNCTIONS, array_ops, tensor_ops
from impl.core.sizes import broadcast_shapes
from impl.core.state import STATE
from impl.core.warning import warn
from impl.dispatch.autocast import lower_precision_fp
from impl.dispatch.definition import function, native
from impl.dispatch.out import check_out, copy_out, fit
from impl.operators.pointwise.python_operators import binary
from impl.operators.products import bmm_fused
from impl.operators.products.matmul import bmm, dot, mm, mv
from impl.operators.views.shape import unsafe_view
from impl.tensor.tensor import Tensor, requires_grad


def require_tensor(name: str, argument: str, position: int, value) -> None:
    """Raise TypeError for an argument that is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be Tensor, "
            f"not {type(value).__name__}"
        )


# -- matmul -----------------------------------------------------------------------------------


# The operators that write to `out=` themselves, for factors of these ranks.
_KERNELS = {(1, 1): dot, (2, 2): mm, (2, 1): mv, (3, 3): bmm}


@function()
def matmul(input, other, *, out=None):
    """The matrix product over the last two dimensions, the leading ones broadcast (torch.matmul).

    A vector counts as a row on the left and as a column on the right. Raises RuntimeError for
    0-dim tensors, inner sizes that differ, batches that do not broadcast, and different dtypes.
    """
    require_tensor("matmul", "input", 1, input)
    require_tensor("matmul", "other", 2, other)
    if out is not None:
        return _matmul_out(out, input, other)
    return (matmul_of if STATE.autocast is None else lower_precision_fp(matmul_of))(input, other)


def _matmul_out(out: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """`matmul` with `out=`: the kernel for these ranks writes to it, or to a reshaped view of it
    that already has the sizes of the result."""
    ranks = (left._raw.ndim, right._raw.ndim)
    require_dimensions(ranks)
    check_out("matmul", out, requires_grad(left) or requires_grad(right))
    if max(ranks) <= 2 and ranks != (1, 2):
        return _KERNELS[ranks].call_out(out, (left, right))
    if ranks == (1, 2):
        mm.call_out(out, (tensor_ops.unsqueeze(left, 0), right))
        return out.squeeze_(0)
    if _folds(left, right, copies=False):
        if ranks[0] == 1:
            left, right = tensor_ops.transpose(right, -2, -1), left
        rows = tensor_ops.reshape(left, (math.prod(left._raw.shape[:-1]), left._raw.shape[-1]))
        size = (*left._raw.shape[:-1], *right._raw.shape[1:])
        return _written_as(out, size, (rows._raw.shape[0], *right._raw.shape[1:]), rows, right)
    a, b = left._raw.shape, right._raw.shape
    left_size, left_batch, right_size, right_batch, size = _batch_sizes(a, b)
    left = tensor_ops.reshape(tensor_ops.expand(left, left_size), left_batch)
    right = tensor_ops.reshape(tensor_ops.expand(right, right_size), right_batch)
    vector = len(b) == 1
    if vector:
        right = tensor_ops.unsqueeze(right, 2)
    return _written_as(out, size, (*left_batch[:2], right._raw.shape[2]), left, right, vector)


def _written_as(
    out: Tensor, size, made, left: Tensor, right: Tensor, vector: bool = False
) -> Tensor:
    """Write a product to `out=`, resized to `size`, by way of a tensor of the sizes `made`: a view,
    or a copy, which is not given the sizes of `out=` again; its columns of a `vector` have one
    element."""
    fit(out, tuple(size))
    written = tensor_ops.reshape(out, made)
    _KERNELS[left._raw.ndim, right._raw.ndim].call_out(written, (left, right))
    if written._storage.buffer is not out._storage.buffer:
        out.copy_(written.squeeze(-1) if vector else written)
    return out


def require_dimensions(ranks, name: str = "matmul") -> None:
    """Raise RuntimeError for a 0-dim factor."""
    if 0 in ranks:
        raise RuntimeError(
            f"both arguments to {name} need to be at least 1D, but they are "
            f"{ranks[0]}D and {ranks[1]}D"
        )


def matmul_of(left: Tensor, right: Tensor) -> Tensor:
    """`matmul` of arguments already checked to be tensors."""
    ranks = (left._raw.ndim, right._raw.ndim)
    if ranks == (2, 2):
        return mm(left, right)
    if ranks == (2, 1):
        return mv(left, right)
    if min(ranks) > 2:
        return _batched(left, right)
    require_dimensions(ranks)
    if ranks == (1, 1):
        return dot(left, right)
    if ranks == (1, 2):
        return mm(tensor_ops.unsqueeze(left, 0), right).squeeze_(0)
    if _folds(left, right):
        return _folded(left, right)
    return _batched(left, right)


def _folds(left: Tensor, right: Tensor, copies: bool = True) -> bool:
    """Whether the larger operand's batch becomes rows of one matrix, rather than a bmm.

    If the fold `copies`, always when the smaller operand requires grad (a bmm would expand its
    gradient needlessly), else when the fold is a view, whatever the strides of dimensions of size
    one are.
    """
    left_larger = left._raw.ndim >= right._raw.ndim
    large, small = (left, right) if left_larger else (right, left)
    if large._raw.ndim < 3 or small._raw.ndim > 2:
        return False
    if copies and _requires_grad_inside(small):
        return True
    if left._raw.ndim == 2:
        return False
    if large._raw.size == 0:
        return True
    shape, strides = [*large._raw.shape], [*large.stride()]
    if not left_larger:
        shape[-2:], strides[-2:] = shape[:-3:-1], strides[:-3:-1]
    rows = [(n, step) for n, step in zip(shape[:-1], strides[:-1], strict=True) if n != 1]
    return all(step == below * n for (_, step), (n, below) in itertools.pairwise(rows))


def _requires_grad_inside(tensor: Tensor) -> bool:
    """Whether an operand requires grad where a product is computed: within a transform of
    differentiation, at its level."""
    if not requires_grad(tensor):
        return False
    innermost = STATE.transforms[-1] if STATE.transforms else None
    return innermost is None or not innermost.wraps or innermost.tracks(tensor)


def _folded(left: Tensor, right: Tensor) -> Tensor:
    transposed = right._raw.ndim > left._raw.ndim
    large, small = (right, left) if transposed else (left, right)
    if transposed:
        large = tensor_ops.transpose(large, -2, -1)
        if small._raw.ndim == 2:
            small = tensor_ops.t(small)
    shape = large._raw.shape
    rows = tensor_ops.reshape(large, (math.prod(shape[:-1]), shape[-1]))
    if small._raw.ndim == 1:
        return unsafe_view(mv(rows, small), shape[:-1])
    result = unsafe_view(mm(rows, small), (*shape[:-1], small._raw.shape[1]))
    return tensor_ops.transpose(result, -2, -1).contiguous() if transposed else result


def _batched(left: Tensor, right: Tensor) -> Tensor:
    result = bmm_fused.product(left, right)
    return _composed(left, right) if result is None else result


def _composed(left: Tensor, right: Tensor) -> Tensor:
    a, b = left._raw.shape, right._raw.shape
    if len(a) == len(b) == 3 and a[0] != b[0]:
        # A batch of one against several is folded too if it requires grad, for the same reason.
        if a[0] == 1 and _requires_grad_inside(left):
            return matmul_of(tensor_ops.squeeze_dim(left, 0), right)
        if b[0] == 1 and _requires_grad_inside(right):
            return matmul_of(left, tensor_ops.squeeze_dim(right, 0))
    left_size, left_batch, right_size, right_batch, size = _batch_sizes(a, b)
    left = tensor_ops.reshape(tensor_ops.expand(left, left_size), left_batch)
    right = tensor_ops.reshape(tensor_ops.expand(right, right_size), right_batch)
    if len(b) == 1:
        return unsafe_view(
            tensor_ops.squeeze_dim(bmm(left, tensor_ops.unsqueeze(right, 2)), -1), size
        )
    return unsafe_view(bmm(left, right), size)


@functools.lru_cache(2048)
def _batch_sizes(a, b):
    """The expanded and the reshaped sizes of the left operand, those of the right, and the result's
    sizes."""
    batch = broadcast_shapes(a[:-2], b[:-2])
    count = math.prod(batch)
    left, right = (1, *a)[-2:], b[-2:]
    size = (*batch, *a[:-1][-1:], *right[1:])
    return (*batch, *left), (count, *left), (*batch, *right), (count, *right), size


binary(matmul, "__matmul__", Tensor)
binary(lambda right, left: matmul(left, right), "__rmatmul__", Tensor)


# -- outer and inner --------------------------------------------------------------------------


array_ops.outer = lambda left, right: left[:, None] * right


@function()
def outer(input, vec2, *, out=None):
    """The products of every two elements of two vectors (torch.outer).

    Raises RuntimeError unless both are 1-D.
    """
    for name, value in (("self", input), ("vec2", vec2)):
        if value._raw.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {value._raw.ndim}-D")
    return FUNCTIONS["mul"](tensor_ops.reshape(input, (input.shape[0], 1)), vec2, out=out)


tensor_ops.outer = outer


@function()
def ger(input, vec2, *, out=None):
    """`outer` under its older name, which warns with `out` (torch.ger)."""
    if out is None:
        return outer(input, vec2)
    warn(
        "torch.ger is deprecated and will be removed in a future PyTorch release. Use torch.outer "
        "instead.",
    )
    return outer(input, vec2, out=out)


@function()
def inner(input, other, *, out=None):
    """The sums of products over the last dimensions (torch.inner).

    Raises RuntimeError when the last sizes differ.
    """
    if input._raw.ndim == 0 or other._raw.ndim == 0:
        return FUNCTIONS["mul"](input, other, out=out)
    if input._raw.shape[-1] != other._raw.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{[*input._raw.shape]} and {[*other._raw.shape]}"
        )
    return tensordot(input, other, [-1], [-1], out=out)


@native()
def tensordot(input, other, dims_self, dims_other, *, out=None):
    """Contract dimensions of one tensor with dimensions of another.

    Raises RuntimeError when the sizes differ, and for an `out=` of another dtype.
    """
    result = _contracted(input, other, dims_self, dims_other)
    if out is None:
        return result
    if out.dtype is not result.dtype:
        raise RuntimeError(
            f"tensordot: Expected the output tensor to have dtype {result.dtype.legacy}, but got "
            f"an output tensor with dtype {out.dtype.legacy}"
        )
    if requires_grad(out) and out._raw.shape != result._raw.shape:
        raise RuntimeError(
            "tensordot(): the 'out' tensor was specified and requires gradients, and its shape "
            "does not match the expected result. Either remove the 'out' argument, ensure it does "
            "not require gradients, or make sure its shape matches the expected output."
        )
    return copy_out("tensordot", out, result)


def _contracted(a, b, of_a, of_b):
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if len(of_a) != len(of_b):
        raise RuntimeError("both dimension lists should have same length")
    left, right, contracted = a, b, 1
    for i, j in zip(of_a, of_b, strict=True):
        n, m = a.size(i), b.size(j)
        if m == 1:
            left = left.sum(i, True, dtype=left.dtype)
        elif n == 1:
            right = right.sum(j, True, dtype=right.dtype)
        elif n != m:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {i} and "
                f"second has size {m} in dim {j}"
            )
        else:
            contracted *= n
    of_a, of_b = (
        wrap_dims(dims, tensor.dim()) if len(dims) else ()
        for tensor, dims in ((a, of_a), (b, of_b))
    )
    free_a = [d for d in range(a._raw.ndim) if d not in of_a]
    free_b = [d for d in range(b._raw.ndim) if d not in of_b]
    rows = [a._raw.shape[d] for d in free_a]
    columns = [b._raw.shape[d] for d in free_b]
    left = tensor_ops.permute(left, (*free_a, *of_a))
    right = tensor_ops.permute(right, (*of_b, *free_b))
    if math.prod(rows) == math.prod(columns) == 1:
        if left.is_contiguous() and right.is_contiguous():
            result = dot(left.flatten(), right.flatten())
        else:
            result = (left.squeeze() * right.squeeze()).sum()
    else:
        result = mm(
            tensor_ops.reshape(left, (math.prod(rows), contracted)),
            tensor_ops.reshape(right, (contracted, math.prod(columns))),
        )
    return tensor_ops.reshape(result, (*rows, *columns))
