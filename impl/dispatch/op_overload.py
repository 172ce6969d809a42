"""`torch.ops`: operators by namespace, name and overload (torch/_ops.py)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from impl.tensor.overridable import elements
from impl.tensor.torch_function import ask, asked_for


@dataclass(frozen=True)
class Schema:
    """The name of an operator of ATen and of its overload (torch._C.FunctionSchema)."""

    name: str
    overload_name: str

    @property
    def is_mutable(self) -> bool:
        """Whether the operator writes an argument."""
        return self.name.endswith("_") or "out" in self.overload_name


class OpOverload:
    """One overload of an operator, such as `torch.ops.aten.add.Tensor`; calling it runs the
    operator (torch._ops.OpOverload)."""

    is_view = False  # whether the results are views of the first argument

    def __init__(
        self, packet: OpOverloadPacket, overload: str, call: Callable, schema: Any
    ) -> None:
        self.overloadpacket = packet
        self.namespace = packet.namespace
        self._opname = packet.__name__
        self._overloadname = overload
        self.__name__ = f"{self._opname}.{overload}"
        self.__module__ = f"torch._ops.{self.namespace}"
        name = "" if overload == "default" else overload
        self._schema: Any = schema or Schema(f"{packet.namespace}::{packet.__name__}", name)
        self._call = call
        self.tags: list = []
        self.torch_dispatch_rules: dict[type, Callable] = {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        asked = asked_for(elements((*args, *kwargs.values())))
        if asked is not None:
            return ask(self, f"torch.ops.{self}", asked, args, kwargs)
        return self._call(*args, **kwargs)

    def name(self) -> str:
        """The qualified name: "aten::add.Tensor", or "aten::mm" of a default overload."""
        end = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.namespace}::{self._opname}{end}"

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __repr__(self) -> str:
        name = f"{self.namespace}.{self._opname}"
        return f"<OpOverload(op='{name}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """All overloads of an operator; calling it runs the first one that fits
    (torch._ops.OpOverloadPacket)."""

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace = namespace
        self.__name__ = name
        self._found: dict[str, OpOverload] = {}

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(self._found)

    def define(self, overload: str, call: Callable, schema: Any = None) -> OpOverload:
        """Add an overload, or replace the one of that name."""
        found = self._found[overload] = OpOverload(self, overload, call, schema)
        return found

    def __getattr__(self, name: str) -> OpOverload:
        found = self.__dict__.get("_found", {}).get(name)
        if found is None:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        return found

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        asked = asked_for(elements((*args, *kwargs.values())))
        if asked is not None:
            return ask(self, f"torch.ops.{self}", asked, args, kwargs)
        if len(self._found) == 1:
            return next(iter(self._found.values()))(*args, **kwargs)
        if not any(isinstance(overload._schema, Schema) for overload in self._found.values()):
            return self._fitting(args, kwargs)(*args, **kwargs)
        failures = []
        for overload in self._found.values():
            try:
                return overload(*args, **kwargs)
            except TypeError as error:
                failures.append(error)
        raise failures[0]

    def _fitting(self, args: tuple, kwargs: dict) -> OpOverload:
        """The first overload whose schema takes the arguments. Raises RuntimeError for none."""
        failures = []
        for overload in self._found.values():
            try:
                overload._schema.matched(args, kwargs)
            except RuntimeError as error:
                failures.append(f"{error}\n\n")
            else:
                return overload
        raise RuntimeError(
            "Overloaded torch operator invoked from Python failed to match any schema:\n"
            + "".join(failures)
        )

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class OpNamespace:
    """The operators of a namespace, `torch.ops.aten` (torch._ops._OpNamespace)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._found: dict[str, OpOverloadPacket] = {}

    def packet(self, name: str) -> OpOverloadPacket:
        """The operator of a name, a new one without overloads where there is none."""
        return self._found.setdefault(name, OpOverloadPacket(self.name, name))

    def remove(self, name: str, overload: str) -> None:
        """Take an overload away, and with the last one the operator."""
        packet = self._found[name]
        del packet._found[overload]
        if not packet._found:
            del self._found[name]

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.name}' from 'torch.ops'>"

    def __getattr__(self, name: str) -> OpOverloadPacket:
        found = self.__dict__.get("_found", {}).get(name)
        if found is None or not found.overloads():
            owner = self.__dict__.get("name")
            raise AttributeError(f"'_OpNamespace' '{owner}' object has no attribute '{name}'")
        return found

    def __dir__(self) -> list[str]:
        return list(self._found)


NAMESPACES: dict[str, OpNamespace] = {}


def namespace(name: str) -> OpNamespace:
    """The namespace of a name, a new one where there is none."""
    return NAMESPACES.setdefault(name, OpNamespace(name))
