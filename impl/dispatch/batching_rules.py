"""Batching rules: how a composite is applied to batched tensors (torch.func.vmap's rules).

Primitive operators map themselves over the examples of a batch. A composite that looks at elements
itself, makes tensors to be written, or draws random numbers states its rule in its definition
(`batching=`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

from impl.core.meta_arrays import NeedsElements
from impl.core.state import STATE
from impl.dispatch import meta_kernels
from impl.tensor.batched_tensor import NO_RULE, RANDOM, holds, mapped

BatchingRule = Literal["by_example", "no_rule", "random"]


def by_example(composite):
    """Decorate a composite to be computed for each example of a batch, and on the meta device with
    examples of real tensors."""

    @functools.wraps(composite)
    def call(*args, **named):
        values = tuple(named.values())
        if not (STATE.batched and holds((args, values))):
            try:
                return composite(*args, **named)
            except NeedsElements:
                return meta_kernels.on_examples(composite, args, named)

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


RULES: dict[BatchingRule, Callable[[Any], Any]] = {
    "by_example": by_example,
    "no_rule": lambda composite: _refused(composite, NO_RULE.format(composite.__name__)),
    "random": lambda composite: _refused(composite, RANDOM),
}
