"""Convolutions over one, two or three dimensions, plain and transposed.

All are one operator, whose backward is an operator too: it is linear in the incoming gradient, in
the input and in the weight, so its own derivatives are convolutions again
(ATen/native/Convolution.cpp). The arithmetic is in `correlation`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.operator import FUNCTIONS, TAPED, Array, formula_operation, function, operator
from impl.operators.convolution_checks import check_shapes, scalar_types, several, string_padding
from impl.operators.correlation import Geometry, adjoint, correlation, gradients, kernel_gradient
from impl.operators.gradients import needed, summed
from impl.precision import widened
from impl.tensor import Tensor


def _output_size(size, kernel, stride, padding, dilation, output_padding):
    """The sizes that a transposed convolution makes."""
    numbers = zip(size, kernel, stride, padding, dilation, output_padding, strict=True)
    return tuple((n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, d, o in numbers)


def _geometry(size, weight, stride, padding, dilation, groups) -> Geometry:
    return Geometry(size, weight.shape[2:], stride, padding, dilation, groups)


def _add_bias(result, bias):
    if bias is not None:
        result += widened(bias).reshape(-1, *(1,) * (result.ndim - 2))
    return result


@operator(function=False, method=False)
def convolution(
    input: Array,
    weight: Array,
    bias: Array | None,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
) -> Array:
    x, w = widened(input), widened(weight)
    if transposed:
        size = _output_size(x.shape[2:], w.shape[2:], stride, padding, dilation, output_padding)
        result = adjoint(x, w, _geometry(size, w, stride, padding, dilation, groups))
    else:
        result = correlation(x, w, _geometry(x.shape[2:], w, stride, padding, dilation, groups))
    return _add_bias(result, bias).astype(input.dtype, copy=False)


@convolution.checked
def _check(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    check_shapes(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    scalar_types(input, weight, bias)


@operator(
    node="ConvolutionBackwardBackward0",
    outputs=("grad_input", "grad_weight", "grad_bias"),
    function=False,
    method=False,
)
def convolution_backward(
    grad_output: Array,
    input: Array,
    weight: Array,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    output_mask,
) -> tuple:
    """The gradients of a convolution; empty where `output_mask` wants none."""
    kind = input.dtype
    x, w, g = widened(input), widened(weight), widened(grad_output)
    results = [np.empty(0, x.dtype), np.empty(0, x.dtype), np.empty(0, x.dtype)]
    sliding, still = (g, x) if transposed else (x, g)
    geometry = _geometry(sliding.shape[2:], w, stride, padding, dilation, groups)
    if transposed:
        if output_mask[0]:
            results[0] = correlation(g, w, geometry)
        if output_mask[1]:
            results[1] = kernel_gradient(sliding, still, w.shape, geometry)
    elif output_mask[0] and output_mask[1]:
        results[0], results[1] = gradients(x, g, w, geometry)
    elif output_mask[0]:
        results[0] = adjoint(g, w, geometry)
    elif output_mask[1]:
        results[1] = kernel_gradient(x, g, w.shape, geometry)
    if output_mask[2]:
        results[2] = g.sum((0, *range(2, g.ndim)))
    return tuple(r.astype(kind, copy=False) for r in results)


@convolution.gradients("input", "weight", "bias")
def _gradients(
    F,
    grad,
    input,
    weight,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    needs,
):
    made = F.convolution_backward(
        grad, input, weight, stride, padding, dilation, transposed, output_padding, groups, needs
    )
    return needed(made, needs)


@formula_operation
def input_channels_first(weight):
    """A weight's gradient as torch leaves it: a view of memory where the channels come first."""
    return np.ascontiguousarray(weight.swapaxes(0, 1)).swapaxes(0, 1)


TAPED.input_channels_first = lambda weight: weight


@convolution_backward.gradients("grad_output", "input", "weight")
def _second_gradients(
    F,
    grads,
    grad_output,
    input,
    weight,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    needs,
):
    """What the gradients of input, weight and bias (`grads`) mean for what they were made of."""
    of_input, of_weight, of_bias = grads
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    to_output = to_input = to_weight = None
    if needs[0]:
        if of_input is not None:
            to_output = F.convolution(of_input, weight, None, *settings)
        if of_weight is not None:
            to_output = summed(to_output, F.convolution(input, of_weight, None, *settings))
        if of_bias is not None:
            shape = grad_output.shape
            column = F.reshape(of_bias, (1, shape[1], *(1,) * (len(shape) - 2)))
            to_output = summed(to_output, F.expand(column, tuple(shape)))
    if needs[1] and of_weight is not None:
        made = F.convolution_backward(
            grad_output, input, of_weight, *settings, (True, False, False)
        )
        to_input = made[0]
    if needs[2] and of_input is not None:
        made = F.convolution_backward(
            grad_output, of_input, weight, *settings, (False, True, False)
        )
        to_weight = F.input_channels_first(made[1])
    return to_output, to_input, to_weight


