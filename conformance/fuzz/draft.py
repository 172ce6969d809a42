"""A draft: a program under construction, whose statements run on the oracle as they are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from conformance.backends import Backend
from conformance.execution.execute import program_builtins
from conformance.fuzz.choices import Choices
from conformance.fuzz.drawn import statement as parsed

LARGEST = 4096
"""Elements of the largest tensor that a program may bind: comparing more takes too long."""

NAMES = tuple("xabcdefghpqrstuvwyz") + tuple(f"y{k}" for k in range(40))

IMPORTS = (
    ("np.", "numpy", "np"),
    ("threading.", "threading", "threading"),
    ("copy.", "copy", "copy"),
    ("math.", "math", "math"),
    ("operator.", "operator", "operator"),
    ("pickle.", "pickle", "pickle"),
)
"""A piece of source, the module that it needs, and the name this is imported as."""


class Draft:
    """Statements, and the values they bound on the oracle, whose shapes and dtypes arguments fit.

    `sizes` are the sizes of dimensions that this program prefers, so that tensors fit each other;
    `spatial` is how many sizes the options of a module have that goes through so many dimensions.
    """

    def __init__(self, choices: Choices, oracle: Backend) -> None:
        self.choices = choices
        self.torch = oracle.namespace
        self.statements: list[str] = []
        self.namespace: dict[str, Any] = {
            "__name__": "program",
            "__builtins__": program_builtins(oracle.namespace),
            "torch": oracle.namespace,
        }
        self.sizes = (choices.pick((2, 3, 2, 3, 4, 1)), choices.pick((2, 3, 1, 4, 5)))
        self.floating = choices.pick(("float32", "float32", "float64"))
        self.spatial = 0
        self.refusals = 0

    def attempt(self, statement: str) -> bool:
        """Run the statement on the oracle, and keep it if it raises nothing and is not too big."""
        self._import_for(statement)
        before = self.namespace.copy()
        try:
            eval(parsed(statement).code, self.namespace)
        except KeyboardInterrupt:
            raise
        except BaseException:
            self.namespace = before
            return False
        if any(self._is_large(v) for k, v in self.namespace.items() if before.get(k) is not v):
            self.namespace = before
            return False
        self.statements.append(statement)
        return True

    def refuse(self, statement: str) -> None:
        """Keep a statement that raises: refusals are compared, too."""
        self._import_for(statement)
        self.statements.append(statement)
        self.refusals += 1

    def state(self) -> tuple[int, dict[str, Any]]:
        """The draft as it is now, for `return_to`."""
        return len(self.statements), self.namespace.copy()

    def return_to(self, state: tuple[int, dict[str, Any]]) -> None:
        """Drop the statements that followed; tensors that they wrote to keep the new values."""
        count, self.namespace = state
        del self.statements[count:]

    def _import_for(self, statement: str) -> None:
        """Import the modules besides torch that a statement uses."""
        for used, module, name in IMPORTS:
            if used in statement and name not in self.namespace:
                line = f"import {module}" + (f" as {name}" if name != module else "")
                exec(line, self.namespace)
                self.statements.append(line)

    def fresh(self) -> str:
        """A name that is not bound yet."""
        return next(name for name in NAMES if name not in self.namespace)

    def tensors(self) -> list[str]:
        """The names of the tensors that the program has bound, in order."""
        tensor = self.torch.Tensor
        return [name for name, value in self.namespace.items() if isinstance(value, tensor)]

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a bound tensor."""
        return tuple(map(int, self.namespace[name].shape))

    def dtype(self, name: str) -> str:
        """The dtype of a bound tensor, by name."""
        return str(self.namespace[name].dtype).rpartition(".")[2]

    def linked(self) -> list[str]:
        """The tensors that require grad and have a node, in order."""
        return [n for n in self.tensors() if _has_node(self.namespace[n])]

    def leaves(self) -> list[str]:
        """The leaves that require grad."""
        found = (n for n in self.tensors() if self.namespace[n].requires_grad)
        return [n for n in found if self.namespace[n].is_leaf]

    def recall(self, statements: Sequence[str]) -> None:
        """Take over the statements of another program, whether they raise or not."""
        for statement in statements:
            if not self.attempt(statement):
                self.refuse(statement)

    def _is_large(self, value: Any, depth: int = 0) -> bool:
        if isinstance(value, self.torch.Tensor):
            return value.numel() > LARGEST
        if isinstance(value, self.torch.nn.Module):
            lazy = self.torch.nn.parameter.is_lazy
            return sum(p.numel() for p in value.parameters() if not lazy(p)) > LARGEST
        if isinstance(value, list | tuple) and depth < 3:
            return len(value) > 64 or any(self._is_large(part, depth + 1) for part in value)
        return isinstance(value, str) and len(value) > LARGEST


def _has_node(tensor: Any) -> bool:
    try:
        return tensor.grad_fn is not None
    except RuntimeError:  # a view of no_grad mode that was written to in grad mode
        return False


def nested(values: Iterator[str], shape: Sequence[int]) -> str:
    """Nested lists of that shape, as source."""
    if not shape:
        return next(values)
    return f"[{', '.join(nested(values, shape[1:]) for _ in range(shape[0]))}]"


def cycled(few: Sequence[str], shape: Sequence[int]) -> str:
    """Nested lists of that shape, whose elements repeat a few values."""
    return nested((few[k % len(few)] for k in range(math.prod(shape))), shape)
