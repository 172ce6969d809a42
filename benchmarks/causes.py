"""Worth of the causes of a run: each mutant of a catalogue as a backend, against the history.

    python benchmarks/causes.py [--catalogue mutants.catalogue] [--part K/N] [--names FILE]
                                [--oracle recorded:torch-2.15] [--keep FILE | --kept FILE ...]

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
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reach import Reach

from conformance import backends
from conformance.compare.compare import compare
from conformance.compare.unmet import contradicted, unmet
from conformance.execution.execute import trace
from conformance.isolation.forked import Answer, fork
from conformance.isolation.process import IsolationError
from conformance.mutation.examine import RULES, stage_of
from conformance.mutation.ground import ground
from conformance.mutation.mutant import Mutant, find_catalogue
from conformance.program.program import Program
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

Lines = dict[str, list[dict[str, Any]]]
"""The lines of diverging programs by mutant."""


class Bench:
    """The programs of rules, and their lines on mutants."""

    def __init__(self, oracle: str = RECORDED, timeout: float = 300) -> None:
        self.timeout = timeout
        settings = Settings(backend="impl", oracle=oracle)
        self.ground, _ = ground(settings, read_suite(None, None), every=True, samples=False)
        programs = self.ground.programs.values()
        self.programs = [program for program in programs if stage_of(program) == RULES]
        impl = backends.find("impl", ())
        diverging = {line["id"] for line in self.diverging(impl, self.programs)}
        self.programs = [program for program in self.programs if program.id not in diverging]
        self.areas = {program.rule: program.area for program in self.programs}
        self.conforming = {
            program.id: {**blank_line(program), "outcome": "conforms"} for program in self.programs
        }

    def diverging(
        self, backend: backends.Backend, programs: Sequence[Program]
    ) -> Iterator[dict[str, Any]]:
        """The lines of those programs that diverge."""
        for program in programs:
            expected = self.ground.expected[program.id]
            got = trace(program, backend)
            verdict = compare(expected, got, program, stated=False, permitting=False)
            if verdict.outcome == "diverges":
                against = contradicted(program, got, unmet(program, expected))
                yield {**blank_line(program), **verdict.to_json(), "contradicted": against}

    def diverging_on(self, mutant: Mutant, names: Collection[str]) -> list[dict[str, Any]]:
        """The lines of a mutant, on which programs of these IDs run in a forked process; raises
        IsolationError."""
        programs = [program for program in self.programs if program.id in names]

        def begin() -> Answer:
            def answer(request: dict[str, Any]) -> dict[str, Any]:
                backend = backends.from_object("mutant", mutant.apply())
                return {"lines": list(self.diverging(backend, programs))}

            return answer

        process = fork(begin)
        try:
            answer = process.ask({}, self.timeout)
        finally:
            process.close()
        return list(answer.get("lines", ()))

    def causes_of(self, lines: Sequence[dict[str, Any]]) -> list[Cause]:
        """The causes of a run with these lines, in which all else conforms."""
        return causes((self.conforming | {line["id"]: line for line in lines}).values())


@dataclass(frozen=True)
class Worth:
    """How well the first cause of a mutant's run tells the mistake, and the number of causes."""

    is_right: bool
    in_chapter: bool
    is_short: bool
    causes: int


def measured(bench: Bench, lines: Lines, mutants: list[Mutant]) -> None:
    """Print how often the first cause is right, its program short, and how pure causes are."""
    found = {mutant.name: _worth(bench, lines[mutant.name], mutant) for mutant in mutants}
    _print(f"{len(found)} mutants that rules notice", list(found.values()))
    for number, title in enumerate(("one half", "the other half")):
        part = [worth for name, worth in found.items() if half(name) == number]
        _print(f"{title}, {len(part)} mutants", part)
    purity, causes_of_pool = _purity(bench, lines, mutants)
    print(
        f"{POOL} mutants at once: {causes_of_pool:.1f} causes, "
        f"{purity:.1%} of programs by one mutant"
    )


def half(name: str) -> int:
    """The half of the catalogue that a mutant is in, 0 or 1: it stays there as others are added."""
    return int(hashlib.md5(name.encode()).hexdigest(), 16) % 2


