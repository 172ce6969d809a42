"""The random states of the devices of tensors, for functions that are run again
(torch.utils.checkpoint); those of the CPU's generator are not among them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import Any

from impl.tensor.tensor import Tensor
from impl.utils._pytree import tree_leaves


class DefaultDeviceType:
    """The type of device whose random states are kept where no tensor tells one
    (torch.utils.checkpoint.DefaultDeviceType)."""

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set the type."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The type that was set; "cpu" without one, since there is no accelerator."""
        return DefaultDeviceType._default_device_type or "cpu"


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The indices of the devices of tensors among the arguments, and the random states of these
    devices, without the CPU's (torch.utils.checkpoint.get_device_states)."""
    tensors = [leaf for leaf in tree_leaves(args) if isinstance(leaf, Tensor)]
    devices = [tensor.get_device() for tensor in tensors if tensor.device.type not in _STATELESS]
    module = _module_of(_type_of(tensors))
    states = []
    for device in devices:
        with module.device(device):
            states.append(module.get_rng_state())
    return devices, states


def set_device_states(
    devices: Iterable[int], states: Iterable[Tensor], *, device_type: str | None = None
) -> None:
    """Set the random states of devices of one type (torch.utils.checkpoint.set_device_states)."""
    kind = DefaultDeviceType.get_device_type() if device_type is None else device_type
    if kind == "meta":
        return
    module = _module_of(kind)
    for device, state in zip(devices, states, strict=False):
        with module.device(device):
            module.set_rng_state(state)


_STATELESS = ("cpu", "meta")


def _type_of(tensors: list[Tensor]) -> str:
    """The type of device whose states are kept: with a warning the first of several."""
    kinds = [tensor.device.type for tensor in tensors if tensor.device.type != "cpu"]
    if len(set(kinds)) > 1:
        warnings.warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two types of "
            "devices. Device state will only be saved for devices of a single device type, and the "
            "remaining devices will be ignored. Consequently, if any checkpointed functions "
            "involve randomness, this may result in incorrect gradients. (Note that if CUDA "
            "devices are among the devices detected, it will be prioritized; otherwise, the first "
            "device encountered will be selected.)"
            f"\nDevice types: {sorted(set(kinds))} first device type: {kinds[0]}",
            stacklevel=3,
        )
    if not kinds:
        return DefaultDeviceType.get_device_type()
    return "cuda" if "cuda" in kinds else kinds[0]


def _module_of(kind: str) -> Any:
    """The module of a type of device, such as `torch.cpu`."""
    return None if kind == "meta" else getattr(sys.modules[__name__.partition(".")[0]], kind)
