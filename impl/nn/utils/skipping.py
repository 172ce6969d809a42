"""`skip_init`: layers without initial values."""

from __future__ import annotations

import inspect
from typing import Any

from impl.nn.modules.module import Module


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Module:
    """A module whose parameters and buffers are uninitialized, and for which no random number is
    drawn. Raises RuntimeError for a class that is no module or takes no device
    (torch.nn.utils.skip_init)."""
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    place = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=place)
