"""Batch normalisation: each channel by the statistics of its batch, or by running statistics.

S. Ioffe and C. Szegedy, ICML 2015. The derivatives are those of `normalization`.
"""

from __future__ import annotations

import numpy as np

from impl.core.inference_mode import recordable
from impl.core.memory_formats import formatted_as
from impl.dispatch.definition import Array, function, operator, written
from impl.dispatch.facts import SavedAs
from impl.dispatch.formula_helpers import needed, summed
from impl.dispatch.gradient_plan import OfArguments
from impl.dispatch.not_implemented import (
    no_derivative,
    refuse_gradient,
    require_floating,
    require_scalar_type,
)
from impl.kernels.reduced_precision import widened
from impl.operators.layers.batch_norm_kernels import (
    batch_norm_gradients,
    batch_statistics,
    normalized,
    reduced_dims,
)
from impl.operators.layers.normalization import (
    Normalized,
    affine_tangent,
    check_mixed,
    check_parameters,
    elements,
    input_gradient,
    second_input_gradient,
    tangent,
)
from impl.operators.views.as_strided import alias_view
from impl.tensor.aliases import writable_alias
from impl.tensor.tensor import Tensor


@operator(
    node="NativeBatchNormBackward0",
    outputs=("result", "save_mean", "save_invstd"),
    function=False,
    method=False,
    fresh=True,
    missing_counts=True,
    saved_as=SavedAs(renamed={"save_mean": "result1", "save_invstd": "result2"}),
)
def native_batch_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training,
    momentum,
    eps,
) -> tuple:
    require_floating(input, "batch_norm")
    check_mixed(input, weight, bias, running_mean, running_var)
    if input.size:
        _check_statistics(running_mean, running_var)
    check_parameters(input, "batch_norm", weight, bias, running_mean, running_var)
    parameters = (v for v in (weight, bias, running_mean, running_var, input) if v is not None)
    kind = next(parameters).dtype
    if not (training or input.size):  # whatever the statistics are, and the number of dimensions
        return (
            formatted_as(np.empty(input.shape, input.dtype), input),
            np.empty(0, kind),
            np.empty(0, kind),
        )
    count = input.shape[1]
    weight, bias, running_mean, running_var = (
        v if v is None else v.reshape(-1)[:count] for v in (weight, bias, running_mean, running_var)
    )
    wide = widened(input).dtype
    if training:
        mean, total, invstd = batch_statistics(input, eps)
        _update(running_mean, mean, momentum)
        others = input.size // count - 1
        _update(running_var, total / wide.type(others), momentum)
        # Half precision continues with the rounded statistics.
        saved = mean.astype(kind, copy=False), invstd.astype(kind, copy=False)
        mean, invstd = map(widened, saved)
    else:
        saved = np.empty(0, kind), np.empty(0, kind)
        mean, invstd = _running(running_mean, running_var, wide, eps)
    result = normalized(input, mean, invstd, weight, bias)
    return formatted_as(result.astype(input.dtype, copy=False), input), *saved


def _check_statistics(*statistics) -> None:
    for value in statistics:
        if value is not None and value.ndim != 1:
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {value.ndim}")


def _running(running_mean, running_var, dtype: np.dtype, eps) -> tuple:
    """Mean and inverse deviation by the running statistics."""
    var = widened(running_var).astype(dtype)
    return widened(running_mean).astype(dtype), dtype.type(1) / np.sqrt(var + dtype.type(eps))


def _update(running, value, momentum) -> None:
    """Update a running statistic in place; torch does not increment its version."""
    if running is not None:
        number = value.dtype.type
        running[...] = number(momentum) * value + number(1 - momentum) * running