def _worth(bench: Bench, lines: list[dict[str, Any]], mutant: Mutant) -> Worth:
    found = bench.causes_of(lines)
    first = found[0]
    rule, area = first.shown["rule"], first.shown["area"]
    is_right = bool({rule, area} & set(mutant.breaks))
    if not is_right:
        told = f"{first.shown['id']}: {first.words}"
        print(f"{mutant.name} (breaks {', '.join(mutant.breaks)}): {told}")
    in_chapter = area in {bench.areas.get(name, name) for name in mutant.breaks}
    return Worth(is_right, in_chapter, length(first.shown) <= SHORT, len(found))


def _print(title: str, worths: list[Worth]) -> None:
    mutants = max(1, len(worths))
    print(f"{title}, {sum(worth.causes for worth in worths) / mutants:.1f} causes each")
    claims = {
        "the first cause shows a rule that the mutant breaks": [worth.is_right for worth in worths],
        "... or a rule of the same chapter": [worth.in_chapter for worth in worths],
        f"its program is told in at most {SHORT} lines": [worth.is_short for worth in worths],
        "... and the rule is one that the mutant breaks": [
            worth.is_right and worth.is_short for worth in worths
        ],
    }
    for claim, holds in claims.items():
        print(f"  {claim}: {sum(holds) / mutants:.1%}")


def _purity(bench: Bench, lines: Lines, mutants: list[Mutant]) -> tuple[float, float]:
    """The share of a cause's programs that its commonest mutant explains, and causes per pool."""
    generator = random.Random(0)
    shares, causes_of_pools = [], 0
    for _ in range(POOLS):
        mutant_of: dict[str, str] = {}
        pool: dict[str, dict[str, Any]] = {}
        for mutant in generator.sample(mutants, min(POOL, len(mutants))):
            for line in lines[mutant.name]:
                mutant_of.setdefault(line["id"], mutant.name)
                pool.setdefault(line["id"], line)
        found = bench.causes_of(list(pool.values()))
        mixtures = [Counter(mutant_of[line["id"]] for line in cause.lines) for cause in found]
        shares.append(sum(mixture.most_common(1)[0][1] for mixture in mixtures) / len(pool))
        causes_of_pools += len(found)
    return sum(shares) / POOLS, causes_of_pools / POOLS


def run(bench: Bench, mutants: Sequence[Mutant], keep: Path | None) -> Lines:
    """The lines of each of these mutants that ran to its end; prints the others.

    Those in the file `keep` are not run; it gets the lines of each other mutant as it has run.
    """
    lines = read([keep]) if keep is not None and keep.exists() else {}
    pending = [mutant for mutant in mutants if mutant.name not in lines]
    reach = Reach(bench.programs, pending)
    for mutant in pending:
        try:
            lines[mutant.name] = bench.diverging_on(mutant, reach.programs(mutant))
        except IsolationError as error:
            print(f"{mutant.name}: {str(error).splitlines()[0]}")
            continue
        if keep is not None:
            with keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps({mutant.name: lines[mutant.name]}) + "\n")
    return lines


def read(files: Sequence[Path]) -> Lines:
    """The lines by mutant in files that `run` kept."""
    return {
        name: found
        for path in files
        for text in path.read_text("utf-8").splitlines()
        for name, found in json.loads(text).items()
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--catalogue", default="mutants.catalogue")
    parser.add_argument("--part", type=shard, default=Shard(1, 1), metavar="K/N")
    parser.add_argument("--names", type=Path, metavar="FILE", help="of mutants to take")
    parser.add_argument("--oracle", default=RECORDED, help="programs that it lacks are left out")
    lines_in = parser.add_mutually_exclusive_group()
    lines_in.add_argument("--keep", type=Path, metavar="FILE", help="run mutants, and write lines")
    lines_in.add_argument(
        "--kept", type=Path, nargs="+", metavar="FILE", help="read lines, and run no mutant"
    )
    options = parser.parse_args()
    bench = Bench(options.oracle)
    gc.collect()
    gc.freeze()  # or a collection in each forked process would copy all memory
    chosen = list(find_catalogue(options.catalogue))
    if options.names:
        names = options.names.read_text("utf-8").split()
        chosen = [mutant for mutant in chosen if mutant.name in names]
    chosen = options.part.take(chosen)
    lines = read(options.kept) if options.kept else run(bench, chosen, options.keep)
    measured(bench, lines, [mutant for mutant in chosen if lines.get(mutant.name)])


if __name__ == "__main__":
    main()
