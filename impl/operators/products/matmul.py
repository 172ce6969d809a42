"""Matrix products: the operators mm, bmm, mv, dot, vdot and trace.

Gradients are products with the transposed other operand. The gradient of a column-major operand is
column-major, as in torch (FunctionsManual.cpp, mm_mat1_backward and mm_mat2_backward).
"""

from __future__ import annotations

import functools

import numpy as np

from impl.core.dims import require_dims
from impl.core.dtypes import BY_NUMPY, INTEGRAL, WIDE
from impl.core.registry import FUNCTIONS, array_ops, tensor_ops
from impl.dispatch.definition import Array, formula_operation, operator, written
from impl.dispatch.formula_helpers import multiplied
from impl.dispatch.not_implemented import refuse_bool
from impl.dispatch.out import inner_product_out, set_output
from impl.dispatch.vmap_rules import ensured, fronted, hide, hide_at
from impl.kernels.reduced_precision import accumulate_dtype, widened
from impl.tensor.batched_tensor import moved
from impl.tensor.lazy_conj import conj_neg_bits, lazily_conjugated
from impl.tensor.tensor import new


def c_name_of(raw) -> str:
    """The C++ name of an array's dtype (`float`), for the messages that do not use `legacy`."""
    return BY_NUMPY[raw.dtype].c_name


def legacy(raw) -> str:
    """The name of an array's dtype in torch's older messages (`Float`)."""
    return BY_NUMPY[raw.dtype].legacy


def sizes_text(raw) -> str:
    """An array's sizes in the notation of torch's messages (`2x3`)."""
    return "x".join(map(str, raw.shape))


def no_bool(kernel_name: str, a, b) -> None:
    """Raise NotImplementedError for bool; as in torch, not if either operand is empty."""
    if a.size and b.size:
        refuse_bool(a, kernel_name)


def product(a, b):
    """The matrix product of arrays; half and bfloat16 are accumulated in float32."""
    kind = a.dtype
    if kind is b.dtype and kind in WIDE:
        return matrices(a, b)
    check_alike(a, b)
    return np.matmul(widened(a), widened(b)).astype(a.dtype, copy=False)


def matrices(a, b):
    """The product by np.matmul, or by `dot` for two matrices; `dot` has less overhead but zeroes
    its result first.

    A matrix of few rows times a transposed matrix is computed as a transposed product, which is
    faster.
    """
    # For a single element `dot` calls axpy, which returns zero for zero times NaN.
    if a.size == 1 or b.size == 1:
        return np.matmul(a, b)
    if a.ndim != 2 or b.ndim != 2:
        return a.dot(b) if a.ndim == 2 and b.ndim == 1 else np.matmul(a, b)
    rows, columns = len(a), b.shape[1]
    if len(b) == 1 and rows > 1 and columns > 1:  # the products themselves, so -0.0 stays
        return np.multiply(a, b, order="C")
    if rows * columns > 1 << 15:
        return np.matmul(a, b)
    few = 8 <= rows < columns and (
        (rows <= 16 and len(b) * columns > 1 << 14) or (rows <= 64 and len(b) * columns > 1 << 16)
    )
    if few and b.flags.f_contiguous and a.flags.c_contiguous:
        return np.ascontiguousarray(b.T.dot(a.T).T)
    return a.dot(b)


def left_gradient(F, grad, right, layout, alpha=1):
    """The gradient of the left factor, column-major if its `layout` is."""
    (rows, _), strides, _ = layout
    if strides == (1, rows):
        result = F.t(F.mm_fitting(F.conj(right), F.t(grad)))
    else:
        result = F.mm_fitting(grad, F.conj(F.t(right)))
    return result if alpha == 1 else multiplied(F, result, alpha)


def right_gradient(F, grad, left, layout, alpha=1):
    """The gradient of the right factor, column-major if its `layout` is."""
    (rows, _), strides, _ = layout
    if strides == (1, rows):
        result = F.t(F.mm_fitting(F.t(grad), F.conj(left)))
    else:
        result = F.mm_fitting(F.conj(F.t(left)), grad)
    return result if alpha == 1 else multiplied(F, result, alpha)


# -- matrices and vectors ---------------------------------------------------------------------


def _of_no_terms(args) -> bool:
    """Whether there is nothing to sum for an element: ATen sets the result to zero."""
    self, other = args
    return self._raw.shape[-1] == 0 and self._raw.shape[-2] > 0 and other._raw.shape[-1] > 0


