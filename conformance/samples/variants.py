"""From a table entry to programs: every way in which a sample probes an operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from string import Formatter
from typing import Any

from conformance.program import Given, Program

from .drawing import (
    broadcast,
    cotangent,
    given,
    results_of,
    shape_and_values,
    tensor_input,
)
from .operator import Case, Operator, Shape

WIDTHS = ("float32", "float64")
COTANGENTS = ("v", "w", "u")
SECOND_COTANGENTS = ("s", "t", "k", "l")


@dataclass(frozen=True)
class Sample:
    """One sample before it is written: a call, what it is given, and what happens around it.

    `before` stands in front of the call; with `inplace` the call has no result of its own and
    `outputs` names the tensor it wrote to. `after` stands between the call and the backward.
    `ending` is how the gradient is asked for; None where it is not.
    """

    label: str
    probe: str
    call: str
    result: Shape | Mapping[str, Shape] | None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[str, ...] = ("y",)
    widths: tuple[str, ...] = ("float32",)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    dtype: str | None = None
    requires: frozenset[str] | None = None
    layouts: Mapping[str, str] = field(default_factory=dict)
    cotangent_layout: str | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    inplace: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    ending: str | None = "backward"


def fields_of(template: str) -> list[str]:
    """The names in braces in a template, each once, in order."""
    found = (name for _, name, _, _ in Formatter().parse(template) if name)
    return list(dict.fromkeys(found))


def programs_of(operator: Operator) -> Iterator[Program]:
    """Every program of one table entry; identifiers are unique."""
    for sample in samples_of(operator):
        for width in (sample.dtype,) if sample.dtype else sample.widths:
            yield write(operator, sample, width)


def write(operator: Operator, sample: Sample, width: str) -> Program:
    """The program of a sample in float32, float64 or the type the sample fixes."""
    givens = inputs_of(operator, sample, width)
    linked = any(g.requires_grad for g in givens)
    results = results_of(sample.result, sample.outputs)
    lines = list(sample.before)
    call = sample.call.format_map({g.name: sample.names.get(g.name, g.name) for g in givens})
    if sample.inplace or "\n" in call:
        lines += call.split("\n")
    else:
        lines.append(f"{', '.join(sample.outputs)} = {call}")
    lines += sample.after
    if sample.ending and results and linked and not operator.unlinked:
        seeds = {
            name: cotangent(
                seed,
                shape,
                width,
                start=3 * k,
                requires_grad=sample.ending == "double",
                layout=sample.cotangent_layout,
            )
            for k, (seed, (name, shape)) in enumerate(
                zip(COTANGENTS, results.items(), strict=False)
            )
        }
        givens += seeds.values()
        lines += backward(sample.ending, {n: s.name for n, s in seeds.items()}, givens, width)
    return Program(
        id=f"op/{operator.name}/{sample.label}/{width}",
        area="operators",
        source="\n".join(lines) + "\n",
        sentence=f"{operator.name}: {sample.probe}",
        operator=operator.name,
        givens=tuple(givens),
        dtype=width,
    )


def inputs_of(operator: Operator, sample: Sample, width: str) -> list[Given]:
    """The given tensors of a sample, in the order in which the operator takes them."""
    used = fields_of(sample.call)
    known = [entry.name for entry in operator.inputs if entry.name in used]
    names = known + [name for name in used if name not in known]
    givens = []
    for name in names:
        entry = tensor_input(name, operator.inputs)
        dtype = sample.dtypes.get(name) or entry.dtype or width
        differentiable = entry.differentiable and dtype.startswith("float")
        wanted = sample.requires is None or name in sample.requires
        givens.append(
            given(
                entry,
                sample.inputs.get(name),
                dtype,
                f"{operator.name}/{sample.label}",
                requires_grad=differentiable and wanted,
                layout=sample.layouts.get(name),
            )
        )
    return givens


def backward(ending: str, seeds: Mapping[str, str], givens: list[Given], width: str) -> list[str]:
    """The lines that ask for gradients; for a second derivative, adds its cotangents."""
    roots, vectors = tuple_of(seeds), tuple_of(seeds.values())
    if ending == "double":
        leaves = [g for g in givens if g.requires_grad and g.name not in seeds.values()]
        second = [
            cotangent(name, leaf.shape, leaf.dtype, start=2 + 2 * k)
            for k, (name, leaf) in enumerate(zip(SECOND_COTANGENTS, leaves, strict=False))
        ]
        givens += second
        grad = (
            f"torch.autograd.grad({roots}, {tuple_of(g.name for g in leaves)}, {vectors}, "
            "create_graph=True)"
        )
        along = second[0].name if len(second) == 1 else tuple_of(s.name for s in second)
        if len(second) == 1:
            return [f"{grad}[0].backward({along})"]
        return [f"torch.autograd.backward({grad}, {along})"]
    if len(seeds) == 1:
        plain = f"{roots}.backward({vectors}"
    else:
        plain = f"torch.autograd.backward({roots}, {vectors}"
    if ending == "twice":
        return [f"{plain}, retain_graph=True)", f"{plain})"]
    return [f"{plain})"]


def tuple_of(names: Iterable[str]) -> str:
    """`x` for one name, `(x, y)` for several."""
    listed = list(names)
    return listed[0] if len(listed) == 1 else f"({', '.join(listed)})"


def samples_of(operator: Operator) -> Iterator[Sample]:
    """Every sample of an entry, from the plain call to the cases of its own."""
    plain = Sample(
        "plain",
        "the plain call",
        operator.call,
        broadcast([e.shape for e in operator.inputs]) if operator.pointwise else operator.result,
        outputs=operator.outputs,
        widths=WIDTHS,
    )
    yield plain
    usual = replace(plain, widths=("float32",))
    yield from spellings(operator, usual)
    if operator.pointwise:
        yield from shapes(operator, usual)
        yield from points(operator, plain)
        yield from types(operator, usual)
    yield from layouts(operator, usual)
    yield from links(operator, usual)
    if not operator.unlinked:
        yield from overwrites(operator, usual)
        yield from repeats(operator, plain)
    yield from inplace(operator, plain)
    if operator.view:
        yield from writes_through_views(operator, usual)
    for extra in operator.cases:
        yield from own_case(operator, extra)


def spellings(operator: Operator, plain: Sample) -> Iterator[Sample]:
    """The operator as a method and as a symbol."""
    if operator.method and operator.method != operator.call:
        yield replace(plain, label="method", probe="called as a method", call=operator.method)
    if operator.symbol:
        yield replace(plain, label="symbol", probe="written as a symbol", call=operator.symbol)


def shapes(operator: Operator, plain: Sample) -> Iterator[Sample]:
    """Shapes of pointwise operands: 0-dim, empty, and broadcast against each other."""
    names = [entry.name for entry in operator.inputs if entry.name in fields_of(plain.call)]
    same: dict[str, tuple[str, Shape]] = {
        "zero-dim": ("0-dim operands", ()),
        "empty": ("empty operands", (0,)),
    }
    for label, (probe, shape) in same.items():
        inputs = dict.fromkeys(names, shape)
        yield replace(plain, label=label, probe=probe, inputs=inputs, result=shape)
    if len(names) < 2:
        return
    pairs: dict[str, tuple[str, Shape, Shape]] = {
        "broadcast-last": ("the last operand broadcast", (2, 3), (3,)),
        "broadcast-first": ("the first operand broadcast", (3,), (2, 3)),
        "broadcast-both": ("both operands broadcast", (2, 1), (1, 3)),
        "broadcast-zero-dim": ("a 0-dim operand broadcast", (2, 3), ()),
        "broadcast-empty": ("an operand broadcast to an empty one", (0, 3), (3,)),
    }
    for label, (probe, first, last) in pairs.items():
        inputs = dict.fromkeys(names[:-1], first) | {names[-1]: last}
        result = broadcast([first, last])
        yield replace(plain, label=label, probe=probe, inputs=inputs, result=result)
    inputs = dict.fromkeys(names[:-1], (2, 3)) | {names[-1]: (2,)}
    yield replace(
        plain,
        label="shapes-refused",
        probe="shapes that do not broadcast, which is refused",
        inputs=inputs,
        result=None,
    )
    if len(names) == 2:
        first, second = names
        yield replace(
            plain,
            label="same-operand",
            probe="one tensor as both operands",
            call=plain.call.replace(f"{{{second}}}", f"{{{first}}}"),
        )


def points(operator: Operator, plain: Sample) -> Iterator[Sample]:
    """Values that matter: the entry's own, and NaN, infinities and zeros in every combination."""
    names = [entry.name for entry in operator.inputs]
    for label, columns in operator.points.items():
        inputs = {name: list(column) for name, column in zip(names, columns, strict=True)}
        yield replace(
            plain,
            label=label,
            probe=f"values at {label.replace('-', ' ')}",
            inputs=inputs,
            result=(len(columns[0]),),
        )
    if operator.specials:
        rows = list(product(operator.specials, repeat=len(names)))
        inputs = {
            name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
        }
        yield replace(
            plain,
            label="specials",
            probe="NaN, infinities and signed zeros"
            if len(names) == 1
            else "pairs of special values",
            inputs=inputs,
            result=(len(rows),),
        )


