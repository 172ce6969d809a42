"""`out=` under torch.vmap: each function that takes it refuses a batched tensor as PyTorch does."""

from __future__ import annotations

import pytest
import torch
from made_programs import outcome

import impl
from conformance.signatures.table import TENSORS, read_table

pytestmark = pytest.mark.filterwarnings("ignore")


def compared(source: str):
    """The outcomes of a function of an example `y`, mapped by each of the libraries."""

    def mapped(library, source):
        scope = {name: eval(text, {"torch": library}) for name, text in TENSORS.items()}
        function = eval(f"lambda y: {source}", {"torch": library, **scope})
        return library.vmap(function)(library.ones(2, 2))

    return [outcome(library, lambda t: mapped(t, source)) for library in (impl, torch)]


def with_out(signature) -> str | None:
    """The call of a signature with the example, or several, as `out=`."""
    out = next((part for part in signature.text.split(", ") if part.endswith("out=None")), None)
    if out is None or not signature.call:
        return None
    count = out.partition("[")[2][:1]
    value = "y" if "[" not in out else "[y, y]" if count == "]" else f"({'y, ' * int(count)})"
    return f"{signature.call[:-1]}, out={value})"


def test_every_function_refuses_a_batched_out():
    calls = [call for call in map(with_out, read_table()) if call]
    outcomes = {call: compared(call) for call in calls}
    differing = {call: found for call, found in outcomes.items() if found[0] != found[1]}
    assert len(calls) > 400
    assert not differing


@pytest.mark.parametrize(
    "source",
    [
        "torch.sin(y, out=torch.ones(2))",
        "torch.sin(torch.ones(2), out=torch.ones(2)) + y",
        "torch.func.grad(lambda z: torch.sin(z, out=y).sum())(y)",
        "torch.func.grad(lambda z: torch.sin(y, out=torch.ones(2)).sum())(y)",
        "torch.norm(y, 2, 0, out=torch.ones(()))",
        "torch.sum(y, 0, out=None)",
        "torch.rand(2, out=torch.ones(2))",
        "torch.normal(y, out=torch.ones(2))",
    ],
)
def test_the_innermost_transform_refuses(source):
    found, expected = compared(source)
    assert found == expected
