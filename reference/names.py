"""The tables of torch's public names: `python -m reference.names docs/names.md LIST`.

The page says which of them impl has. By the list, `conformance/signatures/names.txt`, the names of
any backend are counted without torch.

`names.toml` has the reasons, by groups; a name that is missing without one is listed first.
"""

from __future__ import annotations

import argparse
import fnmatch
import inspect
import tomllib
from dataclasses import dataclass, field
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import torch
import torch.func

SPACES = (
    *("torch", "torch.Tensor", "torch.nn", "torch.nn.functional", "torch.autograd"),
    *("torch.linalg", "torch.fft", "torch.special", "torch.optim", "torch.func"),
)
_WIDTH = 110


@dataclass
class Group:
    """Missing names with one reason for all."""

    title: str
    reason: str
    patterns: list[str]
    names: list[str] = field(default_factory=list)


@dataclass
class Count:
    """How many public names a space has, and how many of them impl has, or lacks with a reason."""

    space: str
    every: int = 0
    present: int = 0
    reasoned: int = 0


def public(space: str) -> list[str]:
    """The public names of a module or class of torch, without its submodules."""
    owner = _value(torch, space)
    return [
        name
        for name in dir(owner)
        if not name.startswith("_") and not inspect.ismodule(getattr(owner, name, None))
    ]


def _value(root: Any, space: str) -> Any:
    found = root
    for part in space.split(".")[1:]:
        found = getattr(found, part)
    return found


def counted() -> tuple[list[Count], list[Group], list[str]]:
    """The counts by space, the groups with their names, and the names without a reason."""
    impl = import_module("impl")
    text = resources.files("reference").joinpath("names.toml").read_text("utf-8")
    groups = [
        Group(group["title"], group["reason"], group["names"])
        for group in tomllib.loads(text)["group"]
    ]
    counts, unexplained = [], []
    for space in SPACES:
        count, theirs = Count(space), _value(impl, space)
        for name in public(space):
            count.every += 1
            full = f"{space}.{name}"
            if hasattr(theirs, name):
                count.present += 1
            elif (group := _group(groups, full)) is not None:
                count.reasoned += 1
                group.names.append(full)
            else:
                unexplained.append(full)
        counts.append(count)
    return counts, groups, unexplained


def _group(groups: list[Group], name: str) -> Group | None:
    for group in groups:
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in group.patterns):
            return group
    return None


def page() -> str:
    """The table and the lists, in Markdown."""
    counts, groups, unexplained = counted()
    lines = [
        "# torch's public names in impl",
        "",
        f"`python -m reference.names` wrote this page, with torch {_version()}; the reasons are",
        "those of `reference/names.toml`. Counted are names without an underscore, and no",
        "submodules. The report of a run has the same table for its backend.",
        "",
        "| in | public names | in impl | out of scope, with a reason | missing |",
        "|---|---:|---:|---:|---:|",
    ]
    total = Count("all")
    for count in counts:
        total.every += count.every
        total.present += count.present
        total.reasoned += count.reasoned
    for count in (*counts, total):
        missing = count.every - count.present - count.reasoned
        name = f"`{count.space}`" if count is not total else "all"
        lines.append(f"| {name} | {count.every} | {count.present} | {count.reasoned} | {missing} |")
    if unexplained:
        lines += ["", "## Missing", "", *_wrapped(unexplained)]
    for group in groups:
        if group.names:
            lines += ["", f"## {group.title}", "", group.reason, "", *_wrapped(group.names)]
    return "\n".join(lines) + "\n"


def listed() -> str:
    """The names, a line for each; a dash after those that are out of scope."""
    _, groups, _ = counted()
    outside = {name for group in groups for name in group.names}
    names = [f"{space}.{name}" for space in SPACES for name in public(space)]
    return "".join(f"{name} -\n" if name in outside else f"{name}\n" for name in names)


def _wrapped(names: list[str]) -> list[str]:
    lines = [""]
    for name in names:
        word = f"`{name.removeprefix('torch.')}`"
        if lines[-1] and len(lines[-1]) + len(word) > _WIDTH:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _version() -> str:
    return torch.__version__.partition("+")[0]


def main() -> None:
    """Write the page and the list."""
    parser = argparse.ArgumentParser(prog="python -m reference.names", description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("list", type=Path)
    options = parser.parse_args()
    options.page.write_text(page(), "utf-8")
    options.list.write_text(listed(), "utf-8")


if __name__ == "__main__":
    main()
