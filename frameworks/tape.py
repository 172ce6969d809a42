"""A tape for functional libraries: it records torch-shaped calls, and the library differentiates.

A call runs at once on the library's arrays and is recorded with its inputs. `backward` replays the
recorded calls as one function of the leaves and passes that to the library's reverse mode, so the
gradients are the library's. Leaves, `.grad` with its accumulation, and grad mode, for which a
functional library has no counterpart, are the tape's and behave as torch's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Native = Any
"""An array of the library."""
Arrays = Sequence[Native]
Function = Callable[..., tuple[Native, ...]]
"""A function of arrays, passed one by one."""


class Library(ABC):
    """The interface between the tape and a library, in terms of the library's arrays."""

    name: str
    version: str
    operators: dict[str, Callable[..., Any]]
    """Functions on arrays, by torch's name of the operator: "amax", "nn.functional.relu"."""

    @abstractmethod
    def array(self, values: np.ndarray) -> Native:
        """An array of the library with these values."""

    @abstractmethod
    def numpy(self, array: Native) -> np.ndarray:
        """The values of an array that is not being differentiated."""

    @abstractmethod
    def cotangent(self, output: Native) -> Native:
        """The library's own seed for an output without a cotangent; raises the library's error."""

    @abstractmethod
    def vjp(self, function: Function, inputs: Arrays, cotangents: Arrays) -> Arrays:
        """The gradient for each input, None for inputs without a gradient in the library."""


@dataclass
class Call:
    """One recorded call: `run` takes the inputs' arrays and returns a tuple of arrays."""

    run: Function
    inputs: tuple[Tensor, ...]
    freed: bool = False


@dataclass(eq=False)
class Tensor:
    """An array with its position in the record; a namespace adds operators and methods."""

    tape: Tape
    native: Native
    requires_grad: bool = False
    call: Call | None = None
    index: int = 0
    grad: Tensor | None = None
    _read: np.ndarray | None = field(default=None, repr=False)

    @property
    def values(self) -> np.ndarray:
        """The values as a NumPy array."""
        if self._read is None:
            self._read = np.asarray(self.tape.library.numpy(self.native))
        return self._read


@dataclass
class Tape:
    """The state shared by a namespace's tensors; `kind` is their class."""

    library: Library
    kind: type[Tensor] = Tensor
    recording: bool = True
    default: str = "float32"
    """The dtype of floats in literals."""

    def apply(
        self, run: Callable[..., Any], inputs: Sequence[Tensor], recorded: bool | None = None
    ) -> Any:
        """The results of `run` on the inputs' arrays, as tensors.

        The call is recorded if an input requires grad and grad mode, or `recorded`, allows it.
        """
        result = run(*(tensor.native for tensor in inputs))
        several = isinstance(result, tuple | list)
        outputs = tuple(result) if several else (result,)
        call = None
        wanted = self.recording if recorded is None else recorded
        if wanted and any(tensor.requires_grad for tensor in inputs):

            def replayed(*natives: Native) -> tuple[Native, ...]:
                again = run(*natives)
                return tuple(again) if several else (again,)

            call = Call(replayed, tuple(inputs))
        made = [self._output(native, call, i) for i, native in enumerate(outputs)]
        if not several:
            return made[0]
        return type(result)(*made) if hasattr(result, "_fields") else tuple(made)

    def _output(self, native: Native, call: Call | None, index: int) -> Any:
        if isinstance(native, bool):
            return native  # a predicate's result
        tensor = self.kind(self, native)
        # Kind V: dtypes unknown to NumPy, all of them narrow floats.
        if call is not None and tensor.values.dtype.kind in "fcV":
            tensor.requires_grad, tensor.call, tensor.index = True, call, index
        return tensor


def backward(
    roots: Sequence[Tensor],
    cotangents: Sequence[Tensor | None],
    retain_graph: bool = False,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
) -> None:
    """Add the gradient to `.grad` of the inputs, or of every leaf that the roots depend on."""
    leaves = [t for t in _ancestors(roots) if t.call is None] if inputs is None else list(inputs)
    found = gradients(roots, leaves, cotangents, retain_graph, create_graph)
    for leaf, gradient in zip(leaves, found, strict=True):
        if gradient is None:
            continue
        if leaf.grad is None:
            leaf.grad = gradient
        else:
            add = leaf.tape.library.operators["add"]
            leaf.grad = leaf.tape.apply(add, (leaf.grad, gradient), create_graph)


