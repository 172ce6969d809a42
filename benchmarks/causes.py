"""Worth of the causes of a run: each mutant of a catalogue as a backend, against the history.

    python benchmarks/causes.py [--catalogue mutants.catalogue] [--part K/N | --names FILE]
                                [--oracle recorded:torch-2.15] [--keep FILE | --kept FILE]

A mutant has one mistake, and names the rules that it breaks. So the first cause of its run should
show one of these rules, by a short program; and among the divergences of several mutants at once a
cause should have those of one of them. Prints both, and each mutant whose first cause shows another
rule. An order of the rules that is right by chance is so on one half of the mutants only, so each
half is told, too. The programs of all rules run on each mutant, which takes some seconds.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance import backends
from conformance.compare.compare import compare
from conformance.compare.unmet import contradicted, unmet
from conformance.execution.execute import trace
from conformance.isolation.forked import Answer, fork
from conformance.isolation.process import IsolationError
from conformance.mutation.examine import RULES, stage_of
from conformance.mutation.ground import ground
from conformance.mutation.mutant import Mutant, find_catalogue
from conformance.run.judge import blank_line
from conformance.run_files.causes import Cause, causes
from conformance.run_files.shown import SHORT, length
from conformance.settings.settings import Settings
from conformance.suite.shard import Shard, shard
from conformance.suite.suite import read_suite

POOL = 5
"""Mutants whose divergences are put together to measure how pure causes are."""

POOLS = 200

RECORDED = "recorded:torch-2.15"


class Bench:
    """The programs of rules, and their lines on mutants."""

    def __init__(self, oracle: str = RECORDED, timeout: float = 300) -> None:
        self.timeout = timeout
        settings = Settings(backend="impl", oracle=oracle)
        self.ground, _ = ground(settings, read_suite(None, None), every=True, samples=False)
        programs = self.ground.programs.values()
        self.programs = [p for p in programs if stage_of(p) == RULES]
        unchanged = {line["id"] for line in self.lines(backends.find("impl", ()))}
        self.programs = [p for p in self.programs if p.id not in unchanged]
        self.areas = {p.rule: p.area for p in self.programs}
        self.conforming = {p.id: {**blank_line(p), "outcome": "conforms"} for p in self.programs}

    def lines(self, backend: backends.Backend) -> Iterator[dict[str, Any]]:
        """The lines of programs that diverge."""
        for program in self.programs:
            expected = self.ground.expected[program.id]
            got = trace(program, backend)
            verdict = compare(expected, got, program, stated=False)
            if verdict.outcome == "diverges":
                against = contradicted(program, got, unmet(program, expected))
                yield {**blank_line(program), **verdict.to_json(), "contradicted": against}

    def of_mutant(self, mutant: Mutant) -> list[dict[str, Any]]:
        """The lines of a mutant, which runs in a forked process; raises IsolationError."""

        def begin() -> Answer:
            def answer(request: dict[str, Any]) -> dict[str, Any]:
                return {"lines": list(self.lines(backends.from_object("mutant", mutant.apply())))}

            return answer

        process = fork(begin)
        try:
            answer = process.ask({}, self.timeout)
        finally:
            process.close()
        return list(answer.get("lines", ()))

    def run(self, lines: Sequence[dict[str, Any]]) -> list[Cause]:
        """The causes of a run with these lines, in which all else conforms."""
        return causes((self.conforming | {line["id"]: line for line in lines}).values())


@dataclass(frozen=True)
class Worth:
    """How well the first cause of one mutant's run tells the mistake; `groups` is the number of
    causes."""

    right: bool
    chapter: bool
    short: bool
    groups: int


def measured(bench: Bench, lines: dict[str, list[dict[str, Any]]], mutants: list[Mutant]) -> None:
    """Print how often the first cause is right, its program short, and how pure causes are."""
    found = {mutant.name: _worth(bench, lines[mutant.name], mutant) for mutant in mutants}
    _print(f"{len(found)} mutants that rules notice", list(found.values()))
    for number, words in enumerate(("one half", "the other half")):
        part = [worth for name, worth in found.items() if half(name) == number]
        _print(f"{words}, {len(part)} mutants", part)
    pure, causes_of_pool = _purity(bench, lines, mutants)
    print(
        f"{POOL} mutants at once: {causes_of_pool:.1f} causes, {pure:.1%} of programs by one mutant"
    )


def half(name: str) -> int:
    """The half of the catalogue that a mutant is in, 0 or 1: it stays there as others are added."""
    return int(hashlib.md5(name.encode()).hexdigest(), 16) % 2


def _worth(bench: Bench, lines: list[dict[str, Any]], mutant: Mutant) -> Worth:
    found = bench.run(lines)
    first = found[0]
    rule, area = first.shown["rule"], first.shown["area"]
    right = bool({rule, area} & set(mutant.breaks))
    if not right:
        told = f"{first.shown['id']}: {first.words}"
        print(f"{mutant.name} (breaks {', '.join(mutant.breaks)}): {told}")
    chapter = area in {bench.areas.get(name, name) for name in mutant.breaks}
    return Worth(right, chapter, length(first.shown) <= SHORT, len(found))


def _print(title: str, worths: list[Worth]) -> None:
    number = max(1, len(worths))
    print(f"{title}, {sum(worth.groups for worth in worths) / number:.1f} causes each")
    shares = {
        "the first cause shows a rule that the mutant breaks": [one.right for one in worths],
        "... or a rule of the same chapter": [one.chapter for one in worths],
        f"its program is told in at most {SHORT} lines": [one.short for one in worths],
        "... and the rule is one that the mutant breaks": [
            one.right and one.short for one in worths
        ],
    }
    for words, counted in shares.items():
        print(f"  {words}: {sum(counted) / number:.1%}")


def _purity(
    bench: Bench, lines: dict[str, list[dict[str, Any]]], mutants: list[Mutant]
) -> tuple[float, float]:
    """The share of a cause's programs that its commonest mutant explains, and causes per pool."""
    drawn = random.Random(0)
    shares, number = [], 0
    for _ in range(POOLS):
        of: dict[str, str] = {}
        pool: dict[str, dict[str, Any]] = {}
        for mutant in drawn.sample(mutants, min(POOL, len(mutants))):
            for line in lines[mutant.name]:
                of.setdefault(line["id"], mutant.name)
                pool.setdefault(line["id"], line)
        found = bench.run(list(pool.values()))
        counted = [Counter(of[line["id"]] for line in cause.lines) for cause in found]
        shares.append(sum(c.most_common(1)[0][1] for c in counted) / len(pool))
        number += len(found)
    return sum(shares) / POOLS, number / POOLS


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--catalogue", default="mutants.catalogue")
    parser.add_argument("--part", type=shard, default=Shard(1, 1), metavar="K/N")
    parser.add_argument("--names", type=Path, metavar="FILE", help="take the mutants named in it")
    parser.add_argument("--oracle", default=RECORDED, help="programs that it lacks are left out")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write what mutants show here")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="read it, and run nothing")
    options = parser.parse_args()
    bench = Bench(options.oracle)
    gc.collect()
    gc.freeze()  # or a collection in each forked process would copy all memory
    chosen = options.part.take(list(find_catalogue(options.catalogue)))
    if options.names:
        names = options.names.read_text("utf-8").split()
        chosen = [mutant for mutant in chosen if mutant.name in names]
    lines: dict[str, list[dict[str, Any]]] = {}
    if options.kept:
        lines = json.loads(options.kept.read_text("utf-8"))
        chosen = [mutant for mutant in chosen if mutant.name in lines]
    for mutant in () if options.kept else chosen:
        try:
            lines[mutant.name] = bench.of_mutant(mutant)
        except IsolationError as error:
            print(f"{mutant.name}: {str(error).splitlines()[0]}")
    if options.keep:
        options.keep.write_text(json.dumps(lines), "utf-8")
    measured(bench, lines, [mutant for mutant in chosen if lines.get(mutant.name)])


if __name__ == "__main__":
    main()