def types(operator: Operator, plain: Sample) -> Iterator[Sample]:
    """Whole numbers, and operands of different types."""
    names = [entry.name for entry in operator.inputs]
    whole = ([3, -2, 1, 0], [2, 3, 1, 4], [1, 1, 2, -1])
    if operator.integers:
        yield replace(
            plain,
            label="integers",
            probe="whole numbers, which never require grad",
            inputs=dict(zip(names, whole, strict=False)),
            dtypes=dict.fromkeys(names, "int64"),
            dtype="int64",
        )
    if len(names) != 2:
        return
    first, second = names
    yield replace(
        plain,
        label="wider-second",
        probe="a float32 and a float64 operand",
        dtypes={first: "float32"},
        dtype="float64",
    )
    yield replace(
        plain,
        label="wider-zero-dim",
        probe="a float32 operand and a 0-dim float64 one",
        inputs={second: 1.5},
        dtypes={second: "float64"},
        dtype="float32",
    )
    yield replace(
        plain,
        label="whole-second",
        probe="a float32 operand and one of whole numbers",
        inputs={second: [1, 2, 3]},
        dtypes={second: "int64"},
        dtype="float32",
    )


def layouts(operator: Operator, plain: Sample) -> Iterator[Sample]:
    """Operands and cotangents that are not contiguous."""
    used = [entry for entry in operator.inputs if entry.name in fields_of(plain.call)]
    if operator.contiguous_only:
        return
    first = used[0].name
    differentiable = [entry.name for entry in used if entry.differentiable] or [first]
    if all(len(entry.shape) >= 2 for entry in used if entry.differentiable):
        yield replace(
            plain,
            label="transposed",
            probe="column-major operands",
            layouts=dict.fromkeys(differentiable, "transposed"),
        )
    if len(differentiable) > 1 and len(used[0].shape) >= 2 and used[0].differentiable:
        yield replace(
            plain,
            label="transposed-first",
            probe="a column-major first operand",
            layouts={first: "transposed"},
        )
    start = differentiable[0]
    yield replace(plain, label="stepped", probe="an operand with gaps", layouts={start: "stepped"})
    shape = next(entry.shape for entry in used if entry.name == start)
    if len(shape) >= 2 and shape[0] > 1:
        yield replace(
            plain, label="expanded", probe="an expanded operand", layouts={start: "expanded"}
        )
    if operator.unlinked:
        return
    results = results_of(plain.result, plain.outputs)
    if any(len(shape) >= 2 and 0 not in shape for shape in results.values()):
        yield replace(
            plain,
            label="cotangent-transposed",
            probe="a column-major cotangent",
            cotangent_layout="transposed",
        )


