"""Batching rules of composites: how functions written with operators take batched tensors.

Most composites need none, because their operators have rules (`impl.dispatch.vmap_rules`). One that
looks at elements itself, makes tensors to be written, or draws random numbers states its rule in
its definition (`batching=`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import impl.dispatch.vmap_writes  # noqa: F401  gives batched tensors their method
from impl.core import messages
from impl.core.meta_arrays import NeedsElements
from impl.core.state import STATE
from impl.dispatch import meta_kernels, vmap_rules
from impl.tape.batched_tangents import lifted
from impl.tensor.batched_tensor import innermost, is_at, within
from impl.tensor.legacy_batched_tensor import RANDOM, Batched, mapped
from impl.tensor.tensor import Tensor, new

BatchingRule = Literal[
    "by_example",
    "composed_fallback",
    "composed_no_rule",
    "composed_no_view_rule",
    "dynamic",
    "fallback",
    "no_rule",
    "physical",
    "random",
    "unsupported",
    "whole",
]
_DYNAMIC = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap "
    "over aten::{}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need "
    "this feature."
)
# Of composite functions: the parameter by which ATen chooses an overload, and its ends for a tensor
# and for anything else.
_OVERLOADS = {
    "ctc_loss": (2, ".Tensor", ".IntList"),
    "histogram": (1, ".bins_tensor", ".bin_ct"),
    "nanquantile": (1, "", ".scalar"),
    "quantile": (1, "", ".scalar"),
}
_UNSUPPORTED = (
    "vmap over torch.{} isn't supported yet. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues if you need this feature."
)


def _ruled(rule: Callable, legacy: Callable):
    """A decorator of composites: with batched tensors among the arguments, `rule` is called with
    the composite, its arguments and the innermost level, or `legacy` in a pass with
    is_grads_batched."""

    def decorate(composite):
        @functools.wraps(composite)
        def call(*args, **named):
            if not STATE.batched:
                return composite(*args, **named)
            batch = innermost((*args, *named.values()))
            if batch is None:
                return composite(*args, **named)
            if type(batch) is Batched:
                return legacy(composite, args, named)
            level = batch._level
            every = {name: lifted(value, level) for name, value in named.items()}
            return rule(call, lifted(args, level), every, level)

        return call

    return decorate


def _of_two(composite, named: dict):
    """A composite function of the tuple of its arguments, and that of the values of named ones."""
    return lambda given, more: composite(*given, **dict(zip(named, more, strict=True)))


def _each_row(composite, args: tuple, named: dict):
    return mapped(_of_two(composite, named), (args, tuple(named.values())))


def _each_example(composite, args: tuple, named: dict, level):
    once = _of_two(composite, named)
    return vmap_rules.by_example(once, (args, tuple(named.values())), level)


def _fallback(composite, args: tuple, named: dict, level):
    """Apply to each example, with torch's warning that there is no rule."""
    name = _name(composite)
    name += _overload(name, args)
    return vmap_rules.fallback(
        name, _of_two(composite, named), (args, tuple(named.values())), level
    )


def _unless_within(rule: Callable):
    """The rule of a function that ATen composes for each transform (CompositeImplicitAutograd):
    one of another kind within the `vmap` composes it, and the `vmap` sees its operators."""

    def ruled(composite, args: tuple, named: dict, level):
        batch = innermost((*args, *named.values()))
        if any(transform.wraps for transform in within(batch)):
            return composite.__wrapped__(*args, **named)
        return rule(composite, args, named, level)

    return ruled


def _overload(name: str, args: tuple) -> str:
    """The end of ATen's name of a composite function, where it has several overloads."""
    if name == "isin":
        return "." + "_".join("Tensor" if isinstance(a, Tensor) else "Scalar" for a in args[:2])
    if name not in _OVERLOADS:
        return ".vec" if name.startswith("_upsample") else ""
    place, of_tensor, otherwise = _OVERLOADS[name]
    return of_tensor if len(args) > place and isinstance(args[place], Tensor) else otherwise