def _tangent(
    F,
    input_t,
    input,
    weight_t,
    weight,
    bias_t,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
):
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    along_input = F.convolution(input_t, weight, None, *settings)
    return along_input + F.convolution(input, weight_t, bias_t, *settings)


convolution.forward(_tangent)


# -- how torch spells them --------------------------------------------------------------------


def _batched(name: str, input: Tensor, ndim: int) -> tuple[Tensor, bool]:
    """The input with a batch, and whether it had one. Raises RuntimeError for another rank."""
    rank = input._raw.ndim
    if rank not in (ndim + 1, ndim + 2):
        raise RuntimeError(
            f"Expected {ndim + 1}D (unbatched) or {ndim + 2}D (batched) input to {name}, but got "
            f"input of size: {[*input._raw.shape]}"
        )
    return (input, True) if rank == ndim + 2 else (TAPED.unsqueeze(input, 0), False)


def _parts(value: Tensor) -> tuple[Any, Any]:
    pairs = FUNCTIONS["view_as_real"](value.resolve_conj())
    return pairs.select(-1, 0), pairs.select(-1, 1)


def _applied(input, weight, bias, *settings) -> Tensor:
    """The convolution; of complex numbers, by three of real ones."""
    if not input.is_complex():
        return TAPED.convolution(input, weight, bias, *settings)
    scalar_types(input._raw, weight._raw, None if bias is None else bias._raw)
    (x_r, x_i), (w_r, w_i) = _parts(input), _parts(weight)
    b_r = both = None
    if bias is not None:
        b_r, b_i = _parts(bias)
        both = b_r + b_i
    real = TAPED.convolution(x_r, w_r, b_r, *settings)
    imaginary = TAPED.convolution(x_i, w_i, None, *settings)
    crossed = TAPED.convolution(x_r + x_i, w_r + w_i, both, *settings)
    return real - imaginary + TAPED.mul_scalar(crossed - real - imaginary, 1j)


def _convolved(ndim: int):
    name = f"conv{ndim}d"

    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        batch, batched = _batched(name, input, ndim)
        rank = weight._raw.ndim - 2
        step, gap = several(stride, ndim, rank, "stride"), several(dilation, ndim, rank, "dilation")
        if isinstance(padding, str):
            batch, padding = string_padding(batch, weight, step, padding, gap)
        result = _applied(
            batch,
            weight,
            bias,
            step,
            several(padding, ndim, rank, "padding"),
            gap,
            False,
            (0,) * rank,
            groups,
        )
        return result if batched else TAPED.squeeze_dim(result, 0)

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = f"""Kernels slid over the last {ndim} dimensions (torch.nn.functional.{name}).

    `input` (N, C, ...) or (C, ...), `weight` (K, C / groups, ...), `bias` (K,). `padding` is a
    number, one per dimension, "valid" or "same". Raises RuntimeError for sizes that do not fit.
    """
    return function(name, method=False)(conv)


def _transposed(ndim: int):
    name = f"conv_transpose{ndim}d"

    def conv(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        batch, batched = _batched(name, input, ndim)
        rank = weight._raw.ndim - 2
        result = _applied(
            batch,
            weight,
            bias,
            several(stride, ndim, rank, "stride"),
            several(padding, ndim, rank, "padding"),
            several(dilation, ndim, rank, "dilation"),
            True,
            several(output_padding, ndim, rank, "output_padding"),
            groups,
        )
        return result if batched else TAPED.squeeze_dim(result, 0)

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = f"""What the gradient of `conv{ndim}d` does to a gradient, as a forward pass.

    `weight` is (C, K / groups, ...); `output_padding` adds to one side of the result. Errors as
    `conv{ndim}d` (torch.nn.functional.{name}).
    """
    return function(name, method=False)(conv)


conv1d, conv2d, conv3d = _convolved(1), _convolved(2), _convolved(3)
conv_transpose1d, conv_transpose2d, conv_transpose3d = (_transposed(n) for n in (1, 2, 3))

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
]
