"""Matrix products: the primitives mm, bmm, mv, dot and their fused additions.

Gradients are products with the transposed other operand. That of a column-major operand is made
column-major, as torch does it (FunctionsManual.cpp, mm_mat1_backward and mm_mat2_backward).
"""

from __future__ import annotations

import numpy as np

from impl.dtypes import BOOL, BY_NUMPY, INTEGRAL, REDUCED, result_dtype
from impl.operator import TAPED, Array, formula_operation, function, new, operator
from impl.operators.arithmetic import conj_of

# What torch's C++ calls an element type where it does not say `Float`.
_C_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "int64": "long int",
    "int32": "int",
    "int16": "short int",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


def c_name(dtype) -> str:
    """What torch's C++ calls a dtype."""
    return _C_NAMES[dtype.name]


def _c_name(raw) -> str:
    return c_name(BY_NUMPY[raw.dtype])


def _legacy(raw) -> str:
    return BY_NUMPY[raw.dtype].legacy


def _sizes(raw) -> str:
    return "x".join(map(str, raw.shape))


def _no_bool(kernel_name: str, a, b) -> None:
    """Raise NotImplementedError for bool, which torch notices when there is something to add."""
    if BY_NUMPY[a.dtype].category == BOOL and a.size and b.size:
        raise NotImplementedError(f'"{kernel_name}" not implemented for \'Bool\'')


def product(a, b):
    """The matrix product of arrays; half and bfloat16 are accumulated in float32."""
    if a.dtype in REDUCED:
        return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    return np.matmul(a, b)


def _scaled_sum(beta, base, alpha, term):
    """beta * base + alpha * term in the term's dtype; with beta 0 the base is not looked at."""
    kind = term.dtype
    if BY_NUMPY[kind].category <= INTEGRAL:
        beta, alpha = int(beta), int(alpha)
    elif kind in REDUCED:
        base, term = base.astype(np.float32), term.astype(np.float32)
    scaled = term if alpha == 1 else term * alpha
    if beta == 0:
        return np.array(scaled, kind)
    return (scaled + (base if beta == 1 else base * beta)).astype(kind)


def _multiplied(F, value, scalar):
    """`value * scalar`, which is not recorded for one (maybe_multiply)."""
    return value if scalar == 1 else F.mul_scalar(value, conj_of(F, scalar))


def _column_major(layout) -> bool:
    shape, strides, _ = layout
    return strides[0] == 1 and strides[1] == shape[0]


def _left_gradient(F, grad, right, layout, alpha=1):
    if _column_major(layout):
        result = F.t(F.mm(conj_of(F, right), F.t(grad)))
    else:
        result = F.mm(grad, conj_of(F, F.t(right)))
    return _multiplied(F, result, alpha)


def _right_gradient(F, grad, left, layout, alpha=1):
    if _column_major(layout):
        result = F.t(F.mm(F.t(grad), conj_of(F, left)))
    else:
        result = F.mm(conj_of(F, F.t(left)), grad)
    return _multiplied(F, result, alpha)


# -- matrices and vectors ---------------------------------------------------------------------


@operator(out=True, numbers=False)
def mm(self: Array, mat2: Array) -> Array:
    """The product of two matrices, (n, m) by (m, p) (torch.mm).

    Raises RuntimeError unless both are matrices of one dtype whose inner sizes agree.
    """
    if self.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    _check_multipliable(self, mat2)
    if self.dtype != mat2.dtype:
        raise RuntimeError(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{_c_name(self)} != {_c_name(mat2)}"
        )
    _no_bool("addmm_impl_cpu_", self, mat2)
    return product(self, mat2)


def _check_multipliable(mat1, mat2) -> None:
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({_sizes(mat1)} and {_sizes(mat2)})"
        )


mm.gradient(
    self=lambda F, grad, mat2, self_layout: _left_gradient(F, grad, mat2, self_layout),
    mat2=lambda F, grad, self, mat2_layout: _right_gradient(F, grad, self, mat2_layout),
)