@operator(out=True, numbers=False, autocast="lower_precision_fp", writes=_of_no_terms)
def mm(self: Array, mat2: Array) -> Array:
    """The product of two matrices, (n, m) by (m, p) (torch.mm).

    Raises RuntimeError unless both are matrices of one dtype whose inner sizes agree.
    """
    check_matrices("mm", self, mat2)
    check_alike(self, mat2)
    no_bool("addmm_impl_cpu_", self, mat2)
    return product(self, mat2)


def check_alike(mat1, mat2) -> None:
    """Raise RuntimeError as torch does for two factors of different dtypes."""
    if mat1.dtype != mat2.dtype:
        raise RuntimeError(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{c_name_of(mat1)} != {c_name_of(mat2)}"
        )


def check_matrices(function: str, mat1, mat2) -> None:
    """Raise RuntimeError as torch does unless both are matrices whose inner sizes agree."""
    for name, value in (("self", mat1), ("mat2", mat2)):
        if value.ndim != 2:
            raise RuntimeError(f"{function}: {name} must be a matrix, got {value.ndim}-D tensor")
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"{function}: mat1 and mat2 shapes cannot be multiplied ({sizes_text(mat1)} and "
            f"{sizes_text(mat2)})"
        )


def _product_rule(product, first_t, first, second_t, second):
    """The tangent of a product; its terms in the order in which torch's compiler evaluates them."""
    later = product(first, second_t)
    return product(first_t, second) + later


@functools.partial(mm.structured, rereads=False)
def _mm_meta(self, mat2):
    check_matrices("mm", self, mat2)
    return (self.shape[0], mat2.shape[1]), self.dtype


def _require_ranks(name: str, args, first: int, second: int) -> None:
    """Raise RuntimeError for examples that are no matrices or vectors of these dimensions."""
    ranks = [value._raw.ndim for value in args]
    if ranks != [first, second]:
        raise RuntimeError(
            f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {ranks[0]}and b has "
            f"dim {ranks[1]}but expected them to have dim {first} and dim {second}"
        )


@mm.batches
def _mm_of_batch(args, level):
    _require_ranks("mm", args, 2, 2)
    left, right = (fronted(value, level) for value in args)
    return hide(FUNCTIONS["matmul"](left, right), level)


mm.gradient(
    self=lambda F, grad, mat2, self_layout: left_gradient(F, grad, mat2, self_layout),
    mat2=lambda F, grad, self, mat2_layout: right_gradient(F, grad, self, mat2_layout),
)
mm.forward(lambda F, self_t, self, mat2_t, mat2: _product_rule(F.mm, self_t, self, mat2_t, mat2))


# The product without checks, for formulas, whose matrices are known to fit.
array_ops.mm_fitting, tensor_ops.mm_fitting = product, tensor_ops.mm


@operator(out=True, numbers=False, autocast="lower_precision_fp", writes=_of_no_terms)
def bmm(self: Array, mat2: Array) -> Array:
    """The products of two batches of matrices, (b, n, m) by (b, m, p) (torch.bmm).

    Raises RuntimeError unless both are 3-D, of one dtype, with fitting sizes.
    """
    kind, shape = self.dtype, self.shape
    if (  # the common case
        kind in WIDE
        and mat2.dtype is kind
        and len(shape) == mat2.ndim == 3
        and mat2.shape[:2] == (shape[0], shape[2])
    ):
        return np.ascontiguousarray(np.matmul(_spread(self), _spread(mat2)))
    check_batches(self, mat2)
    check_batch_sizes(self, mat2)
    no_bool("bmm", self, mat2)
    same_batch_dtypes(self, mat2)
    if self.dtype != mat2.dtype:  # of which one is empty; the result has the second one's
        return np.zeros((*shape[:2], mat2.shape[2]), mat2.dtype)
    return np.ascontiguousarray(product(self, mat2))


def _spread(batch):
    """A batch without strides of zero, which BLAS cannot read."""
    return np.ascontiguousarray(batch) if 0 in batch.strides else batch


def same_batch_dtypes(batch1, batch2) -> None:
    """Raise RuntimeError as torch does for two factors that do not fit."""
    if batch1.dtype != batch2.dtype and batch1.size and batch2.size:
        raise RuntimeError(f"expected scalar type {legacy(batch1)} but found {legacy(batch2)}")


def check_batches(batch1, batch2) -> None:
    """Raise RuntimeError as torch does for two factors that do not fit."""
    if batch1.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if batch2.ndim != 3:
        raise RuntimeError("batch2 must be a 3D tensor")


