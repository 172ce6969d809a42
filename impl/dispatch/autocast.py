"""Autocast: in a block, products compute in bfloat16 or half, and what loses most by that does not.

Casts are recorded as any others, so that gradients arrive in the dtypes of the parameters. Which
operators are concerned is torch's table for the CPU (its "Automatic Mixed Precision package"):
each operator states its policy in its definition (`autocast=`), composites by a decorator.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np

from impl.core import dtypes
from impl.core.devices import device
from impl.core.dtypes import FLOATING, bfloat16, dtype, float16, float32, float64
from impl.core.meta_arrays import MetaArray
from impl.core.named_types import type_name
from impl.core.state import STATE
from impl.core.warning import warn
from impl.dispatch.facts import CastPolicy
from impl.tensor.tensor import Tensor, requires_grad

_Composite = TypeVar("_Composite", bound=Callable[..., Any])


# The devices that autocast could be on, whether or not they are there, and the dtype that it uses
# on each.
_KINDS = dict.fromkeys(["cpu", "hpu", "maia", "xla"], bfloat16) | dict.fromkeys(
    ["cuda", "ipu", "mps", "mtia", "privateuseone", "xpu"], float16
)


class _Settings(threading.local):
    """The settings of autocast in this thread, besides `STATE.autocast`: the dtype that operators
    compute in on the CPU, None while it is off."""

    caches = True  # whether casts of leaves are kept
    nesting = 0  # how many blocks are open

    def __init__(self) -> None:
        self.kinds = dict(_KINDS)
        self.elsewhere = dict.fromkeys(_KINDS, False)  # where it is on, but for the CPU


_SETTINGS = _Settings()
# By the identity of a leaf: a weak reference to it, and its cast.
_CASTS: dict[int, tuple[weakref.ref[Tensor], Tensor]] = {}


# -- casts ------------------------------------------------------------------------------------


def _is_eligible(value) -> bool:
    """Whether autocast casts a value: a tensor of the CPU, of a floating dtype that is narrower
    than float64."""
    return (
        isinstance(value, Tensor)
        and type(value._raw) is not MetaArray
        and value.dtype.category == FLOATING
        and (value.dtype is not float64)
    )


def _lowered(value):
    """A tensor in the block's dtype, but float64 and other dtypes than floating ones unchanged.

    A leaf that requires grad is cast once, and recorded even if the first use is not; later uses
    get that cast, whatever its dtype (autocast_mode.cpp, `cached_cast`).
    """
    if not _is_eligible(value) or value.dtype is STATE.autocast:
        return value
    leaf = value.dtype is float32 and value._view is None and value.is_leaf
    if not (leaf and requires_grad(value) and _SETTINGS.caches and not STATE.inference):
        return value.to(STATE.autocast)
    reference, cast = _CASTS.get(id(value), (None, None))
    if reference is None or reference() is not value:
        before, STATE.grad_mode = STATE.grad_mode, True
        try:
            cast = value.to(STATE.autocast)
        finally:
            STATE.grad_mode = before
        _CASTS[id(value)] = weakref.ref(value), cast
    return cast


def _raised(value):
    """A tensor that is half or bfloat16 in float32."""
    return value.to(float32) if _is_eligible(value) and value.dtype is not float32 else value


def _all(cast, values) -> list:
    """Arguments cast one by one, those in lists of tensors too."""
    return [
        [*map(cast, v)] if isinstance(v, (list, tuple)) and any(map(_is_eligible, v)) else cast(v)
        for v in values
    ]


def raised(*values) -> list:
    """The values, tensors in float32 at least: what `fp32` does, where calls are to be few."""
    return [_raised(v) for v in values]


def _widest(*values) -> list:
    kinds = [v.dtype for v in values if _is_eligible(v)]
    for kind in kinds:
        if kind is float32:  # which is the widest, whatever follows
            break
        if kind is not STATE.autocast:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    if not kinds or all(kind is kinds[0] for kind in kinds):
        return list(values)
    return [_raised(v) for v in values]


def cast_operands(policy: CastPolicy | None, args) -> tuple:
    """A primitive's arguments as it takes them in the block, by its policy."""
    if policy == "lower_precision_fp":
        return tuple(_all(_lowered, args))
    if policy == "fp32":
        return tuple(_all(_raised, args))
    if policy == "promote":
        if isinstance(args[0], (list, tuple)):
            return (_widest(*args[0]), *args[1:])
        return tuple(_widest(*args))
    return args


def _casting(cast, composite) -> Any:
    @functools.wraps(composite)
    def call(*args, **named):
        if STATE.autocast is None or named.get("out") is not None:  # which has no autocast kernel
            return composite(*args, **named)
        values = _all(cast, args)
        named = dict(zip(named, _all(cast, named.values()), strict=True))
        before = STATE.autocast
        _activate(None)  # for the operators it is composed of
        try:
            return composite(*values, **named)
        finally:
            _activate(before)

    return call


def lower_precision_fp(composite: _Composite) -> _Composite:
    """Decorate a composite that autocast has compute in the block's dtype."""
    return _casting(_lowered, composite)


def fp32(composite: _Composite) -> _Composite:
    """Decorate a composite that autocast has compute in float32 at least."""
    return _casting(_raised, composite)


