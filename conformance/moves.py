"""The moves of a random program: each adds a line of source and knows what shape comes of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from conformance.program import Given
from conformance.samples import OPERATORS
from conformance.samples.drawing import broadcast, strides_of
from conformance.samples.operator import Operator, Shape
from conformance.scale import Scale

Draw = Callable[[st.SearchStrategy[Any]], Any]

SMALL = (1.0, 2.0, -1.0, 0.5, -2.0, 0.0, -0.0, -0.5)
SPECIAL = (math.nan, math.inf, -math.inf)
COTANGENTS = (1.0, -2.0, 0.5, 3.0, -0.25, 0.0)
DRAWS = 5
LAYOUTS = (None, None, "transposed", "stepped", "expanded")


@dataclass
class Live:
    """A tensor that the program has by now; tensors of one `storage` share values and scale."""

    name: str
    shape: Shape
    dtype: str
    storage: str
    leaf: bool
    requires_grad: bool
    overlapping: bool = False


# What becomes of the scale under a pointwise operator of one tensor that does not round.
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
# These refuse to reduce nothing.
WITHOUT_IDENTITY = ("max", "min", "amax", "amin")
# These do not jump: they may follow an operator that rounded.
SMOOTH = ("add", "sub", "rsub", "mul", "neg", "sum", "cumsum", "mean")
# These, or their derivatives, tell 0.0 from -0.0.
TELLING = (
    *("reciprocal", "div", "pow", "fmod", "remainder", "atan2", "xlogy"),
    *("sqrt", "rsqrt", "log", "log2", "log10"),
)

_ONE = [o for o in OPERATORS if o.pointwise and len(o.inputs) == 1 and not o.unlinked]
_TWO = [o for o in OPERATORS if o.pointwise and len(o.inputs) == 2 and not o.unlinked]
_ALONG = [o for o in OPERATORS if o.along]


def _by_simplicity(operators: Sequence[Operator], simple: Sequence[str]) -> list[Operator]:
    """Shrinking goes towards the front: first what a reader knows best."""
    order = {name: k for k, name in enumerate(simple)}
    return sorted(operators, key=lambda o: order.get(o.name, len(order)))


ONE = _by_simplicity(_ONE, ("neg", "relu", "abs", "square", "exp"))
TWO = _by_simplicity(_TWO, ("add", "mul", "sub", "maximum"))
ALONG = _by_simplicity(_ALONG, ("sum", "amax", "max", "cumsum"))


class Writer:
    """Draws one program, line by line."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.givens: list[Given] = []
        self.lines: list[str] = []
        self.live: list[Live] = []
        self.scales: dict[str, Scale] = {}
        self._leaves = iter(("x", "a", "b", "c", "d", "e", "f", "g"))
        self._results = iter(("y", "z", "p", "q", "r", "s", "t", "u"))

    def pick(self, options: Sequence[Any]) -> Any:
        """One of them; the first is the simplest."""
        return self.draw(st.sampled_from(options))

    def leaf(
        self,
        shape: Shape,
        dtype: str,
        *,
        requires_grad: bool | None = None,
        values: Sequence[float] = SMALL,
        special: bool = False,
    ) -> Live:
        """A new given tensor of that shape and type, of any layout."""
        name = next(self._leaves)
        strides = strides_of(shape, layout) if (layout := self.pick(LAYOUTS)) else None
        expanded = strides is not None and 0 in strides
        drawn = self.values([*values, *SPECIAL] if special else values, shape, expanded)
        if requires_grad is None:
            requires_grad = self.pick((True, True, True, False)) or not self.live
        self.givens.append(Given(name, dtype, shape, drawn, strides, requires_grad))
        live = Live(name, shape, dtype, name, True, requires_grad, expanded)
        self.live.append(live)
        self.scales[name] = Scale(finite=all(math.isfinite(v) for v in drawn))
        return live

    def values(self, pool: Sequence[float], shape: Shape, expanded: bool) -> tuple[float, ...]:
        """As many values as the shape asks for, from few draws, so that it can be shrunk alone."""
        count = math.prod(shape[1:] if expanded else shape)
        few = [self.pick(pool) for _ in range(min(count, DRAWS))]
        flat = tuple(few[k % DRAWS] for k in range(count))
        return flat * (shape[0] if expanded else 1)

    def scale(self, live: Live) -> Scale:
        """What is known of the tensor's values at this point of the program."""
        return self.scales[live.storage]

    def result(
        self,
        call: str,
        shape: Shape,
        sources: Sequence[Live],
        scale: Scale,
        *,
        view_of: Live | None = None,
        dtype: str | None = None,
        overlapping: bool = False,
    ) -> Live:
        """A line that binds a new name, and what it binds."""
        name = next(self._results)
        self.lines.append(f"{name} = {call}")
        linked = any(source.requires_grad for source in sources)
        storage = view_of.storage if view_of else name
        live = Live(
            name, shape, dtype or sources[0].dtype, storage, not linked, linked, overlapping
        )
        self.live.append(live)
        if not view_of:
            self.scales[name] = scale
        return live

    def fits(self, operator: Operator, scale: Scale, dtype: str) -> bool:
        """Whether the operator's result is one that torch promises, on values of that scale."""
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