def check_batch_sizes(batch1, batch2) -> None:
    """Raise RuntimeError as torch does for two factors that do not fit."""
    expected = [batch1.shape[0], batch1.shape[2]]
    if [*batch2.shape[:2]] != expected:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {expected} "
            f"but got: {[*batch2.shape[:2]]}."
        )


@functools.partial(bmm.structured, rereads=False)
def _bmm_meta(self, mat2):
    check_batches(self, mat2)
    check_batch_sizes(self, mat2)
    return (*self.shape[:2], mat2.shape[2]), mat2.dtype


@bmm.batches
def _bmm_of_batch(args, level):
    _require_ranks("bmm", args, 3, 3)
    left, right = (ensured(value, level) for value in args)
    return hide(FUNCTIONS["matmul"](left, right), level)


bmm.gradient(
    self=lambda F, grad, mat2: F.bmm(grad, F.conj(F.transpose(mat2, 1, 2))),
    mat2=lambda F, grad, self: F.bmm(F.conj(F.transpose(self, 1, 2)), grad),
)
bmm.forward(lambda F, self_t, self, mat2_t, mat2: _product_rule(F.bmm, self_t, self, mat2_t, mat2))


@operator(out=True, numbers=False)
def mv(self: Array, vec: Array) -> Array:
    """The product of a matrix (n, m) and a vector (m,) (torch.mv).

    Raises RuntimeError for other ranks, sizes that do not fit, and different dtypes.
    """
    kind, shape = self.dtype, self.shape
    if kind in WIDE and vec.dtype is kind and len(shape) == 2 and vec.shape == shape[1:]:
        return self.dot(vec) if len(vec) != 1 else matrices(self, vec)  # the common case
    _mv_meta(self, vec)
    no_bool("addmv_impl_cpu", self, vec)
    return product(self, vec)


@mv.composes
def _added_to_memory(self, vec):
    return self.new_empty(self.size(0)).addmv_(self, vec, beta=0, alpha=1)


def _fitting_vector(self, vec):
    kind, shape = self.dtype, self.shape
    if kind in WIDE and vec.dtype is kind and vec.shape == shape[1:] != (1,):
        return self.dot(vec)  # the common case
    if kind != vec.dtype:
        reject_vector_dtypes(vec, self, vec)
    return product(self, vec)


array_ops.mv_fitting, tensor_ops.mv_fitting = _fitting_vector, tensor_ops.mv


def reject_vector_sizes(size: int, mat, vec) -> None:
    """Raise RuntimeError for a matrix and a vector that do not fit."""
    raise RuntimeError(
        f"size mismatch, got input ({size}), mat ({sizes_text(mat)}), vec ({vec.shape[0]})"
    )


def reject_vector_dtypes(base, mat, vec) -> None:
    """Raise RuntimeError for a matrix and a vector of different dtypes."""
    raise RuntimeError(
        "addmv input tensors must have the same dtype, but got "
        f"{legacy(base)}, {legacy(mat)}, and {legacy(vec)}"
    )


def _mv_meta(self, vec, out=None):
    """The shape and dtype of the product, which torch adds to `out=` itself if that may have the
    product's size already, and else to a new tensor."""
    require_dims(0, self.ndim)
    if self.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}")
    if self.shape[1] != vec.shape[0]:
        reject_vector_sizes(self.shape[0], self, vec)
    base = vec if out is None or out.ndim > 1 or out.size not in (1, self.shape[0]) else out
    if not base.dtype == self.dtype == vec.dtype:
        reject_vector_dtypes(base, self, vec)
    return self.shape[:1], vec.dtype


@mv.prepares_out
def _prepare_mv(out, self, vec):
    set_output(out, *_mv_meta(self, vec, out._raw))
    return [self, vec]


@mv.batches
def _mv_of_batch(args, level):
    _require_ranks("mv", args, 2, 1)
    matrix, vector = (fronted(value, level) for value in args)
    if vector._raw.ndim == 1:
        return hide(FUNCTIONS["matmul"](matrix, vector), level)
    if matrix._raw.ndim == 2:
        return hide_at(FUNCTIONS["matmul"](matrix, moved(vector, 0, 1)), 1, level)
    return hide(FUNCTIONS["matmul"](matrix, vector.unsqueeze(-1)).squeeze(-1), level)


mv.gradient(
    self="F.outer(grad, vec_conj)",
    vec="F.mv_fitting(F.t(self_conj), grad)",
)
mv.forward(lambda F, self_t, self, vec_t, vec: _product_rule(F.mv, self_t, self, vec_t, vec))


