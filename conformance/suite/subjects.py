"""Subjects of laws: calls of operators, each as a function of given tensors.

Those of `samples` come from the suite's own tables. Those of torch's database of operators are
in `sweep/subjects.json`, one per entry, where `reference.subjects` wrote them: small samples of
which the laws hold on torch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from conformance.program.givens import Given
from conformance.samples import OPERATORS
from conformance.samples.drawing import results_of
from conformance.samples.operator import Operator, Shape
from conformance.samples.sample import inputs_of
from conformance.samples.variants import plain_of

DTYPE = "float64"


@dataclass(frozen=True)
class Subject:
    """A function of given tensors: `body` are the lines of its definition, the last returns a list.

    `results` are dtype and shape of that list's tensors. `without` maps the laws that do not apply
    to reasons. With `on_grid` values may lie where the function has kinks and jumps.
    """

    name: str
    givens: tuple[Given, ...]
    body: tuple[str, ...]
    results: tuple[tuple[str, Shape], ...]
    without: Mapping[str, str] = field(default_factory=dict)
    on_grid: bool = False

    @property
    def operator(self) -> str:
        """The operator's name, without that of a variant."""
        return self.name.partition("/")[0]

    @property
    def leaves(self) -> list[str]:
        """The names of the tensors that require grad."""
        return [given.name for given in self.givens if given.requires_grad]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object from which `from_json` makes the subject again."""
        return {
            "name": self.name,
            "body": list(self.body),
            "results": [[dtype, list(shape)] for dtype, shape in self.results],
            "without": dict(self.without),
            "givens": [given.to_json() for given in self.givens],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Subject:
        """Return the subject that `to_json` wrote."""
        return cls(
            data["name"],
            tuple(Given.from_json(given) for given in data["givens"]),
            tuple(data["body"]),
            tuple((dtype, tuple(shape)) for dtype, shape in data["results"]),
            data["without"],
        )


def subjects() -> Iterator[Subject]:
    """Every operator of the samples that has a gradient, then the database's other entries."""
    for operator in OPERATORS:
        if not operator.unlinked and "\n" not in operator.call:
            subject = _of_samples(operator)
            if subject.leaves and subject.results:
                yield subject
    text = resources.files("conformance").joinpath("sweep/subjects.json").read_text("utf-8")
    yield from map(Subject.from_json, json.loads(text)["subjects"])


# Operators that draw random numbers, which have to be the same at each call.
_DRAWING = ("dropout", "dropout1d", "dropout2d", "dropout3d", "rrelu")


NO_TANGENT = "torch has no forward mode for it"
# Laws that torch violates on the suite's own samples, with the reason.
_UNMET = {
    **{name: {"forward": NO_TANGENT} for name in ("pdist", "segment_reduce")},
    **{name: {"forward": NO_TANGENT} for name in ("_weight_norm", "_pack_padded_sequence")},
    "scaled_dot_product_attention": {"forward": NO_TANGENT},
    "_pad_packed_sequence": {"forward": "torch reads the lengths, which a transform has wrapped"},
}


def _of_samples(operator: Operator) -> Subject:
    plain = plain_of(operator)
    givens = inputs_of(operator, plain, DTYPE)
    results = results_of(plain.result, plain.outputs)
    call = plain.call.format_map({given.name: given.name for given in givens})
    return Subject(
        operator.name,
        tuple(givens),
        (
            *(["torch.manual_seed(0)"] if operator.name.endswith(_DRAWING) else []),
            f"result = {call}",
            f"return {_returned(plain.outputs, results)}",
        ),
        tuple((DTYPE, shape) for shape in results.values()),
        _UNMET.get(operator.name, {}),
        on_grid=True,
    )


def _returned(outputs: tuple[str, ...], results: Mapping[str, Shape]) -> str:
    """The outputs that have a gradient, as a list."""
    if len(outputs) == 1:
        return "[result]"
    kept = [f"result[{i}]" for i, name in enumerate(outputs) if name in results]
    return f"[{', '.join(kept)}]"
