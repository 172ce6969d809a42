"""Operators: one kernel, one formula per input, and every spelling made from them.

    @operator(promote="float", elementwise=True, inplace=True)
    def sigmoid(self: Array) -> Array:
        return scipy.special.expit(self)

    sigmoid.gradient(self=lambda F, grad, result: grad * (1 - result) * result)

The *kernel* takes raw values (NumPy arrays, or NumPy scalars for 0-dim tensors) for the parameters
annotated `Array`, `Array | None` or `list[Array]`, everything else as given, and returns a new
array or a tuple of them. It never returns an argument or a view of one.

A *formula* names what it needs by its parameters, and by that says what is saved: an input (the
tensor is saved), `result` or an output's name (the output is saved), any other argument of the
operator (its value), `x_shape`, `x_dtype` (NumPy), `x_layout` (shape, strides, offset) and `x_dim`
(how many dimensions) of an input or output x, `grad` (of the first output), `grads` (of all),
`grad_<output>`, `needs` (per differentiable input). `F` holds the operations it may use besides
Python's operators: kernels when gradients are raw arrays, operators when they are tensors
(`create_graph=True`).

`sigmoid.forward(...)` states how tangents pass, where `impl.tangents` does not know it anyway.
"""

from __future__ import annotations

import functools
import inspect
from types import SimpleNamespace
from typing import Any, TypeAlias

from numpy import ndarray

from impl import straight
from impl.plans import OfArguments
from impl.primitive import Operator, new, public_name
from impl.tensor import Tensor

Array: TypeAlias = Any  # in kernels' annotations: a raw value, array or NumPy scalar


class Operations(SimpleNamespace):
    """What formulas compute with, by name. Each name is given once, so that what it means does not
    depend on which module was imported last."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self) and vars(self)[name] is not value:
            raise ValueError(f"F.{name} is defined already; give the operation another name")
        super().__setattr__(name, value)


# `F.records` lets a formula take the shorter way that torch takes when nothing is recorded.
RAW = Operations(records=False)  # F over arrays: kernels
TAPED = Operations(records=True)  # F over tensors: operators


class _Unrecorded:
    """F over tensors of which nothing is recorded: the same operators."""

    records = False

    def __getattr__(self, name: str):
        return getattr(TAPED, name)


UNRECORDED = _Unrecorded()
OPERATORS: dict[str, Operator] = {}
FUNCTIONS: dict = {}  # the functions of the torch namespace


def operator(
    *,
    node: str | None = None,
    promote: str | None = None,
    elementwise: bool = False,
    outputs: tuple[str, ...] = ("result",),
    function: bool = True,
    method: bool = True,
    inplace: bool = False,
    out: bool = False,
    fresh: bool = False,
    numbers: bool = True,
    kind: type[Operator] = Operator,
):
    """Define a primitive operator from its kernel.

    Args:
        node: the name of its node; by default the operator's, as `SigmoidBackward0`.
        promote: None; "arithmetic" (operands are cast to their common dtype); "float" (and
            integers to the default floating dtype).
        elementwise: the result takes its strides from the operands as ATen's TensorIterator does.
        outputs: the outputs' names when there are several.
        function, method, inplace, out: which public spellings to make from it.
        fresh: keep the kernel's own strides (they are torch's) instead of making it row-major.
        numbers: whether, of several operands, any may be a Python number.
        kind: the class of the operator.
    """

    def define(kernel) -> Operator:
        op = kind(kernel, node, promote, elementwise, outputs, fresh)
        op.numbers = op.numbers and numbers
        OPERATORS[op.name] = op
        call = spelling(op, kernel, out)
        setattr(RAW, op.name, kernel if elementwise else _owning(kernel))
        setattr(TAPED, op.name, call)
        if function:
            FUNCTIONS[op.name] = call
        if method:
            setattr(Tensor, op.name, call)
        if inplace:
            written = spelling(op, kernel, False, inplace=True)
            setattr(Tensor, op.name + "_", written)
            if function:
                FUNCTIONS[op.name + "_"] = written
        return op

    return define


def _owning(kernel):
    """A kernel whose results own their memory, as gradients that an operator makes do."""

    @functools.wraps(kernel)
    def call(*args, **settings):
        result = kernel(*args, **settings)
        if type(result) is tuple:
            return tuple(map(owned, result))
        return owned(result)

    return call


def owned(raw):
    """An array in memory of its own, if it is a view; its dimensions stay in their order."""
    return raw if type(raw) is not ndarray or raw.base is None else raw.copy("K")


def spelling(op: Operator, kernel, out: bool, inplace: bool = False):
    """A function with the kernel's own signature that applies the operator."""
    signature = inspect.signature(kernel)
    defaults: dict = {}
    pieces, starred = [], False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not starred:
            pieces.append("*")
            starred = True
        name = public_name(p.name)
        if p.default is p.empty:
            pieces.append(name)
        else:
            defaults[f"_d{len(defaults)}"] = p.default
            pieces.append(f"{name}=_d{len(defaults) - 1}")
    arguments = ", ".join(map(public_name, op.parameters))
    name = op.name + ("_" if inplace else "")
    body = ""
    if out:
        pieces += ([] if starred else ["*"]) + ["out=None"]
        body = f"    if out is not None: return op.into(out, ({arguments},))\n"
    header = f"def {name}({', '.join(pieces)}):\n{body}"
    general = f"op.inplace({arguments})" if inplace else f"op.general({arguments})"
    scope = {"kernel": kernel, **defaults}
    made = straight.function(op, name, header, general, scope, inplace=inplace)
    made.__doc__ = kernel.__doc__
    made.__qualname__ = name
    return made


