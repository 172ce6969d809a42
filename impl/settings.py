"""What programs set before they begin, which is kept and changes nothing here.

NumPy computes the same way each time, in as many threads as its BLAS was told to use.
"""

from __future__ import annotations

from impl.devices import CPU, check_device, device

_PRECISIONS = ("highest", "high", "medium")
_SETTINGS: dict[str, object] = {"deterministic": False, "threads": 1, "precision": "highest"}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask that the same program gives the same bits, as it does (torch's function)."""
    _SETTINGS["deterministic"] = mode


def are_deterministic_algorithms_enabled() -> bool:
    """Whether that was asked (torch.are_deterministic_algorithms_enabled)."""
    return bool(_SETTINGS["deterministic"])


def set_num_threads(number: int) -> None:
    """Say how many threads an operator may use. Raises RuntimeError unless positive."""
    if number <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _SETTINGS["threads"] = number


def get_num_threads() -> object:
    """What `set_num_threads` said, at first 1 (torch.get_num_threads)."""
    return _SETTINGS["threads"]


def set_float32_matmul_precision(precision: str) -> None:
    """Say how exact float32 products have to be: they are exact (torch's function)."""
    if precision in _PRECISIONS:
        _SETTINGS["precision"] = precision


def get_float32_matmul_precision() -> object:
    """What `set_float32_matmul_precision` said (torch.get_float32_matmul_precision)."""
    return _SETTINGS["precision"]


def get_default_device() -> device:
    """Where tensors are made: on the CPU (torch.get_default_device)."""
    return CPU


def set_default_device(place) -> None:
    """Say where tensors are to be made. Raises as a factory does for anything but the CPU."""
    if place is not None:
        check_device(place)