@operator(out=True, numbers=False)
def bmm(self: Array, mat2: Array) -> Array:
    """The products of two batches of matrices, (b, n, m) by (b, m, p) (torch.bmm).

    Raises RuntimeError unless both are 3-D, of one dtype, with fitting sizes.
    """
    _check_batches(self, mat2)
    _check_batch_sizes(self, mat2)
    _no_bool("bmm", self, mat2)
    _same_batch_dtypes(self, mat2)
    return np.ascontiguousarray(product(self, mat2))


def _same_batch_dtypes(batch1, batch2) -> None:
    if batch1.dtype != batch2.dtype and batch1.size and batch2.size:
        raise RuntimeError(
            f"expected scalar type {_legacy(batch1)} but found {_legacy(batch2)}"
        )


def _check_batches(batch1, batch2) -> None:
    if batch1.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if batch2.ndim != 3:
        raise RuntimeError("batch2 must be a 3D tensor")


def _check_batch_sizes(batch1, batch2) -> None:
    expected = [batch1.shape[0], batch1.shape[2]]
    if [*batch2.shape[:2]] != expected:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {expected} "
            f"but got: {[*batch2.shape[:2]]}."
        )


bmm.gradient(
    self=lambda F, grad, mat2: F.bmm(grad, conj_of(F, F.transpose(mat2, 1, 2))),
    mat2=lambda F, grad, self: F.bmm(conj_of(F, F.transpose(self, 1, 2)), grad),
)


@operator(out=True, numbers=False)
def mv(self: Array, vec: Array) -> Array:
    """The product of a matrix (n, m) and a vector (m,) (torch.mv).

    Raises RuntimeError for other ranks, sizes that do not fit, and different dtypes.
    """
    if self.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}"
        )
    if self.shape[1] != vec.shape[0]:
        _reject_vector_sizes(self.shape[0], self, vec)
    if self.dtype != vec.dtype:
        _reject_vector_dtypes(vec, self, vec)
    _no_bool("addmv_impl_cpu", self, vec)
    return product(self, vec)


def _reject_vector_sizes(size: int, mat, vec) -> None:
    raise RuntimeError(
        f"size mismatch, got input ({size}), mat ({_sizes(mat)}), vec ({vec.shape[0]})"
    )


def _reject_vector_dtypes(base, mat, vec) -> None:
    raise RuntimeError(
        "addmv input tensors must have the same dtype, but got "
        f"{_legacy(base)}, {_legacy(mat)}, and {_legacy(vec)}"
    )


mv.gradient(
    self=lambda F, grad, vec: F.outer(grad, conj_of(F, vec)),
    vec=lambda F, grad, self: F.mv(F.t(conj_of(F, self)), grad),
)


def _inner_product(self, other):
    if self.ndim != 1 or other.ndim != 1:
        raise RuntimeError(
            f"1D tensors expected, but got {self.ndim}D and {other.ndim}D tensors"
        )
    if self.dtype != other.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{_legacy(self)} and {_legacy(other)}"
        )
    if self.shape != other.shape:
        a, b = self.shape[0], other.shape[0]
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a}] and src [{b}] to have the same "
            f"number of elements, but got {a} and {b} elements respectively"
        )
    if self.dtype.kind == "b":
        raise NotImplementedError("\"dot\" not implemented for 'Bool'")
    return product(self, other)


@operator(out=True, numbers=False)
def dot(self: Array, tensor: Array) -> Array:
    """The inner product of two vectors, without conjugation (torch.dot).

    Raises RuntimeError unless both are 1-D, of one dtype and one length.
    """
    return _inner_product(self, tensor)


dot.gradient(
    self=lambda F, grad, tensor: grad * conj_of(F, tensor),
    tensor=lambda F, grad, self: grad * conj_of(F, self),
)


@operator(out=True, numbers=False)
def vdot(self: Array, other: Array) -> Array:
    """The inner product of two vectors, the first conjugated (torch.vdot). Errors as `dot`."""
    return _inner_product(np.conj(self) if self.dtype.kind == "c" else self, other)


vdot.gradient(
    self=lambda F, grad, other: conj_of(F, grad) * other,
    other=lambda F, grad, self: grad * self,
)