def alias(name: str, *others: str) -> None:
    """Publish an operator's or a composite's spellings, in-place ones included, by other names."""
    for other in others:
        for suffix in ("", "_"):
            if name + suffix in FUNCTIONS:
                FUNCTIONS[other + suffix] = FUNCTIONS[name + suffix]
            if hasattr(Tensor, name + suffix):
                setattr(Tensor, other + suffix, getattr(Tensor, name + suffix))


def function(
    name: str | None = None, *, method: bool = True, torch: bool = True, out: bool | str = False
):
    """Publish a composite: a Python function written with operators, as torch composes it.

    With `out` the function of the namespace takes `out=`; as a text it is the name of what ATen
    writes it with, which says so where that is refused.
    """

    def define(composite):
        public = name or composite.__name__
        composite.__name__ = composite.__qualname__ = public  # which torch's messages may show
        if torch:
            named = out if isinstance(out, str) else public
            FUNCTIONS[public] = taking_out(composite, named) if out else composite
        if method:
            setattr(Tensor, public, composite)
        return composite

    return define


def taking_out(composite, name: str | None = None):
    """A composite that stores its result, or results, in `out=` where that is given."""

    @functools.wraps(composite)
    def call(*args, out=None, **named):
        result = composite(*args, **named)
        if out is None:
            return result
        from impl.inplace import store

        return store(name or composite.__name__, out, result)

    return call


def written(function, times=1):
    """Mark a formula whose gradient torch makes in place, in new memory: that counts as a write,
    and shows as the version of a `.grad` that was taken over. `times` is how often, or a function
    that says so from which outputs' gradients arrived and the gradient made; `OfArguments` finds
    either when the operator is called; a dictionary has these for a formula of several inputs."""
    function.writes = times
    return function


def unless_recorded(times):
    """How often a gradient is written when it is made; what records writes to it by itself.

    `times` is given which outputs' gradients arrived.
    """
    return lambda arrived, made: 0 if isinstance(made, Tensor) else times(*arrived)


def formula_operation(function):
    """Make a function of raw values (and its tensor twin) available to formulas as `F.name`.

    Use on the raw version; give the tensor version with `TAPED.name = ...`.
    """
    setattr(RAW, function.__name__, function)
    return function


__all__ = [
    "FUNCTIONS",
    "OPERATORS",
    "RAW",
    "TAPED",
    "UNRECORDED",
    "Array",
    "OfArguments",
    "Operator",
    "alias",
    "formula_operation",
    "function",
    "new",
    "operator",
    "owned",
    "spelling",
    "taking_out",
    "unless_recorded",
    "written",
]
