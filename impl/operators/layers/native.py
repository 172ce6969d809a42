"""Operators that ATen gives under a name of its own: the normalisations with their statistics, and
the backward of a dropout."""

from __future__ import annotations

from impl.core import messages
from impl.dispatch.definition import Array, function, operator
from impl.operators.layers import batch_norm, group_norm, layer_norm


@function(method=False)
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """`layer_norm`, the means, and the inverse deviations (torch.native_layer_norm).

    Raises RuntimeError for other sizes of the input, the weight and the bias.
    """
    normalized_shape = tuple(normalized_shape)
    layer_norm.check_layer(input, normalized_shape, weight, bias)
    return layer_norm.native_layer_norm(input, normalized_shape, weight, bias, eps)


@function(method=False)
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """`group_norm` of N examples of C channels of HxW elements, the means, and the inverse
    deviations (torch.native_group_norm)."""
    return group_norm.native_group_norm(input, weight, bias, N, C, HxW, group, eps)


def _check_pair_first(out, input, weight, bias, running_mean, running_var, *rest) -> None:
    batch_norm.check_pair(running_mean, running_var)


@function(method=False, out=True, before=_check_pair_first)
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """`batch_norm`, the means, and the inverse deviations, which are empty unless in training
    (torch.native_batch_norm). Raises RuntimeError for no elements in training, ValueError for no
    running statistics otherwise."""
    batch_norm.refuse_gradients(running_mean, running_var)
    for name, value in (("running_mean", running_mean), ("running_var", running_var)):
        if value is None and not training:
            raise ValueError(f"{name} must be defined in evaluation mode")
    if not input._raw.ndim:
        raise RuntimeError(messages.NEGATIVE_CAPACITY)
    input.size(1)
    batch_norm.check_pair(running_mean, running_var)
    if training and not input._raw.size:
        raise RuntimeError(
            f"input tensor must have at least one element, but got input_sizes = {[*input.shape]}"
        )
    return batch_norm.native_batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )


@operator(node="NativeDropoutBackwardBackward0", function=False, method=False, elementwise=True)
def native_dropout_backward(grad_output: Array, mask: Array, scale) -> Array:
    """The cotangent times the mask times `scale`, in the cotangent's dtype."""
    return (grad_output * (mask.astype(grad_output.dtype) * scale)).astype(grad_output.dtype)


def _refuse_mask(F, grad):
    raise NotImplementedError(
        "the derivative for 'native_dropout_backward: mask' is not implemented."
    )


# The formula needs no cotangent, but torch's node keeps it.
native_dropout_backward.gradient(
    grad_output=lambda F, grad, grad_output, mask, scale: (
        grad * F.mul_scalar(F.cast_like(mask, grad_output), scale)
    ),
    mask=_refuse_mask,
)
native_dropout_backward.forward("unsupported", name="native_dropout_backward", invited=True)
native_dropout_backward.numbers = False
