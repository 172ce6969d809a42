"""The drawings of programs, on the report's program page and under the specification's rules."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import made_drawings
import pytest
from access import contrast, focus_is_seen, headings_are_in_order, nameless, width
from chromium import prefer, resize
from report_page import all_of, keys, one, report, shows, wait

from conformance.backends import find
from conformance.execution.recordings import Recording, record
from conformance.execution.saved import saved_after_each
from conformance.observe.trace import Trace
from conformance.program.program import Program
from conformance.suite.chapters import read_spec
from reports.specification import parts
from reports.specification.site import build

pytestmark = pytest.mark.browser

HEADER = {
    "suite": "0",
    "oracle": {"name": "torch", "version": "2.15.0", "device": "cpu"},
    "seed": 0,
    "default_dtype": "float32",
}
SHOWN = Path(__file__).with_name("drawn.js").read_text("utf-8")


@pytest.fixture(scope="module")
def drawn_report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report of the programs, of which the diamond diverges."""
    lines = [made_drawings.program_line(name) for name in made_drawings.PROGRAMS]
    lines[1] = made_drawings.diverging_line()
    return report(tmp_path_factory.mktemp("drawn"), lines)


@pytest.fixture(scope="module")
def chapter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a chapter of the programs, with their traces."""
    folder = tmp_path_factory.mktemp("drawn-chapter")
    spec = folder / "spec"
    spec.mkdir()
    (spec / "01-drawings.md").write_text(made_drawings.CHAPTER, "utf-8")
    chapters = read_spec(spec)
    programs = [program for one in chapters for program in one.programs]
    traces = {one.id: Trace.from_json(made_drawings.traced(one.id)) for one in programs}
    impl = find("impl")

    def saved(_: Recording, program: Program) -> Any:
        return saved_after_each(program, impl, traces[program.id])

    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(parts, "saved_of", saved)
    record(folder / "made.jsonl", HEADER, programs, lambda program: traces[program.id])
    build(chapters, Recording(folder / "made.jsonl"), [], folder / "site")
    monkeypatch.undo()
    return (folder / "site" / "drawings.html").as_uri()


@pytest.fixture(params=["report", "specification"])
def draw(
    request: pytest.FixtureRequest, opened: Callable[..., Any], drawn_report: str, chapter: str
) -> Callable[[str], Any]:
    """Opens the drawing of a program, on either page."""

    def in_report(name: str) -> Any:
        page = opened(drawn_report, f"#{name}")
        shows(page, name)
        return page

    def in_chapter(name: str) -> Any:
        page = opened(chapter, f"#{name}", mark="site-ready")
        one(page, f'[data-program="{name}"] summary').click()
        return page

    return in_report if request.param == "report" else in_chapter


def drawing(page: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The figures of the graph and of the memory, once they are drawn."""
    one(page, ".drawing-figures section")
    graph, memory = page.execute_script(SHOWN)
    return graph, memory


def statement(page: Any) -> str:
    return one(page, ".drawing-bar p").text


def step(page: Any, to: str) -> None:
    """Go to the statement whose text this is, by the buttons."""
    one(page, ".drawing-figures section")
    back, on = all_of(page, ".drawing-bar button")
    while back.get_attribute("aria-disabled") != "true":
        back.click()
    while not statement(page).endswith(to):
        assert on.get_attribute("aria-disabled") != "true", to
        on.click()


def test_a_chain_is_drawn_with_what_is_new(draw: Callable[[str], Any]) -> None:
    page = draw("DRAW-01.1")
    step(page, "z = y.sum()")
    graph, memory = drawing(page)
    assert [figure["where"] for figure in graph] == ["Before", "After"]
    assert graph[0]["said"] == []
    assert graph[1]["nodes"] == ["+ #0 SumBackward0", "#1 ExpBackward0", "#2 AccumulateGrad x"]
    assert graph[1]["edges"] == [[0, 0, 1], [1, 0, 2]]
    assert graph[1]["marked"] == ["+ #0 SumBackward0"]
    assert [name for name, _ in memory[0]["storages"]] == ["x", "y"]
    assert [name for name, _ in memory[1]["storages"]] == ["x", "y", "z"]
    assert memory[1]["storages"][2][1] == ["+ storage z", "version 0"]
    assert [(name, cells) for name, cells, _ in memory[1]["tensors"]] == [
        ("x", 2),
        ("y", 2),
        ("z", 1),
    ]
    one(page, ".step-on").click()
    assert drawing(page)[1][1]["grads"] == ["+ x.grad (2,), strides (1,), [2.7183 7.3891]; new"]


