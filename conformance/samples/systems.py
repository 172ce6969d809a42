"""Linear systems, inverses and determinants."""

from __future__ import annotations

from conformance.samples.operator import Case, Domain, Input, Operator, case

QUARTERS = Domain(-3.0, 3.0, 0.25)
WELL = (4.0, 1.0, -0.5, 0.5, -3.0, 1.0, 1.0, 0.25, 2.0)
MATRIX = Input("a", QUARTERS, (3, 3), values=WELL)
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
LINALG = "torch.linalg"


def of_matrix(name: str, result: tuple[int, ...], *rows: Case, **facts) -> Operator:
    """The entry of a function of one square matrix."""
    call = f"{LINALG}.{name}({{a}})"
    return Operator(
        name,
        (MATRIX,),
        call,
        result,
        halves=(),
        cases=(
            case("not-square", call, raises=True, a=(2, 3)),
            case("vector", call, raises=True, a=(3,)),
            case("whole-numbers", call, raises=True, a=[[1, 2], [3, 4]], dtypes={"a": "int64"}),
            *rows,
        ),
        **facts,
    )


SYSTEMS = (
    Operator(
        "solve",
        (MATRIX, Input("y", QUARTERS, (3, 2))),
        f"{LINALG}.solve({{a}}, {{y}})",
        (3, 2),
        outputs=("z",),
        halves=(),
        contiguous_only=True,  # an expanded matrix is singular
        cases=(
            case("transposed", f"{LINALG}.solve({{a}}.t(), {{y}})", (3, 2), outputs="z"),
            case("vector", f"{LINALG}.solve({{a}}, {{y}})", (3,), outputs="z", y=(3,)),
            case("singular", f"{LINALG}.solve({{a}}, {{y}})", raises=True, a=SINGULAR, y=(2,)),
            case("sizes-differ", f"{LINALG}.solve({{a}}, {{y}})", raises=True, y=(2, 2)),
        ),
    ),
    of_matrix(
        "inv",
        (3, 3),
        case("transposed", f"{LINALG}.inv({{a}}.t())", (3, 3)),
        case("singular", f"{LINALG}.inv({{a}})", raises=True, a=SINGULAR),
        contiguous_only=True,
    ),
    of_matrix("det", (), case("singular", f"{LINALG}.det({{a}})", (), a=SINGULAR)),
    Operator(
        "slogdet",
        (MATRIX,),
        f"{LINALG}.slogdet({{a}})[1]",
        (),
        halves=(),
        cases=(
            case("sign", f"{LINALG}.slogdet({{a}})"),
            case("batches", f"{LINALG}.slogdet({{a}})[1]", (2,), a=(2, 2, 2)),
            case("not-square", f"{LINALG}.slogdet({{a}})", raises=True, a=(2, 3)),
        ),
    ),
)
