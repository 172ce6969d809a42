"""Heat maps of a run: areas by levels, operators by dtypes."""

from __future__ import annotations

import made_runs

from reports.heat import MOST, areas, operators
from reports.summary import summary


def of_operators(*told: tuple[str, str, bool]) -> list[dict]:
    lines = []
    for number, (operator, dtype, diverges) in enumerate(told):
        make = made_runs.diverging if diverges else made_runs.line
        fields = {"operator": operator, "dtype": dtype}
        lines.append(make(f"op/{operator}/{number}", "operators", **fields))
    return lines


def test_a_cell_of_an_area_is_darker_where_a_larger_share_diverges(tmp_path):
    lines = [made_runs.line(f"TIES-{n:02}.1", "ties") for n in range(1, 100)]
    steps = []
    for number in (0, 1, 5, 20, 60):
        wrong = [made_runs.diverging(f"TIES-{n:02}.1", "ties") for n in range(1, number + 1)]
        run = made_runs.read(tmp_path / "r", [*wrong, *lines[number:]])
        (line,) = areas(summary(run).rows)
        assert (line.name, [cell.kind for cell in line.cells][1:]) == ("ties", ["conforms"] * 3)
        steps.append(line.cells[0].step)
    assert steps == [0, 1, 2, 3, 4]


def test_operators_that_diverge_come_with_every_dtype_and_the_worst_first():
    found = operators(
        of_operators(
            ("relu", "float32", False),
            ("amax", "float32", True),
            ("amax", "float64", False),
            ("cumsum", "float64", True),
            ("cumsum", "float32", True),
        )
    )
    assert found.dtypes == ["float32", "float64"]
    assert [line.name for line in found.lines] == ["cumsum", "amax"]
    assert [[cell.kind for cell in line.cells] for line in found.lines] == [
        ["diverges", "diverges"],
        ["diverges", "conforms"],
    ]
    assert found.more == 0


def test_the_map_of_operators_is_no_longer_than_its_limit():
    found = operators(of_operators(*((f"f{n}", "float32", True) for n in range(MOST + 3))))
    assert (len(found.lines), found.more) == (MOST, 3)
