"""Devices (torch.device): every device type of torch can be named; there are the CPU and meta."""

from __future__ import annotations

import re
from typing import NoReturn

from impl.core.integers import is_integer
from impl.core.named_types import NamedType
from impl.core.read_only import read_only
from impl.core.state import STATE

_LISTED = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, "
    "mps, meta, hpu, mtia, privateuseone"
)
_TYPES = frozenset(_LISTED.split(", "))
_NAME = re.compile(r"([A-Za-z_]+)(?::(0|[1-9][0-9]*))?")
_NO_INDEX = -1


def _check_index(index: int) -> None:
    if not -(2**63) <= index < 2**63:
        raise ValueError("Overflow when unpacking long long")
    if index < 0:
        raise RuntimeError("Device index must not be negative")


def _in_eight_bits(index: int) -> int | None:
    """An index as c10 keeps it: of 8 bits with a sign, of which -1 is no index."""
    kept = (index + 128) % 256 - 128
    return None if kept == _NO_INDEX else kept


def _parsed_index(number: str, whole: str) -> int:
    """The index that a string names. Raises RuntimeError for one of more than 32 bits."""
    if int(number) >= 2**31:
        raise RuntimeError(f"Could not parse device index '{number}' in device string '{whole}'")
    return int(number)


def refuse_index(index: int) -> NoReturn:
    """Refuse an index in the place of a device, which is one of the accelerator's.

    Raises ValueError for one that is no 64-bit integer, else RuntimeError.
    """
    _check_index(index)
    raise RuntimeError("Cannot access accelerator device when none is available.")


class device(metaclass=NamedType):
    """A device type and an optional index: `device("cuda:1")`, `device("cuda", 1)`.

    It is also a context manager: inside it is the default device, on which factories make tensors.
    Raises RuntimeError for a name that torch does not know.
    """

    __module__ = "impl"
    __slots__ = ("_index", "_type")
    _torch_name = "torch.device"

    @read_only
    def type(self) -> str:
        return self._type

    @read_only
    def index(self) -> int | None:
        return self._index

    def __init__(self, type: str | bytes | device, index: int | None = None) -> None:
        if isinstance(type, device):
            self._type, self._index = type.type, type.index
            return
        if is_integer(type):
            refuse_index(int(type))
        if isinstance(type, bytes):
            type = type.decode()
        if not isinstance(type, str):
            raise TypeError(f"device() received an invalid argument: {type!r}")
        if not type:
            raise RuntimeError("Device string must not be empty")
        if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
            raise TypeError(
                "device(): argument 'index' (position 2) must be int, not "
                + index.__class__.__name__
            )
        found = _NAME.fullmatch(type)
        if found is None:
            raise RuntimeError(f"Invalid device string: '{type}'")
        name = found[1]
        if name not in _TYPES:
            raise RuntimeError(
                f"Expected one of {_LISTED} device type at start of device string: {name}"
            )
        number = found[2]
        if number is not None and index is not None:
            raise RuntimeError(
                "type (string) must not include an index because index was passed explicitly: "
                + type
            )
        if index is not None:
            _check_index(index)
        if number is not None:
            index = _parsed_index(number, type)
        self._type = name
        self._index = None if index is None else _in_eight_bits(index)

    def __eq__(self, other) -> bool:
        return isinstance(other, device) and (other.type, other.index) == (self.type, self.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self):
        return device, (self.type,) if self.index is None else (self.type, self.index)

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        number = "" if self.index is None else f", index={self.index % 2**16}"
        return f"device(type='{self.type}'{number})"

    def __enter__(self) -> device:
        check_device(self)
        STATE.default_devices = (*STATE.default_devices, self)
        return self

    def __exit__(self, *exc) -> None:
        STATE.default_devices = STATE.default_devices[:-1]


CPU, META = device("cpu"), device("meta")


def default_device() -> device:
    """The device on which factories make tensors that are given none."""
    return STATE.default_devices[-1] if STATE.default_devices else CPU


def not_linked(kind: str) -> RuntimeError:
    """The error for a type of device that torch was built without."""
    return RuntimeError(f"PyTorch is not linked with support for {kind} devices")


def check_device(place) -> None:
    """Raise unless `place` is the CPU or the meta device, the name of one, or None.

    As in a torch built without them: AssertionError for "cuda" and "xpu", else RuntimeError.
    """
    kind = "cpu" if place is None else device(place).type
    if kind in ("cuda", "xpu"):
        raise AssertionError(f"Torch not compiled with {kind.upper()} enabled")
    if kind not in ("cpu", "meta"):
        raise not_linked(kind)


def is_meta_device(place) -> bool:
    """Whether a device, its name or None is the meta device. Raises as `check_device`."""
    if place is None:
        return False
    kind = (place if type(place) is device else device(place)).type
    if kind not in ("cpu", "meta"):
        check_device(place)
    return kind == "meta"
