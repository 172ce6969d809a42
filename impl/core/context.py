"""Global settings of a program: determinism, threads, matmul precision (ATen/Context.h).

They are stored and returned, and change no result: NumPy is deterministic, and the number of its
threads is set in its BLAS.
"""

from __future__ import annotations

from impl.core.devices import CPU, check_device, device

_PRECISIONS = ("highest", "high", "medium")
_SETTINGS: dict[str, object] = {"deterministic": False, "threads": 1, "precision": "highest"}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Store the flag; results are deterministic either way (torch's function)."""
    _SETTINGS["deterministic"] = mode


def are_deterministic_algorithms_enabled() -> bool:
    """The flag of `use_deterministic_algorithms`, at first False (torch's function)."""
    return bool(_SETTINGS["deterministic"])


def set_num_threads(number: int) -> None:
    """Store a number of threads, which has no effect. Raises RuntimeError unless positive."""
    if number <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _SETTINGS["threads"] = number


def get_num_threads() -> object:
    """The number set by `set_num_threads`, at first 1 (torch.get_num_threads)."""
    return _SETTINGS["threads"]


def set_float32_matmul_precision(precision: str) -> None:
    """Store the precision; float32 products always have the highest (torch's function)."""
    if precision in _PRECISIONS:
        _SETTINGS["precision"] = precision


def get_float32_matmul_precision() -> object:
    """The precision set by `set_float32_matmul_precision`, at first "highest"."""
    return _SETTINGS["precision"]


def get_default_device() -> device:
    """The device of new tensors: the CPU (torch.get_default_device)."""
    return CPU


def set_default_device(place) -> None:
    """Accept the CPU as the device of new tensors; raises as `check_device` for any other."""
    if place is not None:
        check_device(place)