def _plain(composite, args: tuple, named: dict):
    return composite(*args, **named)


def _unsupported(composite, args: tuple, named: dict, level):
    raise RuntimeError(_UNSUPPORTED.format(composite.__name__))


def _dynamic(composite, args: tuple, named: dict, level):
    raise RuntimeError(_DYNAMIC.format(_name(composite)))


def _on_value(composite, args: tuple, named: dict, level):
    """Apply to the value of the first argument, of whose mapped dimension the result has one, too.

    Where only other arguments are batched it is applied to each example.
    """
    first, *rest = args or (named.pop("input"),)
    if not is_at(first, level) or innermost((*rest, *named.values())) is not None:
        return _each_example(composite, (first, *rest), named, level)
    return first._over(composite(first._value, *rest, **named))


def _on_fronted(composite, args: tuple, named: dict, level):
    """Apply to the value of the first argument, which alone is batched, with the mapped dimension
    in front, as that of the result is."""
    value = vmap_rules.fronted(args[0], level)
    return vmap_rules.hide(composite(value, *args[1:], **named), level)


def _on_whole(composite, args: tuple, named: dict, level):
    """Apply to the value of the argument, of all examples at once; the result is not batched."""
    (batch,) = (*args, *named.values())
    return composite(batch._value)


def _sized(composite, args: tuple, named: dict, level):
    """Apply to the value of the first argument, with the size of the batch in front of the sizes,
    which are the second."""
    first, size, *rest = args
    if not is_at(first, level):
        return _each_example(composite, args, named, level)
    value = vmap_rules.fronted(first, level)
    made = composite(value, (level.size, *size), *rest, **named)
    return vmap_rules.hide(made if isinstance(made, Tensor) else new(made), level)


def _as_it_is(call, args: tuple, named: dict, level):
    return call.__wrapped__(*args, **named)


def _refused(composite, args: tuple, named: dict, *level):
    raise RuntimeError(messages.NO_RULE.format(f"aten::{_name(composite)}"))


def _name(composite) -> str:
    """ATen's name of a composite, that of the function unless it has another (`in_aten`)."""
    return getattr(composite, "aten_name", composite.__name__)


def in_aten(name: str):
    """Decorate a composite whose name in ATen, which errors and warnings show, is another."""

    def define(composite):
        composite.aten_name = name
        return composite

    return define


def _no_view(composite, args: tuple, named: dict, *level):
    raise RuntimeError(messages.NO_VIEW_RULE.format(f"aten::{_name(composite)}"))


def _drawn(composite, args: tuple, named: dict):
    raise RuntimeError(RANDOM)


def by_example(composite):
    """Decorate a composite to be computed for each example of a batch, and on the meta device with
    examples of real tensors."""

    @functools.wraps(composite)
    def on_elements(*args, **named):
        try:
            return composite(*args, **named)
        except NeedsElements:
            return meta_kernels.on_examples(composite, args, named)

    return _ruled(_each_example, _each_row)(on_elements)


fronted = _ruled(_on_fronted, _each_row)
physical = _ruled(_on_value, _each_row)
sized = _ruled(_sized, _each_row)
RULES: dict[BatchingRule, Callable[[Any], Any]] = {
    "by_example": by_example,
    "physical": physical,
    "whole": _ruled(_on_whole, _each_row),
    "fallback": _ruled(_fallback, _each_row),
    "composed_fallback": _ruled(_unless_within(_fallback), _each_row),
    "dynamic": _ruled(_dynamic, _plain),
    "unsupported": _ruled(_unsupported, _refused),
    "no_rule": _ruled(_refused, _refused),
    "composed_no_rule": _ruled(_unless_within(_refused), _refused),
    "composed_no_view_rule": _ruled(_unless_within(_no_view), _no_view),
    "random": _ruled(_as_it_is, _drawn),
}