def test_a_diamond_has_each_node_once_and_its_gradient_is_added_to(
    draw: Callable[[str], Any], request: pytest.FixtureRequest
) -> None:
    page = draw("DRAW-02.1")
    step(page, "z.sum().backward()")
    graph, memory = drawing(page)
    if "report" in request.node.callspec.id:
        assert [figure["where"] for figure in graph] == [
            "Before, expected",
            "Before, got",
            "After, expected",
            "After, got",
        ]
    assert graph[0]["nodes"][-1] == "#3 AccumulateGrad x"
    assert [name.split(" ")[-1] for name in graph[0]["nodes"][1:3]] == ["MulBackward0"] * 2
    assert graph[0]["edges"] == [[0, 0, 1], [0, 1, 2], [1, 0, 2], [1, 1, 2], [2, 0, 3]]
    assert graph[0]["none"] == [[2, 1]]
    after = next(figure for figure in memory if figure["where"].startswith("After"))
    assert "[42. 78.]; written in place" in after["grads"][0]


def test_an_alias_shares_its_storage_and_a_stale_saved_tensor_is_told(
    draw: Callable[[str], Any],
) -> None:
    page = draw("DRAW-03.1")
    step(page, "d.mul_(2)")
    before, after = drawing(page)[1]
    assert [(name, cells) for name, cells, _ in after["tensors"]] == [("x", 6), ("y", 6), ("d", 2)]
    assert before["storages"][1] == ["y", ["storage y", "version 0"]]
    assert after["storages"][1] == ["y", ["+ storage y", "version 1 (was 0)"]]
    assert after["tensors"][2][2][1].startswith("float32 (2,), strides (1,), offset 2")
    step(page, "y.sum().backward()")
    graph, memory = drawing(page)
    assert [figure["where"] for figure in graph][-1].startswith("After")
    told = "saved tensor (output 0 of Exp): saved at version 0, now 1: stale"
    assert " ".join(graph[-1]["notes"]) == told == graph[-1]["said"][-1]
    assert "is at version 1; expected version 0" in one(page, ".drawing-raised").text
    assert [figure["where"].split(",")[0] for figure in memory] == ["Before and after"]


def test_a_long_graph_says_what_it_leaves_out(draw: Callable[[str], Any]) -> None:
    page = draw("DRAW-04.1")
    (_, after), _ = drawing(page)
    assert len(after["nodes"]) == 40
    assert after["notes"] == ["11 nodes left out"] == after["said"][-1:]


@pytest.mark.parametrize("name", made_drawings.PROGRAMS)
def test_nodes_stand_above_all_that_their_edges_go_to_and_apart(
    name: str, draw: Callable[[str], Any]
) -> None:
    page = draw(name)
    figure = drawing(page)[0][-1]
    boxes = figure["boxes"]
    tops = {int(line.lstrip("+≠ #").split(" ")[0]): at for at, line in enumerate(figure["nodes"])}
    for start, _, end in figure["edges"]:
        above, below = boxes[tops[start]], boxes[tops[end]]
        assert above[1] + above[3] < below[1]
    assert not [pair for pair in combinations(boxes, 2) if overlap(*pair)]
    # No edge passes under a box, but at its own ends.
    inner = [[x + 1, y + 1, wide - 2, high - 2] for x, y, wide, high in boxes]
    for points in figure["paths"]:
        assert not [box for box in inner if any(overlap(box, [*at, 0, 0]) for at in points)]


