"""Conversion of a module's parameters and buffers to another dtype."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Self

from impl import __future__
from impl.core.devices import check_device
from impl.core.dtypes import COMPLEX, FLOATING
from impl.core.grad_mode import no_grad
from impl.core.method_names import part_of
from impl.core.registry import C
from impl.nn.parameter import Parameter
from impl.tensor.tensor import Tensor
from impl.utils.swapping import swap_tensors

_COMPLEX = (
    "Complex modules are a new feature under active development whose design may change, and some "
    "modules might not work as expected when using complex tensors as parameters or buffers. "
    "Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module "
    "does not work as expected."
)


@part_of("Module")
class Convertible:
    """The part of a module that converts its parameters and buffers."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    def children(self) -> Iterator[Any]:
        """The direct submodules."""
        raise NotImplementedError

    def _apply(self, fn, recurse: bool = True) -> Self:
        """Apply `fn` to the data of parameters and gradients, and to the buffers."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                if __future__.get_swap_module_params_on_conversion():
                    _swap(parameter, fn, f"{type(self).__name__}.{name}")
                    continue
                with no_grad():
                    self._parameters[name] = _replaced(parameter, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs) -> Self:
        """Convert floating parameters and buffers to a dtype, or to that of a tensor; those with
        four or five dimensions to a `memory_format`.

        On another device the parameters are new ones. Raises TypeError for other dtypes, and errors
        as `Tensor.to` for an unavailable device.
        """
        place, target, format = C._parse_to(*args, **kwargs)
        if target is not None and target.category < FLOATING:
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={target}"
            )
        if target is not None and target.category == COMPLEX:
            warnings.warn(_COMPLEX, stacklevel=2)
        return self._apply(lambda t: _converted(t, place, target, format))

    def cuda(self, device=None) -> Self:
        """Raises AssertionError: there is no GPU."""
        check_device("cuda")
        return self

    def type(self, dst_type) -> Self:
        """Convert all parameters and buffers to a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def __floating_to(self, name: str) -> Self:
        return self._apply(lambda t: getattr(t, name)() if t.is_floating_point() else t)

    def float(self) -> Self:
        """Convert floating parameters and buffers to float32."""
        return self.__floating_to("float")

    def double(self) -> Self:
        """Convert floating parameters and buffers to float64."""
        return self.__floating_to("double")

    def half(self) -> Self:
        """Convert floating parameters and buffers to float16."""
        return self.__floating_to("half")

    def bfloat16(self) -> Self:
        """Convert floating parameters and buffers to bfloat16."""
        return self.__floating_to("bfloat16")

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def share_memory(self) -> Self:
        """Returns this module: memory is not shared between processes."""
        return self._apply(lambda t: t.share_memory_())

    def to_empty(self, *, device, recurse: bool = True) -> Self:
        """Replace all parameters and buffers by uninitialised memory on a device."""
        return self._apply(lambda t: C.empty_like(t, device=device), recurse)


def _replaced(parameter: Tensor, fn) -> Tensor:
    """The parameter with what `fn` makes of it as its data, and the same for its gradient; a new
    parameter if that is on another device."""
    converted, gradient = fn(parameter), parameter._own_grad
    result = parameter
    renewed = __future__.get_overwrite_module_params_on_conversion()
    if converted.device == parameter.device and not renewed:
        parameter.data = converted
    else:
        result = Parameter(converted, parameter.requires_grad)
    if gradient is not None:
        changed = fn(gradient)
        if result is parameter and changed.device == gradient.device and not renewed:
            gradient.data = changed
        else:
            result.grad = changed.requires_grad_(gradient.requires_grad)
    return result


def _swap(parameter: Any, fn, name: str) -> None:
    """Swap a parameter with the result of `fn`, and its gradient likewise. Raises RuntimeError for
    one with a weak reference, which cannot be swapped."""
    gradient = parameter.grad
    with no_grad():
        converted = fn(parameter)
    try:
        parameter.grad = None
        swap_tensors(parameter, Parameter(converted, requires_grad=parameter.requires_grad))
    except Exception as error:
        parameter.grad = gradient
        raise RuntimeError(f"_apply(): Couldn't swap {name}") from error
    if gradient is None:
        return
    with no_grad():
        changed = fn(gradient)
    changed.requires_grad_(gradient.requires_grad)
    try:
        swap_tensors(gradient, changed)
    except Exception as error:
        raise RuntimeError(f"_apply(): Couldn't swap {name}.grad") from error
    parameter.grad = gradient


def _converted(tensor: Tensor, place, target, format) -> Tensor:
    named = {} if format is None or tensor.dim() not in (4, 5) else {"memory_format": format}
    kept = not (tensor.is_floating_point() or tensor.is_complex())
    try:
        return tensor.to(device=place, dtype=None if kept else target, **named)
    except NotImplementedError as error:
        if not tensor.is_meta:
            raise
        raise NotImplementedError(
            f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when "
            "moving module from meta to a different device."
        ) from None
