"""`torch.pretend`: what PyTorch's own Python code asks of the module of a device."""

from __future__ import annotations

from typing import Any

import torch

Stream = torch.Stream
Event = torch.Event


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def _is_in_bad_fork() -> bool:
    return False


def _lazy_init() -> None:
    """Called before the first tensor is made: raises RuntimeError where there is no device."""
    if not hasattr(torch.ops.pretend, "device_count"):
        raise RuntimeError("pretend_device is not compiled, for want of a C++ compiler")


def device_count() -> int:
    return torch.ops.pretend.device_count()


def current_device() -> int:
    return torch.ops.pretend.current_device()


def set_device(which: Any) -> None:
    torch.ops.pretend.set_device(_index(which))


def synchronize(which: Any = None) -> None:
    torch.ops.pretend.synchronize(_index(which))


def current_stream(which: Any = None) -> torch.Stream:
    return torch.accelerator.current_stream(_index(which))


def set_stream(stream: torch.Stream) -> None:
    torch.accelerator.set_stream(stream)


class device:
    """Make a device the current one in a with statement."""

    def __init__(self, which: Any) -> None:
        self._index = _index(which)

    def __enter__(self) -> None:
        self._former = current_device()
        set_device(self._index)

    def __exit__(self, *_: object) -> None:
        set_device(self._former)


def default_generator(which: Any = None) -> torch.Generator:
    return torch.ops.pretend.default_generator(_index(which))


def manual_seed(seed: int) -> None:
    default_generator().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    for index in range(device_count()):
        default_generator(index).manual_seed(seed)


def initial_seed() -> int:
    return default_generator().initial_seed()


def get_rng_state(which: Any = None) -> torch.Tensor:
    return default_generator(which).get_state()


def set_rng_state(state: torch.Tensor, which: Any = None) -> None:
    default_generator(which).set_state(state)


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.bfloat16, torch.float16]


def _index(which: Any) -> int:
    """The index of a device given as nothing (the current one), a number, a name or a device."""
    if isinstance(which, int):
        return which
    index = None if which is None else torch.device(which).index
    return current_device() if index is None else index