def overlap(one: list[float], two: list[float]) -> bool:
    """Whether two rectangles, each `[x, y, width, height]`, have a point in common."""
    return all(
        one[side] < two[side] + two[side + 2] + 1e-9
        and two[side] < one[side] + one[side + 2] + 1e-9
        for side in (0, 1)
    )


def test_the_text_says_what_the_drawing_shows(draw: Callable[[str], Any]) -> None:
    for name in made_drawings.PROGRAMS:
        page = draw(name)
        for _ in range(20):
            graph, memory = drawing(page)
            for figure in (*graph, *memory):
                said = "\n".join(figure["said"])
                for number, line in enumerate(figure["nodes"]):
                    title = line.lstrip("+≠ ").replace("AccumulateGrad ", "AccumulateGrad of ")
                    assert title in figure["said"][number + 1]
                    saved = figure["saved"][number]
                    words = saved.replace("≠ ", "").split(" ")
                    told = figure["said"][number + 1]
                    assert all(word in told for word in words)
                    assert ("(new" in told) == line.startswith("+")
                    assert told.count("differs)") == f"{line} {saved}".count("≠")
                for start, put, end in figure["edges"]:
                    assert f"input {put} goes to #{end}" in said.split("\n")[start + 1]
                assert said.count("has no edge") == len(figure["none"])
                for label, lines in figure["storages"]:
                    assert f"storage {label}" in said and lines[1].split(" (")[0] in said
                for label, _, lines in figure["tensors"]:
                    line = next(line for line in figure["said"] if line.startswith(f"{label}"))
                    assert all(word in said for word in " ".join(lines[1:]).split(" ")), line
                assert said.count("the gradient of") == len(figure["grads"])
            back = one(page, ".step-back")
            if back.get_attribute("aria-disabled") == "true":
                break
            back.click()


def test_saved_tensors_have_their_versions_and_stale_ones_are_told(
    draw: Callable[[str], Any],
) -> None:
    page = draw("DRAW-03.1")
    step(page, "d = y.detach()[2:4]")
    graph, _ = drawing(page)
    assert graph[0]["saved"] == ["saved result: storage y, version 0", ""]
    step(page, "d.mul_(2)")
    graph, _ = drawing(page)
    assert [figure["where"] for figure in graph] == ["Before", "After"]
    assert graph[1]["saved"] == ["saved result: version 0, now 1: stale", ""]
    page = draw("DRAW-01.1")
    step(page, "z.backward()")
    graph, _ = drawing(page)
    assert graph[-1]["saved"] == ["", "saved tensors freed", ""]


def test_differences_between_the_sides_are_marked(opened: Any, drawn_report: str) -> None:
    page = opened(drawn_report, "#DRAW-02.1")
    shows(page, "DRAW-02.1")
    assert statement(page).startswith("Statement 3 of 5, line 4")
    graph, memory = drawing(page)
    assert [figure["where"] for figure in graph] == [
        "Before, both sides",
        "After, expected",
        "After, got",
    ]
    assert [figure["marked"] for figure in graph[1:]] == [
        ["+≠ #0 AddBackward0", "+ #1 MulBackward0"],
        ["+≠ #0 SubBackward0", "+ #1 MulBackward0"],
    ]
    assert [figure["saved"][1] for figure in graph[1:]] == [
        "≠ saved other: storage y, version 0 saved self: storage y, version 0",
        "≠ saved other: storage y, version 1 saved self: storage y, version 0",
    ]
    assert [figure["tensors"][2][2][-1] for figure in memory[1:]] == ["new; differs: version"] * 2
    step(page, "z.sum().backward()")
    _, memory = drawing(page)
    assert [figure["grads"] for figure in memory[-2:]] == [
        [
            "+≠ x.grad (2,), strides (1,), [42. 78.]; written in place; differs: values, "
            "the same tensor as before, or another"
        ],
        [
            "+≠ x.grad (2,), strides (1,), [1. 1.]; another tensor; differs: values, "
            "the same tensor as before, or another"
        ],
    ]


