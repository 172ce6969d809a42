"""Autocast: in a block, products compute in bfloat16 or half, and what loses most by that does not.

Casts are recorded as any others, so that gradients arrive in the dtypes of the parameters. Which
operators are concerned is torch's table for the CPU (its "Automatic Mixed Precision package").
"""

from __future__ import annotations

import warnings
from typing import Any

from impl import dtypes
from impl.devices import device
from impl.dtypes import FLOATING, bfloat16, dtype, float16, float32, float64
from impl.modes import STATE, _decorated
from impl.tensor import Tensor, requires_grad

# Operators, by their nodes, that compute in the block's dtype, in float32 at least, and in the
# widest dtype of their operands. Products and losses composed of others ask by themselves.
_LOWERED = frozenset(
    f"{name}Backward0" for name in ("Mm", "Bmm", "Addmm", "Baddbmm", "Addbmm", "Convolution")
)
_RAISED = frozenset(
    f"{name}Backward0"
    for name in (
        "BinaryCrossEntropy",
        "BinaryCrossEntropyWithLogits",
        "HuberLoss",
        "MseLoss",
        "MultiMarginLoss",
        "MultilabelMarginLoss",
        "NllLoss",
        "NllLoss2D",
        "Prod",
        "SmoothL1Loss",
        "SoftMarginLoss",
        "Trace",
    )
) | {"ProdBackward1"}
_WIDEST = frozenset(("CatBackward0", "IndexCopyBackward0", "StackBackward0"))


class Active:
    """What holds within a block: the dtype, and the casts of leaves that were made already."""

    def __init__(self, kind: dtype, cached: bool, casts: dict) -> None:
        self.kind = kind
        self.cached = cached
        self.casts = casts


def _is_eligible(value) -> bool:
    return (
        isinstance(value, Tensor)
        and value.dtype.category == FLOATING
        and (value.dtype is not float64)
    )


def lowered(*values) -> list:
    """The tensors among the values in the block's dtype, but for float64 and what is not floating.

    A leaf that requires grad is cast once.
    """
    return [_lowered(STATE.autocast, v) if _is_eligible(v) else v for v in values]


def _lowered(active: Active, tensor: Tensor) -> Tensor:
    if tensor.dtype is active.kind:
        return tensor
    keeps = active.cached and tensor.dtype is float32 and tensor._view is None
    if not (keeps and tensor.is_leaf and requires_grad(tensor)):
        return tensor.to(active.kind)
    if id(tensor) not in active.casts:
        active.casts[id(tensor)] = tensor, tensor.to(active.kind)
    return active.casts[id(tensor)][1]


def raised(*values) -> list:
    """The tensors among the values that are half or bfloat16 in float32."""
    return [v.to(float32) if _is_eligible(v) and v.dtype is not float32 else v for v in values]


def _widest(*values) -> list:
    kinds = [v.dtype for v in values if _is_eligible(v)]
    if not kinds or all(kind is kinds[0] for kind in kinds):
        return list(values)
    return [v.to(float32) if _is_eligible(v) else v for v in values]


def operands(node_name: str, args) -> tuple:
    """An operator's arguments as it takes them in the block."""
    if node_name in _LOWERED:
        return tuple(lowered(*args))
    if node_name in _RAISED:
        return tuple(raised(*args))
    if node_name in _WIDEST:
        if isinstance(args[0], (list, tuple)):
            return (_widest(*args[0]), *args[1:])
        return tuple(_widest(*args))
    return args


class autocast:
    """A block, or a function, in which eligible operators compute in `dtype` (torch.autocast).

    On the CPU that is bfloat16, the default, or float16; any other dtype, and a device that is not
    there, is warned of and switches it off. Raises ValueError unless the device is named by a
    string, RuntimeError for an unknown one.
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
        if device_type != "cuda":
            device(device_type)
        self._arguments = (device_type, dtype, enabled, cache_enabled)
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = cache_enabled is None or cache_enabled
        self._enabled = enabled and self._is_supported()
        self._previous: list[Any] = []

    def _is_supported(self) -> bool:
        if self.device != "cpu":
            name = self.device.upper()
            text = f"{name} is not available or torch_xla is imported. Disabling autocast."
        elif self.fast_dtype not in (bfloat16, float16):
            text = (
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
        else:
            return True
        warnings.warn(text, UserWarning, stacklevel=4)
        return False

    def __enter__(self) -> autocast:
        previous = STATE.autocast
        self._previous.append(previous)
        if self.device == "cpu":
            casts = {} if previous is None else previous.casts
            active = Active(self.fast_dtype, self._cache_enabled, casts) if self._enabled else None
            self._activate(active)
        return self

    def __exit__(self, *exc) -> None:
        self._activate(self._previous.pop())

    @staticmethod
    def _activate(active: Active | None) -> None:
        STATE.unusual += (active is not None) - (STATE.autocast is not None)
        STATE.autocast = active

    def __call__(self, function):
        return _decorated(lambda: type(self)(*self._arguments), function)


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on for a device, by default for "cuda" (torch.is_autocast_enabled)."""
    return device_type == "cpu" and STATE.autocast is not None


def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype that autocast uses on a device (torch.get_autocast_dtype)."""
    if device_type == "cpu":
        return bfloat16 if STATE.autocast is None else STATE.autocast.kind
    return float16


def is_autocast_cache_enabled() -> bool:
    """Whether casts of leaves are kept (torch.is_autocast_cache_enabled)."""
    return STATE.autocast is None or STATE.autocast.cached
