"""Programs whose drawings are tested, with their traces on `impl`."""

from __future__ import annotations

import copy
from typing import Any

import made_runs

from conformance.backends import find
from conformance.base.levels import LEVELS
from conformance.execution.execute import trace
from conformance.execution.saved import saved_after_each
from conformance.observe.trace import Trace
from conformance.program.program import Program

CHAIN = """\
x = torch.tensor([1., 2.], requires_grad=True)
y = x.exp()
z = y.sum()
z.backward()
"""
DIAMOND = """\
x = torch.tensor([1., 2.], requires_grad=True)
y = x * 3
z = y * y + y
z.sum().backward(retain_graph=True)
z.sum().backward()
"""
ALIASED = """\
x = torch.arange(6., requires_grad=True)
y = x.exp()
d = y.detach()[2:4]
d.mul_(2)
y.sum().backward()
"""
LONG = "x = torch.ones(2, requires_grad=True)\ny = x\nfor _ in range(50): y = y + 1\n"
WIDE = """\
xs = [torch.ones(2, requires_grad=True) for _ in range(7)]
y = torch.stack(xs).sum() + xs[6].sum() * xs[0].sum()
"""
PROGRAMS = {
    "DRAW-01.1": CHAIN,
    "DRAW-02.1": DIAMOND,
    "DRAW-03.1": ALIASED,
    "DRAW-04.1": LONG,
    "DRAW-05.1": WIDE,
}

CHAPTER = "# Drawings in miniature\n" + "".join(
    f"\n## {name[:-2]} A made program\n\n```python\n{source}```\n"
    for name, source in PROGRAMS.items()
)


def traced(name: str) -> dict[str, Any]:
    """The trace of the program on `impl`, as run files have it."""
    program = Program(name, "drawings", PROGRAMS[name], "")
    return trace(program, find("impl")).to_json()


def program_line(name: str, **fields: Any) -> dict[str, Any]:
    """The line of a program whose two traces are equal, with the saved tensors of one side."""
    program = Program(name, "drawings", PROGRAMS[name], "")
    shown = traced(name)
    about = {"rule": name[:-2], "source": program.paste(), "expected": shown}
    saved = {"expected": saved_after_each(program, find("impl"), Trace.from_json(shown))}
    return made_runs.line(name, "drawings", **about, saved=saved, **fields)


def diverging_line() -> dict[str, Any]:
    """The line of the diamond on a backend whose sum has another node and another version, whose
    product is saved at another version, and whose second pass replaces the gradient."""
    made = program_line("DRAW-02.1", outcome="diverges")
    got = copy.deepcopy(made["expected"])
    z = got["steps"][2]["changed"]["z"]
    graph = list(z["graph"])
    z["grad_fn"] = "SubBackward0"
    z["graph"][0] = z["graph"][0].replace("Add", "Sub")
    z["version"] = 1
    x = got["steps"][4]["changed"]["x"]
    x["grad"] = {**x["grad"], "values": [1.0, 1.0], "same": False}
    at = ("step", "line", "name", "field", "expected", "got")
    first = {
        "values": (4, 6, "x", "grad.values", [42.0, 78.0], [1.0, 1.0]),
        "memory": (2, 4, "z", "version", 0, 1),
        "diagnostics": (2, 4, "z", "graph", graph, z["graph"]),
    }
    divergences = {level: dict(zip(at, of, strict=True)) for level, of in first.items()}
    levels = {level: "diverges" if level in first else "conforms" for level in LEVELS}
    saved = copy.deepcopy(made["saved"])
    saved["got"] = copy.deepcopy(saved["expected"])
    saved["got"][2]["z"]["1"][0][2:] = [1, 1]
    return {**made, "got": got, "divergences": divergences, "levels": levels, "saved": saved}
