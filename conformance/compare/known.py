"""Known divergences: per backend, the programs that may diverge at a level, with reasons."""

from __future__ import annotations

import fnmatch
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any

from conformance.base.file_error import FileError
from conformance.base.levels import LEVELS
from conformance.base.torch_versions import minor

EXCUSABLE = (*LEVELS, "specification")
"""The levels of an entry; `specification` is a comment in a chapter that the oracle fails."""

_KEYS = {"program", "rule", "calls", "level", "reason", "link", "sometimes"}
_KINDS = ("program", "rule", "calls")
_MINOR = re.compile(r"\d+\.\d+")


class KnownError(FileError):
    """A malformed list of known divergences."""


@dataclass(frozen=True)
class Entry:
    """One known divergence, at one or several levels: a program, the programs whose IDs meet a
    pattern (`among`), every program of a rule, or every random program whose source has the text
    `calls`.

    `sometimes` marks one that depends on the processor: it may conform.
    """

    program: str | None
    rule: str | None
    levels: tuple[str, ...]
    reason: str
    link: str | None
    line: int | None
    sometimes: bool = False
    calls: str | None = None
    among: frozenset[str] = frozenset()

    @property
    def is_pattern(self) -> bool:
        """Whether it names programs by a pattern."""
        return bool(self.among)

    def names(self, program: str, rule: str | None) -> bool:
        """Whether the entry is about the program of that ID, whose rule is ``rule``."""
        if self.calls is not None:
            return False
        if self.program is not None:
            return program in self.among if self.is_pattern else self.program == program
        return self.rule == rule

    def named(self, programs_of_rule: Mapping[str, Collection[str]]) -> list[str]:
        """The IDs of its programs."""
        if self.is_pattern:
            return sorted(self.among)
        return [self.program] if self.program else sorted(programs_of_rule.get(self.rule or "", ()))


@dataclass(frozen=True)
class KnownDivergences:
    """The entries for one backend, as read from `path` (None: there is no list)."""

    entries: tuple[Entry, ...] = ()
    path: Path | None = None
    version: str | None = None
    """The minor version of torch that the list is about; None where it is about all."""

    def beside(self, version: str | None) -> KnownDivergences:
        """The list for a backend of this version: of another one than the list is about any entry
        may conform."""
        if self.version is None or version is None or minor(version) == self.version:
            return self
        return replace(self, entries=tuple(replace(one, sometimes=True) for one in self.entries))

    @property
    def of_calls(self) -> dict[str, tuple[str, ...]]:
        """The levels at which random programs that have a text in their source may diverge."""
        return {entry.calls: entry.levels for entry in self.entries if entry.calls is not None}

    def known_divergence(
        self, line: Mapping[str, Any], levels: Collection[str]
    ) -> dict[str, Any] | None:
        """The `known` field of a program's line, when ``levels`` count for pass or fail.

        None unless every counted level that diverges is covered by some entry. A program that is
        itself listed and diverges at none of its entry's levels gets the entry back with `stale`
        set. (Whether an entry for several programs is stale is known only when all of them have
        run: see `stale`.)
        """
        entries = [entry for entry in self.entries if entry.names(line["id"], line["rule"])]
        diverging = {level for level in (*levels, "specification") if _diverges(line, level)}
        if diverging:
            live = [entry for entry in entries if set(entry.levels) & diverging]
            if diverging - {level for entry in live for level in entry.levels}:
                return None
            return {
                "reason": "; ".join(dict.fromkeys(entry.reason for entry in live)),
                "link": next((entry.link for entry in live if entry.link), None),
            }
        for entry in entries:
            judged = set(entry.levels) & {*levels, "specification"}
            gone = not any(_diverges(line, level) for level in entry.levels)
            if entry.sometimes or entry.is_pattern:
                continue
            if entry.program is not None and judged and gone and _was_compared(line):
                return {"reason": entry.reason, "link": entry.link, "stale": True}
        return None

    def stale(
        self,
        lines: Iterable[Mapping[str, Any]],
        levels: Collection[str],
        programs_of_rule: Mapping[str, Collection[str]],
    ) -> list[str]:
        """One sentence for each entry whose divergence is gone at a level of ``levels``.

        An entry is judged only when every program it names has been compared in this run.
        """
        by_id = {line["id"]: line for line in lines}
        gone = []
        for entry in self.entries:
            if entry.sometimes or entry.calls is not None:
                continue
            named = entry.named(programs_of_rule)
            ran = [by_id[identifier] for identifier in named if identifier in by_id]
            if len(ran) < len(named) or not all(map(_was_compared, ran)):
                continue
            for level in entry.levels:
                if level not in (*levels, "specification"):
                    continue
                if not any(_diverges(line, level) for line in ran):
                    gone.append(
                        f"{entry.program or entry.rule} conforms at level {level}: remove the "
                        f"entry at {self.path}:{entry.line}"
                    )
        return gone


def _was_compared(line: Mapping[str, Any]) -> bool:
    return line["outcome"] in ("conforms", "diverges")


def _diverges(line: Mapping[str, Any], level: str) -> bool:
    if level == "specification":
        return bool(line["specification"])
    return line["levels"].get(level) == "diverges"


