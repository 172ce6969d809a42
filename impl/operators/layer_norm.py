"""Normalisation within an example: over its last dimensions, over groups of channels, by root mean
square.

J. L. Ba et al., 2016; Y. Wu and K. He, ECCV 2018; B. Zhang and R. Sennrich, NeurIPS 2019. The
derivatives are those of `normalization`.
"""

from __future__ import annotations

import math

import numpy as np

from impl.dtypes import REDUCED, float32
from impl.operator import (
    RAW,
    TAPED,
    Array,
    formula_operation,
    function,
    operator,
    unless_recorded,
    written,
)
from impl.operators.arithmetic import add_scalar
from impl.operators.gradients import needed, summed
from impl.operators.normalization import (
    Normalized,
    affine_tangent,
    elements,
    input_gradient,
    tangent,
)
from impl.operators.normalized_rows import Rows, row_curvature, row_gradient, row_slope
from impl.precision import rounded_once, widened
from impl.refusals import no_derivative, refuse_complex
from impl.tensor import Tensor


def _statistics(rows, eps):
    """Mean and inverse deviation of each row, as columns."""
    number = rows.dtype.type
    mean = rows.mean(1, keepdims=True, dtype=rows.dtype)
    variance = np.square(rows - mean).mean(1, keepdims=True, dtype=rows.dtype)
    return mean, number(1) / np.sqrt(variance + number(eps))


# -- over the last dimensions -------------------------------------------------------------------


@operator(
    node="NativeLayerNormBackward0",
    outputs=("result", "mean", "rstd"),
    function=False,
    method=False,
)
def native_layer_norm(
    input: Array, normalized_shape, weight: Array | None, bias: Array | None, eps
) -> tuple:
    refuse_complex(input, "LayerNormKernelImpl")
    x = widened(input)
    first = x.ndim - len(normalized_shape)
    rows = x.reshape(math.prod(x.shape[:first]), math.prod(normalized_shape))
    mean, rstd = _statistics(rows, eps)
    result = ((rows - mean) * rstd).reshape(x.shape)
    if weight is not None:
        result = result * widened(weight)
    if bias is not None:
        result = result + widened(bias)
    kept = (*x.shape[:first], *(1,) * len(normalized_shape))
    # Half precision keeps the rounded statistics for backward.
    kind = input.dtype if weight is None else weight.dtype
    mean, rstd = (value.astype(kind, copy=False).reshape(kept) for value in (mean, rstd))
    return result.astype(input.dtype, copy=False), mean, rstd


@operator(
    node="NativeLayerNormBackwardBackward0",
    outputs=("grad_input", "grad_weight", "grad_bias"),
    function=False,
    method=False,
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
    x, g = widened(input), widened(grad_out)
    first = x.ndim - len(normalized_shape)
    outer, inner = tuple(range(first)), tuple(range(first, x.ndim))
    kind = input.dtype if weight is None else weight.dtype
    nothing = np.empty(0, kind)
    mean, rstd = widened(mean), widened(rstd)
    value = (x - mean) * rstd
    to_input = nothing
    if output_mask[0]:
        scaled = g if weight is None else g * widened(weight)
        along = (scaled * value).mean(inner, keepdims=True, dtype=x.dtype)
        total = scaled.mean(inner, keepdims=True, dtype=x.dtype)
        to_input = np.ascontiguousarray((scaled - total - value * along) * rstd, input.dtype)
    to_weight = (g * value).sum(outer).astype(kind, copy=False) if output_mask[1] else nothing
    to_bias = g.sum(outer).astype(kind, copy=False) if output_mask[2] else nothing
    return to_input, to_weight, to_bias


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


TAPED.seen = lambda value: value


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


native_layer_norm_backward.ordered = True
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


def check_layer(input, normalized_shape, weight, bias, separator=", ") -> None:
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
    shape = input._raw.shape
    if shape[len(shape) - len(normalized_shape) :] != normalized_shape:
        expected = separator + ", ".join(map(str, normalized_shape))
        raise RuntimeError(
            f"Given normalized_shape={[*normalized_shape]}, expected input with shape "
            f"[*{expected}], but got input of size{[*shape]}"
        )


@function(method=False)
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5) -> Tensor:
    """Each example over its last dimensions, of sizes `normalized_shape` (torch.layer_norm).

    Raises RuntimeError for other sizes of the input, the weight and the bias.
    """
    normalized_shape = tuple(normalized_shape)
    check_layer(input, normalized_shape, weight, bias)
    return native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


