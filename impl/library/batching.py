"""Operators of programs within transforms (torch.library.register_vmap).

In `vmap` an operator with a rule of its own is computed for the whole batch by that; any other is
called for each example, if it returns new tensors only or is in place.
"""

from __future__ import annotations

from typing import Any

from impl.core import messages
from impl.core.state import STATE
from impl.dispatch import vmap_rules
from impl.library import dispatch_keys as keys
from impl.tape.custom_function_vmap import called, transforms, wrapped
from impl.tensor.batched_tensor import innermost, is_at
from impl.tensor.nested import each
from impl.tensor.tensor import Tensor


def level_of(args: tuple) -> Any:
    """The level of `vmap` at which an operator is applied to these arguments; None if a transform
    of differentiation runs within it, or no argument is batched."""
    if not STATE.batched or not STATE.transforms or STATE.transforms[-1].randomness is None:
        return None
    batch = innermost(args)
    return None if batch is None else batch._level


def has_tangents() -> bool:
    """Whether the innermost transform is one of forward mode."""
    return bool(STATE.transforms) and STATE.transforms[-1].forward


def without_tangents(entry, args: tuple, named: dict) -> Any:
    """The results of an operator within `jvp`, which have no tangents: it has a formula for the
    backward pass at most."""
    *outside, forward = STATE.transforms
    primals = each(lambda one: forward.primal(one) if isinstance(one, Tensor) else one, args)
    with transforms(tuple(outside)):
        return entry.call(primals, named)


def mapped(entry, args: tuple, named: dict, level) -> Any:
    """The results of an operator for a batch of arguments.

    Raises RuntimeError for one without a rule that changes its arguments other than in place, or
    takes or returns lists of tensors.
    """
    outside = STATE.transforms[: STATE.transforms.index(level)]
    rule = entry.kernel(keys.BATCHED)
    if rule is not None:
        with transforms(outside):
            dims = each(lambda one: one._dim if is_at(one, level) else None, args)
            values = each(lambda one: one._value if is_at(one, level) else one, args)
            outputs, out_dims = called(lambda *given: rule(*given, **named), level, dims, values)
        return wrapped(outputs, out_dims, level)
    _check_fallback(entry)

    def once(*example: Any) -> Any:
        with transforms(outside):
            return entry.call(example, named)

    if entry.schema.is_inplace:
        return _written(entry.qualname, once, args, level)
    return vmap_rules.fallback(entry.qualname, once, args, level)


def _written(name: str, once: Any, args: tuple, level) -> Any:
    """The first argument, of which each example is written."""
    vmap_rules.warn_slow(name)
    target = args[0]
    if not is_at(target, level):
        raise RuntimeError(messages.UNBATCHED.format(name, f"at level {level.number}"))
    vmap_rules.require_examples(name, level)
    for number in range(level.size):
        once(*[vmap_rules.example(value, number, level) for value in args])
    target._show(target._value, target._dim)
    return target


def _check_fallback(entry) -> None:
    """Raise RuntimeError for an operator that cannot be called for each example."""
    schema = entry.schema
    if schema.is_inplace:
        return
    if not schema.is_functional or not schema.returns:
        raise RuntimeError(messages.NO_VIEW_RULE.format(entry.qualname))
    kinds = [value.type for value in (*schema.returns, *schema.arguments)]
    if any("Tensor[" in kind or "Tensor?[" in kind for kind in kinds):
        raise RuntimeError(messages.NO_RULE.format(entry.qualname))
