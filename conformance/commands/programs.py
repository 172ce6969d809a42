"""The commands that look at programs: `conform list` and `conform show`."""

from __future__ import annotations

import argparse
import json
from typing import Any

from conformance.isolation.process import IsolationError
from conformance.output.show import show
from conformance.output.terminal import Terminal
from conformance.program.program import Program
from conformance.run.judge import Judge
from conformance.run.plan import (
    WrongInput,
    identities,
    known_divergences,
    one_paragraph,
    select_programs,
)
from conformance.run.sides import Sides
from conformance.run_files.totals import exit_code
from conformance.settings.settings import read_settings
from conformance.suite.suite import Suite
from conformance.sweep.sample import address


def list_programs(options: argparse.Namespace) -> int:
    """List the programs that would run, with the rules' sentences."""
    _, programs = select_programs(read_settings(options))
    if options.json:
        for program in programs:
            print(json.dumps(_listed(program)))
        return 0
    rule = None
    for program in programs:
        if program.rule is None or program.rule != rule:
            print(f"{program.id:40}  {program.area:12}  {program.sentence}".rstrip())
        else:
            print(f"{program.id:40}  {program.area}")
        rule = program.rule
    return 0


def _listed(program: Any) -> dict[str, Any]:
    names = ("id", "area", "rule", "operator", "sentence", "dtype", "file", "line")
    return {**{name: getattr(program, name) for name in names}, "source": program.paste()}


def show_program(options: argparse.Namespace) -> int:
    """Show one program, both traces side by side; returns the exit code of a run of it."""

    settings = read_settings(options)
    suite, _ = select_programs(settings)
    sides = Sides(settings)
    backend, oracle, unavailable = identities(sides)
    known = known_divergences(settings, suite).beside(backend["version"])
    judge = Judge(settings, known, unavailable, sides=sides)
    try:
        with one_paragraph():
            program = _program(options.program, suite, judge)
        line = judge.line(program)
    finally:
        judge.close()
    if options.json:
        print(json.dumps(line, allow_nan=False))
    else:
        names = tuple(f"{b['name']} {b['version'] or ''}".strip() for b in (oracle, backend))
        show(Terminal(), line, (names[0], names[1]), settings, suite.prose(line["rule"]))
    return exit_code([line])


def _program(identifier: str, suite: Suite, judge: Judge) -> Program:
    try:
        try:
            address(identifier)
        except LookupError:
            return judge.written(suite[identifier])
        return judge.sample(identifier)
    except IsolationError as error:
        raise WrongInput(f"{identifier}: {error}") from None
