"""Weight normalisation as an operator: a weight from its direction and its norms (`_weight_norm`).

T. Salimans and D. P. Kingma, NeurIPS 2016: w = g v / |v|, with a norm for each slice along one
dimension.
"""

from __future__ import annotations

import numpy as np

from impl.core.registry import array_ops, tensor_ops
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.formula_helpers import needed
from impl.dispatch.not_implemented import refuse_complex, require_scalar_type
from impl.kernels.reduced_precision import accumulate_dtype, widened
from impl.operators.linalg.legacy_norms import norm_except_dim
from impl.tensor.tensor import Tensor


def _others(ndim: int, dim: int) -> tuple[int, ...]:
    return tuple(d for d in range(ndim) if d != dim)


@operator(
    node="WeightNormInterfaceBackward0",
    outputs=("result0", "result1"),
    function=False,
    method=False,
)
def weight_norm_interface(v: Array, g: Array, dim) -> tuple:
    refuse_complex(v, "weight_norm_kernel")
    require_scalar_type(g, v.dtype)
    wide = widened(v)
    total = np.square(wide).sum(_others(v.ndim, dim), keepdims=True, dtype=wide.dtype)
    norms = np.sqrt(total).reshape(g.shape)
    result = wide * (widened(g) / norms)
    return result.astype(v.dtype, copy=False), norms.astype(accumulate_dtype(g.dtype), copy=False)


def _backward(grad, v, g, norms, dim: int):
    require_scalar_type(grad, v.dtype)
    kind, axes = v.dtype, _others(v.ndim, dim)
    grad, v, wide = widened(grad), widened(v), widened(g)
    along = (grad * v).sum(axes, keepdims=True, dtype=v.dtype)
    to_v = (wide / norms) * (grad - v * (along / (norms * norms)))
    return to_v.astype(kind, copy=False), (along / norms).astype(g.dtype, copy=False)


def _recording_backward(grad, v, g, norms, dim: int):
    """The recorded backward, in which, as in torch, the norms are constants."""
    if norms.dtype is not g.dtype:
        norms = norms.to(g.dtype)
    size = v._raw.shape[dim]
    shape = [1] * v._raw.ndim
    shape[dim] = size
    product = grad * v
    rows, across = ((size, -1), 1) if dim == 0 else ((-1, size), 0)
    along = product.view(*rows).sum(across).view(*shape)
    to_v = (g / norms) * (grad - v * (along / (norms * norms)))
    return to_v, along / norms


array_ops.weight_norm_backward = _backward
tensor_ops.weight_norm_backward = _recording_backward


@weight_norm_interface.differentiable("result0").gradients("v", "g")
def _gradients(F, grad, v, g, dim, result1, needs):
    return needed(F.weight_norm_backward(F.contiguous(grad), v, g, result1, dim), needs)


weight_norm_interface.forward("unsupported", name="_weight_norm_interface", invited=True)


@function(method=False, batching="fallback")
def _weight_norm_interface(v, g, dim=0):
    """`g v / |v|` and the norms `|v|` of the slices along the first or the last dimension."""
    return weight_norm_interface(v, g, dim)


@function(method=False, batching="composed_fallback")
def _weight_norm(v, g, dim=0) -> Tensor:
    """`v` with norms `g` of its slices along `dim`, or of the whole for -1; `g` has one element
    for each (torch._weight_norm). Raises RuntimeError where the two differ in dtype."""
    v, g = v.contiguous(), g.contiguous()
    if dim in (0, v._raw.ndim - 1):
        return weight_norm_interface(v, g, dim)[0]
    return v * (g / norm_except_dim(v, 2, dim))
