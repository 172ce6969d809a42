"""Operators that ATen gives under a name of its own: the normalisations with their statistics, and
the backward of a dropout."""

from __future__ import annotations

from impl.core import messages
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.not_implemented import require_floating
from impl.dispatch.out import check_same, fit, storing_same
from impl.operators.layers import batch_norm, group_norm, layer_norm
from impl.operators.layers.batch_norm import check_mixed
from impl.tensor.tensor import new


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


def _prepare_outputs(
    out, input, weight, bias, running_mean, running_var, training, momentum, eps
) -> None:
    """Resize `out=`: the result before the dtypes of the operands are looked at, the statistics in
    training before those of `out=` are."""
    batch_norm.check_pair(running_mean, running_var)
    fit(out[0], input._raw.shape)
    _check_dtypes(input, weight, bias, running_mean, running_var)
    if training:
        batch_norm.check_elements(input._raw)
    channels = input.size(1 if training else 0)
    for one in out[1:] if training else ():
        fit(one, (channels,))
    if training and (weight is None or weight.dtype is input.dtype):
        for one in out[1:]:
            check_same(_ANOTHER, one, input.dtype)


_ANOTHER = "expected scalar type {0.legacy} but found {1.legacy}"
_STORE_SAME = storing_same(*[_ANOTHER] * 3)


def _store_normalised(name: str, out, result):
    """Store the results; without training those of the statistics, of no elements, are not."""
    if not result[1]._raw.size:
        for one, value in zip(out[1:], result[1:], strict=True):
            check_same(_ANOTHER, one, value.dtype)
        result = (result[0], *(new(one._raw) for one in out[1:]))
    return _STORE_SAME(name, out, result)


@function(method=False, out=True, before=_prepare_outputs, storing=_store_normalised)
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """`batch_norm`, the means, and the inverse deviations, which are empty unless in training
    (torch.native_batch_norm). Raises RuntimeError for no elements in training, ValueError for no
    running statistics otherwise."""
    batch_norm.refuse_gradients(input, weight, bias, running_mean, running_var)
    _check_normalised(input, weight, bias, running_mean, running_var, training)
    return batch_norm.native_batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )


def _check_normalised(input, weight, bias, running_mean, running_var, training: bool) -> None:
    """Raise what `native_batch_norm` raises for sizes and for statistics that are missing; in
    training the sizes are looked at before the dtypes."""
    for name, value in (("running_mean", running_mean), ("running_var", running_var)):
        if value is None and not training:
            raise ValueError(f"{name} must be defined in evaluation mode")
    if not input._raw.ndim:
        raise RuntimeError(messages.NEGATIVE_CAPACITY)
    if training:
        input.size(1)
    batch_norm.check_pair(running_mean, running_var)
    if training:
        batch_norm.check_elements(input._raw)
    else:
        _check_dtypes(input, weight, bias, running_mean, running_var)
        if input._raw.size:
            input.size(1)


def _check_dtypes(input, *parameters) -> None:
    require_floating(input._raw, "batch_norm")
    check_mixed(input._raw, *(None if value is None else value._raw for value in parameters))


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
