"""Registries of operators: by name, as functions of torch, and as the `F` of formulas."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class Operations(SimpleNamespace):
    """A namespace of operations for gradient formulas, their argument `F`.

    Defining a name twice raises ValueError, so that its meaning does not depend on the order of
    imports.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self) and vars(self)[name] is not value:
            raise ValueError(f"F.{name} is defined already; give the operation another name")
        super().__setattr__(name, value)


# `F.records`: whether nodes are recorded; formulas branch on it where torch branches on GradMode.
array_ops = Operations(records=False)  # F over arrays: kernels
tensor_ops = Operations(records=True)  # F over tensors: operators


class _NoGrad:
    """F over tensors with grad mode off: the same operators, and `records` is False."""

    records = False

    def __getattr__(self, name: str):
        return getattr(tensor_ops, name)


tensor_ops_no_grad = _NoGrad()
OPERATORS: dict[str, Any] = {}  # every `impl.dispatch.operator.Operator` by its name
FUNCTIONS: dict = {}  # the functions of the torch namespace
NATIVE: dict = {}  # functions of torch._C without a public name, which torch's Python code calls


def native(function):
    """Decorator that makes a function one of torch._C without a public name."""
    NATIVE[function.__name__] = function
    return function


# torch._C: its functions, each behind its parser (`impl.arg_parser.publish` puts them there). The
# functions that torch writes in Python call them here too, and so refuse the same arguments.
C = SimpleNamespace()


def name_home(module: dict[str, Any]) -> None:
    """Make a public module the one by which the classes in its `__all__` are shown and pickled.

    They are defined in lower layers; `module` is the module's namespace.
    """
    for name in module["__all__"]:
        if isinstance(module[name], type):
            module[name].__module__ = module["__name__"]


def method_of(cls: type):
    """Decorator that adds a function or property to a class of a lower layer.

    The module of the class then needs no imports of the layers that the method uses.
    """

    def attach(member):
        setattr(cls, getattr(member, "fget", member).__name__, member)
        return member

    return attach
