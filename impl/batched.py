"""Batches that stand for one tensor: what a pass over many seeds at once shows to hooks.

torch runs such a pass once, over tensors with a batch dimension that nobody sees (vmap). So a hook,
or a Function's backward, is called once, with one gradient of the usual shape. Here that gradient
holds its examples, tensors of their own, and an operator is applied to each; nodes without an
author run their formulas for each, too.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from impl.interpretation import TAPED_INTERPRETATION, RawInterpretation, TapedInterpretation
from impl.modes import STATE
from impl.operator import FUNCTIONS, TAPED
from impl.saved import SavedTensor
from impl.tensor import Tensor, blank

_RULE = "Batching rule not implemented for aten::{}. We could not generate a fallback."
_VIEW = (
    "Batching rule not implemented for aten::{}; the fallback path doesn't work on out= or view "
    "ops."
)
_RANDOM = (
    "vmap: We do not yet support calling random operations inside of vmap. Please perform random "
    "operations outside of vmap as a workaround"
)
_SIZES = "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}"
_MEMORY = "Cannot access data pointer of Tensor that doesn't have storage"
_WRITE = (
    "vmap: aten::{}(self, *extra_args) is not possible because there exists a Tensor `other` in "
    "extra_args that has more elements than `self`. This happened due to `other` being vmapped "
    "over but `self` not being vmapped over at level 1. Please try to use out-of-place operators "
    "instead of aten::{}. If said operator is being called inside the PyTorch framework, please "
    "file a bug report instead."
)


def _refuse(*args, **named):
    raise RuntimeError(_MEMORY)


class _Look(np.ndarray):
    """What a batch has for an array: shape and dtype, but no elements that anybody could take for
    those of all examples."""

    __array_ufunc__ = __array_function__ = __getitem__ = __setitem__ = _refuse
    astype = copy = item = reshape = tolist = tobytes = _refuse


class Batched(Tensor):
    """A tensor for each of several examples, which looks like one of them."""

    _examples: list[Tensor]
    _look: np.ndarray

    @property
    def _raw(self):
        return self._look

    @_raw.setter
    def _raw(self, value) -> None:
        _refuse()

    _array = _refuse  # nobody shares the memory, or writes it, but for each example

    def item(self):
        """RuntimeError: there are several numbers."""
        raise RuntimeError(_RULE.format("item"))

    def __bool__(self) -> bool:
        raise RuntimeError(_RULE.format("is_nonzero"))

    tolist = __deepcopy__ = untyped_storage = _refuse

    def detach(self):
        """RuntimeError: torch knows no such view of a batch, nor what needs one."""
        raise RuntimeError(_VIEW.format("detach"))

    data: Any = property(detach)  # torch reads memory that is not there, and the process ends
    numpy = detach  # type: ignore[assignment]

    def __format__(self, spec: str) -> str:
        return self.detach()

    def __repr__(self) -> str:
        return f"<a batch of {len(self._examples)} tensors of {self.shape}>"


Batched.__name__ = Batched.__qualname__ = Tensor.__name__  # torch knows one class
Batched.__module__ = Tensor.__module__


def batch(examples: list[Tensor]) -> Tensor:
    """The tensor that stands for examples of one shape, dtype and layout.

    Raises RuntimeError if they have several shapes.
    """
    result: Any = blank(Batched)
    result._examples = examples
    first = examples[0]
    for i, example in enumerate(examples):
        if example._raw.shape != first._raw.shape:
            sizes = [*first._raw.shape], [*example._raw.shape]
            raise RuntimeError(_SIZES.format(*sizes, i))
    result._look = np.asarray(first._raw).view(_Look)
    result._strides, result._node, result._nr = first._strides, first._node, first._nr
    result._requires_grad = first._requires_grad
    return result


def examples_of(value, size: int) -> list:
    """What a value is in each of `size` examples; what holds no batch is the same in all."""
    if type(value) is Batched:
        return value._examples
    if isinstance(value, (list, tuple)) and holds(value):
        every = [examples_of(v, size) for v in value]
        return [type(value)(entries) for entries in zip(*every, strict=True)]
    return [value] * size


def _batches(values):
    """The batches among values, and in lists among them."""
    for value in values:
        if type(value) is Batched:
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _batches(value)


def holds(values) -> bool:
    """Whether any of the values, or any in a list among them, is a batch."""
    return next(_batches(values), None) is not None


def mapped(function, args):
    """What a function of tensors is of batches: its results for each example, as batches."""
    results = [function(*example) for example in zip(*_every(args), strict=True)]
    if isinstance(results[0], tuple):
        return tuple(batch(list(entries)) for entries in zip(*results, strict=True))
    return batch(results)


def written(function, name: str, args):
    """An operator that writes its first argument, for each example.

    Raises RuntimeError if only the others are batches: there is no room for several results.
    """
    if type(args[0]) is not Batched:
        raise RuntimeError(_WRITE.format(*[f"{name}_"] * 2))
    for example in zip(*_every(args), strict=True):
        function(*example)
    return args[0]


def _every(args) -> list[list]:
    size = len(next(_batches(args))._examples)
    return [examples_of(a, size) for a in args]


class BatchedInterpretation(TapedInterpretation):
    """Gradients are batches; nodes evaluate their formulas for each example, in the usual way."""

    def __init__(self, size: int, records: bool) -> None:
        kind: Any = TapedInterpretation if records else RawInterpretation
        self.each = [kind() for _ in range(size)]
        for one in self.each:
            one.unpack = self._unpacked
        self._once = kind.unpack
        self._values: dict = {}  # of what the node that runs has saved

    def evaluate(self, node, grads: list, wanted):
        """What a node returns, by edge: batches, or None where there is no gradient."""
        if node._authored:
            return node._evaluate(grads, self, wanted)
        if not holds(grads):  # the same for all examples
            return TAPED_INTERPRETATION.evaluate(node, grads, wanted)
        self._values.clear()
        rows = []
        every = zip(*[examples_of(g, len(self.each)) for g in grads], strict=True)
        for one, example in zip(self.each, every, strict=True):
            given = [None if g is None else one.lower(g) for g in example]
            found = node._evaluate(given, one, wanted)
            rows.append([None if v is None else one.lift(v) for v in found])
        return [None if v[0] is None else batch(list(v)) for v in zip(*rows, strict=True)]

    def add(self, a, b):
        total = TAPED.add(a, b)
        if not (STATE.enabled or holds((a, b))):  # what is the same for all torch adds in place
            total._storage.version = a._version + 1
        return total

    def _unpacked(self, saved, node):
        """What was saved, for all examples: hooks unpack it once."""
        key = id(saved)
        if key not in self._values:
            self._values[key] = self._once(saved, node)
        return self._values[key]


class shown:
    """While a pass over batches runs: operators look for them."""

    def __enter__(self) -> None:
        self._before = STATE.batched
        STATE.batched = True
        STATE.unusual += 1

    def __exit__(self, *exc) -> None:
        STATE.batched = self._before
        STATE.unusual -= 1


def watched(nodes) -> bool:
    """Whether somebody sees how often any of the nodes runs, and what arrives there."""
    return any(
        n._authored
        or n._hooks_of_outputs()
        or n._retained
        or n._pre_hooks
        or n._post_hooks
        or any(type(saved) is SavedTensor and saved.packed for saved in _entries(n))
        for n in nodes
    )


def _entries(node):
    """What a node keeps, with the entries of lists."""
    for saved in getattr(node, "_kept", None) or ():
        yield from saved if type(saved) is list else (saved,)


# Composites that look at elements themselves, or make tensors to be written.
_BY_EXAMPLE = """argsort bucketize diff empty_like full_like histc isin ones_like searchsorted
    vander zeros_like"""
_WITHOUT_RULE = "allclose equal"
_DRAWN = "bernoulli binomial multinomial poisson"


def by_example(composite):
    """Decorate a composite that has to know batches: it is computed for each example."""

    @functools.wraps(composite)
    def call(*args, **named):
        values = tuple(named.values())
        if not (STATE.batched and holds((args, values))):
            return composite(*args, **named)

        def once(given, more):
            return composite(*given, **dict(zip(named, more, strict=True)))

        return mapped(once, (args, values))

    return call


def _refused(composite, text: str):
    @functools.wraps(composite)
    def call(*args, **named):
        if STATE.batched and holds((*args, *named.values())):
            raise RuntimeError(text)
        return composite(*args, **named)

    return call


def install() -> None:
    """Let the composites that have to know batches know them."""
    changes: dict[str, Any] = {name: by_example for name in _BY_EXAMPLE.split()}
    for name in _WITHOUT_RULE.split():
        changes[name] = functools.partial(_refused, text=_RULE.format(name))
    for name in _DRAWN.split():
        changes[name] = functools.partial(_refused, text=_RANDOM)
    for name, change in changes.items():
        FUNCTIONS[name] = changed = change(FUNCTIONS[name])
        if hasattr(Tensor, name):
            setattr(Tensor, name, changed)