def wider(a: Live, b: Live) -> str:
    """The type of a result of both: a 0-dim tensor does not widen one that has dimensions."""
    if bool(a.shape) != bool(b.shape):
        return a.dtype if a.shape else b.dtype
    return max(a.dtype, b.dtype)


def one_tensor(w: Writer, x: Live) -> bool:
    """A pointwise operator of one tensor."""
    scale = w.scale(x)
    fitting = [o for o in ONE if w.fits(o, scale, x.dtype)]
    if not fitting:
        return False
    operator = w.pick(fitting)
    after = EXACT[operator.name](scale) if operator.name in EXACT else scale.rounded()
    w.result(operator.call.format(x=x.name), x.shape, [x], after)
    return True


def partner(w: Writer, x: Live, dtype: str | None = None) -> Live:
    """A second operand: the tensor itself, one that is there, or a new one to broadcast."""
    there = [t for t in w.live if t is not x and _broadcast_or_none(x.shape, t.shape) is not None]
    if there and w.pick((False, True)):
        return w.pick(there)
    if w.pick((False, False, False, True)):
        return x
    shape = w.pick(_partners(x.shape))
    return w.leaf(shape, dtype or w.pick((x.dtype, x.dtype, "float32", "float64")))


def _partners(shape: Shape) -> list[Shape]:
    kinds = [shape, (), shape[1:], tuple(1 if k == 0 else n for k, n in enumerate(shape))]
    kinds += [(*shape[:-1], 1)] if shape else [(2,)]
    return list(dict.fromkeys(kinds))


def _broadcast_or_none(a: Shape, b: Shape) -> Shape | None:
    joint = broadcast([a, b])
    for shape in (a, b):
        tail = joint[len(joint) - len(shape) :]
        if any(n not in (1, m) for n, m in zip(shape, tail, strict=True)):
            return None
    return joint


def two_tensors(w: Writer, x: Live) -> bool:
    """A pointwise operator of two tensors."""
    other = partner(w, x)
    shape = _broadcast_or_none(x.shape, other.shape)
    dtype = wider(x, other)
    scales = w.scale(x), w.scale(other)
    joint = scales[0].plus(scales[1])
    fitting = [o for o in TWO if w.fits(o, joint, dtype) and o.name not in ("fmod", "remainder")]
    if shape is None or not fitting:
        return False
    operator = w.pick(fitting)
    after = EXACT_PAIRS[operator.name](*scales) if operator.name in EXACT_PAIRS else joint.rounded()
    w.result(operator.call.format(a=x.name, b=other.name), shape, [x, other], after, dtype=dtype)
    return True


