"""Parameters of signatures (`FunctionParameter` in PyTorch's `python_arg_parser.cpp`)."""

from __future__ import annotations

import ast
from typing import Any

from impl.arg_parser.accepted_values import CHECKS, is_tensor_list
from impl.arg_parser.conversions import CONVERSIONS
from impl.core.state import STATE
from impl.tensor.tensor import Tensor
from impl.tensor.torch_function import overrides

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<missing>"})()
"""The value of a parameter that was not given; no value of a caller is it."""

NUMPY_NAMES = {
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
}
"""The names that NumPy has for torch's parameters, which torch accepts as keywords."""

_PRINTED = {
    "Tensor": "Tensor",
    "Tensor|Number": "Tensor",
    "SymInt": "int",
    "dtype": "torch.dtype",
    "layout": "torch.layout",
    "device": "torch.device",
    "memory_format": "torch.memory_format",
    "Generator": "torch.Generator",
    "Storage": "torch.Storage",
}
_PRINTED_LISTS = {"Tensor": "Tensors", "Number": "Scalars"}


class Parameter:
    """One parameter of a signature: `int[1]? dim=None`.

    `kind` is the type without its size and question mark (a list ends in "[]"), `size` the number
    in the brackets (then one number stands for a list), `nullable` whether None is accepted,
    `default` the default's value (MISSING: the parameter is required).
    """

    def __init__(self, text: str, keyword_only: bool) -> None:
        declared, _, default = text.partition("=")
        kind, self.name = declared.rsplit(" ", 1)
        self.nullable = kind.endswith("?")
        kind = kind.rstrip("?")
        kind, bracket, size = kind.partition("[")
        self.size = int(size[:-1] or 0) if bracket else 0
        self.element = kind
        self.kind = kind + "[]" if bracket else kind
        self.keyword_only = keyword_only
        self.default = _default(default, kind) if default else MISSING
        self.default_text = default
        self.optional = bool(default)
        self.numpy_names = NUMPY_NAMES.get(self.name, ())
        self.printed = self._printed(bool(bracket))
        self.place = 0  # among the parameters of its signature
        self._accepts = CHECKS[self.kind]
        self._convert = CONVERSIONS.get(self.kind)

    def _printed(self, is_list: bool) -> str:
        if is_list:
            plural = _PRINTED_LISTS.get(self.element)
            return f"tuple of {plural or _PRINTED.get(self.element, self.element) + 's'}"
        return _PRINTED.get(self.kind, self.kind)

    def declaration(self) -> str:
        """The parameter as messages show it: `bool keepdim = False`."""
        if not self.optional:
            return f"{self.printed} {self.name}"
        return f"{self.printed} {self.name} = {self.default_text}"

    def accepts(self, value) -> bool:
        """Whether a value that was given fits, by itself or as one whose class takes over."""
        if STATE.torch_function and self.overriding(value):
            return True
        return self._fits(value)

    def _fits(self, value) -> bool:
        if value is None and self.nullable:
            return True
        if self._accepts is is_tensor_list:
            return is_tensor_list(value, self.place)
        return self._accepts(value, self.size)

    def overriding(self, value) -> list:
        """The value in this parameter's place, or the elements of the list, that take the function
        over: tensors in the place of tensors or in a list of sizes, and other objects that do not
        fit by themselves."""
        if isinstance(value, tuple | list) and self.kind in ("Tensor[]", "int[]", "SymInt[]"):
            found = [element for element in value if overrides(element)]
            if found:
                return found
        if self.kind == "object" or not overrides(value):
            return []
        if isinstance(value, Tensor):
            return [value] if self.kind in ("Tensor", "Tensor|Number") else []
        return [] if self._fits(value) else [value]

    def depends_on_value(self, value) -> bool:
        """Whether it takes more than the type of a value to say that it fits."""
        return isinstance(value, Tensor) and not self.kind.startswith("Tensor")

    def converted(self, value, function: str):
        """A value that fits, as the implementations of operators take it.

        Raises ValueError for integers beyond 64 bits, TypeError for elements that are no integers.
        """
        if value is None or self._convert is None:
            return value
        return self._convert(value, self, function)


def _default(text: str, kind: str):
    """The value of a default, which has the spelling of C++."""
    if kind in ("dtype", "layout", "memory_format"):
        return None if text == "None" else text
    if text == "at::Reduction::Mean":
        return 1
    return ast.literal_eval(text.replace("{", "(").replace("}", ")"))
