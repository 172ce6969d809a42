"""Convolutions over one, two or three dimensions, plain and transposed.

All are one operator, whose backward is an operator too: it is linear in the incoming gradient, in
the input and in the weight, so its own derivatives are convolutions again
(ATen/native/Convolution.cpp). The arithmetic is in `im2col`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core import messages
from impl.core.meta_arrays import MetaArray
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.core.warning import warn_once
from impl.dispatch.autocast import lower_precision_fp
from impl.dispatch.definition import Array, formula_operation, function, operator
from impl.dispatch.facts import SavedAs
from impl.dispatch.formula_helpers import needed, summed
from impl.kernels.reduced_precision import widened
from impl.operators.layers.convolution_backends import (
    EMPTY,
    check_backend,
    check_backward_types,
    check_gradient_type,
    of_nothing,
    setting_of,
)
from impl.operators.layers.convolution_checks import (
    check_bias_type,
    check_groups,
    check_parameter_types,
    check_rank,
    check_shapes,
    expanded,
    several,
    string_padding,
)
from impl.operators.layers.convolution_formats import (
    laid_out,
    laid_out_as_weight,
    result_format,
    zeros_like,
)
from impl.operators.layers.im2col import Geometry, adjoint, correlation, gradients, kernel_gradient
from impl.tensor.tensor import Tensor


def _expanded(weight, stride, padding, dilation, output_padding):
    """Stride, padding, dilation and output padding with one number per spatial dimension."""
    return expanded(
        weight.ndim - 2,
        stride=stride,
        padding=padding,
        dilation=dilation,
        output_padding=output_padding,
    )


def _geometry(size, weight, stride, padding, dilation, groups, output=None) -> Geometry:
    return Geometry(size, weight.shape[2:], stride, padding, dilation, groups, output)


def _add_bias(result, bias):
    if bias is not None:
        if bias.dtype.kind == "c" and result.dtype.kind != "c":
            warn_once(messages.DISCARDED)
            bias = bias.real
        result += widened(bias).reshape(-1, *(1,) * (result.ndim - 2)).astype(result.dtype)
    return result


def _writes(args) -> int:
    """That of the kernel which torch selects; without a bias autograd is asked."""
    input, weight = args[0]._raw, args[1]._raw
    stride, padding, dilation, transposed, output_padding, groups = args[3:]
    stride, padding, dilation, output_padding = _expanded(
        weight, stride, padding, dilation, output_padding
    )
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    return setting_of(input, weight, *settings).writes(input.dtype)


@operator(
    function=False,
    method=False,
    fresh=True,
    writes=_writes,
    missing_counts=True,
    autocast="lower_precision_fp",
    saved_as=SavedAs(parts=("_sym_sizes_opt",)),
)
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
    stride, padding, dilation, output_padding = _expanded(
        weight, stride, padding, dilation, output_padding
    )
    setting = setting_of(
        input, weight, stride, padding, dilation, transposed, output_padding, groups
    )
    if setting.backend(input.dtype) is EMPTY:
        return of_nothing(input, weight, setting)
    x, w = widened(input), widened(weight)
    if transposed:
        size = setting.output()[-len(stride) :]
        geometry = _geometry(size, w, stride, padding, dilation, groups, x.shape[2:])
        result = adjoint(x, w, geometry)
    else:
        geometry = _geometry(x.shape[2:], w, stride, padding, dilation, groups)
        result = correlation(x, w, geometry)
    made = _add_bias(result, bias).astype(input.dtype, copy=False)
    return laid_out(made, result_format(input, weight, setting), setting)


@convolution.composes
def _in_view(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Of one dimension a view of a convolution of two; of nothing that of a product."""
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    if 0 in input._raw.shape:
        result = convolution.computed(input, weight, bias, *settings)
        return result.view_as(result)
    _check(*(value if value is None else value._raw for value in (input, weight, bias)), *settings)
    if weight._raw.ndim != 3:
        return NotImplemented
    stride, padding, dilation, output_padding = _expanded(
        weight._raw, stride, padding, dilation, output_padding
    )
    stride, padding, dilation = (1, *stride), (0, *padding), (1, *dilation)
    settings = (stride, padding, dilation, transposed, (0, *output_padding), groups)
    return convolution(input.unsqueeze(2), weight.unsqueeze(2), bias, *settings).squeeze(2)


