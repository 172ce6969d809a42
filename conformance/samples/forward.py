"""Forward-mode samples: an operator on dual tensors, and the tangents of its results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.program.givens import Given
from conformance.program.program import Program
from conformance.samples.complexes import complexes
from conformance.samples.drawing import cotangent, results_of
from conformance.samples.operator import Operator
from conformance.samples.sample import COTANGENTS, Sample, inputs_of, tuple_of
from conformance.samples.variants import own_case, plain_of
from conformance.samples.writes import inplace

# Tangents that are not differentiated again:
# fmt: off
UNRECORDED = frozenset((
    # they are zeros
    "ceil", "floor", "round", "sign", "trunc",
    # torch refuses to do so
    "cross_entropy", "glu", "hardsigmoid", "log_softmax", "logsumexp", "softmax",
    # torch leaves a tensor without memory in a primal's `.grad`, which cannot be looked at
    "abs", "alpha_dropout", "copy_", "dropout", "dropout1d", "fill_", "l1_loss", "setitem", "zero_",
    # a hyperbolic tangent close to 1, whose second derivative is mostly rounding
    "rnn_tanh_cell",
))
# fmt: on
# Operators that refuse dual tensors, and one case that does (FIND-35).
UNSUPPORTED = (
    "_pack_padded_sequence",
    "_weight_norm",
    "grid_sample",
    "pdist",
    "segment_reduce",
    "norm_except_dim/none",
    "scaled_dot_product_attention",
)
COMPLEX = ("complex", ("complex128",))
ENTER = ("import torch.autograd.forward_ad as fw", "fw.enter_dual_level()")


def forward_programs_of(operator: Operator) -> Iterator[Program]:
    """The plain call, recorded; the same in complex numbers; in place; and the entry's cases."""
    if operator.unlinked or operator.name in UNSUPPORTED:
        return
    plain = plain_of(operator)
    yield from _program(operator, plain, recorded=operator.name not in UNRECORDED)
    for sample in (*complexes(operator, plain), *inplace(operator, plain)):
        if sample.label == "in-place" or (sample.label, sample.widths) == COMPLEX:
            yield from _program(operator, sample)
    for extra in operator.cases:
        if f"{operator.name}/{extra.label}" in UNSUPPORTED:
            continue
        for sample in own_case(operator, extra):
            if "refused" not in sample.probe:
                yield from _program(operator, sample)


def _program(operator: Operator, sample: Sample, recorded: bool = False) -> Iterator[Program]:
    """The program of a sample, unless nothing in it is differentiable.

    With `recorded`, primals and tangents require grad, and the results' tangents are roots of a
    backward: reverse mode over forward mode.
    """
    width = sample.dtype or sample.widths[0]
    givens = inputs_of(operator, sample, width)
    primals = [g for g in givens if g.requires_grad]
    results = results_of(sample.result, sample.outputs)
    if not primals or not results:
        return
    if not recorded:
        givens = [replace(g, requires_grad=False) for g in givens]
    tangents = [
        cotangent(f"{g.name}_t", g.shape, g.dtype, start=2 * k + 1, requires_grad=recorded)
        for k, g in enumerate(primals)
    ]
    names = dict(sample.names)
    lines = [*ENTER]
    for primal, tangent in zip(primals, tangents, strict=True):
        # A leaf whose gradient is to be seen keeps its name.
        dual = f"{primal.name}_d" if recorded else primal.name
        names.setdefault(primal.name, dual)
        lines.append(f"{dual} = fw.make_dual({primal.name}, {tangent.name})")
    lines += sample.before
    call = sample.call.format_map({g.name: names.get(g.name, g.name) for g in givens})
    if sample.inplace or "\n" in call:
        lines += call.split("\n")
    else:
        lines.append(f"{', '.join(sample.outputs)} = {call}")
    lines += [f"{name}_t = fw.unpack_dual({name}).tangent" for name in results]
    seeds: list[Given] = []
    if recorded:
        seeds = [
            cotangent(seed, shape, width, start=3 * k)
            for k, (seed, shape) in enumerate(zip(COTANGENTS, results.values(), strict=False))
        ]
        roots, vectors = tuple_of(f"{name}_t" for name in results), tuple_of(s.name for s in seeds)
        lines.append(f"torch.autograd.backward({roots}, {vectors})")
    lines.append("fw.exit_dual_level()")
    yield Program(
        id=f"op/{operator.name}/forward/{sample.label}/{width}",
        area="operators",
        source="\n".join(lines) + "\n",
        sentence=f"{operator.name}: forward mode, {sample.probe}",
        operator=operator.name,
        givens=(*givens, *tangents, *seeds),
        dtype=width,
    )