def default_path(backend: str) -> Path | None:
    """The suite's own list for a backend (`torch:cuda` -> torch-cuda.toml), None if it has none."""
    name = re.sub(r"[^A-Za-z0-9_.]+", "-", backend)
    path = Path(str(resources.files("conformance").joinpath("known", f"{name}.toml")))
    return path if path.is_file() else None


def read_known(
    path: str | os.PathLike[str],
    programs: Collection[str],
    rules: Collection[str],
    other_chapters: bool = False,
) -> KnownDivergences:
    """The list in a TOML file, checked against the IDs of all programs and rules there are.

    With ``torch = "2.11"`` before its entries the list is about that version (`beside`). Beside
    other chapters than the list is about, entries that name nothing are left out. Raises KnownError
    for TOML that does not parse, an entry that names nothing, lacks a reason or says something else
    than the format has.
    """
    try:
        text = Path(path).read_text("utf-8")
        table = tomllib.loads(text)
    except OSError as error:
        raise KnownError(path, None, f"cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        line = re.search(r"at line (\d+)", str(error))
        raise KnownError(path, int(line[1]) if line else None, f"not TOML: {error}.") from None
    entries, version = table.pop("known", []), table.pop("torch", None)
    if table or not isinstance(entries, list):
        what = ", ".join(sorted(table)) or "known"
        raise KnownError(
            path, None, f"only [[known]] entries, and torch, belong in this file, not: {what}."
        )
    if version is not None and not (isinstance(version, str) and _MINOR.fullmatch(version)):
        raise KnownError(path, None, f'torch is a minor version, such as "2.15", not {version!r}.')
    lines = _entry_lines(text)
    if len(lines) != len(entries):
        lines = [None] * len(entries)
    found = []
    for at, listed in zip(lines, entries, strict=True):
        for entry in _of_one_program(listed):
            if other_chapters and _names_nothing(entry, programs, rules):
                continue
            found.append(_entry(path, at, entry, programs, rules))
    return KnownDivergences(tuple(found), Path(path), version)


def _of_one_program(entry: Any) -> list[Any]:
    """An entry for each program that one names; the other kinds name one thing."""
    programs = entry.get("program") if isinstance(entry, dict) else None
    if not isinstance(programs, list) or not programs:
        return [entry]
    return [{**entry, "program": program} for program in programs]


def _names_nothing(entry: Any, programs: Collection[str], rules: Collection[str]) -> bool:
    if not isinstance(entry, dict):
        return False
    program, rule = entry.get("program"), entry.get("rule")
    return (
        isinstance(program, str) and program not in programs and not _among(program, programs)
    ) or (isinstance(rule, str) and rule not in rules)


def _among(pattern: str, programs: Collection[str]) -> frozenset[str]:
    """The IDs that meet a pattern; none where the text is an ID, or has no `*`."""
    if "*" not in pattern or pattern in programs:
        return frozenset()
    return frozenset(fnmatch.filter(programs, pattern))


def _entry_lines(text: str) -> list[int | None]:
    return [
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if re.match(r"\s*\[\[\s*known\s*\]\]", line)
    ]


def _entry(
    path: str | os.PathLike[str],
    line: int | None,
    entry: Any,
    programs: Collection[str],
    rules: Collection[str],
) -> Entry:
    def fault(message: str) -> KnownError:
        return KnownError(path, line, message)

    if not isinstance(entry, dict):
        raise fault("an entry is a table: [[known]].")
    if unknown := sorted(set(entry) - _KEYS):
        raise fault(f"unknown key {unknown[0]}; an entry has {', '.join(sorted(_KEYS))}.")
    kinds = [kind for kind in _KINDS if kind in entry]
    if len(kinds) != 1:
        raise fault("an entry names a program, a rule, or what random programs call.")
    kind = kinds[0]
    named, existing = entry[kind], programs if kind == "program" else rules
    if not isinstance(named, str) or not named:
        raise fault(f"{kind} is a text, not {named!r}.")
    among = _among(named, programs) if kind == "program" else frozenset()
    if kind != "calls" and not among and named not in existing:
        close = get_close_matches(str(named), existing, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise fault(f"there is no {kind} {named!r}.{hint} Correct the entry or remove it.")
    return Entry(
        program=named if kind == "program" else None,
        rule=named if kind == "rule" else None,
        calls=named if kind == "calls" else None,
        among=among,
        line=line,
        **_excuse(entry, named, fault),
    )


def _excuse(
    entry: Mapping[str, Any], named: str, fault: Callable[[str], KnownError]
) -> dict[str, Any]:
    """The levels, the reason, the link and the frequency of a listed divergence."""
    levels = entry.get("level")
    levels = [levels] if isinstance(levels, str) else levels
    if not isinstance(levels, list) or not levels or any(lv not in EXCUSABLE for lv in levels):
        raise fault(
            f'"level" of {named} must be one or several of {", ".join(EXCUSABLE)}; it is '
            f"{entry.get('level')!r}."
        )
    reason = entry.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise fault(f"the entry for {named} needs a reason.")
    link = entry.get("link")
    if link is not None and not isinstance(link, str):
        raise fault(f'"link" of {named} must be a text.')
    sometimes = entry.get("sometimes", False)
    if not isinstance(sometimes, bool):
        raise fault(f'"sometimes" of {named} must be true or false.')
    return {
        "levels": tuple(levels),
        "reason": reason.strip(),
        "link": link,
        "sometimes": sometimes,
    }