def choice(w: Writer, x: Live) -> bool:
    """where, on a comparison of its own operands."""
    other = partner(w, x, x.dtype)
    shape = _broadcast_or_none(x.shape, other.shape)
    scale = w.scale(x).plus(w.scale(other))
    if shape is None or not scale.exact:
        return False
    sign = w.pick((">", "==", "<="))
    call = f"torch.where({x.name} {sign} {other.name}, {x.name}, {other.name})"
    w.result(call, shape, [x, other], scale, dtype=wider(x, other))
    return True


def along(w: Writer, x: Live) -> bool:
    """An operator along one dimension, or over the whole tensor."""
    scale = w.scale(x)
    fitting = [o for o in ALONG if w.fits(o, scale, x.dtype)]
    if not fitting or not x.shape:
        return False
    operator = w.pick(fitting)
    dim = w.draw(st.integers(0, len(x.shape) - 1))
    size = x.shape[dim]
    if not math.prod(x.shape) and operator.name in WITHOUT_IDENTITY:
        return False
    if operator.result == () and operator.name != "std" and w.pick((False, False, True)):
        size = math.prod(x.shape)
        call, shape = operator.call.format(x=x.name), x.shape[:0]
    else:
        kept = x.shape[:dim] + x.shape[dim + 1 :]
        call = (operator.along or "").format(x=x.name, dim=dim)
        shape = kept if operator.drops else x.shape
    exact = EXACT_ALONG.get(operator.name)
    w.result(call, shape, [x], exact(scale, size) if exact else scale.rounded())
    return True


def product(w: Writer, x: Live) -> bool:
    """A matrix product with a new matrix of fitting size."""
    scale = w.scale(x)
    if len(x.shape) != 2 or not scale.finite or not (scale.exact or x.dtype == "float64"):
        return False
    columns = w.pick((2, 1, 3))
    other = w.leaf((x.shape[1], columns), x.dtype)
    terms = replace(scale.times(w.scale(other)))
    after = EXACT_ALONG["sum"](terms, x.shape[1])
    w.result(f"{x.name} @ {other.name}", (x.shape[0], columns), [x, other], after)
    return True


def joined(w: Writer, x: Live) -> bool:
    """cat or stack of a tensor with one of the same shape, or with itself."""
    there = [t for t in w.live if t.shape == x.shape]
    other = w.pick(there) if w.pick((True, False)) else w.leaf(x.shape, x.dtype)
    scale = w.scale(x).plus(w.scale(other))
    dtype = max(x.dtype, other.dtype)
    if x.shape and w.pick((True, False)):
        dim = w.draw(st.integers(0, len(x.shape) - 1))
        shape = (*x.shape[:dim], 2 * x.shape[dim], *x.shape[dim + 1 :])
        call = f"torch.cat([{x.name}, {other.name}], {dim})"
    else:
        dim = w.draw(st.integers(0, len(x.shape)))
        shape = (*x.shape[:dim], 2, *x.shape[dim:])
        call = f"torch.stack([{x.name}, {other.name}], {dim})"
    w.result(call, shape, [x, other], scale, dtype=dtype)
    return True


