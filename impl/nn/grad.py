"""`torch.nn.grad`: the gradients of a convolution, from the gradient of its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.dispatch.op_overload import namespace
from impl.nn.sizes import _pair, _single, _triple
from impl.tensor.tensor import Tensor


def _gradients(ndim: int, several: Callable[[Any], tuple]) -> tuple[Callable, Callable]:
    """The functions for the gradients of input and weight, for a number of spatial dimensions."""

    def gradients(grad_output, input, weight, stride, padding, dilation, groups, place) -> Tensor:
        sizes = map(several, (stride, padding, dilation))
        wanted = tuple(n == place for n in range(3))
        backward = namespace("aten").convolution_backward
        settings = (None, *sizes, False, [0], groups, wanted)
        return backward(grad_output, input, weight, *settings)[place]

    def of_input(
        input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1
    ) -> Tensor:
        input = grad_output.new_empty(1).expand(input_size)
        return gradients(grad_output, input, weight, stride, padding, dilation, groups, 0)

    def of_weight(
        input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1
    ) -> Tensor:
        weight = grad_output.new_empty(1).expand(weight_size)
        return gradients(grad_output, input, weight, stride, padding, dilation, groups, 1)

    for function, of in ((of_input, "input"), (of_weight, "weight")):
        function.__name__ = function.__qualname__ = f"conv{ndim}d_{of}"
        function.__doc__ = f"The gradient of the {of} (torch.nn.grad.conv{ndim}d_{of})."
    return of_input, of_weight


conv1d_input, conv1d_weight = _gradients(1, _single)
conv2d_input, conv2d_weight = _gradients(2, _pair)
conv3d_input, conv3d_weight = _gradients(3, _triple)
