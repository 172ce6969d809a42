"""Reductions of the segments of a dimension."""

from __future__ import annotations

from conformance.samples.operator import Case, Input, Operator, case

LENGTHS = {"lengths": "int64"}
OFFSETS = {"offsets": "int64"}


def _reduced(reduction: str) -> tuple[Case, ...]:
    """The cases of one reduction."""
    call = f"torch.segment_reduce({{x}}, '{reduction}'"
    by_offsets, with_initial = f"{call}, offsets={{offsets}})", f"{call}, lengths={{lengths}}, "
    return (
        case(
            f"{reduction}-offsets",
            by_offsets,
            (3, 2),
            x=(5, 2),
            offsets=[0, 2, 4, 5],
            dtypes=OFFSETS,
        ),
        case(
            f"{reduction}-empty",
            f"{call}, lengths={{lengths}})",
            (3, 2),
            x=(5, 2),
            lengths=[2, 0, 3],
            dtypes=LENGTHS,
        ),
        case(
            f"{reduction}-initial",
            f"{with_initial}initial=0.5)",
            (3, 2),
            x=(5, 2),
            lengths=[2, 0, 3],
            dtypes=LENGTHS,
        ),
        case(
            f"{reduction}-axis",
            f"{with_initial}axis=1)",
            (2, 3),
            x=(2, 5),
            lengths=[[1, 1, 3], [2, 3, 0]],
            dtypes=LENGTHS,
        ),
        case(
            f"{reduction}-unsafe",
            f"{with_initial}unsafe=True)",
            (2, 2),
            x=(5, 2),
            lengths=[4, 1],
            dtypes=LENGTHS,
        ),
        case(
            f"{reduction}-ties",
            f"{call}, lengths={{lengths}})",
            (2,),
            x=[1.0, 1.0, 0.0, 2.0, 0.0],
            lengths=[2, 3],
            dtypes=LENGTHS,
        ),
    )


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