@operator(
    node="NativeBatchNormBackwardBackward0",
    outputs=("grad_input", "grad_weight", "grad_bias"),
    function=False,
    method=False,
    fresh=True,
)
def native_batch_norm_backward(
    grad_out: Array,
    input: Array,
    weight: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    save_mean: Array,
    save_invstd: Array,
    train,
    eps,
    output_mask,
) -> tuple:
    """The gradients of a batch normalisation; empty where `output_mask` is false."""
    statistics = running_mean, running_var, save_mean, save_invstd
    check_parameters(input, "batch_norm_backward", weight, *statistics)
    require_scalar_type(grad_out, input.dtype)
    if train:
        mean, invstd = widened(save_mean), widened(save_invstd)
    else:
        mean, invstd = _running(running_mean, running_var, widened(input).dtype, eps)
    kind = input.dtype if weight is None else weight.dtype
    nothing = np.empty(0, kind)
    of_input, total, along = batch_norm_gradients(grad_out, input, mean, invstd, weight, train)
    to_input = nothing
    if output_mask[0]:
        to_input = formatted_as(of_input.astype(input.dtype, copy=False), input)
    to_weight = along.astype(kind, copy=False) if output_mask[1] else nothing
    return to_input, to_weight, total.astype(kind, copy=False) if output_mask[2] else nothing


@native_batch_norm.differentiable("result").gradients("input", "weight", "bias")
def _gradients(
    F, grad, input, weight, running_mean, running_var, save_mean, save_invstd, training, eps, needs
):
    made = F.native_batch_norm_backward(
        grad, input, weight, running_mean, running_var, save_mean, save_invstd, training, eps, needs
    )
    return needed(made, needs)


@operator(node="Error", outputs=("mean", "invstd"), function=False, method=False)
def without_derivative(save_mean: Array, save_invstd: Array, input: Array) -> tuple:
    """The statistics of a batch, whose derivative with respect to the input raises."""
    return save_mean.copy(), save_invstd.copy()


@without_derivative.gradients("save_mean", "save_invstd", "input")
def _no_third_derivative(F, grads, needs):
    raise RuntimeError("batch_norm does not support 3rd+ order derivatives.")


@native_batch_norm_backward.gradients("grad_out", "input", "weight")
def _second_gradients(
    F, grads, grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps
):
    of_input, of_weight, of_bias = grads
    ndim = input.ndim
    column = (1, input.shape[1], *(1,) * (ndim - 2))
    dims = reduced_dims(ndim)

    def spread(value):
        return F.reshape(value, column)

    if train:
        mean, scale = F.without_derivative(save_mean, save_invstd, input)
        for dim in (*(1,) * (ndim - 2), 0):
            mean, scale = F.unsqueeze(mean, dim), F.unsqueeze(scale, dim)
    else:
        mean = spread(running_mean)
        scale = F.rsqrt(F.add_scalar(spread(running_var), eps))
    normalized = Normalized((input - mean) * scale, scale, dims, elements(input.shape, dims))

    def pulled(value):
        return input_gradient(F, value, normalized) if train else scale * value

    grad = grad_out if weight is None else grad_out * spread(weight)
    to_out = to_input = to_weight = None
    if of_input is not None:
        image = pulled(of_input)
        to_out = image if weight is None else image * spread(weight)
        if train:
            to_input = second_input_gradient(F, of_input, grad, normalized)
        if weight is not None:
            to_weight = F.sum_dim(image * grad_out, dims, False)
    if of_weight is not None:
        to_out = summed(to_out, spread(of_weight) * normalized.value)
        to_input = summed(to_input, pulled(spread(of_weight) * grad_out))
    if of_bias is not None:
        to_out = summed(to_out, F.expand(spread(of_bias), tuple(input.shape)))
    return to_out, to_input, to_weight


def _writes_of_input(*args):
    """The writes to the input's gradient: with running statistics it has a single term."""
    *_, train, _, _ = args
    return lambda arrived, _: int(train and arrived[0] and arrived[1])


# torch sums the terms of each gradient in place.
written(
    _second_gradients,
    {
        "grad_out": lambda arrived, _: sum(arrived) - 1,
        "input": OfArguments(_writes_of_input),
        "weight": 0,
    },
)


native_batch_norm_backward.gradient(
    save_mean=no_derivative("native_batch_norm_backward save_mean"),
    save_invstd=no_derivative("native_batch_norm_backward save_invstd"),
)