def test_a_line_and_the_keys_choose_the_statement(draw: Callable[[str], Any]) -> None:
    from selenium.webdriver.common.keys import Keys

    page = draw("DRAW-01.1")
    assert statement(page).endswith("z.backward()")
    lines = ".code.choosable li"
    all_of(page, lines)[2].click()
    assert statement(page) == "Statement 2 of 4, line 3 y = x.exp()"
    (current,) = all_of(page, "[aria-current=step]")
    assert current.text.startswith("y = x.exp()")
    page.execute_script("document.querySelector('.step-on').focus()")
    keys(page, Keys.ENTER)
    assert statement(page).endswith("z = y.sum()")
    assert focus_is_seen(page)
    keys(page, Keys.ARROW_LEFT)
    keys(page, Keys.ARROW_LEFT)
    assert statement(page).startswith("Statement 1 of 4")
    keys(page, Keys.ARROW_LEFT)
    assert statement(page).startswith("Statement 1 of 4")
    assert one(page, ".step-back").get_attribute("aria-disabled") == "true"
    all_of(page, ".drawing-of[open] > summary")[0].click()
    wait(lambda: not all_of(page, "[aria-current=step]"))


def test_the_graph_of_another_name_can_be_chosen(draw: Callable[[str], Any]) -> None:
    from selenium.webdriver.support.ui import Select

    page = draw("DRAW-01.1")
    Select(one(page, ".drawing-figures select")).select_by_value("y")
    graph, _ = drawing(page)
    assert graph[0]["nodes"] == ["#0 ExpBackward0", "#1 AccumulateGrad x"]
    assert page.switch_to.active_element.tag_name == "select"
    one(page, ".step-back").click()
    assert drawing(page)[0][0]["nodes"] == ["#0 ExpBackward0", "#1 AccumulateGrad x"]


def test_every_drawing_has_a_name_and_the_page_its_order(draw: Callable[[str], Any]) -> None:
    page = draw("DRAW-02.1")
    drawing(page)
    pictures = all_of(page, "svg.drawn")
    assert pictures
    for picture in pictures:
        assert picture.get_attribute("role") == "img"
        named = page.find_element("id", picture.get_attribute("aria-labelledby"))
        assert named.text.startswith(("Before", "After"))
    assert nameless(page) == []
    assert headings_are_in_order(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_drawings_have_contrast_enough(
    scheme: str, draw: Callable[[str], Any], browser: Any
) -> None:
    prefer(browser, scheme)
    page = draw("DRAW-02.1")
    drawing(page)
    found = contrast(page)
    assert found["checked"] > 50 and found["faint"] == []


@pytest.mark.parametrize("name", made_drawings.PROGRAMS)
def test_a_narrow_window_needs_no_sideways_scrolling(
    name: str, draw: Callable[[str], Any], browser: Any
) -> None:
    resize(browser, 360, 800)
    page = draw(name)
    if not all_of(page, ".drawing-of[open]"):
        assert not all_of(page, ".drawing-body")
        one(page, ".drawing-of > summary").click()
    drawing(page)
    assert width(page) <= 360


def test_a_drawing_is_quick(draw: Callable[[str], Any]) -> None:
    page = draw("DRAW-04.1")
    drawing(page)
    taken = page.execute_script("return performance.getEntriesByName('drawing')[0].duration")
    assert taken < 500  # generous, for slow machines


def test_hostile_texts_stay_texts(opened: Any, small_report: str) -> None:
    from selenium.webdriver.support.ui import Select

    page = opened(small_report, "#SEED-66.1")
    shows(page, "SEED-66.1")
    step(page, "y = x * 2")
    one(page, ".drawing-figures section")
    options = "return [...document.querySelectorAll('.drawing-of option')].map((one) => one.value)"
    assert page.execute_script(options) == ["y", "__proto__"]
    Select(one(page, ".drawing-figures select")).select_by_value("__proto__")
    assert any("</script>" in node for figure in drawing(page)[0] for node in figure["nodes"])
    assert page.execute_script("return window.hacked") is None
    assert not page.find_elements("css selector", ".drawing-of script, .drawing-of img")
