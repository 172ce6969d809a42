"""The refusal of `out=` under `torch.vmap`, where no operator has a batching rule for it."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

from impl.arg_parser.signature import Signature
from impl.core import messages
from impl.core.state import STATE
from impl.dispatch.out import refuse_links
from impl.tensor.batched_tensor import innermost

# The overloads that draw random numbers and are refused whether an argument is batched or not
# (BatchRulesRandomness.cpp).
_RANDOM = {
    "bernoulli": ("out",),
    "multinomial": ("out",),
    "normal": ("Tensor_Tensor_out", "float_Tensor_out", "float_float_out"),
    "randint": ("out", "generator_out"),
    **dict.fromkeys(("rand", "randn", "randperm"), ("out", "generator_out")),
}
_RANDOM_OUT = (
    "vmap: We do not support calling out variants of random operations inside of vmap. "
    "Please use non-out variants as a workaround"
)


@functools.cache
def _overloads() -> dict[str, list[str]]:
    """The overloads of each function's signatures with `out=` (`tools/out_overloads.py`)."""
    text = resources.files(__package__).joinpath("out_overloads.txt").read_text()
    return {name: names for name, *names in map(str.split, text.splitlines())}


def refuse_out(parser, signature: Signature, given: dict) -> None:
    """Raise RuntimeError for a call with `out=` if a value is batched.

    `parser` is the function's, `signature` that of the call, `given` are the values by parameter.
    """
    name = parser.name  # in ATen, such as `linalg_inv`
    with_out = [s for s in parser.signatures if any(p.name == "out" for p in s.parameters)]
    overload = _overloads().get(name, ["out"] * len(with_out))[with_out.index(signature)]
    level: Any = STATE.transforms[-1] if STATE.transforms else None
    maps = level is not None and level.randomness is not None
    if maps and name in _RANDOM and overload in _RANDOM[name]:
        raise RuntimeError(_RANDOM_OUT)
    batch = innermost(given.values())
    if batch is None:
        return
    if warn := getattr(parser.call, "warn", None):  # it is deprecated
        warn()
    if not maps:
        refuse_links(name, *given.values())
    lists = any(p.kind == "Tensor[]" and not p.size for p in given)
    text = messages.NO_RULE if lists else messages.NO_VIEW_RULE
    raise RuntimeError(text.format(f"aten::{name}.{overload}"))