def links(operator: Operator, plain: Sample) -> Iterator[Sample]:
    """Each subset of the inputs requiring grad; without any there is nothing to differentiate."""
    names = [
        entry.name
        for entry in operator.inputs
        if entry.differentiable and entry.name in fields_of(plain.call)
    ]
    for size in range(len(names)):
        for subset in combinations(names, size):
            label = "-".join(subset) or "none"
            yield replace(
                plain,
                label=f"requires-{label}",
                probe=f"of its inputs {' and '.join(subset) or 'none'} requires grad",
                requires=frozenset(subset),
            )


def overwrites(operator: Operator, plain: Sample) -> Iterator[Sample]:
    """The result or an input overwritten through a detached alias before backward."""
    if operator.inplace != operator.call:
        targets = [plain.outputs[0]]
        targets += [name for name in plain.outputs if name == "indices"]
        for target in targets:
            label = "result" if target == plain.outputs[0] else target
            yield replace(
                plain,
                label=f"{label}-overwritten",
                probe=f"the {label} overwritten through detach() before backward",
                after=(f"{target}.detach().zero_()",),
            )
    for name in fields_of(plain.call):
        yield replace(
            plain,
            label=f"{name}-overwritten",
            probe=f"{name} overwritten through detach() before backward",
            after=(f"{name}.detach().zero_()",),
        )


