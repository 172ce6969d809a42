"""Generator of law subjects from torch's database: `python -m reference.subjects FILE`.

For each entry without a sample of the suite's own it takes a sample with few elements and many
leaves, with values rounded for legibility. A law that torch violates there is left out, with the
reason in the file.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from conformance.backends import find
from conformance.compare.compare import stated
from conformance.execution.execute import trace
from conformance.program.givens import Given
from conformance.suite.laws import SENTENCES, laws_of
from conformance.suite.subjects import DTYPE, NO_TANGENT, Subject, subjects
from conformance.sweep.execute import tensors
from conformance.sweep.sample import Sample
from reference import opinfo

DIGITS = 5
# Preferred maximum of a sample's elements; larger samples are used only if there is no other.
SMALL = 60
LARGE = 1500  # absolute maximum
# Samples of an entry that are considered, and candidates among them that are tried.
ENOUGH = 120
TRIES = 4
# Preconditions of an operator on an argument, by the name of the database's own function for it or
# by the entry: finite differences have to respect them.
_GRANTED = {
    "gradcheck_wrapper_hermitian_input": "x = x + x.mH",
    "gradcheck_wrapper_triangular_input_real_positive_diagonal": "x = x.tril()",
    "gradcheck_wrapper_ctc_loss": "x = x.log_softmax(2)",
    "cholesky_solve": "a = a.tril()",
    "__rpow__": "a = a.abs()",
}
_ZERO = "by definition the gradient of a draw is zero"
_WRONG_GRADIENT = "torch's gradient is wrong: FIND-30"
_WITHOUT_TANGENT = (
    *("index_reduce/amax", "index_reduce/amin", "index_reduce/mean", "index_reduce/prod"),
    *("native_dropout_backward", "nn.functional.embedding_bag", "nn.functional.pdist"),
    *("nn.functional.multi_margin_loss", "nn.functional.multilabel_margin_loss", "ormqr"),
    "cdist",
)
# Laws that torch violates, by entry, with the reason; the list is complete.
_UNMET = {
    **{entry: {"forward": NO_TANGENT} for entry in _WITHOUT_TANGENT},
    "as_strided_scatter": {"differences": _WRONG_GRADIENT, "forward": _WRONG_GRADIENT},
    "cholesky_inverse": {"forward": "torch's tangent is wrong: FIND-60"},
    "cov": {"forward": "a factor is rounded to the default dtype, float32"},
    "scatter_reduce/prod": {"forward": "torch's tangent is zero: FIND-58"},
    "triangular_solve": {"forward": "the tangent has the other triangle's part: FIND-59"},
    "normal": {"differences": _ZERO},
    "normal/number_mean": {"differences": _ZERO},
}


def written() -> Iterator[Subject]:
    """The subjects of entries without a sample of the suite's own, in the database's order.

    Entries without a differentiable float64 sample are left out.
    """
    known = {subject.operator for subject in subjects() if subject.on_grid}
    for entry, dtypes in opinfo.entries().items():
        if entry not in known and DTYPE in dtypes:
            drawn = islice(opinfo.samples(entry, DTYPE), ENOUGH)
            found = [made for sample in drawn if (made := _subject(sample))]
            if found:
                tried = [_lawful(subject) for subject in sorted(found, key=_rank)[:TRIES]]
                best = min(tried, key=lambda subject: len(subject.without))
                yield replace(best, without={law: _UNMET[entry][law] for law in best.without})


def _rank(subject: Subject) -> tuple[bool, int, int]:
    size = sum(len(given.values) for given in subject.givens)
    trivial = max(len(given.values) for given in subject.givens) < 2
    return trivial or size > SMALL, -len(subject.leaves), size


def _subject(sample: Sample) -> Subject | None:
    """A plain sample as a subject; None if it has nothing to differentiate or is too large."""
    size = sum(argument.array.size for argument in sample.arguments)
    if sample.kind != "plain" or not sample.leaves or size > LARGE:
        return None
    givens = tuple(_rounded(argument.given()) for argument in sample.arguments)
    wrapper = opinfo.described(sample.entry).gradcheck_wrapper.__name__
    granted = [_GRANTED[key] for key in (wrapper, sample.entry) if key in _GRANTED]
    body = [*granted, *sample.forward().splitlines()]
    subject = Subject(sample.entry, givens, (*body, "return y"), ())
    before = torch.get_rng_state()
    names: dict[str, Any] = {"torch": torch}
    with suppress(RuntimeError, ValueError):
        exec(_source(subject), names)
    outputs = [
        (name, tensor)
        for name, tensor in tensors(names.get("y"), "y", torch.is_tensor)
        if tensor.requires_grad and tensor.dtype in (torch.float64, torch.complex128)
    ]
    if not any(tensor.numel() for _, tensor in outputs):
        return None
    draws = not torch.equal(before, torch.get_rng_state())
    gradients = torch.autograd.grad(
        [tensor.abs().sum() for _, tensor in outputs],
        [names[leaf] for leaf in sample.leaves],
        allow_unused=True,
    )
    used = {n for n, g in zip(sample.leaves, gradients, strict=True) if g is not None}
    if not used:
        return None
    return Subject(
        sample.entry,
        tuple(replace(given, requires_grad=given.name in used) for given in givens),
        (
            *(["torch.manual_seed(0)"] if draws else []),
            *body,
            f"return [{', '.join(name for name, _ in outputs)}]",
        ),
        tuple((str(t.dtype).removeprefix("torch."), tuple(t.shape)) for _, t in outputs),
    )


def _source(subject: Subject) -> str:
    names = ", ".join(given.name for given in subject.givens)
    lines = [*(given.source() for given in subject.givens), f"def f({names}):"]
    lines += [f"    {line}" for line in subject.body]
    return "\n".join([*lines, f"y = f({names})"])


def _rounded(given: Given) -> Given:
    values = tuple(round(v, DIGITS) if type(v) is float else v for v in given.values)
    return replace(given, values=values)


def _lawful(subject: Subject) -> Subject:
    """The subject without the laws that torch violates."""
    torch_backend = find("torch")
    without = {}
    for law in SENTENCES:
        alone = replace(subject, without={other: "" for other in SENTENCES if other != law})
        for program in laws_of(alone):
            if stated(program, trace(program, torch_backend)).outcome != "conforms":
                without[law] = ""
    return replace(subject, without=without)


def main() -> None:
    """Write the subjects into the file that is named."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("file", type=Path)
    found = [json.dumps(subject.to_json()) for subject in written()]
    head = f'{{"torch": {json.dumps(torch.__version__.partition("+")[0])}, "subjects": [\n'
    parser.parse_args().file.write_text(head + ",\n".join(found) + "\n]}\n", "utf-8")


if __name__ == "__main__":
    main()
