"""The moves of a random program: each adds a line of source and infers the result's shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from conformance.fuzz.program_builder import (
    EXACT,
    EXACT_ALONG,
    EXACT_PAIRS,
    LiveTensor,
    ProgramBuilder,
)
from conformance.fuzz.scale import Scale
from conformance.samples import OPERATORS
from conformance.samples.drawing import broadcast
from conformance.samples.operator import Operator, Shape

# Reductions that raise for a dimension of size zero.
WITHOUT_IDENTITY = ("max", "min", "amax", "amin")
# Half of the operators that are drawn are of these.
COMMON = (
    *("exp", "log", "sqrt", "abs", "neg", "relu", "sigmoid", "tanh", "sin", "square", "clamp"),
    *("add", "sub", "mul", "div", "pow", "maximum", "minimum"),
    *("sum", "mean", "max", "min", "amax", "cumsum", "softmax", "log_softmax", "norm"),
)
_ONE = [o for o in OPERATORS if o.pointwise and len(o.inputs) == 1 and not o.unlinked]
_TWO = [o for o in OPERATORS if o.pointwise and len(o.inputs) == 2 and not o.unlinked]
_ALONG = [o for o in OPERATORS if o.along]


def _by_simplicity(operators: Sequence[Operator], simple: Sequence[str]) -> list[Operator]:
    """Order operators by familiarity: shrinking goes towards the front."""
    order = {name: k for k, name in enumerate(simple)}
    return sorted(operators, key=lambda o: order.get(o.name, len(order)))


ONE = _by_simplicity(_ONE, ("neg", "relu", "abs", "square", "exp"))
TWO = _by_simplicity(_TWO, ("add", "mul", "sub", "maximum"))
ALONG = _by_simplicity(_ALONG, ("sum", "amax", "max", "cumsum"))


def _operator(builder: ProgramBuilder, fitting: Sequence[Operator]) -> Operator:
    """One of the operators, a common one more often than others."""
    common = [o for o in fitting if o.name in COMMON] if builder.pick((True, False)) else []
    return builder.pick(common or fitting)


def wider(a: LiveTensor, b: LiveTensor) -> str:
    """The type of a result of both: a 0-dim tensor does not widen one that has dimensions."""
    if bool(a.shape) != bool(b.shape):
        return a.dtype if a.shape else b.dtype
    return max(a.dtype, b.dtype)


def one_tensor(builder: ProgramBuilder, x: LiveTensor) -> bool:
    """A pointwise operator of one tensor."""
    scale = builder.scale(x)
    fitting = [o for o in ONE if builder.fits(o, scale, x.dtype)]
    if not fitting:
        return False
    operator = _operator(builder, fitting)
    after = EXACT[operator.name](scale) if operator.name in EXACT else scale.rounded()
    builder.result(operator.call.format(x=x.name), x.shape, [x], after)
    return True


def partner(builder: ProgramBuilder, x: LiveTensor, dtype: str | None = None) -> LiveTensor:
    """A second operand: the tensor itself, a live one, or a new one to broadcast."""
    there = [
        t for t in builder.live if t is not x and _broadcast_or_none(x.shape, t.shape) is not None
    ]
    if there and builder.pick((False, True)):
        return builder.pick(there)
    if builder.pick((False, False, False, True)):
        return x
    shape = builder.pick(_partners(x.shape))
    return builder.leaf(shape, dtype or builder.pick((x.dtype, x.dtype, "float32", "float64")))


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


def two_tensors(builder: ProgramBuilder, x: LiveTensor) -> bool:
    """A pointwise operator of two tensors."""
    other = partner(builder, x)
    shape = _broadcast_or_none(x.shape, other.shape)
    dtype = wider(x, other)
    scales = builder.scale(x), builder.scale(other)
    joint = scales[0].plus(scales[1])
    fitting = [
        o for o in TWO if builder.fits(o, joint, dtype) and o.name not in ("fmod", "remainder")
    ]
    if shape is None or not fitting:
        return False
    operator = _operator(builder, fitting)
    after = EXACT_PAIRS[operator.name](*scales) if operator.name in EXACT_PAIRS else joint.rounded()
    builder.result(
        operator.call.format(a=x.name, b=other.name), shape, [x, other], after, dtype=dtype
    )
    return True


def choice(builder: ProgramBuilder, x: LiveTensor) -> bool:
    """where, on a comparison of its own operands."""
    other = partner(builder, x, x.dtype)
    shape = _broadcast_or_none(x.shape, other.shape)
    scale = builder.scale(x).plus(builder.scale(other))
    if shape is None or not scale.exact:
        return False
    sign = builder.pick((">", "==", "<="))
    call = f"torch.where({x.name} {sign} {other.name}, {x.name}, {other.name})"
    builder.result(call, shape, [x, other], scale, dtype=wider(x, other))
    return True


def along(builder: ProgramBuilder, x: LiveTensor) -> bool:
    """An operator along one dimension, or over the whole tensor."""
    scale = builder.scale(x)
    fitting = [o for o in ALONG if builder.fits(o, scale, x.dtype)]
    if not fitting or not x.shape:
        return False
    operator = _operator(builder, fitting)
    dim = builder.choices.integer(0, len(x.shape) - 1)
    size = x.shape[dim]
    if not math.prod(x.shape) and operator.name in WITHOUT_IDENTITY:
        return False
    if operator.result == () and operator.name != "std" and builder.pick((False, False, True)):
        size = math.prod(x.shape)
        call, shape = operator.call.format(x=x.name), x.shape[:0]
    else:
        kept = x.shape[:dim] + x.shape[dim + 1 :]
        call = (operator.along or "").format(x=x.name, dim=dim)
        shape = kept if operator.drops else x.shape
    exact = EXACT_ALONG.get(operator.name)
    builder.result(call, shape, [x], exact(scale, size) if exact else scale.rounded())
    return True


def product(builder: ProgramBuilder, x: LiveTensor) -> bool:
    """A matrix product with a new matrix of fitting size."""
    scale = builder.scale(x)
    if len(x.shape) != 2 or not scale.finite or not (scale.exact or x.dtype == "float64"):
        return False
    columns = builder.pick((2, 1, 3))
    other = builder.leaf((x.shape[1], columns), x.dtype)
    terms = replace(scale.times(builder.scale(other)))
    after = EXACT_ALONG["sum"](terms, x.shape[1])
    builder.result(f"{x.name} @ {other.name}", (x.shape[0], columns), [x, other], after)
    return True


def joined(builder: ProgramBuilder, x: LiveTensor) -> bool:
    """cat or stack of a tensor with one of the same shape, or with itself."""
    there = [t for t in builder.live if t.shape == x.shape]
    other = builder.pick(there) if builder.pick((True, False)) else builder.leaf(x.shape, x.dtype)
    scale = builder.scale(x).plus(builder.scale(other))
    dtype = max(x.dtype, other.dtype)
    if x.shape and builder.pick((True, False)):
        dim = builder.choices.integer(0, len(x.shape) - 1)
        shape = (*x.shape[:dim], 2 * x.shape[dim], *x.shape[dim + 1 :])
        call = f"torch.cat([{x.name}, {other.name}], {dim})"
    else:
        dim = builder.choices.integer(0, len(x.shape))
        shape = (*x.shape[:dim], 2, *x.shape[dim:])
        call = f"torch.stack([{x.name}, {other.name}], {dim})"
    builder.result(call, shape, [x, other], scale, dtype=dtype)
    return True


def _views(builder: ProgramBuilder, x: LiveTensor) -> list[tuple[str, Shape, bool]]:
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


def view(builder: ProgramBuilder, x: LiveTensor) -> bool:
    """A view, which shares the tensor's storage."""
    call, shape, overlaps = builder.pick(_views(builder, x))
    overlapping = x.overlapping or overlaps
    builder.result(call, shape, [x], builder.scale(x), view_of=x, overlapping=overlapping)
    return True