def _inner_product(self, other):
    if self.ndim != 1 or other.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {self.ndim}D and {other.ndim}D tensors")
    if self.dtype != other.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{legacy(self)} and {legacy(other)}"
        )
    if self.shape != other.shape:
        a, b = self.shape[0], other.shape[0]
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a}] and src [{b}] to have the same "
            f"number of elements, but got {a} and {b} elements respectively"
        )
    refuse_bool(self, "dot")
    return product(self, other)


@operator(out=True, numbers=False, writes=1)
def dot(self: Array, tensor: Array) -> Array:
    """The inner product of two vectors, without conjugation (torch.dot).

    Raises RuntimeError unless both are 1-D, of one dtype and one length.
    """
    return _inner_product(self, tensor)


def _to_one_number(self, other):
    return (), None


dot.structured(_to_one_number)
dot.checks_out(inner_product_out, first=True)


@dot.batches
def _dot_of_batch(args, level):
    if any(value._raw.ndim != 1 for value in args):
        raise RuntimeError("Got wrong shapes for dot")
    left, right = (fronted(value, level) for value in args)
    if left._raw.ndim == right._raw.ndim == 2:
        product = FUNCTIONS["matmul"](left.unsqueeze(-2), right.unsqueeze(-1))
        return hide(product.squeeze(-1).squeeze(-1), level)
    return hide(FUNCTIONS["matmul"](left, right.t()), level)


dot.gradient(
    self=lambda F, grad, tensor_conj: grad * tensor_conj,
    tensor=lambda F, grad, self_conj: grad * self_conj,
)
dot.forward(
    lambda F, self_t, self, tensor_t, tensor: _product_rule(F.dot, self_t, self, tensor_t, tensor)
)


@operator(out=True, numbers=False, writes=1)
def vdot(self: Array, other: Array) -> Array:
    """The inner product of two vectors, the first conjugated (torch.vdot). Errors as `dot`."""
    return _inner_product(np.conj(self) if self.dtype.kind == "c" else self, other)


@vdot.batches
def _vdot_of_batch(args, level):
    left, right = args
    return tensor_ops.dot(left.conj() if left.is_complex() else left, right)


vdot.structured(_to_one_number)
vdot.checks_out(inner_product_out, first=True)
vdot.gradient(
    self=lambda F, grad, other: F.conj(grad) * other,
    other=lambda F, grad, self: grad * self,
)
vdot.forward(lambda F, self_t, self, other_t, other: F.vdot(self_t, other) + F.vdot(self, other_t))


def _deferring(op, conjugates: tuple[bool, bool]) -> None:
    """Make an operator's result lazily conjugated for operands with these conj bits.

    For them torch computes the other product (dot or vdot) and conjugates its result lazily.
    """
    finish = op.wrap_outputs

    def finished(result, raws, args, mask, strided=False):
        output = finish(result, raws, args, mask, strided)
        return (
            lazily_conjugated(output)
            if tuple(conj_neg_bits(a)[0] for a in args) == conjugates
            else output
        )

    op.wrap_outputs = finished


_deferring(dot, (True, True))
_deferring(vdot, (False, True))


@operator(autocast="fp32")
def trace(self: Array) -> Array:
    """The sum of a matrix's diagonal; integers are summed as int64 (torch.trace)."""
    refuse_bool(self, "trace")
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    if BY_NUMPY[self.dtype].category <= INTEGRAL:
        return np.trace(self, dtype=np.int64)
    return np.trace(self, dtype=accumulate_dtype(self.dtype)).astype(self.dtype, copy=False)


@formula_operation
def on_diagonal(value, shape):
    """A matrix with `value` on its diagonal and zeros elsewhere."""
    rows, columns = shape
    result = np.zeros(rows * columns, value.dtype)
    result[: min(rows, columns) * (columns + 1) : columns + 1] = value
    return result.reshape(shape)  # a view, as in torch


def _on_diagonal_tensor(value, shape):
    rows, columns = shape
    flat = tensor_ops.new_zeros(value, (rows * columns,))
    places = new(np.arange(min(rows, columns)) * (columns + 1))
    flat.index_fill_(0, places, value)
    flat._storage.version = 2  # two writes, as torch counts them
    return tensor_ops.view(flat, tuple(shape))


tensor_ops.on_diagonal = _on_diagonal_tensor
trace.gradient(self=written(lambda F, grad, self_shape: F.on_diagonal(grad, self_shape), 2))
trace.forward("linear")


bmm.on_large_meta(lambda self, mat2: np.matmul(self, mat2))
