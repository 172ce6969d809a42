"""Conventions: the gradients that operators define at ties and kinks.

At a tie several elements could receive the gradient, at a kink there are two one-sided slopes. Each
entry is a program; `convention_of` reads from its traces which convention each side follows, so
that a report says not only that a backend differs, but how.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.observe.trace import Trace
from conformance.program.program import Program

AREA = "conventions"


@dataclass(frozen=True)
class Tie:
    """Elements that tie: `tied` are their places among all elements of the gradients in order.

    `shares` is the number of elements that receive the whole cotangent, usually one.
    """

    operator: str
    situation: str
    givens: tuple[str, ...]
    call: str
    tied: tuple[int, ...]
    shares: int = 1

    def read(self, gradient: Sequence[float]) -> str:
        """Return the name of the convention by which the gradient is distributed."""
        got = [gradient[place] for place in self.tied]
        rest = [g for place, g in enumerate(gradient) if place not in self.tied]
        if any(map(math.isnan, gradient)):
            return "NaN"
        if any(abs(g) > 1e-6 for g in rest):
            return f"other: {_listed(gradient)}"
        count, share = len(got), self.shares
        ones = [1.0] * share + [0.0] * (count - share)
        named = {
            "even split": [share / count] * count,
            "first": ones,
            "last": ones[::-1],
            "every tied element": [1.0] * count,
            "none": [0.0] * count,
        }
        for name, values in named.items():
            if _near(got, values):
                return name
        if sorted(got) == sorted(ones):
            return f"number {got.index(1.0) + 1} of {count}"
        return f"other: {_listed(got)}"


@dataclass(frozen=True)
class Kink:
    """A point at which the slopes from the left and from the right differ, or are no numbers."""

    operator: str
    situation: str
    givens: tuple[str, ...]
    call: str
    left: float
    right: float

    def read(self, gradient: Sequence[float]) -> str:
        """Return the name of the slope that the gradient has."""
        slope = gradient[0]
        if math.isnan(slope):
            return "NaN"
        if math.isinf(slope):
            return "infinite"
        named = {"left": self.left, "right": self.right, "mean": (self.left + self.right) / 2}
        found = next((n for n, value in named.items() if _near([slope], [value])), None)
        if found is None:
            return "zero" if slope == 0 else f"slope {slope:g}"
        return f"{found} (zero)" if slope == 0 else found


def _near(got: Sequence[float], values: Sequence[float]) -> bool:
    pairs = zip(got, values, strict=True)
    return all(math.isfinite(v) and abs(g - v) <= 1e-5 for g, v in pairs)


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


_F = "torch.nn.functional"
_VECTOR = ("x = torch.tensor([1.0, 3.0, 3.0, 2.0], requires_grad=True)",)
_LOW = ("x = torch.tensor([2.0, 1.0, 1.0, 3.0], requires_grad=True)",)
_THREE = ("x = torch.tensor([1.0, 2.0, 2.0, 2.0, 3.0], requires_grad=True)",)
_PAIR = (
    "x = torch.tensor(2.0, requires_grad=True)",
    "z = torch.tensor(2.0, requires_grad=True)",
)
_ROW = ("x = torch.tensor([[1.0, 3.0, 3.0, 2.0]], requires_grad=True)",)
_IMAGE = ("x = torch.tensor([[[[1.0, 3.0], [3.0, 2.0]]]], requires_grad=True)",)
_ONTO = (
    "x = torch.tensor([1.0, 3.0, 3.0, 2.0], requires_grad=True)",
    "index = torch.tensor([0, 0, 0, 0])",
    "base = torch.zeros(1)",
)


def _at(value: float) -> tuple[str, ...]:
    return (f"x = torch.tensor({value!r}, requires_grad=True)",)


_CLASSES = (
    "x = torch.tensor([[1.0, 0.0, 0.5]], requires_grad=True)",
    "target = torch.tensor([0])",
)

TIES = (
    Tie("amax", "two maxima", _VECTOR, "torch.amax(x, 0)", (1, 2)),
    Tie("amin", "two minima", _LOW, "torch.amin(x, 0)", (1, 2)),
    Tie("aminmax", "two maxima", _VECTOR, "torch.aminmax(x).max", (1, 2)),
    Tie("max", "of all elements", _VECTOR, "torch.max(x)", (1, 2)),
    Tie("max", "along a dimension", _VECTOR, "torch.max(x, 0).values", (1, 2)),
    Tie("min", "of all elements", _LOW, "torch.min(x)", (1, 2)),
    Tie("min", "along a dimension", _LOW, "torch.min(x, 0).values", (1, 2)),
    Tie("maximum", "equal operands", _PAIR, "torch.maximum(x, z)", (0, 1)),
    Tie("minimum", "equal operands", _PAIR, "torch.minimum(x, z)", (0, 1)),
    Tie("fmax", "equal operands", _PAIR, "torch.fmax(x, z)", (0, 1)),
    Tie("fmin", "equal operands", _PAIR, "torch.fmin(x, z)", (0, 1)),
    Tie("median", "of all elements", _THREE, "torch.median(x)", (1, 2, 3)),
    Tie("median", "along a dimension", _THREE, "torch.median(x, 0).values", (1, 2, 3)),
    Tie("nanmedian", "of all elements", _THREE, "torch.nanmedian(x)", (1, 2, 3)),
    Tie("kthvalue", "the third", _THREE, "torch.kthvalue(x, 3).values", (1, 2, 3)),
    Tie("mode", "three alike", _THREE, "torch.mode(x, 0).values", (1, 2, 3)),
    Tie("topk", "one of two maxima", _VECTOR, "torch.topk(x, 1).values.sum()", (1, 2)),
    Tie("sort", "the last", _VECTOR, "torch.sort(x).values[-1]", (1, 2)),
    Tie("sort", "the last, stable", _VECTOR, "torch.sort(x, stable=True).values[-1]", (1, 2)),
    Tie("cummax", "the last", _VECTOR, "torch.cummax(x, 0).values[-1]", (1, 2)),
    Tie("cummin", "the last", _LOW, "torch.cummin(x, 0).values[-1]", (1, 2)),
    Tie(
        "linalg.vector_norm",
        "ord=inf",
        _VECTOR,
        "torch.linalg.vector_norm(x, float('inf'))",
        (1, 2),
    ),
    Tie("max_pool1d", "one window", _ROW, f"{_F}.max_pool1d(x, 4).sum()", (1, 2)),
    Tie("max_pool2d", "one window", _IMAGE, f"{_F}.max_pool2d(x, 2).sum()", (1, 2)),
    Tie("adaptive_max_pool1d", "one window", _ROW, f"{_F}.adaptive_max_pool1d(x, 1).sum()", (1, 2)),
    Tie(
        "adaptive_max_pool2d", "one window", _IMAGE, f"{_F}.adaptive_max_pool2d(x, 1).sum()", (1, 2)
    ),
    Tie(
        "scatter_reduce",
        "amax",
        _ONTO,
        "base.scatter_reduce(0, index, x, 'amax').sum()",
        (1, 2),
    ),
    Tie("index_reduce", "amax", _ONTO, "base.index_reduce(0, index, x, 'amax').sum()", (1, 2)),
    Tie("quantile", "the median of ties", _THREE, "torch.quantile(x, 0.5)", (1, 2, 3)),
)
_ZERO = _at(0.0)
_PLANE = (
    "x = torch.tensor(0.0, requires_grad=True)",
    "z = torch.tensor(0.0)",
)
KINKS = (
    Kink("abs", "at 0", _ZERO, "torch.abs(x)", -1, 1),
    Kink("relu", "at 0", _ZERO, "torch.relu(x)", 0, 1),
    Kink("leaky_relu", "at 0", _ZERO, f"{_F}.leaky_relu(x, 0.25)", 0.25, 1),
    Kink("prelu", "at 0", _ZERO, f"{_F}.prelu(x, torch.tensor([0.25]))", 0.25, 1),
    Kink("relu6", "at 0", _ZERO, f"{_F}.relu6(x)", 0, 1),
    Kink("relu6", "at 6", _at(6.0), f"{_F}.relu6(x)", 1, 0),
    Kink("hardtanh", "at -1", _at(-1.0), f"{_F}.hardtanh(x)", 0, 1),
    Kink("hardtanh", "at 1", _at(1.0), f"{_F}.hardtanh(x)", 1, 0),
    Kink("hardsigmoid", "at -3", _at(-3.0), f"{_F}.hardsigmoid(x)", 0, 1 / 6),
    Kink("hardsigmoid", "at 3", _at(3.0), f"{_F}.hardsigmoid(x)", 1 / 6, 0),
    Kink("hardswish", "at -3", _at(-3.0), f"{_F}.hardswish(x)", 0, -0.5),
    Kink("hardswish", "at 3", _at(3.0), f"{_F}.hardswish(x)", 1.5, 1),
    Kink("threshold", "at the threshold", _at(0.5), f"{_F}.threshold(x, 0.5, 0.0)", 0, 1),
    Kink("softshrink", "at lambda", _at(0.5), f"{_F}.softshrink(x, 0.5)", 0, 1),
    Kink("hardshrink", "at lambda", _at(0.5), f"{_F}.hardshrink(x, 0.5)", 0, 1),
    Kink("elu", "at 0, alpha=2", _ZERO, f"{_F}.elu(x, 2.0)", 2, 1),
    Kink("selu", "at 0", _ZERO, f"{_F}.selu(x)", 1.7580993408473766, 1.0507009873554805),
    Kink("clamp", "at the minimum", _at(1.0), "torch.clamp(x, min=1.0)", 0, 1),
    Kink("clamp", "at the maximum", _at(1.0), "torch.clamp(x, max=1.0)", 1, 0),
    Kink("clamp", "minimum and maximum alike", _at(1.0), "torch.clamp(x, 1.0, 1.0)", 0, 0),
    Kink("l1_loss", "no difference", _ZERO, f"{_F}.l1_loss(x, torch.tensor(0.0))", -1, 1),
    Kink("huber_loss", "at delta", _at(1.0), f"{_F}.huber_loss(x, torch.tensor(0.0))", 1, 1),
    Kink(
        "margin_ranking_loss",
        "no margin",
        _ZERO,
        f"{_F}.margin_ranking_loss(x, torch.tensor(0.0), torch.tensor(1.0))",
        -1,
        0,
    ),
    Kink(
        "hinge_embedding_loss",
        "at the margin",
        _at(1.0),
        f"{_F}.hinge_embedding_loss(x, torch.tensor(-1.0))",
        -1,
        0,
    ),
    Kink(
        "multi_margin_loss",
        "at the margin",
        _CLASSES,
        f"{_F}.multi_margin_loss(x, target)",
        -2 / 3,
        -1 / 3,
    ),
    Kink("sqrt", "at 0", _ZERO, "torch.sqrt(x)", math.nan, math.inf),
    Kink("rsqrt", "at 0", _ZERO, "torch.rsqrt(x)", math.nan, -math.inf),
    Kink("log", "at 0", _ZERO, "torch.log(x)", math.nan, math.inf),
    Kink("asin", "at 1", _at(1.0), "torch.asin(x)", math.inf, math.nan),
    Kink("acosh", "at 1", _at(1.0), "torch.acosh(x)", math.nan, math.inf),
    Kink("pow", "x ** 0 at 0", _ZERO, "torch.pow(x, 0.0)", 0, 0),
    Kink("pow", "x ** 0.5 at 0", _ZERO, "torch.pow(x, 0.5)", math.nan, math.inf),
    Kink("xlogy", "at 0, 0", _PLANE, "torch.xlogy(x, z)", math.inf, -math.inf),
    Kink("atan2", "at 0, 0", _PLANE, "torch.atan2(x, z)", math.nan, math.nan),
    Kink("hypot", "at 0, 0", _PLANE, "torch.hypot(x, z)", -1, 1),
    Kink("norm", "of zero", _ZERO, "torch.linalg.vector_norm(x[None])", -1, 1),
    Kink("dist", "no distance", _ZERO, "torch.dist(x, torch.tensor(0.0))", -1, 1),
    Kink(
        "cdist", "no distance", _ZERO, "torch.cdist(x[None, None], torch.zeros(1, 1)).sum()", -1, 1
    ),
    Kink(
        "std",
        "of equal values",
        ("x = torch.ones(2, requires_grad=True)",),
        "torch.std(x)",
        -(0.5**0.5),
        0.5**0.5,
    ),
    Kink("sign", "at 0", _ZERO, "torch.sign(x)", 0, 0),
    Kink("floor", "at 1", _at(1.0), "torch.floor(x)", 0, 0),
    Kink("round", "at 0.5", _at(0.5), "torch.round(x)", 0, 0),
    Kink("frac", "at 1", _at(1.0), "torch.frac(x)", 1, 1),
    Kink("fmod", "at a multiple", _at(2.0), "torch.fmod(x, 1.0)", 1, 1),
    Kink("copysign", "at 0", _ZERO, "torch.copysign(x, torch.tensor(1.0))", -1, 1),
    Kink("sinc", "at 0", _ZERO, "torch.sinc(x)", 0, 0),
    Kink("logit", "beyond eps", _at(0.0), "torch.logit(x, 0.25)", 0, 0),
    Kink("logit", "at eps", _at(0.25), "torch.logit(x, 0.25)", 0, 1 / (0.25 * 0.75)),
    Kink(
        "nan_to_num",
        "at NaN",
        ("x = torch.tensor(float('nan'), requires_grad=True)",),
        "torch.nan_to_num(x)",
        math.nan,
        math.nan,
    ),
)


def programs() -> list[Program]:
    """The program of every entry."""
    return [_program(entry) for entry in (*TIES, *KINKS)]


def _program(entry: Tie | Kink) -> Program:
    lines = [*entry.givens, f"y = {entry.call}", "y.backward()"]
    return Program(
        id=_identifier(entry),
        area=AREA,
        source="\n".join(lines) + "\n",
        sentence=f"{entry.operator}, {entry.situation}: which convention its gradient follows",
        operator=entry.operator,
        dtype="float32",
    )


def _identifier(entry: Tie | Kink) -> str:
    words = re.sub(r"-(?=\d)", "minus ", entry.situation.lower())
    return f"convention/{entry.operator}/{'-'.join(re.findall(r'[a-z0-9.]+', words))}"


_ENTRIES = {_identifier(entry): entry for entry in (*TIES, *KINKS)}


def convention_of(program: str, oracle: Trace, backend: Trace) -> dict[str, str | None] | None:
    """Return the tie or kink of the program of this ID, and the convention of each side there.

    None for a program of another area. The convention of a side that raises is None.
    """
    entry = _ENTRIES.get(program)
    if entry is None:
        return None
    return {
        "situation": entry.situation,
        "oracle": _convention(entry, oracle),
        "backend": _convention(entry, backend),
    }


def _convention(entry: Tie | Kink, trace: Trace) -> str | None:
    names: dict[str, list[float]] = {}
    for step in trace.steps:
        if step.error is not None:
            return None
        for name, seen in step.changed.items():
            gradient = seen.get("grad")
            if isinstance(gradient, dict) and isinstance(gradient.get("values"), list):
                names[name] = [float(value) for value in gradient["values"]]
    gradients = [value for name in ("x", "z") for value in names.get(name, ())]
    return entry.read(gradients) if gradients else "no gradient"
