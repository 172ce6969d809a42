"""Dashboards of directories of run files, and the texts of their pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from reports.dashboard.archive import read_archive
from reports.dashboard.ledger import ABSENT, Ledger
from reports.dashboard.series import configurations
from reports.dashboard.site import build
from reports.dashboard.store import Store


def built(folder: Path, base: Path, name: str = "site") -> Path:
    build(folder, base / name, base / "store")
    return base / name


def files(site: Path) -> dict[str, bytes]:
    return {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in site.rglob("*")
        if path.is_file()
    }


def text(site: Path, page: str = "index.html") -> str:
    """A page's text without markup, with runs of blanks collapsed."""
    body = (site / page).read_text("utf-8").partition('tabindex="-1">')[2].partition("</main>")[0]
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def read(folder: Path, base: Path) -> tuple[Ledger, list[Any]]:
    found = read_archive(folder, Store(base / "store"))
    made = configurations(found.runs)
    return Ledger(found, [series for one in made for series in one.series]), made


def history(ledger: Ledger, name: str, series: int = 0) -> list[tuple[int, str | None]]:
    return [
        (at, None if number == ABSENT else ledger.standings[number].category)
        for at, number in ledger.entries[name].histories[series]
    ]