@operator()
def trace(self: Array) -> Array:
    """The sum of a matrix's diagonal; integers are summed as int64 (torch.trace)."""
    kind = self.dtype
    if kind.kind == "b":
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    if BY_NUMPY[kind].category <= INTEGRAL:
        return np.trace(self, dtype=np.int64)
    if kind in REDUCED:
        return np.trace(self, dtype=np.float32).astype(kind)
    return np.trace(self)


@formula_operation
def on_diagonal(value, shape):
    """A matrix with `value` on its diagonal and zeros elsewhere."""
    result = np.zeros(shape, value.dtype)
    np.fill_diagonal(result, value)
    # NumPy wraps around in tall matrices, torch does not.
    result[shape[1] :] = 0
    return result


def _on_diagonal_tensor(value, shape):
    rows, columns = shape
    flat = TAPED.new_zeros(value, (rows * columns,))
    places = new(np.arange(min(rows, columns)) * (columns + 1))
    return TAPED.view(flat.index_fill_(0, places, value), tuple(shape))


TAPED.on_diagonal = _on_diagonal_tensor
trace.gradient(self=lambda F, grad, self_shape: F.on_diagonal(grad, self_shape))


# -- with an addition -------------------------------------------------------------------------


def _expanded(base, shape, target=None):
    """The added tensor in the product's shape. Raises RuntimeError if it cannot be expanded."""
    lead = len(shape) - base.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand(torch.{_legacy(base)}Tensor{{{[*base.shape]}}}, size={[*shape]}): the number "
            f"of sizes provided ({len(shape)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({base.ndim})"
        )
    for dim in range(base.ndim - 1, -1, -1):
        have, want = base.shape[dim], shape[lead + dim]
        if have not in (1, want):
            raise RuntimeError(
                f"The expanded size of the tensor ({want}) must match the existing size ({have}) "
                f"at non-singleton dimension {lead + dim}.  Target sizes: {[*shape]}.  "
                f"Tensor sizes: {[*base.shape]}"
            )
    return np.broadcast_to(base, shape)


def _same_dtype(base, mat1, mat2) -> None:
    if base.dtype != mat2.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {_legacy(base)} and {_legacy(mat2)}"
        )
    if mat1.dtype != mat2.dtype:
        raise RuntimeError(
            "mat1 and mat2 must have the same dtype, but got "
            f"{_legacy(mat1)} and {_legacy(mat2)}"
        )


@operator(out=True, numbers=False)
def addmm(self: Array, mat1: Array, mat2: Array, *, beta=1, alpha=1) -> Array:
    """beta * self + alpha * (mat1 @ mat2), self broadcast to the product (torch.addmm).

    With beta 0, NaN in self does not count. Raises RuntimeError on ranks, sizes and dtypes.
    """
    _same_dtype(self, mat1, mat2)
    for name, value in (("mat1", mat1), ("mat2", mat2)):
        if value.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {value.ndim}-D tensor")
    _check_multipliable(mat1, mat2)
    base = _expanded(self, (mat1.shape[0], mat2.shape[1]))
    _no_bool("addmm_impl_cpu_", mat1, mat2)
    return _scaled_sum(beta, base, alpha, product(mat1, mat2))


addmm.gradient(
    self=lambda F, grad, beta: _multiplied(F, grad, beta),
    mat1=lambda F, grad, mat2, mat1_layout, alpha: _left_gradient(
        F, grad, mat2, mat1_layout, alpha
    ),
    mat2=lambda F, grad, mat1, mat2_layout, alpha: _right_gradient(
        F, grad, mat1, mat2_layout, alpha
    ),
)


@operator(out=True, numbers=False)
def addmv(self: Array, mat: Array, vec: Array, *, beta=1, alpha=1) -> Array:
    """beta * self + alpha * (mat @ vec), self broadcast to the product (torch.addmv)."""
    if mat.ndim != 2 or vec.ndim != 1 or self.ndim > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}"
        )
    if mat.shape[1] != vec.shape[0] or self.size not in (1, mat.shape[0]):
        _reject_vector_sizes(self.size, mat, vec)
    if not self.dtype == mat.dtype == vec.dtype:
        _reject_vector_dtypes(self, mat, vec)
    _no_bool("addmv_impl_cpu", mat, vec)
    base = np.broadcast_to(self, mat.shape[:1])
    return _scaled_sum(beta, base, alpha, product(mat, vec))


