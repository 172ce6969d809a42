"""Group normalisation, by mean and deviation over groups of an example's channels.

Y. Wu and K. He, ECCV 2018. The derivatives are those of `normalization`.
"""

from __future__ import annotations

import math

from impl.core import messages
from impl.core.memory_formats import formatted_as
from impl.core.registry import array_ops
from impl.core.sizes import negative_size
from impl.core.state import STATE
from impl.dispatch.definition import Array, function, operator, unless_recorded, written
from impl.dispatch.facts import SavedAs
from impl.dispatch.formula_helpers import summed
from impl.dispatch.not_implemented import require_scalar_type
from impl.kernels.reduced_precision import rounded_once, widened
from impl.operators.layers.normalization import (
    Normalized,
    affine_tangent,
    check_parameters,
    input_gradient,
    statistics,
    tangent,
)
from impl.tensor import forward_grad
from impl.tensor.tensor import Tensor, new


@operator(
    node="NativeGroupNormBackward0",
    outputs=("result", "mean", "rstd"),
    function=False,
    method=False,
    fresh=True,
    missing_counts=True,
    saved_as=SavedAs(renamed={"mean": "result1", "rstd": "result2", "eps": None}),
)
def native_group_norm(
    input: Array, weight: Array | None, bias: Array | None, N, C, HxW, group, eps
) -> tuple:
    if N < 0:
        raise negative_size([N, group])
    check_parameters(input, "GroupNormKernelImpl", weight, bias)
    if input.size != N * C * HxW:
        raise RuntimeError(messages.expected("X.numel() == N * C * HxW"))
    x = widened(input)
    rows = x.reshape(N * group, C // group * HxW)
    mean, rstd, centred = statistics(rows, eps)
    result = (centred * rstd).reshape(N, C, HxW)
    if weight is not None:
        result = result * widened(weight)[:, None]
    if bias is not None:
        result = result + widened(bias)[:, None]
    shaped = formatted_as(result.reshape(x.shape).astype(input.dtype, copy=False), input)
    kind = input.dtype if weight is None else weight.dtype
    mean, rstd = (value.astype(kind, copy=False).reshape(N, group) for value in (mean, rstd))
    return shaped, mean, rstd


@native_group_norm.checked
def _check_sizes(input, weight, bias, N, C, HxW, group, eps) -> None:
    for name, count in (("number of channels", C), ("HxW", HxW), ("num groups", group)):
        if count <= 0:
            raise RuntimeError(f"Expected {name} to be greater than 0, got {count}")
    shape = [*input.shape]
    if C % group:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {shape} and num_groups={group}"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.shape != (C,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in "
                f"input, but got {name} of shape {[*value.shape]} and input of shape {shape}"
            )


def _settled(value):
    """A value in memory of its own, where it was made as a view."""
    return value if value.base is None else value.copy()


@native_group_norm.gradients("input", "weight", "bias")
def _group_gradients(F, grads, input, weight, mean, rstd, N, C, HxW, group, eps, needs):
    """Mean and deviation are outputs with gradients of their own, of which the input gets its part;
    without a gradient of the result, weight and bias get zeros, unless grad mode is on. The kernel
    for it being off has no tangents."""
    of_result, of_mean, of_rstd = grads
    settings = (input, weight, mean, rstd, N, C, HxW, group, needs)
    to_input = to_weight = to_bias = None
    if of_result is not None:
        if not F.records and F.dtype_of(input) != F.dtype_of(of_result):
            raise RuntimeError("Expected scalar types of X and dY are same.")
        if weight is not None and not F.records and 0 not in input.shape:
            require_scalar_type(weight, mean.dtype)
        if F is not array_ops and not STATE.enabled:
            forward_grad.refuse("native_group_norm_backward", of_result, input, weight, mean, rstd)
        of = _composed_group_gradients if F.records else _group_kernel
        if F is not array_ops and not F.records:
            of = _kernel_of_tensors
        to_input, to_weight, to_bias = of(F, of_result, *settings)
    elif not STATE.enabled and (of_mean is not None or of_rstd is not None):
        kind = F.dtype_of(mean)
        to_weight, to_bias = (F.zeros((C,), kind) if needs[i] else None for i in (1, 2))
    if needs[0]:
        part = _of_statistics(F, of_mean, of_rstd, input, rstd, N, C, HxW, group)
        to_input = summed(to_input, part)
    return to_input, to_weight, to_bias