@convolution.on_large_meta
def _large_on_meta(
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    stride, padding, dilation, output_padding = _expanded(
        weight, stride, padding, dilation, output_padding
    )
    setting = setting_of(
        input, weight, stride, padding, dilation, transposed, output_padding, groups
    )
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    size = setting.output()[2 - weight.ndim :]
    return MetaArray((input.shape[0], channels, *size), input.dtype)


@convolution.checked
def _check(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    check_rank(weight)
    check_groups(groups)
    stride, padding, dilation, output_padding = _expanded(
        weight, stride, padding, dilation, output_padding
    )
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    check_shapes(input, weight, bias, *settings)
    check_backend(input, weight, bias, setting_of(input, weight, *settings))


@operator(
    node="ConvolutionBackwardBackward0",
    outputs=("grad_input", "grad_weight", "grad_bias"),
    function=False,
    method=False,
    fresh=True,
)
def convolution_backward(
    grad_output: Array,
    input: Array,
    weight: Array,
    bias_sizes,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    output_mask,
) -> tuple:
    """The gradients of a convolution; empty where `output_mask` is false. `bias_sizes` is for
    those that watch calls."""
    stride, padding, dilation, output_padding = _expanded(
        weight, stride, padding, dilation, output_padding
    )
    kind = input.dtype
    if not input.size:
        bias = np.empty(weight.shape[1] * groups if transposed else weight.shape[0])
        masked = zip((input, weight, bias), output_mask, strict=True)
        return tuple(zeros_like(like if wanted else bias[:0], kind) for like, wanted in masked)
    setting = setting_of(
        input, weight, stride, padding, dilation, transposed, output_padding, groups
    )
    if output_mask[0]:
        check_backward_types(input, weight, setting)
    check_gradient_type(grad_output, input, weight, transposed and output_mask[0])
    x, w, g = widened(input), widened(weight), widened(grad_output)
    results = [np.empty(0, x.dtype), np.empty(0, x.dtype), np.empty(0, x.dtype)]
    sliding, still = (g, x) if transposed else (x, g)
    geometry = _geometry(sliding.shape[2:], w, stride, padding, dilation, groups, still.shape[2:])
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
    made = [r.astype(kind, copy=False) for r in results]
    format = result_format(input, weight, setting)
    if made[0].size:
        made[0] = laid_out(made[0], format, setting)
    if made[1].size:
        made[1] = laid_out_as_weight(made[1], weight, format, setting)
    return tuple(made)


@convolution.gradients("input", "weight", "bias")
def _gradients(
    F,
    grad,
    input,
    weight,
    bias_shape,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    needs,
):
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    bias_sizes = bias_shape or (0,)  # as ATen has those of no bias
    return needed(F.convolution_backward(grad, input, weight, bias_sizes, *settings, needs), needs)


def _with_none(
    grad_output,
    input,
    weight,
    bias_sizes,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    output_mask,
) -> tuple:
    """The gradients of a convolution as ATen gives them: None where `output_mask` is false."""
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    made = convolution_backward(grad_output, input, weight, bias_sizes, *settings, output_mask)
    return needed(made, output_mask)


convolution_backward.as_aten(None, _with_none)


@formula_operation
def with_room(value, sizes):
    """A gradient in torch's layout: a view of a larger buffer with room for `sizes` in its last
    dimensions, where these are larger."""
    fits = all(n >= m for n, m in zip(value.shape[2:], sizes, strict=True))
    return value if fits else _moved(value, sizes)


def _moved(value, sizes):
    """A copy of the value as a view of a new buffer with room for `sizes`."""
    last = value.shape[2:]
    memory = np.empty((*value.shape[:2], *map(max, last, sizes)), value.dtype)
    key: Any = (..., *map(slice, last))
    made = memory[key]
    made[...] = value
    return made


@formula_operation
def input_channels_first(weight, sizes):
    """A weight's gradient in a new buffer with room for `sizes` and the channels first in
    memory."""
    return _moved(weight.swapaxes(0, 1), sizes).swapaxes(0, 1)


tensor_ops.with_room = tensor_ops.input_channels_first = lambda value, sizes: value


def _correlated_sizes(sliding, still, stride, padding, dilation):
    """The spatial sizes of the full correlation of an input with an output's gradient.

    With `stride` and `dilation` exchanged, its leading elements are the kernel's gradient.
    """
    numbers = zip(sliding[2:], still[2:], stride, padding, dilation, strict=True)
    return [(n + 2 * p - d * (m - 1) - 1) // s + 1 for n, m, s, p, d in numbers]


@convolution_backward.gradients("grad_output", "input", "weight")
def _second_gradients(
    F,
    grads,
    grad_output,
    input,
    weight,
    bias_sizes,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    needs,
):
    """Double backward: the gradients of grad_output, input and weight from those (`grads`) of the
    gradients of input, weight and bias."""
    of_input, of_weight, of_bias = grads
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    stride, padding, dilation, _ = _expanded(weight, stride, padding, dilation, output_padding)
    to_output = to_input = to_weight = None
    present = F.numel(input) > 0  # torch returns no gradient for an input without elements
    if needs[0]:
        if of_input is not None and present:
            to_output = F.convolution(of_input, weight, None, *settings)
        if of_weight is not None and present:
            to_output = summed(to_output, F.convolution(input, of_weight, None, *settings))
        if of_bias is not None:
            shape = grad_output.shape
            column = F.reshape(of_bias, (1, F.numel(of_bias), *(1,) * (len(shape) - 2)))
            to_output = summed(to_output, F.expand(column, tuple(shape)))
    if needs[1] and of_weight is not None and present:
        made = F.convolution_backward(
            grad_output, input, of_weight, (0,), *settings, (True, False, False)
        )
        to_input = made[0]
        if transposed:
            sizes = _correlated_sizes(grad_output.shape, weight.shape, stride, padding, dilation)
            to_input = F.with_room(to_input, sizes)
    if needs[2] and of_input is not None and present:
        made = F.convolution_backward(
            grad_output, of_input, weight, (0,), *settings, (False, True, False)
        )
        sliding, still = of_input.shape, grad_output.shape
        if transposed:
            sliding, still = still, sliding
        sizes = _correlated_sizes(sliding, still, dilation, padding, stride)
        to_weight = F.input_channels_first(made[1], sizes)
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


# -- public functions -------------------------------------------------------------------------


def _batched(name: str, input: Tensor, ndim: int) -> tuple[Tensor, bool]:
    """The input with a batch dimension, and whether it already had one. Raises RuntimeError for
    another rank."""
    rank = input._raw.ndim
    if rank not in (ndim + 1, ndim + 2):
        raise RuntimeError(
            f"Expected {ndim + 1}D (unbatched) or {ndim + 2}D (batched) input to {name}, but got "
            f"input of size: {[*input._raw.shape]}"
        )
    return (input, True) if rank == ndim + 2 else (tensor_ops.unsqueeze(input, 0), False)


def _parts(value: Tensor) -> tuple[Any, Any]:
    pairs = FUNCTIONS["view_as_real"](value.resolve_conj())
    return pairs.select(-1, 0), pairs.select(-1, 1)


def _applied(convolve, input, weight, bias) -> Tensor:
    """The result of `convolve`; for complex operands, from three convolutions of real ones."""
    if not input.is_complex():
        return convolve(input, weight, bias)
    check_parameter_types(input._raw, weight._raw, None if bias is None else bias._raw)
    (x_r, x_i), (w_r, w_i) = _parts(input), _parts(weight)
    b_r, b_i = (None, None) if bias is None else _parts(bias)
    real = convolve(x_r, w_r, b_r)
    imaginary = convolve(x_i, w_i, None)
    b_r = b_r if b_i is None else b_r + b_i
    crossed = convolve(x_r + x_i, w_r + w_i, b_r)
    rest = tensor_ops.mul_scalar(crossed - real - imaginary, 1j)
    return real - imaginary + rest


def _convolved(ndim: int):
    name = f"conv{ndim}d"

    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if not isinstance(padding, str):
            check_bias_type(input, bias)
        batch, batched = _batched(name, input, ndim)
        step, gap = several(stride, ndim), several(dilation, ndim)

        def convolve(input, weight, bias):
            if isinstance(padding, str):
                input, pad, extra = string_padding(input, weight, step, padding, gap, groups)
            else:
                pad, extra = several(padding, ndim), (0,) * ndim
            return tensor_ops.convolution(input, weight, bias, step, pad, gap, False, extra, groups)

        result = _applied(convolve, batch, weight, bias)
        return result if batched else tensor_ops.squeeze_dim(result, 0)

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = f"""Kernels slid over the last {ndim} dimensions (torch.nn.functional.{name}).

    `input` (N, C, ...) or (C, ...), `weight` (K, C / groups, ...), `bias` (K,). `padding` is a
    number, one per dimension, "valid" or "same". Raises RuntimeError for sizes that do not fit.
    """
    return function(name, method=False)(lower_precision_fp(conv))


def _transposed(ndim: int):
    name = f"conv_transpose{ndim}d"

    def conv(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        batch, batched = _batched(name, input, ndim)
        step, pad, gap, extra = (
            several(value, ndim) for value in (stride, padding, dilation, output_padding)
        )

        def convolve(input, weight, bias):
            return tensor_ops.convolution(input, weight, bias, step, pad, gap, True, extra, groups)

        result = _applied(convolve, batch, weight, bias)
        return result if batched else tensor_ops.squeeze_dim(result, 0)

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = f"""The transposed convolution: the gradient of `conv{ndim}d` as a forward pass.

    `weight` is (C, K / groups, ...); `output_padding` adds to one side of the result. Errors as
    `conv{ndim}d` (torch.nn.functional.{name}).
    """
    return function(name, method=False)(lower_precision_fp(conv))


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


@function("convolution", method=False)
def _convolution(
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    """A convolution, or a transposed one, over any number of dimensions (torch.convolution)."""
    sizes = tuple(stride), tuple(padding), tuple(dilation)
    return convolution(input, weight, bias, *sizes, transposed, tuple(output_padding), groups)