# -- over groups of channels --------------------------------------------------------------------


@operator(
    node="NativeGroupNormBackward0",
    outputs=("result", "mean", "rstd"),
    function=False,
    method=False,
)
def native_group_norm(
    input: Array, weight: Array | None, bias: Array | None, N, C, HxW, group, eps
) -> tuple:
    refuse_complex(input, "GroupNormKernelImpl")
    x = widened(input)
    rows = x.reshape(N * group, C // group * HxW)
    mean, rstd = _statistics(rows, eps)
    result = ((rows - mean) * rstd).reshape(N, C, HxW)
    if weight is not None:
        result = result * widened(weight)[:, None]
    if bias is not None:
        result = result + widened(bias)[:, None]
    shaped = result.reshape(x.shape).astype(input.dtype, copy=False)
    kind = input.dtype if weight is None else weight.dtype
    mean, rstd = (value.astype(kind, copy=False).reshape(N, group) for value in (mean, rstd))
    return shaped, mean, rstd


def _settled(value):
    """A value in memory of its own, where it was made as a view."""
    return value if value.base is None else value.copy()


@native_group_norm.gradients("input", "weight", "bias")
def _group_gradients(F, grads, input, weight, mean, rstd, N, C, HxW, group, eps, needs):
    """Mean and deviation are outputs with gradients of their own, which come from the derivatives
    of what this composes where it records."""
    settings = (input, weight, mean, rstd, N, C, HxW, group, needs)
    if F.records or grads[1] is not None or grads[2] is not None:
        return _composed_group_gradients(F, grads, *settings)
    return (None,) * 3 if grads[0] is None else _group_kernel(grads[0], *settings)


@rounded_once  # torch's kernel rounds nothing before the end
def _group_kernel(grad, input, weight, mean, rstd, N, C, HxW, group, needs):
    rows, columns = (N, group, C // group, HxW), (N, group, 1, 1)
    x, g, scale = input.reshape(rows), grad.reshape(rows), rstd.reshape(columns)
    value = (x - mean.reshape(columns)) * scale
    to_input = to_weight = to_bias = None
    if needs[0]:
        scaled = g if weight is None else g * weight.reshape(1, group, C // group, 1)
        normalized = Normalized(value, scale, (2, 3), C // group * HxW)
        to_input = _settled(input_gradient(RAW, scaled, normalized).reshape(input.shape))
    if needs[1]:
        to_weight = _settled((g * value).sum((0, 3)).reshape(C))
    if needs[2]:
        to_bias = _settled(g.sum((0, 3)).reshape(C))
    return to_input, to_weight, to_bias


def _composed_group_gradients(F, grads, input, weight, mean, rstd, N, C, HxW, group, needs):
    """As ATen composes them: of sums over each channel, and with a `b` and `c` for which the
    gradient of the input is a * grad + b * input + c. One gradient of mean and deviation alone
    does not count."""
    of_result, of_mean, of_rstd = grads
    rows, columns = (N, group, C // group, HxW), (N, group, 1, 1)
    share = 1.0 / (C // group * HxW)
    x = F.reshape(input, rows)
    mean, rstd = F.reshape(mean, columns), F.reshape(rstd, columns)
    to_input = to_weight = to_bias = None
    if of_result is not None:
        g = F.reshape(of_result, rows)
        products = F.unsqueeze_(F.sum_dim(g * x, (3,), False), -1)
        sums = F.unsqueeze_(F.sum_dim(g, (3,), False), -1)
    if needs[0]:
        cube = rstd * rstd * rstd
        if of_result is not None:
            scale, b, c = rstd, products, sums
            if weight is not None:
                factor = F.reshape(weight, (1, group, C // group, 1))
                scale, b, c = rstd * factor, products * factor, sums * factor
            b = F.unsqueeze_(F.sum_dim(b, (2,), False), -2)
            c = F.unsqueeze_(F.sum_dim(c, (2,), False), -2)
            b = F.mul_scalar((c * mean - b) * cube, share)
            c = -b * mean - F.mul_scalar(c * rstd, share)
            to_input = scale * g + b * x + c
        if of_mean is not None and of_rstd is not None:
            of_variance = F.mul_scalar(cube, -0.5) * F.view(of_rstd, columns)
            spread = F.mul_scalar(of_variance, 2 * share) * (x - F.mean_dim(x, (2, 3), True))
            each = F.div_scalar(F.expand(F.view(of_mean, columns), rows), C // group * HxW)
            if F.records and to_input is not None:
                to_input.add_(spread + each)
            else:
                to_input = summed(to_input, spread + each)
        to_input = None if to_input is None else F.reshape(to_input, tuple(input.shape))
    if needs[1] and of_result is not None:
        to_weight = F.reshape(F.sum_dim((products - sums * mean) * rstd, (0,), False), (C,))
    if needs[2] and of_result is not None:
        to_bias = F.reshape(F.sum_dim(sums, (0,), False), (C,))
    return to_input, to_weight, to_bias


# Where there are all three, torch adds the part of the last two in place.
written(
    _group_gradients,
    {"input": unless_recorded(lambda *arrived: int(all(arrived))), "weight": 0, "bias": 0},
)


def _group_tangent(F, input_t, input, weight_t, weight, bias_t, mean, rstd, N, C, HxW, group):
    shape, rows, column = tuple(input.shape), (1, N * group, -1), (1, N * group, 1)
    count = C // group * HxW
    x, x_t = input.view(rows), input_t.view(rows)
    result_t = tangent(F, x, x_t, mean.view(column), rstd.view(column), (2,), count).view(shape)
    result = None
    if weight is not None:
        result = ((x - mean.view(column)) * rstd.view(column)).view(shape)
    affine = (1, C, *(1,) * (len(shape) - 2))
    return affine_tangent(result_t, result, weight, weight_t, bias_t, affine)


def _group_mean_tangent(F, input_t, N, group):
    return F.mean_dim(input_t.reshape(N, group, -1), (2,), False)


def _group_rstd_tangent(F, input_t, input, mean, rstd, N, group):
    rows, column = (N, group, -1), (N, group, 1)
    centred = input.reshape(rows) - mean.view(column)
    tangent = input_t.reshape(rows)
    along = F.mean_dim((tangent - F.mean_dim(tangent, (2,), True)) * centred, (2,), False)
    return -rstd.pow(3) * along


native_group_norm.forward(result=_group_tangent, mean=_group_mean_tangent, rstd=_group_rstd_tangent)


@function(method=False)
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5) -> Tensor:
    """Each example of (N, C, ...) over groups of its channels (torch.group_norm).

    Raises RuntimeError when the channels cannot be grouped so, and for other sizes of the weight
    and the bias.
    """
    shape = input._raw.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        )
    if shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {[*shape]} and num_groups={num_groups}"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value._raw.shape != (shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in "
                f"input, but got {name} of shape {[*value._raw.shape]} and input of shape "
                f"{[*shape]}"
            )
    sizes = (shape[0], shape[1], math.prod(shape[2:]))
    return native_group_norm(input.contiguous(), weight, bias, *sizes, num_groups, eps)[0]


# -- by root mean square ------------------------------------------------------------------------


@function(method=False)
def rms_norm(input, normalized_shape, weight=None, eps=None) -> Tensor:
    """The input divided by its root mean square over the last dimensions, as ATen composes it
    (torch.rms_norm)."""
    normalized_shape = tuple(normalized_shape)
    check_layer(input, normalized_shape, weight, None, separator="")
    if eps is None:
        eps = float(np.finfo(widened(input._raw).dtype).eps)
    dims = tuple(range(-len(normalized_shape), 0))
    kind = input.dtype
    wide = input.to(float32) if kind.numpy in REDUCED else input
    result = wide * add_scalar.inplace(wide.pow(2).mean(dims, True), eps).rsqrt()
    return (result if weight is None else result * weight).to(kind).contiguous()