def copy(builder: ProgramBuilder, x: LiveTensor) -> bool:
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
                (f"torch.gather({n}, 0, torch.ones_like({n}, dtype=torch.int64))", s),
            ]
        if len(s) == 2:
            found += [(f"torch.tril({n})", s), (f"{n}.t().contiguous()", (s[1], s[0]))]
    call, shape = builder.pick(found)
    builder.result(call, shape, [x], builder.scale(x))
    return True


def write(builder: ProgramBuilder, x: LiveTensor) -> bool:
    """A write in place, through the tensor itself or through a detached alias of it."""
    scale = builder.scale(x)
    if not scale.exact:
        return False
    target = builder.pick((x.name, x.name, f"{x.name}.detach()"))
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
        for t in builder.live
        if t is not x and t.storage != x.storage and _broadcast_or_none(x.shape, t.shape) == x.shape
    ]
    for other in there[:2]:
        joint = scale.plus(builder.scale(other)), scale.times(builder.scale(other))
        options += [
            (f"{target}.add_({other.name})", joint[0], other.requires_grad),
            (f"{target}.mul_({other.name})", joint[1], other.requires_grad),
            (f"{target}.copy_({other.name})", joint[0], other.requires_grad),
        ]
    line, after, links = builder.pick(options)
    builder.lines.append(line)
    builder.scales[x.storage] = after
    if links and target == x.name:
        for alias in builder.live:
            if alias.storage == x.storage:
                alias.requires_grad, alias.leaf = True, False
    return True


MOVES: dict[str, Callable[[ProgramBuilder, LiveTensor], bool]] = {
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
