"""Levels of forward mode: a dual level for each `jvp`, and for each function that is linearized."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from impl.core import grad_mode
from impl.core.state import STATE
from impl.func.arguments import Arguments, memories
from impl.func.levels import Level, Transform, made_or_given
from impl.tape import batched_tangents
from impl.tensor import forward_grad
from impl.tensor.batched_tensor import physical
from impl.tensor.tensor import Tensor


class DualLevel(Transform):
    """One run of a function of dual tensors, in forward mode."""

    forward = wraps = True
    records = False  # whether tangents are recorded in any grad mode

    def __init__(self, given: Iterable[Any] = ()) -> None:
        """`given` are the arguments that are not differentiated, which the function may write."""
        leaves = list(given)
        self.given = set(map(id, memories(leaves)))
        self.arguments = Arguments(leaves)
        self.bases: set[int] = set()  # the ids of tensors of which duals are views

    @contextmanager
    def run(self) -> Iterator[None]:
        """Enter the dual level for the duration of a block, in which tensors are no inference
        tensors. Raises RuntimeError in a dual level."""
        forward_grad.enter_nested(self.records)
        enabled = STATE.enabled
        try:
            with (
                self.hooks_aside(),
                super().run(),
                grad_mode.inference_mode(mode=False),
                grad_mode.set_grad_enabled(enabled),
            ):
                yield
        finally:
            self.arguments.lowered(lambda tensor: None)
            forward_grad.leave()

    def has(self, tensor: Tensor) -> bool:
        """Whether the function has made a tensor, or is given it."""
        return made_or_given(self, tensor)

    def dual(self, primal: Tensor, tangent: Tensor) -> Tensor:
        """An alias of a tensor with this tangent, which is written where the alias is."""
        self.bases.update(map(id, memories((primal,))))
        outside = forward_grad.tangents(physical(primal)).values()
        self.given.update(map(id, memories((tangent, *outside))))
        return batched_tangents.dual(primal, tangent)


class TracedLevel(DualLevel):
    """One run of a function that is linearized: its tangents are recorded, as functions of those of
    the inputs, and it may write captured tensors."""

    records = tracing = True
    wraps = composes = False

    def __init__(self, tape: Level) -> None:
        """`tape` records the tangents."""
        super().__init__()
        self.tape = tape
        self._constants: dict[int, Tensor] = {}  # by id, and kept alive

    @contextmanager
    def run(self) -> Iterator[None]:
        """`DualLevel.run`, in which the transforms of the function leave tangents on the tape."""
        self.tape.running = True
        try:
            with super().run():
                self.tape.serial, self.tape.until = self.serial, math.inf
                yield
        finally:
            self.tape.running, self.tape.until = False, self.until

    def traces(self, tensor: Tensor) -> bool:
        """Whether the function has computed a value. It may read values of the caller, and
        constants of its own."""
        return self.has_made(tensor) and id(tensor) not in self._constants

    def note_constant(self, tensor: Tensor) -> None:
        """Let the function read a single element."""
        if tensor._raw.size <= 1:
            self._constants[id(tensor)] = tensor

    def note_computed(self, inputs: Iterable[Tensor], outputs: Sequence[Tensor]) -> None:
        """Let the function read single elements that are computed of constants, and none that it
        has written other values to."""
        inputs = list(inputs)
        constant = any(id(one) in self._constants for one in inputs)
        constant = constant and not any(map(self.traces, inputs))
        for output in outputs:
            if constant:
                self.note_constant(output)
            else:
                self._constants.pop(id(output), None)

    def has(self, tensor: Tensor) -> bool:
        """True: there is no wrapper at this level in torch."""
        return True
