"""Builder of the dashboard: writes every page and data file into a directory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from conformance.base.levels import LEVELS, NOT_COMPARED
from conformance.base.outputs import writing
from conformance.run_files.changes import KINDS
from conformance.run_files.identity import is_web_address
from conformance.suite.areas import AREAS
from reports.badge import picture
from reports.categories import SYMBOLS, WORDS
from reports.dashboard.archive import (
    Archive,
    ArchivedRun,
    ArchiveError,
    StoreError,
    read_archive,
)
from reports.dashboard.badges import badges
from reports.dashboard.charts import BARS, PANEL, agreement, errors, seconds
from reports.dashboard.ledger import Ledger
from reports.dashboard.log import log
from reports.dashboard.overview import (
    KIND_SYMBOLS,
    KIND_WORDS,
    current,
    findings,
    headline,
    ordered,
)
from reports.dashboard.series import Configuration, Series, configurations, named
from reports.dashboard.store import Store
from reports.folder import write_site
from reports.page import STYLES, render
from reports.payload import json_text, packed
from reports.rules import spec_site
from reports.text import shortened, visible

FEW = 8
"""Length of a list on the overview, which has one for every configuration."""

LISTED = 40
"""Length of a list on a page; the rest is behind a link."""

COLUMNS = 8
"""Versions in a page's matrix; earlier ones are folded away."""

STATIC = ("theme.js", "dashboard/static.js")
LOADING = (
    "text.js",
    "verdicts.js",
    "python.js",
    "unpack.js",
    "dashboard/shards.js",
    "dashboard/history.js",
    "paged.js",
    "dashboard/list.js",
    "theme.js",
)


def build(
    runs: Path,
    site: Path,
    store: Path,
    processes: int = 0,
    tell: Callable[[str], None] = lambda _: None,
    commit_url: str | None = None,
    spec_url: str | None = None,
) -> Archive:
    """Write the site of the run files under `runs` into `site`, and return the archive read.

    The output is a deterministic function of the run files and of two addresses: `commit_url` is
    that of a revision, with `{}` in its place, `spec_url` that of the specification. The folder
    `store` caches digests. Raises ArchiveError if there is no run file, OutputError if a file
    cannot be written.
    """

    def made() -> tuple[Archive, dict[str, str]]:
        archive = read_archive(runs, Store(store), processes, tell)
        tell(f"making the pages of {len(archive.runs):,} runs")
        return archive, _files(archive, commit_url, spec_url) if archive.runs else {}

    with writing(store):
        try:
            archive, files = made()
        except StoreError:
            tell("what was read earlier is damaged, and is read again")
            Store(store).repair()
            archive, files = made()
    if files:
        with writing(site):
            write_site(site, files)
    return archive


def _files(archive: Archive, commit_url: str | None, spec_url: str | None) -> dict[str, str]:
    """The site's files by name; data come first, so that a written page never lacks its data."""
    found = configurations(archive.runs)
    series = [one for configuration in found for one in configuration.series]
    ledger = Ledger(archive, series)
    states = [current(configuration, ledger) for configuration in found]
    states.sort(key=lambda state: not state.moved["diverges"])
    histories, sources = ledger.shards()
    files: dict[str, str] = {}
    names = {
        "histories": [_shard(files, "history", text) for text in histories],
        "sources": [_shard(files, "source", text) for text in sources],
    }
    indexed = {**_index(archive, ledger, names), "specification": spec_site(spec_url)}
    index = packed(json_text(indexed))
    said = {one.configuration.slug: badges(one) for one in states}
    for slug in said:
        for badge in said[slug]:
            files[badge.file] = picture(badge)
    common: dict[str, Any] = {
        "levels": LEVELS,
        "not_compared": NOT_COMPARED,
        "words": WORDS,
        "symbols": SYMBOLS,
        "kinds": (*KINDS, "added", "removed"),
        "kind_words": KIND_WORDS,
        "kind_symbols": KIND_SYMBOLS,
        "limit": LISTED,
        "few": FEW,
        "states": states,
        "page_of": page_of,
        "run_name": run_name,
        "run_label": run_label,
        "commit": partial(commit, commit_url),
        "spec_url": spec_site(spec_url),
        "named": named,
        "panel": PANEL,
        "bars": BARS,
    }
    for page in ("programs", "compare"):
        scripts = (*LOADING, f"dashboard/{page}.js")
        files[f"{page}.html"] = _page(page, scripts, True, index=index, **common)
    agreements = {
        state.configuration.slug: agreement(state.versions, state.configuration.torch_versions())
        for state in states
    }
    for state in states:
        configuration = state.configuration
        files[page_of(configuration)] = _page(
            "backend",
            STATIC,
            state=state,
            shown=COLUMNS,
            agreement=agreements[configuration.slug],
            errors=errors(state.newest),
            seconds=seconds(state.runs),
            badges=said[configuration.slug],
            previous=_previous(configuration.series),
            logs=[(series, log(series, ledger)) for series in configuration.wide()],
            **common,
        )
    first, second = headline(states)
    files["index.html"] = _page(
        "index",
        STATIC,
        title=first,
        lead=second,
        problems=archive.problems,
        runs=archive.runs,
        areas=ordered(area for state in states for area in state.rows),
        agreements=agreements,
        findings=findings(states, ledger),
        flaky=sorted(
            (one for state in states for one in state.flaky), key=lambda one: (-one.changes, one.id)
        ),
        badges=said,
        **common,
    )
    return files


