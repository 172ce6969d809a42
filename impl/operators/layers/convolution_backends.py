"""The kernels of ATen that a convolution may be computed by, and the operands that each refuses.

torch selects one by the operands' sizes and dtypes (ATen's _select_conv_backend): none for an empty
batch or no channels, oneDNN's where it pays in one thread, else one that is called slow there. One
dimension is convolved as two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from impl.core.dtypes import BY_NUMPY, bfloat16, result_dtype
from impl.dispatch.not_implemented import no_primitive, not_implemented, require_scalar_type
from impl.operators.layers.convolution_checks import check_parameter_types
from impl.tensor.memory_overlap import check_cast

EMPTY, ONEDNN, SLOW = "empty", "oneDNN", "slow"


class Setting(NamedTuple):
    """The shapes and numbers of a convolution, of at least two dimensions."""

    input: tuple[int, ...]
    weight: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    output_padding: tuple[int, ...]
    transposed: bool
    groups: int

    def backend(self, dtype: np.dtype) -> str:
        """The kernel that torch selects for an input of a dtype."""
        if 0 in self.input[:2]:
            return EMPTY
        if self.transposed and any(
            o >= s for o, s in zip(self.output_padding, self.stride, strict=True)
        ):
            return SLOW
        if dtype == bfloat16.numpy:
            return ONEDNN
        if dtype != np.float32:
            return SLOW
        batch, kernel = self.input[0], self.weight[-2:]
        steps = any(n != 1 for n in (*self.stride, *self.dilation))
        pays = self.groups > 1 or min(kernel) > 3 or batch > 1 or math.prod(self.input[:4]) > 20480
        return ONEDNN if pays and (steps or batch >= 16 or kernel != (1, 1)) else SLOW

    @property
    def is_dilated(self) -> bool:
        return any(n != 1 for n in self.dilation)

    def writes(self, dtype: np.dtype) -> int:
        """How often the kernel that torch selects writes a result with a bias."""
        volume, groups = len(self.input) == 5, self.groups
        backend = self.backend(dtype)
        if backend is EMPTY:
            return 1
        if backend is ONEDNN:
            return int(self._writes_in_onednn(dtype))
        joined = self.transposed or self.is_dilated or not volume
        if groups > 1 and joined:  # the results of the groups
            return 0
        if self.transposed:
            numbers = [*self.weight[2:], *self.stride, *(n + 1 for n in self.padding)]
            return int(not volume or any(n != 1 for n in numbers))
        return self.weight[0] * self.input[0] if self.is_dilated else 2

    def _writes_in_onednn(self, dtype: np.dtype) -> bool:
        """Whether oneDNN writes the result itself: it computes some results with the channels last,
        of which a row-major copy is returned where that differs."""
        groups, volume = self.groups, len(self.input) == 5
        if self.transposed:
            made = self.weight[1] * groups
            steps = any(n != 1 for n in self.stride)
            last = steps and not (groups > 1 and dtype == np.float32)
        else:
            made = self.weight[0]
            last = volume and 1 < groups == self.input[1] == made
        return self.is_dilated or not last or made == 1 or math.prod(self.output()) == 1

    def output(self) -> tuple[int, ...]:
        """The spatial sizes of the result."""
        spans = [d * (k - 1) for d, k in zip(self.dilation, self.weight[2:], strict=True)]
        numbers = zip(
            self.input[2:], spans, self.stride, self.padding, self.output_padding, strict=True
        )
        if self.transposed:
            return tuple((n - 1) * s - 2 * p + span + o + 1 for n, span, s, p, o in numbers)
        return tuple((n + 2 * p - span - 1) // s + 1 for n, span, s, p, _ in numbers)


def setting_of(
    input, weight, stride, padding, dilation, transposed, output_padding, groups
) -> Setting:
    """The setting of operands (raw values) with one number per dimension."""
    shape, kernel = input.shape, weight.shape
    if weight.ndim == 3:
        shape, kernel = (*shape[:2], 1, shape[2]), (*kernel[:2], 1, kernel[2])
        stride, dilation = (1, *stride), (1, *dilation)
        padding, output_padding = (0, *padding), (0, *output_padding)
    return Setting(
        shape, kernel, stride, padding, dilation, output_padding, bool(transposed), groups
    )


def of_nothing(input, weight, setting: Setting) -> np.ndarray:
    """The result for an empty batch or no channels, which torch takes from a product with the
    weight. Raises RuntimeError and IndexError as that product."""
    batch, channels = setting.input[:2]
    made = setting.weight[1] * setting.groups if setting.transposed else setting.weight[0]
    if channels and not weight.size:
        raise IndexError("select(): index 0 out of range for tensor of size [0] at dimension 0")
    factor = weight.flat[0] if channels else weight
    sizes = setting.output()[-(weight.ndim - 2) :]
    shape = (batch, made if channels else 0, *sizes)
    for i, n in enumerate(shape):
        if n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {[*shape]}")
    return np.zeros(shape, result_dtype((input, factor)).numpy)


def check_backend(input, weight, bias, setting: Setting) -> None:
    """Raise RuntimeError for operands that the selected kernel refuses, and NotImplementedError for
    an input of a dtype that it does not have."""
    backend = setting.backend(input.dtype)
    if backend is EMPTY:
        return
    if 0 in setting.input:
        raise RuntimeError(
            "Only zero batch or zero channel inputs are supported, but got input shape: "
            f"{[*setting.input]}"
        )
    if backend is ONEDNN:
        _check_onednn(input, weight, bias, setting)
    elif setting.transposed:
        _check_transposed(setting)
        kernel = f"slow_conv_transpose{weight.ndim - 2 if weight.ndim > 3 else 2}d_out_cpu"
        _check_types(input, weight, kernel, "?bhilB")
        if bias is not None and weight.ndim == 5:
            require_scalar_type(bias, input.dtype)
        elif bias is not None:
            check_cast(bias.dtype, input.dtype)
    else:
        _check_kernel(setting)
        if setting.is_dilated:
            _check_types(input, weight, "slow_conv_dilated<>", "?bhiB")
        else:
            _check_types(input, weight, f"slow_conv{len(setting.stride)}d_cpu", "?")


def _check_types(input, weight, kernel: str, refused: str) -> None:
    if input.dtype.char in refused and input.dtype != np.int64:
        raise not_implemented(kernel, BY_NUMPY[input.dtype])
    require_scalar_type(weight, input.dtype)


def check_backward_types(input, weight, setting: Setting) -> None:
    """Raise RuntimeError for a weight that was replaced by one of another dtype than the input's,
    where the input's gradient is asked for."""
    if weight.dtype == input.dtype or setting.backend(input.dtype) is EMPTY:
        return
    if setting.backend(input.dtype) is SLOW:
        require_scalar_type(weight, input.dtype)
    elif weight.dtype.kind == "c" or weight.dtype.itemsize > 4:
        raise RuntimeError(
            "itensor_view_from_dense expects float/bfloat16/half/int8/fp8 tensor input"
            f"{BY_NUMPY[weight.dtype].legacy}"
        )


