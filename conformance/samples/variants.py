"""From a table entry to programs: every way in which a sample probes an operator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product

from conformance.program.program import Program
from conformance.samples.complexes import complexes
from conformance.samples.drawing import (
    broadcast,
    results_of,
    shape_and_values,
    strides_of,
    tensor_input,
)
from conformance.samples.operator import Case, Operator, Shape
from conformance.samples.sample import WIDTHS, Sample, fields_of, write
from conformance.samples.writes import inplace, writes_through_views


def programs_of(operator: Operator) -> Iterator[Program]:
    """Every program of one table entry; identifiers are unique."""
    for sample in samples_of(operator):
        for width in (sample.dtype,) if sample.dtype else sample.widths:
            yield write(operator, sample, width)


def plain_of(operator: Operator) -> Sample:
    """The plain call."""
    return Sample(
        "plain",
        "the plain call",
        operator.call,
        broadcast([e.shape for e in operator.inputs]) if operator.pointwise else operator.result,
        outputs=operator.outputs,
    )


def samples_of(operator: Operator) -> Iterator[Sample]:
    """Every sample of an entry, from the plain call to the cases of its own."""
    plain = replace(plain_of(operator), widths=WIDTHS)
    yield replace(plain, widths=(*WIDTHS, *operator.halves))
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
    yield from complexes(operator, plain)
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
        yield replace(
            plain, label=label, probe=probe, inputs=dict.fromkeys(names, shape), result=shape
        )
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
        # A broadcast operand's gradient is a sum, which half precision rounds once.
        widths = (*plain.widths, *operator.halves) if label == "broadcast-last" else plain.widths
        yield replace(plain, label=label, probe=probe, inputs=inputs, result=result, widths=widths)
    inputs = dict.fromkeys(names[:-1], (2, 3)) | {names[-1]: (2,)}
    yield replace(
        plain,
        label="shapes-refused",
        probe="shapes that do not broadcast, which is refused",
        inputs=inputs,
        result=None,
    )
    if len(names) == 2:
        yield replace(
            plain,
            label="same-operand",
            probe="one tensor as both operands",
            call=plain.call.replace(f"{{{names[1]}}}", f"{{{names[0]}}}"),
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
            widths=(*plain.widths, *operator.halves[:1]),
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
        label="halves",
        probe="a float16 and a bfloat16 operand",
        dtypes={first: "float16", second: "bfloat16"},
        dtype="float32",
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
    shapes_of = {entry.name: entry.shape for entry in used}
    if all(strides_of(shapes_of[name], "transposed") for name in differentiable):
        yield replace(
            plain,
            label="transposed",
            probe="column-major operands",
            layouts=dict.fromkeys(differentiable, "transposed"),
        )
    if (
        len(differentiable) > 1
        and first in differentiable
        and strides_of(shapes_of[first], "transposed")
    ):
        yield replace(
            plain,
            label="transposed-first",
            probe="a column-major first operand",
            layouts={first: "transposed"},
        )
    start = differentiable[0]
    yield replace(plain, label="stepped", probe="an operand with gaps", layouts={start: "stepped"})
    if strides_of(shapes_of[start], "expanded"):
        yield replace(
            plain, label="expanded", probe="an expanded operand", layouts={start: "expanded"}
        )
    images = [name for name in differentiable if strides_of(shapes_of[name], "channels-last")]
    for name in images:
        label = "channels-last" if name == start else f"{name}-channels-last"
        yield replace(
            plain,
            label=label,
            probe=f"{name} with its channels innermost in memory",
            layouts={name: "channels-last"},
        )
    if operator.unlinked:
        return
    results = results_of(plain.result, plain.outputs)
    if images and any(strides_of(shape, "channels-last") for shape in results.values()):
        yield replace(
            plain,
            label="all-channels-last",
            probe="operands and cotangent with their channels innermost in memory",
            layouts=dict.fromkeys(images, "channels-last"),
            cotangent_layout="channels-last",
        )
    if any(strides_of(shape, "transposed") for shape in results.values()):
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


def _images(operator: Operator, sample: Sample) -> Iterator[Sample]:
    """A case with four- or five-dimensional tensors, with their channels innermost in memory.

    One of less dimensions than in the plain call lacks the batch, and has no such format.
    """
    images = []
    for name in fields_of(sample.call):
        plain = shape = tensor_input(name, operator.inputs).shape
        if name in sample.inputs:
            shape, _ = shape_and_values(sample.inputs[name])
        if strides_of(shape, "channels-last") and len(shape) >= len(plain):
            images.append(name)
    if images:
        yield replace(
            sample,
            label=f"{sample.label}-channels-last",
            probe=f"{sample.probe}, with the channels innermost in memory",
            layouts=dict.fromkeys(images, "channels-last"),
            widths=sample.widths[:1],
        )


def own_case(operator: Operator, extra: Case) -> Iterator[Sample]:
    """A case of the entry, in the type it fixes or in the one that shows most and in bfloat16."""
    probe = extra.label.replace("-", " ")
    valued = any(shape_and_values(spec)[1] is not None for spec in extra.inputs.values())
    width = "float64" if valued and not extra.raises else "float32"
    typed = extra.raises or any("float" in dtype for dtype in extra.dtypes.values())
    sample = Sample(
        label=extra.label,
        probe=f"{probe}, which is refused" if extra.raises else probe,
        call=extra.call,
        result=extra.result,
        inputs=extra.inputs,
        outputs=extra.outputs or ("y",),
        widths=(width,) if typed else (width, *operator.halves[1:]),
        dtypes=extra.dtypes,
        dtype=extra.dtype,
    )
    yield sample
    if not extra.raises:
        yield from _images(operator, sample)
    differentiated = not extra.raises and extra.result is not None
    if differentiated and not typed and operator.twice_differentiable:
        yield replace(
            sample,
            label=f"{extra.label}-second-derivative",
            probe=f"the derivative of its derivative, {probe}",
            ending="double",
            widths=("float64",),
        )
