"""Layer normalisation, by mean and deviation or by root mean square over the last dimensions.

J. L. Ba et al., 2016; B. Zhang and R. Sennrich, NeurIPS 2019. The derivatives are those of
`normalization`.
"""

from __future__ import annotations

import math

import numpy as np

from impl.core.dtypes import REDUCED, float32
from impl.core.memory_formats import contiguous_format, suggested
from impl.core.meta_arrays import MetaArray
from impl.core.registry import tensor_ops
from impl.core.state import STATE
from impl.core.warning import warn_once
from impl.dispatch.definition import (
    Array,
    formula_operation,
    function,
    operator,
    unless_recorded,
    written,
)
from impl.dispatch.facts import SavedAs
from impl.dispatch.formula_helpers import needed
from impl.dispatch.not_implemented import no_derivative, refuse_integers, require_scalar_type
from impl.kernels.reduced_precision import widened
from impl.kernels.vectorized import column_sums, ones
from impl.operators.layers.normalization import (
    affine_tangent,
    check_mixed,
    check_parameters,
    elements,
    statistics,
    tangent,
)
from impl.operators.layers.normalized_rows import Rows, row_curvature, row_gradient, row_slope
from impl.operators.pointwise.arithmetic import add_scalar
from impl.tensor.batched_tensor import levels_of
from impl.tensor.tensor import Tensor

# -- over the last dimensions -------------------------------------------------------------------


@operator(
    node="NativeLayerNormBackward0",
    outputs=("result", "mean", "rstd"),
    function=False,
    method=False,
    saved_as=SavedAs(renamed={"mean": "result1", "rstd": "result2"}),
)
def native_layer_norm(
    input: Array, normalized_shape, weight: Array | None, bias: Array | None, eps
) -> tuple:
    check_parameters(input, "LayerNormKernelImpl", weight, bias)
    x = widened(input)
    first = x.ndim - len(normalized_shape)
    rows = x.reshape(math.prod(x.shape[:first]), math.prod(normalized_shape))
    mean, rstd, centred = statistics(rows, eps)
    result = np.empty(x.shape, x.dtype)
    np.multiply(centred, rstd, out=result.reshape(rows.shape))
    if weight is not None:
        result *= widened(weight)
    if bias is not None:
        result += widened(bias)
    kept = (*x.shape[:first], *(1,) * len(normalized_shape))
    # Half precision keeps the rounded statistics for backward.
    kind = input.dtype if weight is None else weight.dtype
    mean, rstd = (value.astype(kind, copy=False).reshape(kept) for value in (mean, rstd))
    return result.astype(input.dtype, copy=False), mean, rstd


@native_layer_norm.on_large_meta
def _large_on_meta(input, normalized_shape, weight, bias, eps):
    count = len(normalized_shape)
    kind = input.dtype if weight is None else weight.dtype
    kept = MetaArray((*input.shape[: input.ndim - count], *(1,) * count), kind)
    return MetaArray(input.shape, input.dtype), kept, kept.copy()


