"""The dashboard: the contents of its pages, and that they are a function of the run files."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path
from xml.dom import minidom

import made_runs
import pytest
from command import conform
from made_archive import archive, backend, regressing, run
from made_dashboard import built, files, text

from reports.dashboard.charts import percent
from reports.dashboard.ledger import place
from reports.dashboard.site import build


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    one = archive(tmp_path / "one")
    shutil.copytree(one, tmp_path / "other" / "deep")
    first = files(built(one, tmp_path, "site-1"))
    again = files(built(one, tmp_path, "site-2"))
    build(one, tmp_path / "site-3", tmp_path / "fresh-store", processes=2)
    assert first == again == files(tmp_path / "site-3")
    assert len(first) > 10


def test_a_build_removes_what_the_last_one_left_and_nothing_else(tmp_path: Path) -> None:
    folder = archive(tmp_path / "runs")
    site = built(folder, tmp_path)
    (site / "CNAME").write_text("example.org")
    (folder / "run004.jsonl").unlink()
    before = set(files(site))
    after = set(files(built(folder, tmp_path)))
    assert "backend-torch-cuda.html" in before - after
    assert "CNAME" in after
    fresh = set(files(built(folder, tmp_path, "fresh")))
    assert after - {"CNAME"} == fresh


def test_a_manifest_cannot_make_the_build_remove_what_is_not_the_sites(tmp_path: Path) -> None:
    folder = archive(tmp_path / "runs")
    site = built(folder, tmp_path)
    treasure = tmp_path / "treasure"
    treasure.write_text("mine")
    (site / "site.json").write_text(json.dumps({"files": ["../treasure", str(treasure), 7]}))
    built(folder, tmp_path)
    assert treasure.read_text() == "mine"


def test_what_changed_comes_first_and_what_diverges_next(tmp_path: Path) -> None:
    page = text(built(archive(tmp_path / "runs"), tmp_path))
    assert page.startswith("5 programs diverge that did not in the run before")
    assert "5 of them diverging" in page
    assert page.index("What changed since the run before") < page.index("What diverges now")
    assert "1 no longer compared" in page
    assert "TIES-02.2 conforms → unsupported" in page
    assert "no 'amax'" in page or "no &#39;amax&#39;" in page


def test_not_compared_is_never_counted_as_diverging(tmp_path: Path) -> None:
    lines = [
        made_runs.line("A-1", "ties"),
        *(
            made_runs.uncompared(f"A-{n}", "ties", o, "why")
            for n, o in enumerate(("unsupported", "error", "not_run"), start=2)
        ),
    ]
    run(tmp_path / "runs", 0, lines)
    site = built(tmp_path / "runs", tmp_path)
    page = text(site)
    assert page.startswith("Nothing diverges")
    assert "conforms in 1 program; 3 not compared" in page
    assert "%" not in page.partition("Agreement")[0]
    badge = (site / "badges/impl-cpu-values.svg").read_text("utf-8")
    assert "conforms, 3 not compared" in badge and "#14703f" not in badge


def test_a_badge_is_a_picture_with_a_name_and_says_which_level(tmp_path: Path) -> None:
    site = built(archive(tmp_path / "runs"), tmp_path)
    badges = sorted((site / "badges").glob("*.svg"))
    assert len(badges) == 8
    for badge in badges:
        (svg,) = minidom.parse(str(badge)).getElementsByTagName("svg")
        assert svg.getAttribute("aria-label") and svg.getAttribute("role") == "img"
    assert "2 diverge, 4 not compared" in (site / "badges/impl-cpu-diagnostics.svg").read_text(
        "utf-8"
    )


def test_nothing_a_backend_says_is_markup(tmp_path: Path) -> None:
    hostile = made_runs.HOSTILE.replace("\ud800", "")
    loud = {**made_runs.diverging("TIES-02.1", "ties", operator=hostile), "area": hostile}
    loud["divergences"]["values"]["got"] = hostile
    loud["rule"] = hostile
    lines = [made_runs.hostile(), loud, made_runs.hostile(made_runs.HOSTILE)]
    run(
        tmp_path / "runs",
        0,
        [made_runs.line("TIES-02.1", "ties")],
        backend=backend(hostile, hostile),
    )
    run(tmp_path / "runs", 1, lines, backend=backend(hostile, hostile), stale=(hostile,))
    (run(tmp_path / "runs", 2, lines, started=hostile)).write_text(
        (tmp_path / "runs" / "run002.jsonl").read_text().replace("run002", "<b>run002")
    )
    site = built(tmp_path / "runs", tmp_path)
    for name, content in files(site).items():
        page = content.decode("utf-8")
        assert "<img" not in page and "window.hacked = 1</script>" not in page, name
        assert "\u202e" not in page and "\x1b" not in page, name
        if name.endswith(".html"):
            assert page.count("<script") == page.count("</script>") <= 3
        if name.endswith(".svg"):
            minidom.parseString(page)
        if name.endswith(".js"):
            assert re.fullmatch(
                r'shard\("data/[a-z]+-[0-9a-f]{16}\.js","[A-Za-z0-9+/=]*"\);\n', page
            )
        assert re.fullmatch(r"[A-Za-z0-9._/-]+", name)


def test_pages_ask_for_nothing_from_outside(tmp_path: Path) -> None:
    site = built(archive(tmp_path / "runs"), tmp_path)
    for name, content in files(site).items():
        page = content.decode("utf-8")
        if name.endswith(".html"):
            policy = html.unescape(page)
            assert "default-src 'none'" in policy and "require-trusted-types-for" in policy
            assert not re.search(r"<(?:link|img|iframe)|src=|url\(|@import", page.split("<main")[0])
            loads = name in ("programs.html", "compare.html")
            assert ("strict-dynamic" in page) == loads


def test_a_key_is_where_the_script_looks_for_it() -> None:
    # Values of the published FNV-1a, 32 bits.
    assert place("", 2**32) == 0x811C9DC5
    assert place("a", 2**32) == 0xE40C292C
    assert place("foobar", 2**32) == 0xBF9CF968


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (10, 10, "100 %"),
        (0, 10, "0 %"),
        (1, 3, "33.3 %"),
        (9999, 10000, "99.99 %"),
        (9_999_999, 10_000_000, "> 99.999 %"),
    ],
)
def test_a_share_is_never_rounded_to_all(part: int, whole: int, said: str) -> None:
    assert percent(part, whole) == said


def test_revisions_and_reports_are_linked(tmp_path: Path) -> None:
    folder = regressing(tmp_path / "runs")
    done = conform(
        *("dashboard", folder, "site", "--cache", "c"),
        *("--commit-url", "https://git.example/commit/{}"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "backend-impl-cpu.html").read_text("utf-8")
    assert '<a href="https://git.example/commit/c0ffee2"><code>c0ffee2</code></a>' in page
    assert '<a href="https://ci.example/2/report.html"' in page
    refused = conform("dashboard", folder, "s", "--commit-url", "https://git.example", cwd=tmp_path)
    assert refused.returncode == 2
    assert "has no {}, where the revision belongs" in refused.stderr


def test_rules_are_linked_in_the_specification(tmp_path: Path) -> None:
    folder = regressing(tmp_path / "runs")
    site = ("--spec-url", "https://spec.example/site/")
    done = conform("dashboard", folder, "site", "--cache", "c", *site, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "backend-impl-cpu.html").read_text("utf-8")
    assert 'href="https://spec.example/site/ties.html#TIES-02"' in page
    refused = conform("dashboard", folder, "s", "--spec-url", "javascript:alert(1)", cwd=tmp_path)
    assert refused.returncode == 2


def test_an_address_that_acts_is_no_link(tmp_path: Path) -> None:
    lines = [made_runs.line("LEAF-01.1", "leaves")]
    run(tmp_path / "runs", 0, lines, url="javascript:alert(1)", revision="<b>")
    page = (built(tmp_path / "runs", tmp_path) / "backend-impl-cpu.html").read_text("utf-8")
    assert "javascript:" not in page
    assert "<b>" not in page.partition('id="log-title"')[2].partition("</table>")[0]