def check_gradient_type(grad_output, input, weight, by_convolution: bool) -> None:
    """Raise RuntimeError for an input and a weight that were replaced by those of another dtype
    than the gradient's.

    `by_convolution`: the gradient of the input is a convolution of the other gradient.
    """
    if grad_output.dtype != input.dtype:
        if by_convolution:
            require_scalar_type(weight, grad_output.dtype)
        require_scalar_type(grad_output, input.dtype)


def _check_onednn(input, weight, bias, setting: Setting) -> None:
    alternative = " or input should be a MKLDNN tensor and {} is a dense tensor"
    check_parameter_types(input, weight, bias, alternative)
    if not setting.transposed:
        if 0 in setting.dilation:
            raise RuntimeError("non-positive dilation is not supported")
        if 0 in setting.weight:
            raise no_primitive("convolution")
        return
    if any(n < 0 for n in setting.output()):
        raise RuntimeError("could not construct a memory descriptor using a format tag")
    kernel = setting.weight[2:]
    collapsed = any(d == 0 and k > 1 for d, k in zip(setting.dilation, kernel, strict=True))
    if collapsed and len(kernel) == 3:
        raise RuntimeError("dimensions are invalid")
    if collapsed or 0 in setting.weight:
        raise no_primitive("deconvolution")


_AXES = ("depth", "height", "width")


def _by_axis(name: str, numbers, separator: str) -> str:
    axes = _AXES[-len(numbers) :]
    return separator.join(f"{name}_{a}: {n}" for a, n in zip(axes, numbers, strict=True))


def _check_kernel(setting: Setting) -> None:
    sizes = setting.weight[2:]
    if 0 in sizes:
        if setting.is_dilated:
            shown = f" {[*sizes]}"
        elif len(sizes) == 2:
            shown = " " + _by_axis("kernel", sizes, " ")
        else:
            shown = f": {' x '.join(map(str, sizes))} (TxHxW)"
        raise RuntimeError(f"kernel size should be greater than zero, but got{shown}")
    if 0 in setting.dilation:
        raise RuntimeError(f"dilation should be greater than zero, but got {[*setting.dilation]}")


def _check_transposed(setting: Setting) -> None:
    sizes, stride, dilation = setting.weight[2:], setting.stride, setting.dilation
    if 0 in sizes and len(sizes) == 2:
        shown = _by_axis("kernel", sizes, " ")
        raise RuntimeError(f"kernel size should be greater than zero, but got {shown}")
    if 0 in dilation:
        shown = _by_axis("dilation", dilation, ", ")
        raise RuntimeError(f"dilation should be greater than zero, but got {shown}")
    numbers = zip(setting.output_padding, stride, dilation, strict=True)
    if any(o >= s and o >= d for o, s, d in numbers):
        settings = {
            "output_padding": setting.output_padding,
            "stride": stride,
            "dilation": dilation,
        }
        shown = " ".join(_by_axis(name, values, " ") for name, values in settings.items())
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got {shown}"
        )
    if 0 in setting.weight:
        kind = "2D or 4D weight tensor expected"
        if len(sizes) == 3:
            kind = (
                "5D (n_output_plane x n_input_plane x kernel_depth x kernel_height x kernel_width) "
                "tensor expected for weight"
            )
        raise RuntimeError(f"non-empty {kind}, but got: {[*setting.weight]}")
    output = setting.output()
    if any(n < 1 for n in output):
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, setting.input[2:]))}). "
            f"Calculated output size per channel: ({' x '.join(map(str, output))}). Output size is "
            "too small"
        )
