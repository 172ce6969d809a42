"""Indices of the rules: by public name, by error text, by class and level."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from conformance.base.classes import CLASSES
from conformance.base.levels import LEVELS
from conformance.program.program import Program
from conformance.suite.metadata import STANDINGS
from reports.specification.parts import Part, Section
from reports.text import visible

_ASSIGNABLE = {"data", "grad", "grad_dtype", "imag", "real", "requires_grad"}
"""Attributes of tensors that programs set."""

_MODULES = {"nn": "torch.nn", "F": "torch.nn.functional", "fwAD": "torch.autograd.forward_ad"}


@dataclass(frozen=True)
class Named:
    """A name, or the text of an error, with the rules that speak of it and others that show it.

    `paths` are where torch has the name: `torch.max`, `Tensor.max`.
    """

    name: str
    speaking: list[Section]
    others: list[Section]
    paths: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class OfClass:
    """A class of ports: its text, its rules by standing, its programs by level."""

    name: str
    text: str
    sections: list[Section]
    standings: dict[str, int]
    informative: int
    programs: int


def by_name(parts: Iterable[Part]) -> list[Named]:
    """The public functions, classes and methods that programs of rules use, in alphabetical order.

    A function and the method of the same name are one entry, `max`.
    """
    rules: dict[str, dict[str, Section]] = {}
    paths: dict[str, set[str]] = {}
    for section in _sections(parts):
        for program in section.rule.programs:
            for path in names_in(program):
                name = path.rpartition(".")[2]
                rules.setdefault(name, {})[section.rule.id] = section
                paths.setdefault(name, set()).add(path)
    entries = []
    for name, found in sorted(rules.items(), key=lambda item: item[0].lower()):
        speaking = [section for section in found.values() if _speaks_of(section, name)]
        others = [section for section in found.values() if section not in speaking]
        entries.append(Named(name, speaking, others, sorted(paths[name])))
    return entries


def names_in(program: Program) -> set[str]:
    """The public names of torch that a program uses: `torch.max`, `Tensor.sum`, `torch.nn.Linear`.

    Every other attribute counts as a tensor's, but for those that the program sets or defines.
    """
    nodes = [
        node for statement in program.statements for node in ast.walk(ast.parse(statement.source))
    ]
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {_target(node) for node in nodes if isinstance(node, ast.Attribute)} - _ASSIGNABLE
    names = set()
    for node in nodes:
        if not isinstance(node, ast.Attribute) or node.attr.startswith("_"):
            continue
        path = _path(node)
        if path and path[0] in ("torch", *_MODULES):
            names.add(".".join([_MODULES.get(path[0], path[0]), *path[1:]]))
        elif node.attr not in own:
            names.add(f"Tensor.{node.attr}")
    modules = {name.rpartition(".")[0] for name in names}
    return names - modules


def _target(node: ast.Attribute) -> str:
    """The attribute that is set; empty where it is read."""
    return node.attr if isinstance(node.ctx, ast.Store) else ""


def by_error(parts: Iterable[Part]) -> list[Named]:
    """The errors and warnings that the oracle shows in programs of rules, by class and text."""
    found: dict[str, dict[str, Section]] = {}
    for section in _sections(parts):
        for example in section.examples:
            for text in example.said:
                first = visible(text.strip().split("\n")[0])
                found.setdefault(first, {})[section.rule.id] = section
    return [Named(text, list(rules.values()), []) for text, rules in sorted(found.items())]


def by_class(parts: Sequence[Part]) -> list[OfClass]:
    """The classes of ports, with the counts of their rules."""
    rules = list(_sections(parts))
    made = []
    for name, text in CLASSES.items():
        mine = [section for section in rules if section.rule.metadata.of_class == name]
        counts = {
            standing: sum(section.rule.metadata.standing == standing for section in mine)
            for standing in STANDINGS
        }
        informative = sum(not section.rule.metadata.normative for section in mine)
        programs = sum(len(section.rule.programs) for section in mine)
        made.append(OfClass(name, text, mine, counts, informative, programs))
    return made


def by_level(parts: Iterable[Part]) -> dict[str, int]:
    """How many rules show something at each level in the traces of their programs."""
    counts = dict.fromkeys(LEVELS, 0)
    for section in _sections(parts):
        rows = (row for one in section.examples for step in one.steps for row in step.rows)
        for level in {row.level for row in rows} & set(LEVELS):
            counts[level] += 1
    return counts


def _speaks_of(section: Section, name: str) -> bool:
    texts = section.rule.sentence, section.rule.prose
    return any(re.search(rf"\b{re.escape(name)}\b", text) for text in texts)


def _sections(parts: Iterable[Part]) -> Iterator[Section]:
    return (section for part in parts for section in part.sections)


def _path(node: ast.Attribute) -> list[str]:
    """The dotted path of an attribute that begins with a name; empty for any other value."""
    path = [node.attr]
    value: ast.expr = node.value
    while isinstance(value, ast.Attribute):
        path.insert(0, value.attr)
        value = value.value
    return [value.id, *path] if isinstance(value, ast.Name) else []