@operator(
    node="NativeLayerNormBackwardBackward0",
    outputs=("grad_input", "grad_weight", "grad_bias"),
    function=False,
    method=False,
    layout_sensitive=True,
)
def native_layer_norm_backward(
    grad_out: Array,
    input: Array,
    normalized_shape,
    mean: Array,
    rstd: Array,
    weight: Array | None,
    bias: Array | None,
    output_mask,
) -> tuple:
    """The gradients of a layer normalisation; empty where `output_mask` wants none."""
    read = input.dtype
    if read in REDUCED and weight is not None and weight.dtype == np.float32:
        read = weight.dtype
    require_scalar_type(grad_out, input.dtype)
    for value, is_read in ((mean, True), (weight, True), (bias, output_mask[2])):
        if value is not None and is_read:
            require_scalar_type(value, read)
    count = math.prod(normalized_shape)
    rows = (math.prod(input.shape[: input.ndim - len(normalized_shape)]), count)
    x, g = (widened(value).reshape(rows) for value in (input, grad_out))
    kind = input.dtype if weight is None else weight.dtype
    nothing = np.empty(0, kind)
    mean, rstd = (widened(value).reshape(-1, 1) for value in (mean, rstd))
    centred = x - mean
    along = g * centred
    to_input = to_weight = to_bias = nothing
    if output_mask[1]:
        if input.dtype in REDUCED:
            found = _row_by_row(g * (rstd * x - rstd * mean), input.dtype)
        else:
            found = rstd.reshape(-1).dot(along)
        to_weight = found.astype(kind, copy=False).reshape(normalized_shape)
    if output_mask[0]:
        # Sums over rows of elements times the weight are products of matrix and vector.
        factor = ones((count,), x.dtype) if weight is None else widened(weight).reshape(-1)
        of_row = x.dtype.type(count)
        whole = np.empty(input.shape, x.dtype)
        made = np.multiply(g, factor, out=whole.reshape(rows))
        made -= (g.dot(factor) / of_row).reshape(-1, 1)
        centred *= along.dot(factor).reshape(-1, 1) * rstd / of_row * rstd
        made -= centred
        made *= rstd
        to_input = whole.astype(input.dtype, copy=False)
    if output_mask[2]:
        found = _row_by_row(g, input.dtype) if input.dtype in REDUCED else column_sums(g)
        to_bias = found.astype(kind, copy=False).reshape(normalized_shape)
    return to_input, to_weight, to_bias


def _row_by_row(rows, kind: np.dtype):
    """The sums of columns, rounded to a reduced `kind` after each row, as ATen's buffer is."""
    total = np.zeros(rows.shape[1], kind)
    for row in rows:
        total = (total.astype(rows.dtype) + row).astype(kind)
    return total


@native_layer_norm.differentiable("result").gradients("input", "weight", "bias")
def _layer_gradients(F, grad, input, normalized_shape, weight, bias, mean, rstd, needs):
    made = F.native_layer_norm_backward(
        grad, input, normalized_shape, mean, rstd, weight, bias, needs
    )
    return needed(made, needs)


@formula_operation
def seen(value):
    """A view of the whole value, which is how torch returns some gradients."""
    return value[...]


tensor_ops.seen = lambda value: value


@native_layer_norm_backward.gradients("grad_out", "input", "weight")
def _layer_second_gradients(F, grads, grad_out, input, normalized_shape, mean, rstd, weight):
    """As ATen composes them, over rows that are normalised each by itself."""
    shape, count = tuple(input.shape), math.prod(normalized_shape)
    of_input, of_weight, of_bias = grads
    if weight is None and of_input is not None and of_bias is not None:
        # torch adds the part of the bias to one that it makes only where there is a weight.
        raise RuntimeError(
            "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument "
            "#1 'other'"
        )
    number = math.prod(shape[: len(shape) - len(normalized_shape)])
    rows = (number, count)
    g, x = F.reshape(grad_out, rows), F.reshape(input, rows)
    mean, scale = F.reshape(mean, (number, 1)), F.reshape(rstd, (number, 1))
    factor = None if weight is None else F.reshape(weight, (1, count))
    centred = x - mean
    of_rows = None if of_input is None else F.reshape(of_input, rows)
    of_factor = None if of_weight is None else F.reshape(of_weight, (1, count))
    normalized = Rows(centred, scale, count)
    to_out = to_input = to_weight = None
    if of_rows is not None:
        to_input = row_curvature(F, of_rows, g if factor is None else g * factor, normalized)
        to_out = row_gradient(F, of_rows, factor, normalized)
        if factor is not None:
            image = row_gradient(F, of_rows, None, normalized)
            to_weight = F.reshape(F.sum_dim(g * image, (0,), False), tuple(weight.shape))
    if of_factor is not None:
        slope = row_slope(F, g * of_factor, normalized)
        to_input = slope if to_input is None else F.add_fresh(to_input, slope)
        of_grad = of_factor * centred * scale
        to_out = of_grad if to_out is None else F.add_fresh(to_out, of_grad)
    if of_bias is not None:
        of_grad = F.reshape(of_bias, (1, count))
        to_out = of_grad if to_out is None else F.add_fresh(to_out, of_grad)
    if to_input is not None:
        to_input = F.reshape(to_input, shape)
    to_out = F.reshape(F.expand(to_out, rows), shape)
    return tuple(g if g is None else F.seen(g) for g in (to_out, to_input, to_weight))