addmv.gradient(
    self=lambda F, grad, beta: _multiplied(F, grad, beta),
    mat=lambda F, grad, vec, alpha: _multiplied(F, F.outer(grad, conj_of(F, vec)), alpha),
    vec=lambda F, grad, mat, alpha: _multiplied(F, F.mv(conj_of(F, F.t(mat)), grad), alpha),
)


def _check_vectors(vec1, vec2) -> None:
    for name, value in (("vec1", vec1), ("vec2", vec2)):
        if value.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {value.ndim}-D")


@operator(out=True, numbers=False, elementwise=True)
def addr(self: Array, vec1: Array, vec2: Array, *, beta=1, alpha=1) -> Array:
    """beta * self + alpha * outer(vec1, vec2), self broadcast to it (torch.addr)."""
    _check_vectors(vec1, vec2)
    base = _expanded(self, (vec1.shape[0], vec2.shape[0]))
    kind = result_dtype([base, vec1, vec2]).numpy
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if BY_NUMPY[kind].category <= INTEGRAL and isinstance(factor, float):
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number."
            )
    term = np.multiply.outer(vec1.astype(kind), vec2.astype(kind))
    return _scaled_sum(beta, base.astype(kind), alpha, term)


def _addr_layouts(args):
    """The operands as the element-wise loop sees them: a matrix, a column and a row."""
    base, column, row = args[:3]
    n, m = column._raw.shape[0], row._raw.shape[0]
    return [
        (base._raw.shape, base.stride()),
        ((n, 1), (column.stride(0), 0)),
        ((1, m), (0, row.stride(0))),
    ]


addr.layouts = _addr_layouts
addr.gradient(
    self=lambda F, grad, beta: _multiplied(F, grad, beta),
    vec1=lambda F, grad, vec2, alpha: _multiplied(F, F.mv(grad, conj_of(F, vec2)), alpha),
    vec2=lambda F, grad, vec1, alpha: _multiplied(F, F.mv(F.t(grad), conj_of(F, vec1)), alpha),
)


@operator(out=True, numbers=False)
def addbmm(self: Array, batch1: Array, batch2: Array, *, beta=1, alpha=1) -> Array:
    """beta * self + alpha * the sum over the batch of batch1 @ batch2 (torch.addbmm)."""
    _check_batches(batch1, batch2)
    if batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(
            "batch1 and batch2 must have same number of batches, got "
            f"{batch1.shape[0]} and {batch2.shape[0]}"
        )
    if batch1.shape[2] != batch2.shape[1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for bmm ({_sizes(batch1[0])} and {_sizes(batch2[0])})"
        )
    base = _expanded(self, (batch1.shape[1], batch2.shape[2]))
    _same_dtype(self, batch1, batch2)
    _no_bool("addmm_impl_cpu_", batch1, batch2)
    wide = np.float32 if batch1.dtype in REDUCED else batch1.dtype
    total = np.matmul(batch1.astype(wide), batch2.astype(wide)).sum(0, dtype=wide)
    return _scaled_sum(beta, base, alpha, total.astype(batch1.dtype))


def _spread(F, grad, batch1_shape, batch2_shape):
    return F.expand(
        F.unsqueeze(grad, 0), (batch1_shape[0], batch1_shape[1], batch2_shape[2])
    )


addbmm.gradient(
    self=lambda F, grad, beta: _multiplied(F, grad, beta),
    batch1=lambda F, grad, batch2, batch1_shape, batch2_shape, alpha: _multiplied(
        F,
        F.bmm(
            _spread(F, grad, batch1_shape, batch2_shape),
            conj_of(F, F.transpose(batch2, 1, 2)),
        ),
        alpha,
    ),
    batch2=lambda F, grad, batch1, batch1_shape, batch2_shape, alpha: _multiplied(
        F,
        F.bmm(
            conj_of(F, F.transpose(batch1, 1, 2)),
            _spread(F, grad, batch1_shape, batch2_shape),
        ),
        alpha,
    ),
)


