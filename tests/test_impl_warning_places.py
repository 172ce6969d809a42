"""Where warnings point: at the program's statement where torch's do, or at the library."""

from __future__ import annotations

import contextlib
import warnings

import pytest

from conformance import backends

PROGRAM = "<the program>"
STATEMENTS = {
    "complex-to-real": "torch.tensor([1j]).to(torch.float32)",
    "complex-written": "torch.ones(2)[:1] = torch.tensor([1j])",
    "range": "torch.range(0, 3)",
    "ger": "torch.ger(torch.ones(2), torch.ones(2), out=torch.ones(2, 2))",
    "grad-of-a-non-leaf": "(torch.ones(1, requires_grad=True) * 2).grad",
    "output-resized": "torch.add(torch.ones(2), 1, out=torch.ones(3))",
    "range-resized": "torch.arange(3, out=torch.ones(2))",
    "no-freedom": "torch.ones(1).var()",
    "no-freedom-of-std": "torch.std(torch.ones(1), 0)",
    "covariance": "torch.cov(torch.ones(1))",
    "copied": "torch.tensor(torch.ones(1))",
    "reduced-scatter": (
        "torch.zeros(2).scatter(0, torch.tensor([0]), torch.ones(1), reduce='add')"
    ),
    "expanded": "torch.ones(1).expand(2).index_fill_(0, torch.tensor([0]), 1.)",
    "resized": "torch.ones(2).resize(2)",
    "transposed": "torch.ones(1, 1, 1).T",
    "sparse-unchecked": "torch.sparse_coo_tensor([[0]], [1.], (1,))",
    "searched": "torch.searchsorted(torch.ones(4)[::2], torch.ones(4)[::2])",
    "unwritable": "torch.as_tensor(numpy.broadcast_to(numpy.ones(1), 2))",
    "bytes": "torch.ones(2)[torch.tensor([1, 0], dtype=torch.uint8)]",
    "masked-by-bytes": (
        "torch.ones(1).masked_scatter_(torch.ones(1, dtype=torch.uint8), torch.ones(1))"
    ),
    "asarray": "torch.asarray(torch.ones(1, requires_grad=True) * 1)",
    "overload": "torch.add(torch.ones(1), 2, torch.ones(1))",
    "vmap": "torch.func.vmap(lambda t: torch.bincount(t, minlength=2))(torch.ones(1, 2).long())",
    "other-size": "torch.nn.functional.mse_loss(torch.ones(1), torch.ones(2))",
    "divided-by-all": "torch.nn.functional.kl_div(torch.ones(2), torch.ones(2))",
    "dimension-of-softmax": "torch.nn.functional.softmax(torch.ones(2))",
    "grid": "torch.nn.functional.grid_sample(torch.ones(1, 1, 1, 1), torch.ones(1, 1, 1, 2))",
    "dropout": "torch.nn.functional.dropout2d(torch.ones(2, 2))",
    "upsample": "torch.nn.functional.upsample(torch.ones(1, 1, 1), 2)",
    "nothing-initialised": "torch.nn.init.kaiming_uniform_(torch.ones(0, 1))",
    "older-initialiser": "torch.nn.init.normal(torch.ones(1))",
    "nothing-clipped": "torch.nn.utils.clip_grad_norm_((p for p in ()), 1.)",
    "weight-norm": "torch.nn.utils.weight_norm(torch.nn.Linear(1, 1))",
    "checkpoint": "torch.utils.checkpoint.checkpoint(torch.sin, torch.ones(1, requires_grad=True))",
    "scheduler-first": (
        "torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch.ones(1)], lr=1.), 1).step()"
    ),
    "recorded-gradient": "(torch.ones(1, requires_grad=True) * 2).backward(create_graph=True)",
    "autocast-dtype": "torch.autocast('cpu', torch.float64)",
    "dropout-of-one-layer": "torch.nn.LSTM(1, 1, dropout=0.5)",
    "imprecise-check": "torch.autograd.gradcheck(lambda t: t, torch.ones(1, requires_grad=True))",
}


def places(library, statement: str) -> list[tuple[str, bool]]:
    """The class of each warning, and whether it is about the statement."""
    import numpy

    before = library.is_warn_always_enabled()
    library.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with contextlib.suppress(RuntimeError, ValueError):
                exec(compile(statement, PROGRAM, "exec"), {"torch": library, "numpy": numpy})
    finally:
        library.set_warn_always(before)
    return [(one.category.__name__, one.filename == PROGRAM) for one in told]


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_a_warning_points_where_that_of_torch_does(statement):
    expected, got = (
        places(backends.find(name, ()).namespace, statement) for name in ("torch", "impl")
    )
    assert expected
    assert got == expected


def test_a_warning_is_given_once_for_each_statement():
    program = "for _ in range(2):\n    torch.ones(1).var()\ntorch.ones(1).var()\n"
    for name in ("torch", "impl"):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default")
            library = backends.find(name, ()).namespace
            exec(compile(program, PROGRAM, "exec"), {"torch": library})
        assert [one.lineno for one in told] == [2, 3], name
