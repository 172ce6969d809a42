"""`get_device_module`: the module of a device by its name."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from impl import cpu, cuda, mps, mtia, xpu
from impl.core.devices import device as _device

_MODULES = {"cpu": cpu, "cuda": cuda, "mps": mps, "mtia": mtia, "xpu": xpu}


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a device, such as `torch.cuda`; that of the CPU without one.

    Raises RuntimeError for a device without a module (torch.get_device_module).
    """
    if device is not None and not isinstance(device, (str, _device)):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    kind = "cpu" if device is None else _device(device).type
    if kind not in _MODULES:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        )
    return _MODULES[kind]