def _page(name: str, scripts: Iterable[str], shards: bool = False, **values: Any) -> str:
    return render(
        f"dashboard/{name}.html.j2",
        styles=(*STYLES, "dashboard/site.css"),
        scripts=scripts,
        shards=shards,
        page=name,
        **values,
    )


def _shard(files: dict[str, str], kind: str, text: str) -> str:
    """Add a data file, named by its content's hash: a page never loads another build's data."""
    name = f"data/{kind}-{sha256(text.encode('ascii')).hexdigest()[:16]}.js"
    files[name] = f"shard({json.dumps(name)},{json.dumps(text)});\n"
    return name


def page_of(configuration: Configuration) -> str:
    """The file name of a configuration's page."""
    return f"backend-{configuration.slug}.html"


def run_name(run: ArchivedRun) -> str:
    """A run's name in lists: its start time, and its label, or else its revision or its ID."""
    told = run_label(run) or shortened(run.digest.revision, 12) or run.id
    return visible(f"{run.moment[:16].replace('T', ' ')}, {told}")


def commit(template: str | None, run: ArchivedRun) -> str:
    """The address of a run's revision; empty without a template."""
    return template.replace("{}", quote(run.digest.revision, safe="")) if template else ""


def run_label(run: ArchivedRun) -> str:
    """The label that the user gave the run, truncated; empty without one."""
    return shortened(run.digest.label, 40)


def _previous(series: Iterable[Series]) -> dict[str, str | None]:
    """By run, the previous run of its series; None for the first."""
    found: dict[str, str | None] = {}
    for one in series:
        names = [run.id for run in one.runs]
        found.update(zip(names, [None, *names], strict=False))
    return found


def _index(archive: Archive, ledger: Ledger, names: dict[str, list[str]]) -> dict[str, Any]:
    """The data that every page with a script needs before it loads shards."""
    places = {
        run.id: (series.number, at)
        for series in ledger.series
        for at, run in enumerate(series.runs)
    }
    return {
        "levels": LEVELS,
        "words": WORDS,
        "symbols": SYMBOLS,
        "kinds": {kind: [KIND_SYMBOLS[kind], KIND_WORDS[kind]] for kind in KIND_WORDS},
        "areas": ordered(entry.area for entry in ledger.entries.values()) or AREAS,
        "series": [
            {
                "name": named(one.subject),
                "selected": one.selected,
                "backend": _option(one),
                "torch": one.is_of_torch,
            }
            for one in ledger.series
        ],
        "runs": [
            [
                run.id,
                *places[run.id],
                run.moment[:16].replace("T", " "),
                run.version,
                int(run.digest.complete),
                run.file,
                run_label(run) or shortened(run.digest.revision, 12),
                run.digest.url if is_web_address(run.digest.url) else "",
            ]
            for run in archive.runs
        ],
        **names,
    }


def _option(series: Series) -> list[str]:
    """The options of `conform show` for the backend and the oracle of a series."""
    of = series.runs[-1].digest
    options = ["--backend", of.backend.name, "--oracle", of.oracle.name]
    if of.default_dtype != "float32":
        options += ["--default-dtype", of.default_dtype]
    return options


__all__ = ["ArchiveError", "build"]
