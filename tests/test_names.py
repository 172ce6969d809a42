"""The table of torch's public names: up to date, and every missing name has a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

import impl
from conformance.base.torch_versions import BASELINE, minor
from conformance.signatures.names import names_of, public_names

torch = pytest.importorskip("torch")
names = pytest.importorskip("reference.names")

ROOT = Path(__file__).resolve().parents[1]
of_the_baseline = pytest.mark.skipif(
    minor(torch.__version__) != BASELINE, reason=f"the page is about torch {BASELINE}"
)
PAGE, LIST = ROOT / "docs" / "names.md", ROOT / "conformance" / "signatures" / "names.txt"


@of_the_baseline
def test_every_missing_name_has_a_reason():
    _, _, unexplained = names.counted()
    assert unexplained == []


@of_the_baseline
def test_the_page_and_the_list_are_up_to_date():
    told = f"old; write them again: python -m reference.names {PAGE} {LIST}"
    assert PAGE.read_text("utf-8") == names.page(), told
    assert LIST.read_text("utf-8") == names.listed(), told


def test_the_names_of_a_namespace_are_counted():
    """impl lacks none; torch has all; a namespace that raises has those that it gives."""
    assert [count["missing"] for count in names_of(impl)] == [[]] * len(public_names())
    if minor(torch.__version__) == BASELINE:
        assert all(count["public"] == count["present"] for count in names_of(torch))

    class Broken:
        abs = staticmethod(abs)

        def __getattr__(self, name):
            raise RuntimeError(name)

    counts = {count["space"]: count for count in names_of(Broken())}
    assert counts["torch"]["present"] == 1 and "add" in counts["torch"]["missing"]
    assert counts["torch.linalg"]["present"] == 0


def test_every_group_has_names():
    """A pattern of a name that impl has by now leaves its group empty."""
    _, groups, _ = names.counted()
    assert [group.title for group in groups if not group.names] == []