def _of_statistics(F, of_mean, of_rstd, input, rstd, N, C, HxW, group):
    """The part of the input's gradient that comes from the mean and the inverse deviation."""
    count = C // group * HxW
    rows, columns = (N, group, count), (N, group, 1)
    part = None
    if of_rstd is not None:
        x, rstd = F.reshape(input, rows), F.reshape(rstd, columns)
        of_variance = F.mul_scalar(rstd, -0.5) * rstd * rstd * F.view(of_rstd, columns)
        of_variance = F.mul_scalar(of_variance, 2.0 / count)
        part = of_variance * (x - F.mean_dim(x, (2,), True))
    if of_mean is not None:
        part = summed(part, F.div_scalar(F.expand(F.view(of_mean, columns), rows), count))
    return None if part is None else F.reshape(part, tuple(input.shape))


def _kernel_of_tensors(F, *operands):
    """The kernel in a pass over tensors that records nothing."""
    arrays = [value._raw if isinstance(value, Tensor) else value for value in operands]
    made = _group_kernel(array_ops, *arrays)
    return tuple(value if value is None else new(value) for value in made)


@rounded_once  # torch's kernel rounds nothing before the end
def _group_kernel(F, grad, input, weight, mean, rstd, N, C, HxW, group, needs):
    rows, columns = (N, group, C // group, HxW), (N, group, 1, 1)
    x, g, scale = input.reshape(rows), grad.reshape(rows), rstd.reshape(columns)
    value = (x - mean.reshape(columns)) * scale
    to_input = to_weight = to_bias = None
    if needs[0]:
        scaled = g if weight is None else g * weight.reshape(1, group, C // group, 1)
        normalized = Normalized(value, scale, (2, 3), C // group * HxW)
        made = input_gradient(array_ops, scaled, normalized).reshape(input.shape)
        to_input = formatted_as(_settled(made), input)
    if needs[1]:
        to_weight = _settled((g * value).sum((0, 3)).reshape(C))
    if needs[2]:
        to_bias = _settled(g.sum((0, 3)).reshape(C))
    return to_input, to_weight, to_bias


def _composed_group_gradients(F, grad, input, weight, mean, rstd, N, C, HxW, group, needs):
    """As ATen composes them: of sums over each channel, and with a `b` and `c` for which the
    gradient of the input is a * grad + b * input + c."""
    rows, columns = (N, group, C // group, HxW), (N, group, 1, 1)
    share = 1.0 / (C // group * HxW)
    x, g = F.reshape(input, rows), F.reshape(grad, rows)
    mean, rstd = F.reshape(mean, columns), F.reshape(rstd, columns)
    products, sums = F.sum_dim(g * x, (3,), True), F.sum_dim(g, (3,), True)
    to_input = to_weight = to_bias = None
    if needs[0]:
        cube = rstd * rstd * rstd
        scale, b, c = rstd, products, sums
        if weight is not None:
            factor = F.reshape(weight, (1, group, C // group, 1))
            scale, b, c = rstd * factor, products * factor, sums * factor
        b, c = F.sum_dim(b, (2,), True), F.sum_dim(c, (2,), True)
        b = F.mul_scalar((c * mean - b) * cube, share)
        c = -b * mean - F.mul_scalar(c * rstd, share)
        to_input = F.reshape(scale * g + b * x + c, tuple(input.shape))
    if needs[1]:
        to_weight = F.reshape(F.sum_dim((products - sums * mean) * rstd, (0,), False), (C,))
    if needs[2]:
        to_bias = F.reshape(F.sum_dim(sums, (0,), False), (C,))
    return to_input, to_weight, to_bias


# The zeros are written to the memory of weight and bias.
_filled = unless_recorded(lambda of_result, *rest: int(not of_result))
written(_group_gradients, {"input": 0, "weight": _filled, "bias": _filled})


def _group_tangent(F, input_t, input, weight_t, weight, bias_t, mean, rstd, N, C, HxW, group):
    shape, rows, column = tuple(input.shape), (1, N * group, -1), (1, N * group, 1)
    count = C // group * HxW
    x, x_t = input.reshape(rows), input_t.reshape(rows)
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
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True) -> Tensor:
    """Each example of (N, C, ...) over groups of its channels (torch.group_norm).

    Raises RuntimeError when there are no channels or they cannot be grouped so, and for other
    sizes of the weight and the bias; IndexError for less than two dimensions.
    """
    sizes = (input.size(0), input.size(1), math.prod(input._raw.shape[2:]))
    raws = (None if value is None else value._raw for value in (weight, bias))
    _check_sizes(input._raw, *raws, *sizes, num_groups, eps)  # before anything is saved
    return native_group_norm(input, weight, bias, *sizes, num_groups, eps)[0]