def _views(w: Writer, x: Live) -> list[tuple[str, Shape, bool]]:
    """The views of `x` that can be drawn: source, shape, and whether elements overlap."""
    n, s = x.name, x.shape
    found: list[tuple[str, Shape, bool]] = [
        (f"{n}.unsqueeze(0)", (1, *s), False),
        (f"{n}.view({n}.shape)", s, False),
        (f"{n}[...]", s, False),
        (f"{n}.expand(2, {', '.join(['-1'] * len(s))})" if s else f"{n}.expand(2)", (2, *s), True),
    ]
    if s:
        found += [
            (f"{n}.squeeze()", tuple(k for k in s if k != 1), False),
            (f"{n}[::2]", ((s[0] + 1) // 2, *s[1:]), False),
            (f"{n}[1:]", (max(0, s[0] - 1), *s[1:]), False),
            (f"{n}.transpose(0, -1)", (s[-1], *s[1:-1], s[0]) if len(s) > 1 else s, False),
            (f"{n}.narrow(0, 0, {s[0]})", s, False),
        ]
        if s[0]:
            found += [(f"{n}[0]", s[1:], False), (f"{n}[-1]", s[1:], False)]
    if len(s) >= 2:
        diagonal = (*s[2:], min(s[0], s[1]))
        found += [
            (f"{n}.diagonal()", diagonal, False),
            (f"{n}.movedim(0, 1)", (s[1], s[0], *s[2:]), False),
        ]
        if s[1]:
            found.append((f"{n}[:, 0]", (s[0], *s[2:]), False))
    return found


def view(w: Writer, x: Live) -> bool:
    """A view, which shares the tensor's storage."""
    call, shape, overlaps = w.pick(_views(w, x))
    overlapping = x.overlapping or overlaps
    w.result(call, shape, [x], w.scale(x), view_of=x, overlapping=overlapping)
    return True


def copy(w: Writer, x: Live) -> bool:
    """Elements in another order or several times over, in memory of their own."""
    n, s = x.name, x.shape
    found: list[tuple[str, Shape]] = [
        (f"{n}.clone()", s),
        (f"{n} * 1", s),
        (f"{n}.repeat({'2, ' * len(s)}2)", (2, *(2 * k for k in s))),
    ]
    if s:
        found += [(f"torch.flip({n}, (0,))", s), (f"torch.roll({n}, 1, 0)", s)]
        if s[0] > 1:
            found += [
                (f"{n}[[1, 0, 1]]", (3, *s[1:])),
                (f"torch.index_select({n}, 0, torch.tensor([1, 1]))", (2, *s[1:])),
            ]
        if len(s) == 2:
            found += [(f"torch.tril({n})", s), (f"{n}.t().contiguous()", (s[1], s[0]))]
    call, shape = w.pick(found)
    w.result(call, shape, [x], w.scale(x))
    return True


def write(w: Writer, x: Live) -> bool:
    """A write in place, through the tensor itself or through a detached alias of it."""
    scale = w.scale(x)
    if not scale.exact:
        return False
    target = w.pick((x.name, x.name, f"{x.name}.detach()"))
    options: list[tuple[str, Scale, bool]] = [
        (f"{target}.mul_(2.0)", scale.times(Scale(2.0, 0)), False),
        (f"{target}.add_(1)", scale.plus(Scale(1.0, 0)), False),
        (f"{target}.zero_()", scale, False),
        (f"{target}.relu_()", scale, False),
        (f"{target}.neg_()", scale, False),
        (f"{target}.clamp_(-1.0, 1.0)", scale, False),
    ]
    if x.shape and x.shape[0] and target == x.name:
        options += [
            (f"{target}[0] = 2.0", scale.plus(Scale()), False),
            (f"{target}[-1:] *= -1", scale, False),
        ]
    there = [
        t
        for t in w.live
        if t is not x and t.storage != x.storage and _broadcast_or_none(x.shape, t.shape) == x.shape
    ]
    for other in there[:2]:
        joint = scale.plus(w.scale(other)), scale.times(w.scale(other))
        options += [
            (f"{target}.add_({other.name})", joint[0], other.requires_grad),
            (f"{target}.mul_({other.name})", joint[1], other.requires_grad),
            (f"{target}.copy_({other.name})", joint[0], other.requires_grad),
        ]
    line, after, links = w.pick(options)
    w.lines.append(line)
    w.scales[x.storage] = after
    if links and target == x.name:
        for alias in w.live:
            if alias.storage == x.storage:
                alias.requires_grad, alias.leaf = True, False
    return True


MOVES: dict[str, Callable[[Writer, Live], bool]] = {
    "one tensor": one_tensor,
    "two tensors": two_tensors,
    "along": along,
    "view": view,
    "write": write,
    "choice": choice,
    "copy": copy,
    "product": product,
    "joined": joined,
}
