"""Composites and aliases of torch that its database of operators does not list."""

from __future__ import annotations

from conformance.samples.operator import POSITIVE, PROBABILITY, Input, Operator, case

_WINDOW = Input("x", shape=(1, 2, 4))

COMPOSED = (
    Operator(
        "frobenius_norm",
        (Input("x"),),
        "torch.frobenius_norm({x}, (0, 1))",
        (),
        cases=(
            case("one-dim", "torch.frobenius_norm({x}, 1)", (2,)),
            case("all", "torch.frobenius_norm({x}, ())", ()),
            case("keepdim", "torch.frobenius_norm({x}, (1,), keepdim=True)", (2, 1)),
            case("three-dims", "torch.frobenius_norm({x}, (0, 1, 2))", raises=True, x=(2, 2, 2)),
        ),
    ),
    Operator(
        "norm_except_dim",
        (Input("x"),),
        "torch.norm_except_dim({x}, 2, 0)",
        (2, 1),
        cases=(
            case("last", "torch.norm_except_dim({x}, 2, 1)", (1, 3)),
            case("middle", "torch.norm_except_dim({x}, 2, 1)", (1, 2, 1), x=(2, 2, 3)),
            case("none", "torch.norm_except_dim({x}, 2, -1)", ()),
        ),
    ),
    Operator(
        "vander",
        (Input("x", shape=(3,), grad=False),),
        "torch.vander({x})",
        cases=(
            case("increasing", "torch.vander({x}, 4, increasing=True)"),
            case("matrix", "torch.vander({x})", raises=True, x=(2, 3)),
        ),
        unlinked=True,
    ),
    Operator(
        "torch.instance_norm",
        (Input("x", shape=(2, 2, 3)),),
        "torch.instance_norm({x}, None, None, None, None, True, 0.1, 1e-5, False)",
        (2, 2, 3),
    ),
    Operator("torch.avg_pool1d", (_WINDOW,), "torch.avg_pool1d({x}, 2)", (1, 2, 2)),
    Operator("torch.max_pool1d", (_WINDOW,), "torch.max_pool1d({x}, 2, 1)", (1, 2, 3)),
    Operator(
        "torch.adaptive_avg_pool1d", (_WINDOW,), "torch.adaptive_avg_pool1d({x}, 2)", (1, 2, 2)
    ),
    Operator(
        "poisson",
        (Input("x", POSITIVE, grad=False),),
        "torch.poisson({x})",
        cases=(
            case("large", "torch.poisson({x} * 20)"),
            case("negative", "torch.poisson(-{x})", raises=True),
        ),
        unlinked=True,
    ),
    Operator(
        "binomial",
        (Input("count", POSITIVE, grad=False), Input("prob", PROBABILITY, grad=False)),
        "torch.binomial({count} * 8, {prob})",
        unlinked=True,
        halves=(),
    ),
)