def repeats(operator: Operator, plain: Sample) -> Iterator[Sample]:
    """The same graph differentiated twice over, and the derivative of the derivative."""
    yield replace(
        plain,
        label="backward-twice",
        probe="two backwards through a retained graph accumulate",
        ending="twice",
        widths=("float32",),
    )
    if operator.twice_differentiable:
        yield replace(
            plain,
            label="second-derivative",
            probe="the derivative of its derivative",
            ending="double",
            widths=("float64",),
        )


def inplace(operator: Operator, plain: Sample) -> Iterator[Sample]:
    """The in-place spelling, on a tensor that is no leaf, on a view of one, and where refused."""
    if not operator.inplace:
        return
    first = operator.inputs[0]
    shape = broadcast([e.shape for e in operator.inputs]) if operator.pointwise else first.shape
    written = replace(
        plain,
        label="in-place",
        probe="in place, on a tensor that is no leaf",
        call=operator.inplace,
        result=shape,
        outputs=("h",),
        before=(f"h = {first.name} * 1",),
        inplace=True,
        names={first.name: "h"},
    )
    yield written
    usual = replace(written, widths=("float32",))
    yield replace(
        usual,
        label="in-place-overwritten",
        probe="its in-place result overwritten through detach() before backward",
        after=("h.detach().zero_()",),
    )
    others = [e.name for e in operator.inputs[1:] if e.differentiable]
    for name in others:
        if name in fields_of(operator.inplace):
            yield replace(
                usual,
                label=f"in-place-{name}-overwritten",
                probe=f"in place, then {name} overwritten through detach() before backward",
                after=(f"{name}.detach().zero_()",),
            )
    if operator.pointwise:
        yield replace(
            usual,
            label="in-place-on-a-view",
            probe="in place, on a row of a tensor that is no leaf",
            names={first.name: "h[0]"},
            inputs={name: (3,) for name in others},
        )
        if len(others) == 1 and operator.integers:
            yield replace(
                usual,
                label="in-place-wider-second",
                probe="in place, on float32 by float64, which keeps its type",
                dtypes={others[0]: "float64"},
            )
        yield replace(
            usual,
            label="in-place-transposed",
            probe="in place, on a column-major tensor",
            layouts={first.name: "transposed"},
        )
    unwritten = replace(usual, before=(), names={}, outputs=(first.name,))
    if others:
        yield replace(
            unwritten,
            label="in-place-into-a-constant",
            probe="in place, on a leaf that does not require grad",
            requires=frozenset(others),
        )
    if operator.leaf_refusal:
        yield replace(
            unwritten,
            label="in-place-unrecorded",
            probe="in place, nothing requiring grad",
            requires=frozenset(),
        )
        yield replace(
            unwritten,
            label="in-place-on-a-leaf",
            probe="in place on a leaf that requires grad, which is refused",
            result=None,
        )
        yield replace(
            unwritten,
            label="in-place-on-a-view-of-a-leaf",
            probe="in place on a view of a leaf that requires grad, which is refused",
            names={first.name: f"{first.name}[0]"},
            inputs={name: (3,) for name in others} if operator.pointwise else {},
            result=None,
        )


def writes_through_views(operator: Operator, plain: Sample) -> Iterator[Sample]:
    """A view written in place, seen by its base, and the other way round."""
    if operator.unlinked:
        return
    based = replace(plain, before=("h = x * 1",), names={"x": "h"})
    yield replace(
        based,
        label="base-written",
        probe="the base written in place, seen by the view",
        after=("h.mul_(-2.0)",),
    )
    refusal = "-refused" if operator.overlapping else ""
    yield replace(
        based,
        label=f"view-written{refusal}",
        probe="the view written in place and differentiated"
        + (", which is refused as its elements overlap" if refusal else ""),
        after=("y.mul_(-2.0)",),
        result=None if refusal else plain.result,
    )
    if not operator.overlapping:
        yield replace(
            based,
            label="base-of-written-view",
            probe="the view written in place, its base differentiated",
            after=("y.mul_(-2.0)",),
            result={"h": operator.inputs[0].shape},
        )


def own_case(operator: Operator, extra: Case) -> Iterator[Sample]:
    """A case of the entry, in the type it fixes or the one that shows most."""
    probe = extra.label.replace("-", " ")
    valued = any(shape_and_values(spec)[1] is not None for spec in extra.inputs.values())
    yield Sample(
        label=extra.label,
        probe=f"{probe}, which is refused" if extra.raises else probe,
        call=extra.call,
        result=extra.result,
        inputs=extra.inputs,
        outputs=extra.outputs or ("y",),
        widths=("float64",) if valued and not extra.raises else ("float32",),
        dtypes=extra.dtypes,
        dtype=extra.dtype,
    )