written(
    _layer_second_gradients,
    {
        "grad_out": unless_recorded(lambda *arrived: sum(arrived) - 1),
        "input": unless_recorded(
            lambda of_input, of_weight, _: 3 * of_input + 2 * of_weight - (of_input and of_weight)
        ),
        "weight": 0,
    },
)


native_layer_norm_backward.gradient(
    mean=no_derivative("native_layer_norm_backward mean"),
    rstd=no_derivative("native_layer_norm_backward rstd"),
    bias=lambda F, grad: None,
)


def _layer_tangent(F, input_t, input, normalized_shape, weight_t, weight, bias_t, mean, rstd):
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    result_t = tangent(F, input, input_t, mean, rstd, dims, elements(input.shape, dims))
    result = None if weight is None else (input - mean) * rstd
    shape = (*(1,) * dims[0], *normalized_shape)
    return affine_tangent(result_t, result, weight, weight_t, bias_t, shape)


native_layer_norm.forward(result=_layer_tangent)


def check_layer(input, normalized_shape, weight, bias) -> None:
    """Raise RuntimeError for other dtypes or sizes of the input, the weight and the bias."""
    check_mixed(input._raw, *(None if v is None else v._raw for v in (weight, bias)))
    _check_parameters(normalized_shape, weight, bias)
    _check_input(input, normalized_shape, ", ")


def _check_parameters(normalized_shape, weight, bias) -> None:
    if not normalized_shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
            f"one element, but got normalized_shape = {[*normalized_shape]}"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value._raw.shape != normalized_shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of "
                f"shape {[*value._raw.shape]} and normalized_shape = {[*normalized_shape]}"
            )


def _check_input(input, normalized_shape, separator: str) -> None:
    # The batching rule has no check: ATen's sees the mapped dimensions in front.
    mapped = levels_of(input) if STATE.batched else ()
    shape = (*(level.size for level in mapped), *input._raw.shape)
    if shape[max(len(shape) - len(normalized_shape), 0) :] != normalized_shape:
        expected = separator + ", ".join(map(str, normalized_shape))
        raise RuntimeError(
            f"Given normalized_shape={[*normalized_shape]}, expected input with shape "
            f"[*{expected}], but got input of size{[*shape]}"
        )


@function(method=False)
def layer_norm(
    input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True
) -> Tensor:
    """Each example over its last dimensions, of sizes `normalized_shape` (torch.layer_norm).

    Raises RuntimeError for other sizes of the input, the weight and the bias.
    """
    normalized_shape = tuple(normalized_shape)
    check_layer(input, normalized_shape, weight, bias)
    return native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


# -- by root mean square ------------------------------------------------------------------------


@function(method=False)
def rms_norm(input, normalized_shape, weight=None, eps=None) -> Tensor:
    """The input divided by its root mean square over the last dimensions, as ATen composes it
    (torch.rms_norm)."""
    normalized_shape = tuple(normalized_shape)
    _check_parameters(normalized_shape, weight, None)
    if input._raw.ndim < len(normalized_shape):
        raise ValueError(
            f"Input tensor must have at least {len(normalized_shape)} dimensions, but got "
            f"{input._raw.ndim}"
        )
    _check_input(input, normalized_shape, "")
    last = suggested(input._raw.shape, input.stride()) is not contiguous_format
    if weight is not None and weight.dtype is not input.dtype and not (last or input.is_complex()):
        warn_once(
            f"Mismatch dtype between input and weight: input dtype = {input.dtype.c_name}, weight "
            f"dtype = {weight.dtype.c_name}, Cannot dispatch to fused implementation.",
            site="rms_norm",
        )
    refuse_integers(input._raw, "rms_norm")
    if eps is None:
        eps = float(np.finfo(widened(input._raw).dtype).eps)
    dims = tuple(range(-len(normalized_shape), 0))
    kind = input.dtype
    wide = input.to(float32) if kind.numpy in REDUCED else input
    result = wide * add_scalar.inplace(wide.pow(2).mean(dims, True), eps).rsqrt()
    made = result if weight is None else result * weight
    return (made if last else made.contiguous()).to(kind)
