"""One sample, and how it is written down as a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Any

from conformance.program.givens import Given
from conformance.program.program import Program
from conformance.samples.drawing import cotangent, given, results_of, tensor_input
from conformance.samples.operator import Operator, Shape

WIDTHS = ("float32", "float64")
COTANGENTS = ("v", "w", "u")
SECOND_COTANGENTS = ("s", "t", "k", "l")


@dataclass(frozen=True)
class Sample:
    """One sample before it is written: a call, its inputs, and the statements around it.

    `before` stands in front of the call; with `inplace` the call has no result of its own and
    `outputs` names the tensor it wrote to. `after` stands between the call and the backward.
    `ending` is the statement of the backward pass; None where there is none. `seeds` is the dtype
    of the cotangents where it is not the sample's.
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
    seeds: str | None = None


def fields_of(template: str) -> list[str]:
    """The names in braces in a template, each once, in order."""
    found = (name for _, name, _, _ in Formatter().parse(template) if name)
    return list(dict.fromkeys(found))


def write(operator: Operator, sample: Sample, width: str) -> Program:
    """The program of a sample in one of its widths or the type the sample fixes."""
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
                sample.seeds or width,
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
        differentiable = entry.differentiable and ("float" in dtype or dtype.startswith("complex"))
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
        # Bound to a name, the gradients are observed, and the graph that they recorded.
        if len(second) == 1:
            return [f"slope = {grad}[0]", f"slope.backward({second[0].name})"]
        along = tuple_of(s.name for s in second)
        return [f"slopes = {grad}", f"torch.autograd.backward(slopes, {along})"]
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
