"""Adaptive average pooling: means over a given number of windows."""

from __future__ import annotations

import itertools
from operator import index
from typing import Any

import numpy as np
import scipy.sparse

from impl.core.dtypes import BY_NUMPY, FLOATING, REDUCED
from impl.core.memory_formats import channels_last, channels_last_3d, formatted_as, suggested
from impl.core.registry import tensor_ops
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import Array, function, native, operator, written
from impl.dispatch.facts import CastPolicy, not_implemented
from impl.dispatch.not_implemented import require_scalar_type
from impl.kernels.reduced_precision import widened
from impl.operators.images.pooling_windows import check_gradient, check_not_empty, is_one_size
from impl.operators.images.resampling import resampled
from impl.tensor.tensor import Tensor


def windows(size: int, count: int) -> list[slice]:
    """The windows that a dimension is divided into; neighbours may overlap."""
    return [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _matrix(size: int, count: int, kind) -> scipy.sparse.csr_array:
    """The matrix (count, size) of the weight of each element in each window's mean."""
    parts = windows(size, count)
    lengths = np.array([part.stop - part.start for part in parts], np.int64)
    places = [np.arange(part.start, part.stop) for part in parts]
    return scipy.sparse.csr_array(
        (
            np.repeat(1 / lengths.astype(kind), lengths),
            np.concatenate(places) if places else np.zeros(0, np.int64),
            np.concatenate(([0], np.cumsum(lengths))),
        ),
        (count, size),
    )


def _define(ndim: int):
    """The operator and its backward over the last two or three dimensions."""
    name = f"adaptive_avg_pool{ndim}d"

    def forward(self: Array, output_size) -> Array:
        rank = self.ndim
        check_not_empty(self.shape, 1 if ndim == 3 else rank - ndim, name)
        _check_rank(self.shape, ndim)
        if ndim == 2 and 0 in (*self.shape[:-2], *output_size):  # of any dtype
            return formatted_as(np.zeros((*self.shape[:-2], *output_size), self.dtype), self)
        kind = BY_NUMPY[self.dtype]
        if kind.category != FLOATING:
            raise not_implemented(name if ndim == 2 else f"{name}_cpu", kind)
        x = widened(self)
        matrices = [
            _matrix(n, m, x.dtype) for n, m in zip(x.shape[-ndim:], output_size, strict=True)
        ]
        result = resampled(x, matrices).astype(self.dtype, copy=False)
        return formatted_as(result, self) if ndim == 2 else np.ascontiguousarray(result)

    def backward(grad_output: Array, self: Array) -> Array:
        check_gradient(grad_output.shape, name)
        _check_gradient_dtype(grad_output, self, ndim)
        sizes = [*zip(self.shape[-ndim:], grad_output.shape[-ndim:], strict=True)]
        if grad_output.dtype in REDUCED:
            result = _spread(grad_output, self.shape, [windows(n, m) for n, m in sizes])
        else:
            matrices = [_matrix(n, m, grad_output.dtype).T.tocsr() for n, m in sizes]
            result = resampled(grad_output, matrices)
        return formatted_as(result, self) if ndim == 2 else np.ascontiguousarray(result)

    forward.__name__, backward.__name__ = name + "_op", name + "_backward"
    node = f"AdaptiveAvgPool{ndim}DBackward"
    settings: dict[str, Any] = {"function": False, "method": False, "fresh": ndim == 2}
    policy: CastPolicy | None = "fp32" if ndim == 3 else None
    facts: dict[str, Any] = {"autocast": policy, "batching": "merged", "writes": 1}
    apply = operator(node=node + "0", **facts, **settings)(forward)
    apply.gradient(self=f"F.{name}_backward(grad, self)").forward("linear")
    operator(node=node + "Backward0", batching="merged", **settings)(backward).gradient(
        grad_output=f"F.{name}_op(grad, grad_output_shape[-{ndim}:])",
        self=written(lambda F, grad, self_shape: F.new_zeros(grad, self_shape)),
    )


def _check_gradient_dtype(grad_output, input, ndim: int) -> None:
    if ndim == 3:
        require_scalar_type(grad_output, input.dtype)
    elif grad_output.dtype != input.dtype:
        expected, found = BY_NUMPY[input.dtype].c_name, BY_NUMPY[grad_output.dtype].c_name
        raise RuntimeError(
            f"adaptive_avg_pool2d_backward_out_cpu_template: Expected dtype {expected} for "
            f"`grad_output` but got dtype {found}"
        )


def _spread(grad, shape, parts) -> np.ndarray:
    """Each gradient divided evenly over its window, rounded after each step."""
    number = grad.dtype.type
    result = np.zeros(shape, grad.dtype)
    for place in itertools.product(*(range(len(windows_)) for windows_ in parts)):
        window = [windows_[i] for windows_, i in zip(parts, place, strict=True)]
        share = grad[(..., *place)]
        for part in window:
            share = share / number(part.stop - part.start)
        result[(..., *window)] += share.reshape(share.shape + (1,) * len(window))
    return result


_define(2)
_define(3)


def _check_rank(shape, ndim: int) -> None:
    if len(shape) not in (ndim + 1, ndim + 2):
        raise RuntimeError(
            f"adaptive_avg_pool{ndim}d(): Expected {ndim + 1}D or {ndim + 2}D tensor, but got "
            f"{[*shape]}"
        )


def repeated(output_size, ndim: int):
    """The sizes of all dimensions: one number counts for each."""
    return (index(output_size),) * ndim if is_one_size(output_size) else output_size


def single_size(output_size, name: str) -> int:
    """The size for one dimension. Raises RuntimeError for several."""
    if is_one_size(output_size):
        return index(output_size)
    if len(output_size) != 1:
        raise RuntimeError(
            f"{name}() argument 'output_size' should contain one int (got {len(output_size)})"
        )
    return output_size[0]


def check_for_one(shape, name: str) -> None:
    """Raise RuntimeError unless a tensor has channels and perhaps a batch before one dimension."""
    if len(shape) not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 "
            f"'self' (while checking arguments for {name})"
        )


