"""`torch._ops`: the classes of `torch.ops`."""

from __future__ import annotations

from impl.core.registry import name_home
from impl.dispatch.op_overload import OpNamespace, OpOverload, OpOverloadPacket

__all__ = ["OpNamespace", "OpOverload", "OpOverloadPacket"]

name_home(globals())
