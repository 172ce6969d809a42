"""`custom_fwd` and `custom_bwd`: autocast decorators for a Function's forward and backward."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import numpy as np

from impl.core.dtypes import FLOATING, dtype, float64
from impl.core.registry import name_home
from impl.dispatch.autocast import (
    autocast,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
)
from impl.tensor.tensor import Tensor

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def _cast(value, kind: dtype):
    """Cast the floating-point tensors of nested containers to a dtype, except float64."""
    if isinstance(value, Tensor):
        floating = value.dtype.category == FLOATING and value.dtype is not float64
        return value.to(kind) if floating else value
    if isinstance(value, (str, bytes, np.ndarray)) or not isinstance(value, Iterable):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, kind): _cast(v, kind) for k, v in value.items()}
    cast = (_cast(v, kind) for v in value)
    return type(value)(cast) if isinstance(value, (list, tuple)) else cast  # type: ignore[call-arg]


def _check_type(device_type) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd=None, *, device_type: str, cast_inputs: dtype | None = None):
    """Decorate a Function's forward to record its autocast state for `custom_bwd`.

    With `cast_inputs`, a forward called under autocast runs with autocast off, and with its
    floating-point tensors cast to that dtype (torch.amp.custom_fwd). Raises ValueError unless
    `device_type` is a string.
    """
    _check_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def call(*args, **kwargs):
        context, enabled = args[0], is_autocast_enabled(device_type)
        context._dtype = get_autocast_dtype(device_type)
        context._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return call


def custom_bwd(bwd=None, *, device_type: str):
    """Decorate a Function's backward to run under the autocast state of its forward
    (torch.amp.custom_bwd). Raises ValueError unless `device_type` is a string."""
    _check_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def call(*args, **kwargs):
        context = args[0]
        with autocast(device_type, context._dtype, context._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return call


name_home(globals())