def lowering(kernel):
    """A function of arrays that computes in the block's dtype, if there is a block.

    For what ATen's kernels ask of an operator that autocast concerns.
    """
    kind = STATE.autocast
    if kind is None or STATE.before_write is not None:  # a mode, in whose handler there is no block
        return kernel

    def call(*arrays):
        if any(a.dtype.kind == "c" or a.dtype == np.float64 for a in arrays):
            return kernel(*arrays)
        rounded = (np.asarray(a.astype(kind.numpy), np.float32) for a in arrays)
        return np.asarray(kernel(*rounded)).astype(kind.numpy)

    return call


# -- blocks -----------------------------------------------------------------------------------


def _activate(kind: dtype | None) -> None:
    STATE.fast_path_blockers += (kind is not None) - (STATE.autocast is not None)
    STATE.autocast = kind


class autocast:
    """A block, or a function, in which eligible operators compute in `dtype` (torch.autocast).

    On the CPU that is bfloat16, the default, or float16; any other dtype, and a device that is not
    there, is warned of and switches it off. Raises ValueError unless the device is named by a
    string, RuntimeError for an unknown one, TypeError if the decorated object cannot be called.
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        self._cache_enabled = (
            is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        )
        self._enabled = enabled and self._is_supported()

    def _is_supported(self) -> bool:
        name = self.device.upper()
        if self.device == "cuda":
            text = "CUDA is not available or torch_xla is imported. Disabling autocast."
        elif self.fast_dtype not in (bfloat16, float16):
            text = (
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
        else:
            return True
        warn(text)
        return False

    def __enter__(self) -> autocast:
        # In attributes, as torch has them: entered within itself, a block loses the former
        # settings.
        self.prev_cache_enabled = is_autocast_cache_enabled()
        self.prev = is_autocast_enabled(self.device)
        self.prev_fastdtype = get_autocast_dtype(self.device)
        set_autocast_dtype(self.device, self.fast_dtype)
        set_autocast_enabled(self.device, self._enabled)
        autocast_increment_nesting()
        set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, *exc) -> Literal[False]:
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        set_autocast_dtype(self.device, self.prev_fastdtype)
        set_autocast_enabled(self.device, self.prev)
        set_autocast_cache_enabled(self.prev_cache_enabled)
        return False

    def __call__(self, function):
        if not callable(function):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(function).__name__}. "
                "Did you mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )

        @functools.wraps(function)
        def call(*args, **named):
            with self:
                return function(*args, **named)

        return call


# -- settings ---------------------------------------------------------------------------------


def is_autocast_available(device_type: str) -> bool:
    """Whether there could be autocast on a device of that type (torch.amp.is_autocast_available).

    Raises RuntimeError for an unknown one, TypeError for anything but a string.
    """
    if not isinstance(device_type, str):
        raise TypeError(
            "_is_autocast_available(): argument 'device_type' (position 1) must be str, not "
            f"{type_name(device_type)}"
        )
    return device(device_type).type in _KINDS


def _known(device_type: str) -> str:
    kind = device(device_type).type
    if kind not in _KINDS:
        raise RuntimeError(
            "unknown device type for autocast in get_autocast_dispatch_key_from_device_type"
        )
    return kind


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for a device (torch.is_autocast_enabled).

    Raises RuntimeError for an unknown one.
    """
    kind = _known(device_type)
    return STATE.autocast is not None if kind == "cpu" else _SETTINGS.elsewhere[kind]


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Switch autocast on or off, until it is switched again (torch.set_autocast_enabled).

    With one argument that of CUDA is switched. Raises RuntimeError for an unknown device, as
    `is_autocast_enabled` does.
    """
    if isinstance(device_type, bool):
        enabled = device_type
        kind = "cuda"
    else:
        kind = _known(device_type)
    if kind == "cpu":
        _activate(_SETTINGS.kinds["cpu"] if enabled else None)
    else:
        _SETTINGS.elsewhere[kind] = bool(enabled)


def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype that autocast uses on a device (torch.get_autocast_dtype).

    Raises RuntimeError where it uses none.
    """
    kind = device(device_type).type
    if kind not in _KINDS:
        raise RuntimeError("unsupported scalarType")
    return _SETTINGS.kinds[kind]


def set_autocast_dtype(device_type: str, kind: dtype) -> None:
    """Set the dtype that autocast uses on a device (torch.set_autocast_dtype)."""
    _SETTINGS.kinds[device(device_type).type] = kind
    if STATE.autocast is not None and device(device_type).type == "cpu":
        _activate(kind)


def is_autocast_cache_enabled() -> bool:
    """Whether casts of leaves are kept (torch.is_autocast_cache_enabled)."""
    return _SETTINGS.caches


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Say whether casts of leaves are to be kept (torch.set_autocast_cache_enabled)."""
    _SETTINGS.caches = enabled


def clear_autocast_cache() -> None:
    """Forget the casts of leaves (torch.clear_autocast_cache)."""
    _CASTS.clear()


def autocast_increment_nesting() -> int:
    """Count one more open block; returns how many there are (torch.autocast_increment_nesting)."""
    _SETTINGS.nesting += 1
    return _SETTINGS.nesting


def autocast_decrement_nesting() -> int:
    """Count one open block less; returns how many are left (torch.autocast_decrement_nesting)."""
    _SETTINGS.nesting -= 1
    return _SETTINGS.nesting
