"""`torch.__future__`: how a module's conversion and `load_state_dict` replace its parameters."""

from __future__ import annotations

_overwrite_module_params_on_conversion = False
_swap_module_params_on_conversion = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether a conversion makes new parameters, in place of new data for the old ones
    (torch.__future__.set_overwrite_module_params_on_conversion)."""
    global _overwrite_module_params_on_conversion
    _overwrite_module_params_on_conversion = value


def get_overwrite_module_params_on_conversion() -> bool:
    """See `set_overwrite_module_params_on_conversion`."""
    return _overwrite_module_params_on_conversion


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether a conversion and `load_state_dict` swap parameters with new ones
    (torch.__future__.set_swap_module_params_on_conversion)."""
    global _swap_module_params_on_conversion
    _swap_module_params_on_conversion = value


def get_swap_module_params_on_conversion() -> bool:
    """See `set_swap_module_params_on_conversion`."""
    return _swap_module_params_on_conversion
