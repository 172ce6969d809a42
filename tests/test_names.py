"""The table of torch's public names: up to date, and every missing name has a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
names = pytest.importorskip("reference.names")

PAGE = Path(__file__).resolve().parents[1] / "docs" / "names.md"


def test_every_missing_name_has_a_reason():
    if torch.__version__.startswith("2.13."):
        _, _, unexplained = names.counted()
        assert unexplained == []


def test_the_page_is_up_to_date():
    if torch.__version__.startswith("2.13."):
        told = "docs/names.md is old; write it again: python -m reference.names docs/names.md"
        assert PAGE.read_text("utf-8") == names.page(), told


def test_every_group_has_names():
    """A pattern of a name that impl has by now leaves its group empty."""
    _, groups, _ = names.counted()
    assert [group.title for group in groups if not group.names] == []
