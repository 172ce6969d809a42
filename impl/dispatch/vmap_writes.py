"""Operators in place on batched tensors: the examples of the target are written by the batching
rules (`impl.dispatch.vmap_rules`), or one after the other.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from impl.core import messages
from impl.core.dims import wrap_dim
from impl.core.registry import OPERATORS, method_of
from impl.core.state import STATE
from impl.dispatch import aten, spellings
from impl.dispatch.slow_writes import slow_name
from impl.dispatch.vmap_rules import (
    RULES,
    applied,
    example,
    fronted,
    require_examples,
    warn_slow,
)
from impl.tape.batched_tangents import lifted
from impl.tensor import forward_grad
from impl.tensor.batched_tensor import BatchedTensor, innermost, is_at, physical
from impl.tensor.tensor import Tensor, requires_grad
from impl.tensor.wrappers import refuse_captured

# The operators in place that are composed, so that the composition meets the unbatched target;
# those of torch's common rule for arithmetic; and those whose rules name themselves.
_MEETS_TARGET = {"add", "atan2", "copysign"}
_ARITHMETIC = {
    *("sub", "mul", "div", "copy", "clamp_min", "clamp_max", "masked_fill", "masked_fill_scalar"),
    *("masked_fill_tensor", "logical_and", "logical_or", "logical_xor"),
}
_NAMED = {
    **{"fill_tensor_inplace": "fill_", "index_put": "index_put_", "index_put_impl": "index_put_"},
    "index_add": "index_add_",
    "scatter_add": "scatter_add_",
}


def written(op, args: tuple, level) -> Tensor:
    """The target of an operator in place, which is applied to the examples.

    Raises RuntimeError if operands are batched and the target is not.
    """
    target = args[0]
    if not is_at(target, level):
        return _refused(op, args, level)
    name = slow_name(op, args)
    spellings.forget()
    if name is not None:
        warn_slow(name)
        require_examples(name, level)
    elif op.is_view:
        return _viewed(op, target, args, level)
    ruled = op.batching in RULES and op.batching_function is None
    if name is not None and not forward_grad.is_used():  # torch writes one example after the other
        ruled = ruled and any(requires_grad(a) for a in args if isinstance(a, Tensor))
    made = RULES[op.batching](op, args, level) if ruled else None
    if made is not None and (op.elementwise or made[0]._raw.ndim == target._raw.ndim + 1):
        op.inplace(*made)
        target._show(target._value, target._dim)
        return target
    return _written_in_turn(op.inplace, args, level, counted=name is not None)


def _written_in_turn(function, args: tuple, level, counted: bool = True) -> Tensor:
    """The target, the first argument, of a function that writes one example after the other; all
    count as one write, unless each is `counted`."""
    target: Any = args[0]
    storage = physical(target)._storage
    before = storage.version
    for number in range(level.size):
        function(*[example(value, number, level) for value in args])
    if not counted:
        storage.version = min(storage.version, before + 1)
    target._show(target._value, target._dim)
    return target


def falls_back(name: Any, method: Callable) -> Callable:
    """A composite in place, which shows by this name of ATen, and for which torch's `vmap` has no
    rule: it is applied to the examples in turn, with a warning. `name` may be a function of the
    arguments."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def call(self, *args, **named):
        if named:
            args = signature.bind(self, *args, **named).args[1:]
        shown = name if isinstance(name, str) else name(*args)
        batch = innermost((self, *args)) if STATE.batched else None
        if type(batch) is not BatchedTensor or not is_at(self, batch._level):
            base, _, overload = shown.partition(".")
            spelling = spellings.Spelling(base, overload or "default")
            return spellings.called_as(spelling, method, (self, *args), {})
        warn_slow(shown)
        require_examples(shown, batch._level)
        return _written_in_turn(method, (self, *args), batch._level)

    return call


def _viewed(op, target: Any, args: tuple, level) -> Tensor:
    """A batched tensor whose own geometry changes, as that of its value does."""
    value, place, rank = target._value, target._dim, target._raw.ndim
    shape = value._raw.shape
    if op.name == "squeeze_all":  # the mapped dimension, too
        op.inplace(value)
        target._show(value, sum(n != 1 for n in shape[:place]))
        return target
    if not rank and op.name != "unsqueeze":
        applied(op, args, level)  # which raises for dimensions that there are not
        return target
    given = (0, rank - 1) if op.name == "t" else _flattened(args[1:])
    counted = rank + (op.name == "unsqueeze")
    places = [wrap_dim(dim, counted) for dim in given]
    places = [dim + (dim >= place) for dim in places]
    if op.name.startswith("squeeze"):
        OPERATORS["squeeze_dims"].inplace(value, tuple(places))
        place -= sum(dim < place and shape[dim] == 1 for dim in places)
    else:
        OPERATORS["transpose" if op.name == "t" else op.name].inplace(value, *places)
        place += op.name == "unsqueeze" and places[0] < place
    target._show(value, place)
    return target


def _flattened(dims) -> list[int]:
    """Dimensions that are given one by one, or as a tuple."""
    return [dim for one in dims for dim in (one if isinstance(one, tuple) else (one,))]


def _refused(op, args: tuple, level) -> Tensor:
    if op.name in _MEETS_TARGET:
        return op.inplace(args[0], *[fronted(value, level) for value in args[1:]])
    if op.name in _ARITHMETIC:
        raise RuntimeError(messages.UNBATCHED.format("inplace arithmetic", "in a vmap"))
    if op.name in _NAMED:
        raise RuntimeError(messages.UNBATCHED.format(_NAMED[op.name], "in a vmap"))
    if (slow := slow_name(op, args)) is not None:
        warn_slow(slow)
    name = aten.written_name(op, args).partition(".")[0]
    raise RuntimeError(messages.UNBATCHED.format(f"aten::{name}", f"at level {level.number}"))


@method_of(BatchedTensor)
def _written(self, op, args: tuple) -> Tensor:
    return written(op, (args[0], *lifted(args[1:], self._level)), self._level)


_detach_examples = falls_back("detach_", Tensor.detach_)


@method_of(BatchedTensor)
def detach_(self) -> Tensor:
    """`Tensor.detach_` of the examples, which are views that are refused (RuntimeError), unless a
    transform of differentiation within the `vmap` wraps the tensor: then of the value."""
    if not self._is_wrapped():
        refuse_captured(self, "detach_")
        return _detach_examples(self)
    physical(self).detach_()
    self._show(self._value, self._dim)
    return self