def _means(ndim: int, input, output_size) -> Tensor:
    name = f"adaptive_avg_pool{ndim}d"
    size = repeated(output_size, ndim)
    if len(size) != ndim:
        raise RuntimeError(f"{name}: output_size must be {ndim}")
    if min(size) < 0:
        shown = f"{{{size[0]}, {','.join(map(str, size[1:]))}}}"
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{shown}"
        )
    if any(n != 1 for n in size) or not input._raw.ndim:
        return getattr(tensor_ops, f"{name}_op")(input, size)
    result = input.mean(tuple(range(-1, -ndim - 1, -1)), True)
    shape = input._raw.shape
    if suggested(shape, input.stride()) is (channels_last if ndim == 2 else channels_last_3d):
        channels = shape[1]
        return result.as_strided_(result._raw.shape, (channels, 1, *(channels,) * ndim))
    return result


@function(method=False)
def adaptive_avg_pool1d(input, output_size) -> Tensor:
    """Means of `output_size` windows over the last dimension of (N, C, L) or (C, L)
    (torch.adaptive_avg_pool1d)."""
    check_for_one(input._raw.shape, "adaptive_avg_pool1d")
    size = single_size(output_size, "adaptive_avg_pool1d")
    plane = tensor_ops.unsqueeze(input, -2)
    return tensor_ops.squeeze_dim(_means(2, plane, (1, size)), -2)


@native()
def adaptive_avg_pool2d(input, output_size) -> Tensor:
    """Means of `output_size` windows over the last two dimensions."""
    return _means(2, input, output_size)


@native()
@fp32
def adaptive_avg_pool3d(input, output_size) -> Tensor:
    """Means of `output_size` windows over the last three dimensions."""
    return _means(3, input, output_size)
