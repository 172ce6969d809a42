"""The functions and classes of a device that there is none of: they refuse, as in a torch that was
built without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.core.devices import device

_INSTANTIATED = "Tried to instantiate dummy base class {}"


def refusal(name: str, kind: type[Exception], text: str) -> Callable[..., Any]:
    """A function that raises whatever its arguments are."""

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise kind(text)

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = f"Raise {kind.__name__}: {text}"
    return refused


def refusals(names: str, kind: type[Exception], text: str) -> dict[str, Callable[..., Any]]:
    """A function for each of the names; they all raise the same error."""
    return {name: refusal(name, kind, text) for name in names.split()}


def unlinked(prefix: str, names: dict[str, str]) -> dict[str, Callable[..., Any]]:
    """Functions that call one of torch._C that only a torch with the device has, by name."""
    text = "module 'torch._C' has no attribute '{}{}'"
    return {
        name: refusal(name, AttributeError, text.format(prefix, inner))
        for name, inner in names.items()
    }


def dummies(module: str, names: str) -> dict[str, type]:
    """Classes without instances: RuntimeError says so."""

    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(_INSTANTIATED.format(cls.__name__))

    body = {"__new__": refuse, "__module__": module, "__doc__": "A class without instances."}
    return {name: type(name, (), dict(body)) for name in names.split()}


class SelectedDevice:
    """A block in which a device is the current one; without an index it has no effect."""

    kind: str
    refused: tuple[type[Exception], str]

    def __init__(self, device: Any) -> None:
        self.idx = index_of(device, self.kind)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            error, text = self.refused
            raise error(text)

    def __exit__(self, *exc: Any) -> None:
        pass


def index_of(given: Any, kind: str) -> int:
    """The index of a device, -1 for none. Raises ValueError for a device of another type."""
    if isinstance(given, int):
        return given
    if isinstance(given, str):
        given = device(given)
    if isinstance(given, device):
        if given.type != kind:
            raise ValueError(f"Expected a {kind} device, but got: {given}")
        return -1 if given.index is None else given.index
    return -1


class StreamContext:
    """A block in which a stream is the current one; without a stream it has no effect."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        pass


def is_available() -> bool:
    """False: there is no such device."""
    return False


def is_initialized() -> bool:
    """False: there is no such device."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no such device."""
    return False


def is_tf32_supported() -> bool:
    """False: there is no such device."""
    return False


def device_count() -> int:
    """0: there is no such device."""
    return 0


def memory_allocated(device: Any = None) -> int:
    """0 bytes: there is no such device."""
    return 0


def get_arch_list() -> list[str]:
    """No architecture: there is no such device."""
    return []


def get_gencode_flags() -> str:
    """No flags: there is no such device."""
    return ""


def get_rng_state_all() -> list[Any]:
    """The states of no device."""
    return []


def manual_seed(seed: int) -> None:
    """No effect but to look whether it is a number: there is no such device."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """No effect, as `manual_seed`."""
    int(seed)


def seed() -> None:
    """No effect, as `manual_seed`."""


def seed_all() -> None:
    """No effect, as `manual_seed`."""
