"""The page of the changes between versions of torch: up to date, and its links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from conformance.history.steps import Step

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    """The tool that makes the page."""
    path = ROOT / "tools" / "versions_page.py"
    spec = importlib.util.spec_from_file_location("versions_page", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def steps(maker: ModuleType) -> list[Step]:
    return maker.made()


def test_the_page_is_up_to_date(maker: ModuleType, steps: list[Step]) -> None:
    written = maker.PAGE.read_text("utf-8")
    fresh = maker.page(written, steps) == written
    assert fresh, "docs/versions.md is out of date; run: python tools/versions_page.py"


def test_the_noticed_changes_are_changes_in_the_history(
    maker: ModuleType, steps: list[Step], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(list(maker.noticed(steps))) == len(maker.NOTICED) == 10
    monkeypatch.setattr(maker, "NOTICED", ((maker.NOTICED[0][0], "2.15"),))
    with pytest.raises(LookupError, match=r"did not change in 2\.15; correct NOTICED"):
        list(maker.noticed(steps))


def test_links_lead_to_headings_that_there_are(maker: ModuleType) -> None:
    text = maker.PAGE.read_text("utf-8")
    anchors: dict[str, set[str]] = {}
    for path in [maker.PAGE, *(ROOT / "reference" / "spec").glob("*.md")]:
        headings = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.M)
        anchors[path.name] = {
            re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings
        }
    links = re.findall(r"\]\((?:\.\./reference/spec/([\w-]+\.md))?#([^)]*)\)", text)
    assert len(links) > 200
    broken = [
        (name, anchor) for name, anchor in links if anchor not in anchors[name or "versions.md"]
    ]
    assert not broken
