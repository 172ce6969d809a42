"""Products of vectors and matrices."""

from __future__ import annotations

from conformance.samples.operator import Domain, Input, Operator, case, inf, nan

QUARTERS = Domain(-3.0, 3.0, 0.25)


def tensor(name: str, *shape: int) -> Input:
    """An input of that shape whose products are exact in float32."""
    return Input(name, QUARTERS, shape)


RANKS = {
    "vector-vector": ((3,), (3,), ()),
    "vector-matrix": ((3,), (3, 2), (2,)),
    "matrix-vector": ((2, 3), (3,), (2,)),
    "vector-batch": ((3,), (2, 3, 2), (2, 2)),
    "batch-vector": ((2, 2, 3), (3,), (2, 2)),
    "batch-matrix": ((2, 2, 3), (3, 2), (2, 2, 2)),
    "matrix-batch": ((2, 3), (2, 3, 2), (2, 2, 2)),
    "batch-batch": ((2, 2, 3), (2, 3, 1), (2, 2, 1)),
    "batch-broadcast": ((2, 1, 1, 3), (2, 3, 2), (2, 2, 1, 2)),
    "empty-inner": ((2, 0), (0, 3), (2, 3)),
    "empty-outer": ((0, 3), (3, 2), (0, 2)),
    "empty-batch": ((0, 2, 3), (3, 2), (0, 2, 2)),
}

MATRICES = (
    Operator(
        "mm",
        (tensor("a", 2, 3), tensor("b", 3, 2)),
        "torch.mm({a}, {b})",
        (2, 2),
        method="{a}.mm({b})",
        cases=(
            case("empty-inner", "torch.mm({a}, {b})", (2, 2), a=(2, 0), b=(0, 2)),
            case("empty-outer", "torch.mm({a}, {b})", (0, 2), a=(0, 3)),
            case("transposed-operand", "torch.mm({a}, {b}.t())", (2, 2), b=(2, 3)),
            case("same-operand", "torch.mm({a}, {a})", (2, 2), a=(2, 2)),
            case("nan", "torch.mm({a}, {b})", (2, 1), a=[[nan, 1.0], [2.0, inf]], b=(2, 1)),
            case("shapes-differ", "torch.mm({a}, {b})", raises=True, b=(2, 2)),
            case("vector", "torch.mm({a}, {b})", raises=True, b=(3,)),
            case(
                "dtypes-differ",
                "torch.mm({a}, {b})",
                raises=True,
                dtypes={"a": "float32", "b": "float64"},
                dtype="float64",
            ),
        ),
    ),
    Operator(
        "bmm",
        (tensor("a", 2, 2, 3), tensor("b", 2, 3, 2)),
        "torch.bmm({a}, {b})",
        (2, 2, 2),
        method="{a}.bmm({b})",
        cases=(
            case("empty-batch", "torch.bmm({a}, {b})", (0, 2, 2), a=(0, 2, 3), b=(0, 3, 2)),
            case("batches-differ", "torch.bmm({a}, {b})", raises=True, b=(1, 3, 2)),
        ),
    ),
    Operator(
        "mv",
        (tensor("a", 2, 3), tensor("b", 3)),
        "torch.mv({a}, {b})",
        (2,),
        method="{a}.mv({b})",
        cases=(
            case("empty", "torch.mv({a}, {b})", (2,), a=(2, 0), b=(0,)),
            case("shapes-differ", "torch.mv({a}, {b})", raises=True, b=(2,)),
        ),
    ),
    Operator(
        "dot",
        (tensor("a", 3), tensor("b", 3)),
        "torch.dot({a}, {b})",
        (),
        method="{a}.dot({b})",
        cases=(
            case("empty", "torch.dot({a}, {b})", (), a=(0,), b=(0,)),
            case("same-operand", "torch.dot({a}, {a})", ()),
            case("shapes-differ", "torch.dot({a}, {b})", raises=True, b=(2,)),
            case("matrix", "torch.dot({a}, {b})", raises=True, a=(1, 3)),
        ),
    ),
    Operator(
        "matmul",
        (tensor("a", 2, 3), tensor("b", 3, 2)),
        "torch.matmul({a}, {b})",
        (2, 2),
        method="{a}.matmul({b})",
        symbol="{a} @ {b}",
        cases=(
            *(
                case(label, "torch.matmul({a}, {b})", result, a=a, b=b)
                for label, (a, b, result) in RANKS.items()
            ),
            case("zero-dim", "torch.matmul({a}, {b})", raises=True, b=()),
            case("shapes-differ", "{a} @ {b}", raises=True, b=(2, 2)),
        ),
    ),
    Operator(
        "addmm",
        (tensor("c", 2, 2), tensor("a", 2, 3), tensor("b", 3, 2)),
        "torch.addmm({c}, {a}, {b})",
        (2, 2),
        method="{c}.addmm({a}, {b})",
        inplace="{c}.addmm_({a}, {b})",
        cases=(
            case("broadcast", "torch.addmm({c}, {a}, {b})", (2, 2), c=(2,)),
            case("factors", "torch.addmm({c}, {a}, {b}, beta=2, alpha=-0.5)", (2, 2)),
            case(
                "beta-zero",
                "torch.addmm({c}, {a}, {b}, beta=0)",
                (2, 2),
                c=[[nan, 1.0], [2.0, inf]],
            ),
            case("shapes-differ", "torch.addmm({c}, {a}, {b})", raises=True, b=(2, 2)),
        ),
    ),
    Operator(
        "outer",
        (tensor("a", 2), tensor("b", 3)),
        "torch.outer({a}, {b})",
        (2, 3),
        method="{a}.outer({b})",
        cases=(
            case("empty", "torch.outer({a}, {b})", (0, 3), a=(0,)),
            case("matrix", "torch.outer({a}, {b})", raises=True, a=(2, 1)),
        ),
    ),
    Operator(
        "linear",
        (tensor("x", 2, 3), tensor("weight", 2, 3), tensor("bias", 2)),
        "torch.nn.functional.linear({x}, {weight}, {bias})",
        (2, 2),
        cases=(
            case("no-bias", "torch.nn.functional.linear({x}, {weight})", (2, 2)),
            case("vector", "torch.nn.functional.linear({x}, {weight}, {bias})", (2,), x=(3,)),
            case(
                "batch", "torch.nn.functional.linear({x}, {weight}, {bias})", (2, 2, 2), x=(2, 2, 3)
            ),
            case("one-feature", "torch.nn.functional.linear({x}, {weight})", (2, 1), weight=(1, 3)),
            case(
                "strided-bias",
                "torch.nn.functional.linear({x}, {weight}, {bias}[::2])",
                (2, 2, 2),
                x=(2, 2, 3),
                bias=(4,),
            ),
        ),
    ),
)
