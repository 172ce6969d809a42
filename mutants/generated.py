"""Generated mutants: every mutation that cosmic-ray knows, of the engine and the tape.

A catalogue for `conform mutants --catalogue mutants.generated`, mostly of a part of it (`--shard`,
`--tenth`). They have no program of their own, and some of them change nothing that can be seen.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from types import ModuleType

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

import mutants
from conformance.mutation.mutant import Mutant
from mutants.edits import Edit, edited, prepare

ROOT = Path(mutants.__file__).parents[1]
FOLDERS = ("impl/engine", "impl/tape")
UNSEEN = ("BitOr", "RemoveDecorator", "VariableReplacer", "VariableInserter")
"""Parts of the names of operators left out: `|` stands in annotations, the others need options."""

# The areas whose programs are likeliest to notice a change of a file.
AREAS = {
    "accumulation": ("accumulation", "seeds"),
    "backward": ("grad", "accumulation"),
    "batched_gradients": ("grad",),
    "copy_slices": ("aliasing", "inplace"),
    "custom_function": ("functions",),
    "custom_function_jvp": ("functions", "forward"),
    "custom_function_outputs": ("functions",),
    "dual_tensor": ("forward",),
    "general_step": ("hooks", "grad", "functions"),
    "gradient_versions": ("versions", "accumulation"),
    "inplace": ("inplace", "aliasing"),
    "multi_grad_hooks": ("hooks",),
    "mutation_on_saved": ("versions",),
    "once_differentiable": ("functions",),
    "saved_tensor_hooks": ("hooks",),
    "saved_variable": ("versions", "inplace", "hooks"),
    "seeds": ("seeds", "grad"),
    "versions": ("versions",),
}


@cache
def catalogue() -> tuple[Mutant, ...]:
    """The mutants, by file, whose name is their area, and in the order of the mutations in each."""
    prepare()
    return tuple(
        mutant
        for folder in FOLDERS
        for path in sorted((ROOT / folder).glob("*.py"))
        for mutant in _of_file(path)
    )


def _of_file(path: Path) -> Iterator[Mutant]:
    source = path.read_text("utf-8")
    file = path.relative_to(ROOT).as_posix()
    tree = get_ast(source)
    for name in plugins.operator_names():
        kind = name.rpartition("/")[2]
        operator = plugins.get_operator(name)
        if any(part in name for part in UNSEEN) or operator.arguments():
            continue
        places = [
            start[0] for node in ast_nodes(tree) for start, _ in operator().mutation_positions(node)
        ]
        for occurrence, line in enumerate(places):
            yield Mutant(
                name=f"{path.stem}-{line}-{kind}-{occurrence}",
                area=path.stem,
                kind=kind,
                mistake=f"{file}, line {line}: {kind}",
                breaks=AREAS.get(path.stem, ()),
                shows="",
                apply=partial(_applied, file, source, name, occurrence),
            )


def _applied(file: str, source: str, operator: str, occurrence: int) -> ModuleType:
    mutated = mutate_code(source, plugins.get_operator(operator)(), occurrence)
    if mutated is None:
        raise ValueError(f"{operator} has no occurrence {occurrence} in {file}")
    return edited([Edit(file, source, mutated)])


def difference(name: str) -> str:
    """The mutation with this name as a diff of its lines, for reading what survived."""
    (mutant,) = (mutant for mutant in catalogue() if mutant.name == name)
    file, source, operator, occurrence = mutant.apply.args  # type: ignore[attr-defined]
    mutated = mutate_code(source, plugins.get_operator(operator)(), occurrence)
    lines = difflib.unified_diff(source.splitlines(), str(mutated).splitlines(), file, file, n=2)
    return "\n".join(line.rstrip() for line in lines)