def gradients(
    roots: Sequence[Tensor],
    targets: Sequence[Tensor],
    cotangents: Sequence[Tensor | None],
    retain_graph: bool = False,
    create_graph: bool = False,
) -> list[Tensor | None]:
    """The gradient of the roots for each target, None for a target the roots do not depend on.

    Raises RuntimeError for a root without a graph, NotImplementedError for a second pass through a
    graph that torch would have freed, and any error of the library.
    """
    tape = roots[0].tape
    for root in roots:
        if not root.requires_grad:
            raise RuntimeError("a root does not require grad and has no record of calls")
    order = _ancestors(roots)
    if any(tensor.call is not None and tensor.call.freed for tensor in order):
        raise NotImplementedError("a graph that a backward frees")
    reached = {id(tensor) for tensor in order}
    wanted = [target for target in targets if id(target) in reached]
    seeds = [_seed(root, given) for root, given in zip(roots, cotangents, strict=True)]
    found: dict[int, Tensor] = {}
    if wanted:
        leaves = [tensor for tensor in order if tensor.call is None]
        pull = _Pull(tape.library, tuple(roots), tuple(wanted), leaves, order)
        results = tape.apply(pull, (*leaves, *seeds), create_graph)
        given = iter(results)
        for target, is_there in zip(wanted, pull.present, strict=True):
            if is_there:
                found[id(target)] = next(given)
    if not retain_graph:
        for tensor in order:
            if tensor.call is not None:
                tensor.call.freed = True
    return [found.get(id(target)) for target in targets]


class _Pull:
    """The gradient of the roots for the targets, as a function of leaves and cotangents.

    A target that is not a leaf gets a probe: zeros that are added to it in the replay.
    """

    def __init__(
        self,
        library: Library,
        roots: tuple[Tensor, ...],
        targets: tuple[Tensor, ...],
        leaves: list[Tensor],
        order: list[Tensor],
    ) -> None:
        self.library, self.roots, self.targets = library, roots, targets
        self.leaves, self.order = leaves, order
        self.present: list[bool] = []

    def __call__(self, *natives: Native) -> tuple[Native, ...]:
        count = len(self.leaves)
        values = dict(zip(map(id, self.leaves), natives[:count], strict=True))
        places = [id(target) for target in self.targets]
        inputs = [
            values[place] if place in values else self.library.array(np.zeros_like(target.values))
            for place, target in zip(places, self.targets, strict=True)
        ]

        def forward(*given: Native) -> tuple[Native, ...]:
            replaced = dict(zip(places, given, strict=True))
            known = {place: replaced.get(place, value) for place, value in values.items()}
            probes = {place: p for place, p in replaced.items() if place not in values}
            return self._replay(known, probes)

        found = self.library.vjp(forward, inputs, natives[count:])
        self.present = [gradient is not None for gradient in found]
        return tuple(gradient for gradient in found if gradient is not None)

    def _replay(self, known: dict[int, Native], probes: dict[int, Native]) -> tuple[Native, ...]:
        """The roots' arrays for these arrays of the leaves and these probes."""
        made: dict[int, tuple[Native, ...]] = {}
        for tensor in self.order:
            call = tensor.call
            if call is None:
                continue
            if id(call) not in made:
                made[id(call)] = call.run(*(known.get(id(t), t.native) for t in call.inputs))
            value = made[id(call)][tensor.index]
            if id(tensor) in probes:
                value = self.library.operators["add"](value, probes[id(tensor)])
            known[id(tensor)] = value
        return tuple(known[id(root)] for root in self.roots)


def _seed(root: Tensor, given: Tensor | None) -> Tensor:
    if given is None:
        return root.tape.kind(root.tape, root.tape.library.cotangent(root.native))
    if given.values.shape != root.values.shape:
        raise RuntimeError(
            f"the cotangent has shape {given.values.shape}, its root {root.values.shape}"
        )
    return given


def _ancestors(roots: Sequence[Tensor]) -> list[Tensor]:
    """The roots and their ancestors that require grad, in topological order from the inputs."""
    order: list[Tensor] = []
    seen: set[int] = set()
    waiting: list[tuple[Tensor, Iterator[Tensor]]] = []

    def enter(tensor: Tensor) -> None:
        if tensor.requires_grad and id(tensor) not in seen:
            seen.add(id(tensor))
            waiting.append((tensor, iter(tensor.call.inputs if tensor.call else ())))

    for root in roots:
        enter(root)
        while waiting:
            following = next(waiting[-1][1], None)
            if following is None:
                order.append(waiting.pop()[0])
            else:
                enter(following)
    return order
