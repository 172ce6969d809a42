"""Group normalisation, by mean and deviation over groups of an example's channels.

Y. Wu and K. He, ECCV 2018. The derivatives are those of `normalization`.
"""

from __future__ import annotations

import math

from impl.core.memory_formats import formatted_as
from impl.core.registry import array_ops
from impl.dispatch.definition import Array, function, operator, unless_recorded, written
from impl.dispatch.facts import SavedAs
from impl.dispatch.formula_helpers import summed
from impl.kernels.reduced_precision import rounded_once, widened
from impl.operators.layers.normalization import (
    Normalized,
    affine_tangent,
    check_parameters,
    input_gradient,
    statistics,
    tangent,
)
from impl.tensor.tensor import Tensor


@operator(
    node="NativeGroupNormBackward0",
    outputs=("result", "mean", "rstd"),
    function=False,
    method=False,
    fresh=True,
    saved_as=SavedAs(renamed={"mean": "result1", "rstd": "result2"}),
)
def native_group_norm(
    input: Array, weight: Array | None, bias: Array | None, N, C, HxW, group, eps
) -> tuple:
    check_parameters(input, "GroupNormKernelImpl", weight, bias)
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


def _settled(value):
    """A value in memory of its own, where it was made as a view."""
    return value if value.base is None else value.copy()


@native_group_norm.gradients("input", "weight", "bias")
def _group_gradients(F, grads, input, weight, mean, rstd, N, C, HxW, group, eps, needs):
    """Mean and deviation are outputs with gradients of their own, which come from the derivatives
    of its composition where it records."""
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
        made = input_gradient(array_ops, scaled, normalized).reshape(input.shape)
        to_input = formatted_as(_settled(made), input)
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
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
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
    return native_group_norm(input, weight, bias, *sizes, num_groups, eps)[0]
