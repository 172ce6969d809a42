"""The form of a table entry of an operator: its spellings, its inputs, its special cases."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

Shape = tuple[int, ...]
Number = float | int | bool

nan = math.nan
inf = math.inf


@cache
def _strides(size: int) -> list[int]:
    """Return strides that are coprime to the size: a walk around the grid visits every place."""
    span = range(max(1, size // 5), max(2, size - size // 5))
    return [k for k in span if math.gcd(k, size) == 1] or [1]


@dataclass(frozen=True)
class Domain:
    """The grid of values `low`, `low + step`, ... `high` an input is drawn from, some left out.

    Draws are distinct, so no tie arises unless a sample asks for one. The grid is a multiple of a
    power of two, so that a literal reads the same in every float type. `summed` values are drawn
    from a few halves in the short types: then a sum of many products is exact, and does not show
    where a processor's kernel rounds on the way.
    """

    low: float
    high: float
    step: float = 0.125
    without: tuple[float, ...] = ()
    summed: bool = False
    grid: tuple[Number, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        count = round((self.high - self.low) / self.step) + 1
        points = (self.low + k * self.step for k in range(count))
        object.__setattr__(self, "grid", tuple(p for p in points if p not in self.without))

    def draw(self, count: int, seed: str) -> tuple[Number, ...]:
        """`count` distinct values, the same ones for the same `seed`; ValueError if too many."""
        size = len(self.grid)
        if count > size:
            raise ValueError(f"{count} distinct values asked of a domain of {size}: {self}")
        digest = hashlib.blake2b(seed.encode(), digest_size=8).digest()
        start = int.from_bytes(digest[:4], "big")
        strides = _strides(size)
        stride = strides[int.from_bytes(digest[4:], "big") % len(strides)]
        return tuple(self.grid[(start + k * stride) % size] for k in range(count))

    def halves(self, count: int, seed: str) -> tuple[Number, ...]:
        """`count` of the halves from -1.5 to 1.5, which recur."""
        return tuple((4 * value % 7 - 3) / 2 for value in self.draw(count, seed))

    def integers(self) -> Domain:
        """The whole numbers among these values."""
        whole = Domain(math.ceil(self.low), math.floor(self.high), 1, self.without)
        object.__setattr__(whole, "grid", tuple(int(p) for p in whole.grid))
        return whole


ANY = Domain(-3.0, 3.0, without=(0.0,))
POSITIVE = Domain(0.25, 4.0)
UNIT = Domain(-0.875, 0.875, 1 / 16, without=(0.0,))
PROBABILITY = Domain(0.0625, 0.9375, 1 / 32)
ABOVE_ONE = Domain(1.25, 5.0)
AWAY_FROM_INTEGERS = Domain(-3.0, 3.0, without=tuple(k / 2 for k in range(-6, 7)))
WHOLE = Domain(-6.0, 6.0, 1.0, without=(0.0,)).integers()


@dataclass(frozen=True)
class Input:
    """One tensor an operator takes.

    `shape` is the shape of the plain sample. `dtype` is set for an input whose type does not follow
    the sample's (indices, masks); such an input, and one with `grad=False`, never requires grad.
    `values` (flat) replaces the values drawn from `domain`.
    """

    name: str
    domain: Domain = ANY
    shape: Shape = (2, 3)
    dtype: str | None = None
    grad: bool = True
    values: tuple[Number, ...] | None = None

    @property
    def differentiable(self) -> bool:
        return self.grad and self.dtype is None


@dataclass(frozen=True)
class Case:
    """One more way to use an operator: another call, other shapes, or values that matter.

    `call` names inputs in braces, and only those are given. `inputs` holds for a name either a
    shape (a tuple) or literal values (a number or nested lists); inputs not named are as in the
    plain sample. `result` is the shape of the output the cotangent seeds, a mapping from names to
    shapes for several outputs, or None where nothing is differentiated. `raises` marks a call that
    torch refuses. `dtypes` fixes the type of an input; then `dtype` is that of the result.
    A case is about structure, and in float32 (and bfloat16), unless it gives values: then it is in
    float64.
    """

    label: str
    call: str
    result: Shape | Mapping[str, Shape] | None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    raises: bool = False
    outputs: tuple[str, ...] | None = None
    dtypes: Mapping[str, str] = field(default_factory=dict)
    dtype: str | None = None


@dataclass(frozen=True)
class Operator:
    """Everything the samples need to know of an operator, in one place.

    `call`, `method`, `inplace` and `symbol` are the ways to spell it; the first of `inputs` is the
    target of the in-place spelling. `result` is as for a case; for a `pointwise` operator it is the
    broadcast shape of the inputs. `points` are values that matter (kinks, ties, bounds), one list
    per input. `specials` are tried as they are, so a value whose result torch does not promise is
    left out of them. `view` says that the result is a view, which is then written to as well.
    `leaf_refusal` asks for the in-place spelling on a leaf. `unlinked` says that the output never
    requires grad, `contiguous_only` that the plain call refuses or means something else for other
    strides, `overlapping` that the result has several elements in one place, so that it cannot be
    written to. `along` spells the operator along one dimension, `{dim}`, which the result lacks if
    `drops`; random programs are made with it. `halves` are the short types for which torch has a
    kernel.
    """

    name: str
    inputs: tuple[Input, ...]
    call: str
    result: Shape | Mapping[str, Shape] | None = None
    method: str | None = None
    inplace: str | None = None
    symbol: str | None = None
    outputs: tuple[str, ...] = ("y",)
    pointwise: bool = False
    view: bool = False
    unlinked: bool = False
    points: Mapping[str, Sequence[Sequence[Number]]] = field(default_factory=dict)
    specials: tuple[float, ...] = ()
    cases: tuple[Case, ...] = ()
    leaf_refusal: bool = False
    twice_differentiable: bool = True
    integers: bool = True
    contiguous_only: bool = False
    overlapping: bool = False
    along: str | None = None
    drops: bool = True
    halves: tuple[str, ...] = ("float16", "bfloat16")


def case(
    label: str,
    call: str,
    result: Shape | Mapping[str, Shape] | None = None,
    /,
    *,
    raises: bool = False,
    outputs: str | None = None,
    dtypes: Mapping[str, str] | None = None,
    dtype: str | None = None,
    **inputs: Any,
) -> Case:
    """A `Case`, written so that a row of a table fits on a line; `outputs` are comma-separated."""
    names = tuple(outputs.split(", ")) if outputs else None
    return Case(label, call, result, inputs, raises, names, dtypes or {}, dtype)


def unary(
    name: str,
    domain: Domain = ANY,
    *,
    function: str | None = None,
    method: str | None = "",
    inplace: str | None = "",
    kinks: Sequence[float] = (),
    outside: Sequence[float] = (),
    specials: tuple[float, ...] = (nan, inf, -inf, 0.0, -0.0),
    **facts: Any,
) -> Operator:
    """The entry of a pointwise operator of one tensor.

    `method` and `inplace` are templates; "" stands for `x.name()` and `x.name_()`, None for none.
    `kinks` are points where the derivative jumps or is infinite, `outside` lies off the domain.
    """
    function = function or f"torch.{name}"
    points = dict(facts.pop("points", {}))
    if kinks:
        points["kinks"] = (tuple(kinks),)
    if outside:
        points["outside-the-domain"] = (tuple(outside),)
    return Operator(
        name=name,
        inputs=(Input("x", domain),),
        call=f"{function}({{x}})",
        method=f"{{x}}.{name}()" if method == "" else method,
        inplace=f"{{x}}.{name}_()" if inplace == "" else inplace,
        pointwise=True,
        points=points,
        specials=specials,
        **facts,
    )


def binary(
    name: str,
    a: Domain = ANY,
    b: Domain | None = None,
    *,
    function: str | None = None,
    method: str | None = "",
    inplace: str | None = "",
    symbol: str | None = None,
    points: Mapping[str, Sequence[Sequence[Number]]] | None = None,
    specials: tuple[float, ...] = (nan, inf, -inf, 0.0, -0.0, 2.0, -1.5),
    **facts: Any,
) -> Operator:
    """The entry of a pointwise operator of two tensors, `a` and `b`; `symbol` is such as `+`."""
    function = function or f"torch.{name}"
    return Operator(
        name=name,
        inputs=(Input("a", a), Input("b", b or a)),
        call=f"{function}({{a}}, {{b}})",
        method=f"{{a}}.{name}({{b}})" if method == "" else method,
        inplace=f"{{a}}.{name}_({{b}})" if inplace == "" else inplace,
        symbol=f"{{a}} {symbol} {{b}}" if symbol else None,
        pointwise=True,
        points=points or {},
        specials=specials,
        **facts,
    )
