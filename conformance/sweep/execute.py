"""Execution: a sample's statements on oracle and backend, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from conformance.backends import Backend
from conformance.observe.texts import text
from conformance.sweep.sample import Argument, Sample

# Cotangents are slices of these numbers, so that a sample has the same ones on every backend.
_COUNT = 1 << 16
_POOL = np.resize(np.random.RandomState(20).standard_normal(_COUNT), 2 * _COUNT)


# The name under which Python knows a sample's code.
FILE = "<sample>"


@cache
def _compiled(statement: str) -> CodeType:
    return compile(statement, FILE, "exec", dont_inherit=True)


class Side:
    """A sample on one backend: the values that its names are bound to."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.torch = backend.namespace
        self.observer = backend.observer()
        self.is_tensor = self.observer.is_tensor
        self.names: dict[str, Any] = {}

    def begin(self, arguments: Iterable[Argument]) -> None:
        """Bind the given tensors, as at the beginning of a program."""
        self.names = {"torch": self.torch}
        for argument in arguments:
            self.bind(argument)

    def bind(self, argument: Argument) -> None:
        """Make a given tensor on this side, with resizable memory of its own."""
        array, strides = argument.array, argument.strides
        if strides is None:
            made = self._placed(self.torch.from_numpy(array).clone())
        else:
            extent = 1 + sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True))
            memory = np.zeros(extent, array.dtype)
            steps = [s * array.itemsize for s in strides]
            np.lib.stride_tricks.as_strided(memory, array.shape, steps)[...] = array
            owner = self._placed(self.torch.from_numpy(memory).clone())
            made = owner.as_strided(array.shape, strides).detach()
        self.names[argument.name] = made.requires_grad_() if argument.requires_grad else made

    def _placed(self, owner: Any) -> Any:
        """A tensor of the host, whole: a copy to a device keeps the strides of no other."""
        return owner if self.backend.device == "cpu" else owner.to(self.backend.device)

    def run(self, statement: str, first: bool = False) -> BaseException | None:
        """Execute a statement; return the exception it raised. The first one reseeds."""
        try:
            if first:
                self.backend.reseed()
            with self.backend.placing():
                exec(_compiled(statement), self.names)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return error
        return None

    def message(self, error: BaseException | None) -> str:
        """An error as a text, worded as on the CPU."""
        if error is None:
            return "no error"
        return f"{type(error).__name__}: {self.backend.worded(text(error))}"


def cotangent(name: str, like: np.ndarray, number: int, requires_grad: bool) -> Argument:
    """A cotangent for a result of that shape and dtype."""
    size = math.prod(like.shape)
    width = 2 * size if like.dtype.kind == "c" else size
    start = 37 * number % _COUNT
    values = _POOL[start : start + width]
    if width > _COUNT:
        values = np.resize(_POOL[start : start + _COUNT], width)
    single = like.dtype.itemsize < 8 or like.dtype == np.complex64
    values = values.astype(np.float32 if single else np.float64)
    array = values.view(like.dtype) if like.dtype.kind == "c" else values.astype(like.dtype)
    return Argument(name, array.reshape(like.shape), None, requires_grad)


def tensors(value: Any, name: str, is_tensor: Any) -> Iterator[tuple[str, Any]]:
    """Every tensor in a result, with the expression that leads to it."""
    if is_tensor(value):
        yield name, value
    elif isinstance(value, (tuple, list)):
        for index, part in enumerate(value):
            yield from tensors(part, f"{name}[{index}]", is_tensor)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from tensors(part, f"{name}[{key!r}]", is_tensor)


def backward_statement(
    sample: Sample, outputs: list[str], cotangents: list[str], create_graph: bool
) -> str:
    """The statement that differentiates the outputs, optionally with `create_graph`."""
    return (
        f"g = torch.autograd.grad([{', '.join(outputs)}], [{', '.join(sample.leaves)}], "
        f"[{', '.join(cotangents)}], allow_unused=True{', create_graph=True' * create_graph})"
    )


def double_statement(gradients: list[str], inputs: list[str], cotangents: list[str]) -> str:
    """The statement that differentiates the gradients."""
    return (
        f"h = torch.autograd.grad([{', '.join(gradients)}], [{', '.join(inputs)}], "
        f"[{', '.join(cotangents)}], allow_unused=True)"
    )
