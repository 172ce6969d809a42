"""Global settings of a program: determinism, threads, matmul precision (ATen/Context.h).

They are stored and returned, and change no result: NumPy is deterministic, and the number of its
threads is set in its BLAS. While deterministic algorithms are on, memory that is not initialised
has elements all the same.
"""

from __future__ import annotations

import warnings

import numpy as np

from impl.core.devices import check_device, default_device, device
from impl.core.integers import is_integer
from impl.core.named_types import type_name
from impl.core.state import STATE

_PRECISIONS = ("highest", "high", "medium")
_DETERMINISTIC_MODES = ("default", "warn", "error")
_SETTINGS: dict[str, object] = {
    "deterministic": False,
    "warn_only": False,
    "fills": True,
    "threads": 1,
    "interop_threads": 1,
    "precision": "highest",
    "warn_always": False,
}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Store the flag; results are deterministic either way, but for uninitialised memory, which is
    filled while it is set (torch's function). Raises TypeError for a flag that is no bool."""
    for name, flag in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(flag, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument {name} must be bool, "
                f"not {type_name(flag)}"
            )
    _SETTINGS["deterministic"] = mode
    _SETTINGS["warn_only"] = warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """The flag of `use_deterministic_algorithms`, at first False (torch's function)."""
    return bool(_SETTINGS["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The flag `warn_only` of `use_deterministic_algorithms`, at first False (torch's function)."""
    return bool(_SETTINGS["warn_only"])


def fills_when_deterministic() -> bool:
    """Whether that is filled while deterministic algorithms are on, at first True."""
    return bool(_SETTINGS["fills"])


def fill_when_deterministic(mode: bool) -> None:
    """Set the flag of `fills_when_deterministic`; raises RuntimeError for one that is no bool."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
    _SETTINGS["fills"] = mode


def fills_uninitialised() -> bool:
    """Whether uninitialised memory is to be filled now."""
    return bool(_SETTINGS["deterministic"] and _SETTINGS["fills"])


def fill_uninitialised(array) -> None:
    """Fill new memory with NaN, the largest integer or True."""
    if array.dtype.kind in "iu":
        array[...] = np.iinfo(array.dtype).max
    else:
        array[...] = True if array.dtype.kind == "b" else np.nan


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by number or name: 0 or "default", 1 or "warn", 2 or "error".

    Raises TypeError or RuntimeError for anything else (torch.set_deterministic_debug_mode).
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DETERMINISTIC_MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{debug_mode}"
            )
        debug_mode = _DETERMINISTIC_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """The number of the mode, at first 0 (torch.get_deterministic_debug_mode)."""
    if not are_deterministic_algorithms_enabled():
        return 0
    return 1 if is_deterministic_algorithms_warn_only_enabled() else 2


def set_warn_always(b: bool) -> None:
    """Whether the warnings of `warn_once` are given every time (torch.set_warn_always).

    Raises RuntimeError unless `b` is a bool.
    """
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type_name(b)}")
    _SETTINGS["warn_always"] = b


def is_warn_always_enabled() -> bool:
    """The flag of `set_warn_always`, at first False (torch.is_warn_always_enabled)."""
    return bool(_SETTINGS["warn_always"])


def set_flush_denormal(mode: bool) -> bool:
    """False: the processor's mode is not changed (torch.set_flush_denormal).

    Raises RuntimeError unless `mode` is a bool.
    """
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type_name(mode)}")
    return False


def _checked_threads(function: str, number: object) -> int:
    if not is_integer(number):
        raise RuntimeError(f"{function} expects an int, but got {type_name(number)}")
    if not -(2**63) <= number < 2**63:
        raise ValueError("Overflow when unpacking long long")
    if number <= 0:
        raise RuntimeError(f"{function} expects a positive integer")
    return int(number)


def set_num_interop_threads(number: int) -> None:
    """Store a number of threads, which has no effect (torch.set_num_interop_threads).

    Raises as `set_num_threads`.
    """
    _SETTINGS["interop_threads"] = _checked_threads("set_num_interop_threads", number)


def get_num_interop_threads() -> object:
    """The number set by `set_num_interop_threads` (torch.get_num_interop_threads)."""
    return _SETTINGS["interop_threads"]


def set_num_threads(number: int) -> None:
    """Store a number of threads, which has no effect (torch.set_num_threads).

    Raises RuntimeError for anything but a positive integer, ValueError for one beyond 64 bits.
    """
    _SETTINGS["threads"] = _checked_threads("set_num_threads", number)


def get_num_threads() -> object:
    """The number set by `set_num_threads`, at first 1 (torch.get_num_threads)."""
    return _SETTINGS["threads"]


def set_float32_matmul_precision(precision: str) -> None:
    """Store the precision; float32 products always have the highest (torch's function).

    Another string gives a warning; raises RuntimeError for anything else.
    """
    if not isinstance(precision, str):
        raise RuntimeError(
            f"set_float32_matmul_precision expects a str, but got {type_name(precision)}"
        )
    if precision in _PRECISIONS:
        _SETTINGS["precision"] = precision
        return
    warnings.warn(
        f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
        "setFloat32MatmulPrecision call has no effect.",
        stacklevel=2,
    )


def get_float32_matmul_precision() -> object:
    """The precision set by `set_float32_matmul_precision`, at first "highest"."""
    return _SETTINGS["precision"]


def get_default_device() -> device:
    """The device of new tensors, at first the CPU (torch.get_default_device)."""
    return default_device()


def set_default_device(place) -> None:
    """Make a device that of new tensors, None for the CPU (torch.set_default_device).

    Raises as `check_device` for a device that is not there.
    """
    check_device(place)
    STATE.default_devices = () if place is None else (device(place),)
