"""Parsers before the public functions and methods: what `torch.sum` and `Tensor.sum` are."""

from __future__ import annotations

import functools

from impl.arg_parser.parameter import MISSING
from impl.arg_parser.parser import ArgParser, signatures
from impl.core import messages
from impl.core.meta_arrays import NeedsElements
from impl.core.registry import NATIVE, C
from impl.core.state import STATE
from impl.dispatch.meta_kernels import on_examples
from impl.dispatch.out import refusing_gradients
from impl.dispatch.record import refuse_write
from impl.factories.generator import get_rng_state, set_rng_state
from impl.tensor.tensor import Tensor
from impl.tensor.torch_function import asking

# Parsed functions whose signatures are no strings of the library that the table is made from.
_UNLISTED = {
    "frombuffer": [
        "object buffer, *, dtype dtype, int count=-1, int offset=0, bool requires_grad=False"
    ],
    "Tensor.map_": ["Tensor other, object callable"],
    "Tensor.map2_": ["Tensor x, Tensor y, object callable"],
}

HIDDEN = ("_VF", "_nn")
"""Prefixes of functions without a public name."""

TITLES = {"logsigmoid": "log_sigmoid", "_parse_to": "to"}
"""The names in torch's messages of functions that are called otherwise."""
LATE_WRITES = (
    *("detach_", "fill_diagonal_", "float_power_", "requires_grad_", "resize_", "resize_as_"),
    *("logical_and_", "logical_not_", "logical_or_", "logical_xor_", "set_", "rrelu_"),
    *("map_", "map2_", "dropout_", "alpha_dropout_", "feature_dropout_", "feature_alpha_dropout_"),
)
"""Functions in place that look at their arguments before they look whether they may write."""


def publish(namespaces: dict) -> None:
    """Put a parser before each function of the modules, by the prefix of their names, that torch
    has signatures of, and before the methods of tensors; the functions are those of `C`, too."""
    for name, texts in {**signatures(), **_UNLISTED}.items():
        prefix, _, short = name.rpartition(".")
        owner = Tensor if prefix == "Tensor" else namespaces.get(prefix)
        call = NATIVE.get(short) if prefix in HIDDEN else getattr(owner, short, None)
        if call is None:
            continue
        title = f"{prefix}_{short}" if prefix in ("linalg", "fft", "special") else short
        title = TITLES.get(title, title)
        public = parsed(call, title, texts, method=owner is Tensor)
        if owner is not None:
            public.__module__ = Tensor.__module__ if owner is Tensor else owner.__name__
            public.__qualname__ = f"Tensor.{short}" if owner is Tensor else short
            setattr(owner, short, public)
        if owner is not Tensor:
            setattr(C, short if owner is None else title, public)


def parsed(call, name: str, texts: list[str], method: bool):
    """A function that reads its arguments as torch does, and calls the implementation."""
    parser = ArgParser(name, refusing_gradients(call), texts, method)
    accepted, gathered, parse = parser.accepted, parser.gathered, parser.parse
    writes = name.endswith("_") and name not in LATE_WRITES

    @functools.wraps(call)
    def function(a=MISSING, b=MISSING, c=MISSING, /, *more, **named):
        try:
            # Fast path: arguments of types that were accepted before are passed on as they are.
            if not named:
                if b is MISSING:
                    if type(a) in accepted:
                        return call(a)
                elif c is MISSING:
                    if (type(a), type(b)) in accepted:
                        return call(a, b)
                elif (types := (type(a), type(b), type(c), *map(type, more))) in accepted:
                    return call(a, b, c, *more)
                elif method and types in gathered:
                    return call(a, (b, c, *more))
            return parse(_given(a, b, c, more), named)
        except NeedsElements:
            given = _given(a, b, c, more)
            if writes or named.get("out") is not None:
                raise
            return _without_elements(lambda *args, **more: parse(args, more), given, named)
        except Exception as error:
            given = _given(a, b, c, more)
            parser.refuse_long_integers(given, named)
            if writes and not isinstance(error, TypeError):
                refuse_write((*given, *named.values()))
            raise

    parser.public = function
    return asking(function)


def _without_elements(call, args: tuple, named: dict):
    """The result on the meta device of a function that is no operator by itself, and looked at
    elements: it is called with examples, and draws nothing from the generator of the CPU.

    Raises NotImplementedError where a gradient would be wanted.
    """
    if STATE.enabled and any(isinstance(v, Tensor) and v.requires_grad for v in args):
        raise NotImplementedError(messages.NO_DATA)
    before = get_rng_state()
    try:
        return on_examples(call, args, named)
    finally:
        set_rng_state(before)


def _given(a, b, c, more: tuple) -> tuple:
    if c is not MISSING:
        return (a, b, c, *more)
    return () if a is MISSING else (a,) if b is MISSING else (a, b)
