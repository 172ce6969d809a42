"""Construction of a random program: its tensors, its lines, and the scale of its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.fuzz.choices import Choices
from conformance.fuzz.scale import Scale
from conformance.program.givens import Given
from conformance.samples.drawing import strides_of
from conformance.samples.operator import Operator, Shape

SMALL = (1.0, 2.0, -1.0, 0.5, -2.0, 0.0, -0.0, -0.5)
SPECIAL = (math.nan, math.inf, -math.inf)
COTANGENTS = (1.0, -2.0, 0.5, 3.0, -0.25, 0.0)
DRAWS = 5
LAYOUTS = (None, None, "transposed", "stepped", "expanded")


@dataclass
class LiveTensor:
    """A tensor that the program has bound; tensors of one `storage` share values and scale."""

    name: str
    shape: Shape
    dtype: str
    storage: str
    leaf: bool
    requires_grad: bool
    overlapping: bool = False


# The scale of the result of a unary pointwise operator that does not round.
EXACT: dict[str, Callable[[Scale], Scale]] = dict.fromkeys(
    ("neg", "abs", "sign", "floor", "ceil", "round", "trunc", "frac", "relu", "relu6", "hardtanh"),
    lambda scale: scale,
) | {
    "square": lambda scale: scale.times(scale),
    "clamp": lambda scale: scale,
    "hardshrink": lambda scale: scale,
    "softshrink": lambda scale: scale.plus(Scale(0.5, 1)).chosen(),
    "threshold": lambda scale: scale.plus(Scale(2.0, 1)),
}

EXACT_PAIRS: dict[str, Callable[[Scale, Scale], Scale]] = {
    "add": Scale.plus,
    "sub": Scale.plus,
    "rsub": Scale.plus,
    "mul": Scale.times,
} | dict.fromkeys(
    ("maximum", "minimum", "fmax", "fmin", "clamp_min", "clamp_max"),
    lambda a, b: a.plus(b).chosen(),
)

EXACT_ALONG: dict[str, Callable[[Scale, int], Scale]] = {
    "sum": lambda scale, n: replace(scale, bound=scale.bound * max(1, n)).plus(Scale(0.0, 0)),
    "cumsum": lambda scale, n: replace(scale, bound=scale.bound * max(1, n)).plus(Scale(0.0, 0)),
    "prod": Scale.to_the,
    "cumprod": Scale.to_the,
} | dict.fromkeys(
    ("max", "min", "amax", "amin", "sort", "cummax", "cummin"), lambda scale, n: scale.chosen()
)

# Continuous operators: they may follow an operator that rounded.
SMOOTH = ("add", "sub", "rsub", "mul", "neg", "sum", "cumsum", "mean")

# Operators that distinguish 0.0 from -0.0, or whose derivatives do.
TELLING = (
    *("reciprocal", "div", "pow", "fmod", "remainder", "atan2", "xlogy"),
    *("sqrt", "rsqrt", "log", "log2", "log10"),
)


class ProgramBuilder:
    """Draws one program, line by line."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.givens: list[Given] = []
        self.lines: list[str] = []
        self.live: list[LiveTensor] = []
        self.scales: dict[str, Scale] = {}
        self._leaves = iter(("x", "a", "b", "c", "d", "e", "f", "g"))
        self._results = iter(("y", "z", "p", "q", "r", "s", "t", "u"))

    def pick(self, options: Sequence[Any]) -> Any:
        """Draw one of the options."""
        return self.choices.pick(options)

    def leaf(
        self,
        shape: Shape,
        dtype: str,
        *,
        requires_grad: bool | None = None,
        values: Sequence[float] = SMALL,
        special: bool = False,
    ) -> LiveTensor:
        """A new given tensor of that shape and type, of any layout."""
        name = next(self._leaves)
        strides = strides_of(shape, layout) if (layout := self.pick(LAYOUTS)) else None
        expanded = strides is not None and 0 in strides
        drawn = self.values([*values, *SPECIAL] if special else values, shape, expanded)
        if requires_grad is None:
            requires_grad = self.pick((True, True, True, False)) or not self.live
        self.givens.append(Given(name, dtype, shape, drawn, strides, requires_grad))
        live = LiveTensor(name, shape, dtype, name, True, requires_grad, expanded)
        self.live.append(live)
        self.scales[name] = Scale(finite=all(math.isfinite(v) for v in drawn))
        return live

    def values(self, pool: Sequence[float], shape: Shape, expanded: bool) -> tuple[float, ...]:
        """Values for the shape, from few draws, so that values and shape shrink independently."""
        count = math.prod(shape[1:] if expanded else shape)
        few = [self.pick(pool) for _ in range(min(count, DRAWS))]
        flat = tuple(few[k % DRAWS] for k in range(count))
        return flat * (shape[0] if expanded else 1)

    def scale(self, live: LiveTensor) -> Scale:
        """Return the scale of the tensor's values at this point of the program."""
        return self.scales[live.storage]

    def result(
        self,
        call: str,
        shape: Shape,
        sources: Sequence[LiveTensor],
        scale: Scale,
        *,
        view_of: LiveTensor | None = None,
        dtype: str | None = None,
        overlapping: bool = False,
    ) -> LiveTensor:
        """Add a line that binds a new name; return the tensor that it binds."""
        name = next(self._results)
        self.lines.append(f"{name} = {call}")
        linked = any(source.requires_grad for source in sources)
        storage = view_of.storage if view_of else name
        live = LiveTensor(
            name, shape, dtype or sources[0].dtype, storage, not linked, linked, overlapping
        )
        self.live.append(live)
        if not view_of:
            self.scales[name] = scale
        return live

    def fits(self, operator: Operator, scale: Scale, dtype: str) -> bool:
        """Whether torch defines the operator's result exactly enough on values of that scale."""
        if not scale.finite and not _takes_everything(operator):
            return False
        if not scale.signed and operator.name in TELLING:
            return False
        if operator.name in EXACT or operator.name in EXACT_PAIRS or operator.name in EXACT_ALONG:
            return scale.exact or (operator.name in SMOOTH and dtype == "float64")
        if operator.name in SMOOTH:
            return dtype == "float64"
        return dtype == "float64" and scale.exact and scale.bound <= 8


def _takes_everything(operator: Operator) -> bool:
    if not operator.pointwise:
        return True
    return any(v != v for v in operator.specials) and math.inf in operator.specials
