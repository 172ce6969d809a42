"""Reductions of the segments of a dimension."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.samples.operator import Case, Input, Operator, case

LENGTHS = {"lengths": "int64"}
OFFSETS = {"offsets": "int64"}


def _reduced(reduction: str) -> Iterator[Case]:
    """The cases of one reduction."""

    def segments(label: str, result, x, lengths, more: str = "") -> Case:
        call = f"torch.segment_reduce({{x}}, '{reduction}', lengths={{lengths}}{more})"
        return case(f"{reduction}-{label}", call, result, x=x, lengths=lengths, dtypes=LENGTHS)

    yield case(
        f"{reduction}-offsets",
        f"torch.segment_reduce({{x}}, '{reduction}', offsets={{offsets}})",
        (3, 2),
        x=(5, 2),
        offsets=[0, 2, 4, 5],
        dtypes=OFFSETS,
    )
    yield segments("empty", (3, 2), (5, 2), [2, 0, 3])
    yield segments("initial", (3, 2), (5, 2), [2, 0, 3], ", initial=0.5")
    yield segments("axis", (2, 3), (2, 5), [[1, 1, 3], [2, 3, 0]], ", axis=1")
    yield segments("unsafe", (2, 2), (5, 2), [4, 1], ", unsafe=True")
    yield segments("ties", (2,), [1.0, 1.0, 0.0, 2.0, 0.0], [2, 3])


SEGMENTS = (
    Operator(
        "segment_reduce",
        (
            Input("x", shape=(5, 2)),
            Input("lengths", shape=(3,), dtype="int64", values=(2, 1, 2)),
        ),
        "torch.segment_reduce({x}, 'sum', lengths={lengths})",
        (3, 2),
        twice_differentiable=False,
        integers=False,
        contiguous_only=True,
        cases=(
            *(
                found
                for reduction in ("sum", "mean", "max", "min", "prod")
                for found in _reduced(reduction)
            ),
            case(
                "neither",
                "torch.segment_reduce({x}, 'sum')",
                raises=True,
                x=(5, 2),
            ),
            case(
                "lengths-short",
                "torch.segment_reduce({x}, 'sum', lengths={lengths})",
                raises=True,
                x=(5, 2),
                lengths=[2, 1],
                dtypes=LENGTHS,
            ),
            case(
                "differentiated-twice",
                "torch.autograd.grad(torch.autograd.grad(torch.segment_reduce({x}, 'prod', "
                "lengths={lengths}).sum(), {x}, create_graph=True)[0].sum(), {x})",
                raises=True,
                x=(5, 2),
                lengths=[2, 3],
                dtypes=LENGTHS,
            ),
        ),
    ),
)