def _tangent(
    F,
    input_t,
    input,
    weight_t,
    weight,
    bias_t,
    running_mean,
    running_var,
    save_mean,
    save_invstd,
    training,
    eps,
):
    ndim = input.ndim
    column = (1, input.shape[1], *(1,) * (ndim - 2))
    dims = reduced_dims(ndim)
    if training:
        mean, scale = save_mean.view(column), save_invstd.view(column)
        result_t = tangent(F, input, input_t, mean, scale, dims, elements(input.shape, dims))
    else:
        mean = running_mean.view(column)
        scale = F.add_scalar(running_var, eps).rsqrt().view(column)
        result_t = input_t * scale
    result = None if weight is None else (input - mean) * scale
    return affine_tangent(result_t, result, weight, weight_t, bias_t, column)


native_batch_norm.forward(result=_tangent)


def refuse_gradients(input, weight, bias, running_mean, running_var) -> None:
    """Raise RuntimeError for running statistics that require grad, if autograd is asked."""
    if not recordable(native_batch_norm, (input, weight, bias, running_mean, running_var)):
        return
    for name, value in (("running_mean", running_mean), ("running_var", running_var)):
        refuse_gradient("native_batch_norm", name, value)


def check_elements(input) -> None:
    """Raise RuntimeError for an array without elements, of which there are no statistics."""
    if not input.size:
        raise RuntimeError(
            f"input tensor must have at least one element, but got input_sizes = {[*input.shape]}"
        )


def check_pair(running_mean, running_var) -> None:
    """Raise ValueError for one of the running statistics without the other."""
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")


def _check_counts(input, weight, bias, running_mean, running_var, training) -> None:
    if not input._raw.size:
        return  # ATen looks at nothing else then
    count = input.size(1) if input._raw.ndim > 1 else 0
    named = {
        "running_mean": running_mean,
        "running_var": running_var,
        "weight": weight,
        "bias": bias,
    }
    for name, value in named.items():
        if value is None:
            if not training and name.startswith("running"):
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        elif value._raw.size != count:
            raise RuntimeError(f"{name} should contain {count} elements not {value._raw.size}")
    input.size(1)  # which raises where there is no dimension of channels


@function(method=False)
def batch_norm(
    input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
) -> Tensor:
    """Each channel of (N, C, ...) by its mean and variance: in training those of the batch, which
    update the running ones in place, else the running ones (torch.batch_norm).

    Raises RuntimeError for other sizes.
    """
    _check_counts(input, weight, bias, running_mean, running_var, training)
    return _normalized(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _normalized(input, weight, bias, running_mean, running_var, training, momentum, eps) -> Tensor:
    if input._raw.size:
        refuse_gradients(input, weight, bias, running_mean, running_var)
        check_pair(running_mean, running_var)
        return native_batch_norm(
            input, weight, bias, running_mean, running_var, training, momentum, eps
        )[0]
    result = input.clone()  # ATen computes no statistics of an empty input
    if weight is not None:
        result = result * weight.select(0, 0)
    return result if bias is None else result + bias.select(0, 0)


@function(method=False)
def instance_norm(
    input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled
) -> Tensor:
    """`functional.instance_norm` in torch's own order of arguments, also for one element per
    channel (torch.instance_norm)."""
    shape = input._raw.shape
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    rows = input.contiguous().view(1, input.size(0) * input.size(1), *shape[2:])
    weight, bias = (v if v is None else v.repeat(shape[0]) for v in (weight, bias))
    kind = input.dtype if weight is None else weight.dtype
    # ATen looks at the dtype of the mean only, and then casts both.
    cast = running_mean is not None and running_mean.dtype is not kind
    mean, var = (
        v if v is None else (v.to(kind) if cast else v).repeat(shape[0])
        for v in (running_mean, running_var)
    )
    _check_counts(rows, weight, bias, mean, var, use_input_stats)
    result = _normalized(rows, weight, bias, mean, var, use_input_stats, momentum, eps)
    for running, repeated in ((running_mean, mean), (running_var, var)) if use_input_stats else ():
        if running is not None and repeated is not None:
            # An alias of an inference tensor has no version counter.
            alias = alias_view if running._inference else writable_alias
            alias(running).copy_(repeated.view(shape[:2]).mean(0))
    return result.view(shape)
