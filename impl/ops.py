"""`torch.ops`: operators by namespace, those of ATen and those of a program."""

from __future__ import annotations

import impl.operators  # noqa: F401 (it defines the operators)
from impl.dispatch import aten as _aten
from impl.dispatch.op_overload import OpNamespace, namespace

_aten.publish()


def __getattr__(name: str) -> OpNamespace:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return namespace(name)