@operator(out=True, numbers=False)
def baddbmm(self: Array, batch1: Array, batch2: Array, *, beta=1, alpha=1) -> Array:
    """beta * self + alpha * (batch1 @ batch2) matrix by matrix (torch.baddbmm)."""
    _check_batches(batch1, batch2)
    _check_batch_sizes(batch1, batch2)
    base = _expanded(self, (batch1.shape[0], batch1.shape[1], batch2.shape[2]))
    if self.dtype != batch1.dtype:
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {_c_name(self)}, batch1: "
            f"{_c_name(batch1)}, batch2: {_c_name(batch2)}"
        )
    _same_batch_dtypes(batch1, batch2)
    _no_bool("baddbmm", batch1, batch2)
    return _scaled_sum(beta, base, alpha, product(batch1, batch2))


baddbmm.gradient(
    self=lambda F, grad, beta: _multiplied(F, grad, beta),
    batch1=lambda F, grad, batch2, alpha: _multiplied(
        F, F.bmm(grad, conj_of(F, F.transpose(batch2, 1, 2))), alpha
    ),
    batch2=lambda F, grad, batch1, alpha: _multiplied(
        F, F.bmm(conj_of(F, F.transpose(batch1, 1, 2)), grad), alpha
    ),
)


# -- written in place -------------------------------------------------------------------------


def _check_written_size(target, size) -> None:
    """Raise RuntimeError when the product does not have the size of the tensor written to."""
    if [*target._raw.shape] != [*size]:
        raise RuntimeError(
            f"Bad in-place call: input tensor size {[*target._raw.shape]} and output tensor size "
            f"{[*size]} should match"
        )


@function("addmm_", torch=False)
def addmm_inplace(self, mat1, mat2, *, beta=1, alpha=1):
    """`addmm` written into the tensor, which must have the product's size."""
    a, b = mat1._raw.shape, mat2._raw.shape
    if len(a) == len(b) == 2 and a[1] == b[0]:
        _check_written_size(self, (a[0], b[1]))
    return addmm.inplace(self, mat1, mat2, beta, alpha)


@function("addmv_")
def addmv_inplace(self, mat, vec, *, beta=1, alpha=1):
    """`addmv` written into the tensor, which must have the product's size."""
    a, b = mat._raw.shape, vec._raw.shape
    if len(a) == 2 and a[1:] == b and self._raw.ndim <= 1 and self._raw.size in (1, a[0]):
        _check_written_size(self, a[:1])
    return addmv.inplace(self, mat, vec, beta, alpha)


@function("addr_", torch=False)
def addr_inplace(self, vec1, vec2, *, beta=1, alpha=1):
    """`addr` written into the tensor, which must have the product's size."""
    _check_vectors(vec1, vec2)
    if self._raw.ndim != 2:
        raise RuntimeError(f"2D tensor expected, got {self._raw.ndim}D tensor for input")
    return addr.inplace(self, vec1, vec2, beta, alpha)


@function("addbmm_", torch=False)
def addbmm_inplace(self, batch1, batch2, *, beta=1, alpha=1):
    """`addbmm` written into the tensor, which must have the product's size."""
    return addbmm.inplace(self, batch1, batch2, beta, alpha)


@function("baddbmm_", torch=False)
def baddbmm_inplace(self, batch1, batch2, *, beta=1, alpha=1):
    """`baddbmm` written into the tensor, which must have the product's size."""
    a, b = batch1._raw.shape, batch2._raw.shape
    if len(a) == len(b) == 3 and (a[0], a[2]) == b[:2]:
        _expanded(self._raw, (a[0], a[1], b[2]))
        _check_written_size(self, (a[0], a[1], b[2]))
    return baddbmm.inplace(self, batch1, batch2, beta, alpha)
