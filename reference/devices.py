"""torch on a device that is not the CPU: its names, its random numbers, and its texts as the CPU's.

A program says nothing about devices. On another one its tensors are made there, it draws the
numbers that the CPU draws, and its messages name the types of tensors of the CPU.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils._device import _device_constructors

from conformance.observe.observer import Observer

_FACTORIES = frozenset(
    make.__name__ for make in _device_constructors() if hasattr(torch, make.__name__)
)
# The types of tensors that have names from before there were dtypes.
_OLDEST_TYPES = frozenset({"Float", "Double", "Half", "Byte", "Char", "Short", "Int", "Long"})
# The legacy constructors, torch.FloatTensor([...]), take no device and ignore the default one.
_LEGACY = frozenset(f"{kind}Tensor" for kind in (*_OLDEST_TYPES, "BFloat16", "Bool"))
# They draw in their dropout, and are the CPU's own.
_ATTENTION = ("_fused_sdp_choice", "_scaled_dot_product_flash_attention_for_cpu")
_NO_VALUES = "tolist() shouldn't be called on a tensor with unallocated storage"


class OnDevice(ModuleType):
    """A stand-in for the module `torch`, whose factories make tensors on a device.

    torch's own default device does most of it, and is seen by the thread that set it only: backward
    runs functions of the program in threads of the device.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__("torch")
        self._device = device

    def __getattr__(self, name: str) -> Any:
        found = getattr(torch, name)
        if name in _LEGACY:
            found = _moved(found, self._device)
        elif name in _FACTORIES:
            found = _placed(found, self._device)
        elif name == "normal":
            found = _placed(found, self._device, only_of_numbers=True)
        else:
            return found
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return dir(torch)


def _placed(
    make: Callable[..., torch.Tensor], device: torch.device, only_of_numbers: bool = False
) -> Callable[..., Any]:
    """A factory that makes tensors on the device where torch's default device is not seen.

    That is in other threads, and in `normal`, which is a factory where it is given no tensors.
    """

    def placed(*args: Any, **options: Any) -> torch.Tensor:
        if only_of_numbers:
            given = (*args, *options.values())
            place = not any(isinstance(one, torch.Tensor) for one in given)
        else:
            place = not _sees_default_device()
        if place and options.get("device") is None and options.get("out") is None:
            options["device"] = device
        return make(*args, **options)

    placed.__name__ = make.__name__
    return placed


def _sees_default_device() -> bool:
    """Whether torch's default device is one of this thread, or a block's around the call."""
    here = threading.current_thread() is threading.main_thread()
    return here or torch._C._len_torch_function_stack() > 0


def _moved(make: Callable[..., torch.Tensor], device: torch.device) -> Callable[..., torch.Tensor]:
    def moved(*args: Any) -> torch.Tensor:
        # The constructor is a CPU type and raises under another default device.
        with torch.device("cpu"):
            return make(*args).to(device)

    moved.__name__ = make.__name__
    return moved


class DeviceObserver(Observer):
    """An observer of tensors on a device, whose values are copied to the host to be read."""

    def __init__(self, namespace: Any, device_type: str) -> None:
        super().__init__(namespace)
        self._worded = as_on_cpu(device_type)

    def text(self, value: Any) -> str:
        return self._worded(super().text(value))

    def numbers(self, tensor: Any) -> Any:
        """Return the numbers of a tensor, in lists; the copy is not the program's operation."""
        if tensor._is_zerotensor():
            raise RuntimeError(_NO_VALUES)
        with torch.no_grad(), forward_ad._set_fwd_grad_enabled(False):
            return tensor.tolist()


@cache
def as_on_cpu(device_type: str) -> Callable[[str], str]:
    """The function that gives a text of torch on this device as torch on the CPU words it."""
    name = re.escape(device_type)
    types = re.compile(rf"\btorch\.{name}\.(?=(?:sparse\.)?\w+Tensor\b)")
    # Types that have no old name, and those of a backend outside torch's tree.
    others = re.compile(rf"\b(?:{name}|{name.upper()})(\w+)Type\b")
    printed = re.compile(rf",\s+device='{name}(?::\d+)?'(?=[,)])")
    shown = re.compile(rf"device\(type='{name}'(?:, index=\d+)?\)")

    def worded(text: str) -> str:
        if device_type in text or device_type.upper() in text:
            text = types.sub("torch.", text)
            text = others.sub(_type_of_cpu, text)
            text = printed.sub("", text)
            text = shown.sub("device(type='cpu')", text)
        return text

    return worded


def _type_of_cpu(found: re.Match[str]) -> str:
    kind = found[1]
    return f"torch.{kind}Tensor" if kind in _OLDEST_TYPES else f"CPU{kind}Type"


@cache
def draw_as_cpu(device_type: str) -> torch.library.Library:
    """Have every operator of the device that draws random numbers draw them on the CPU.

    Devices have generators of their own, with other algorithms, so that no two draw the same
    numbers from one seed. The result is the library that holds these kernels.
    """
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may have kernels of its own
        for overload in _drawing():
            key = torch._C._dispatch_key_for_device(device_type)
            library.impl(overload, _drawn_on_cpu(overload), key)
    return library


def _drawing() -> Iterator[Any]:
    for full in sorted(torch._C._dispatch_get_registrations_for_dispatch_key("CPU")):
        namespace, _, name = full.partition("::")
        name, _, overload = name.partition(".")
        if namespace != "aten" or not hasattr(torch.ops.aten, name) or name in _ATTENTION:
            continue
        found = getattr(getattr(torch.ops.aten, name), overload or "default")
        if torch.Tag.nondeterministic_seeded in found.tags:
            yield found


def _drawn_on_cpu(overload: Any) -> Callable[..., Any]:
    """A kernel that calls that of the CPU on copies, and copies its writes back."""
    written = {a.name for a in overload._schema.arguments if a.alias_info and a.alias_info.is_write}
    names = [argument.name for argument in overload._schema.arguments]

    def kernel(*args: Any, **options: Any) -> Any:
        given = dict(zip(names, args, strict=False)) | options
        tensors = [value for value in given.values() if isinstance(value, torch.Tensor)]
        device = given.get("device") or next(t.device for t in tensors if t.device.type != "cpu")
        on_cpu = {name: _on_cpu(value) for name, value in given.items()}
        made = overload(**on_cpu)
        for name in written:
            given[name].resize_(on_cpu[name].shape).copy_(on_cpu[name])
            if made is on_cpu[name]:
                return given[name]
        if isinstance(made, torch.Tensor):
            return made.to(device)
        return tuple(one.to(device) for one in made)

    return kernel


def _on_cpu(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        # How a tensor lies in memory says which of its elements draws which number.
        shape, stride = value.shape, value.stride()
        if not value.numel():
            return torch.empty_strided(shape, stride, dtype=value.dtype, device="cpu")
        extent = 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
        return value.as_strided((extent,), (1,)).to("cpu").as_strided(shape, stride)
    return torch.device("cpu") if isinstance(value, torch.device) else value
