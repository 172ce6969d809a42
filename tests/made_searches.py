"""Searches of random programs on backends with a known mistake."""

from __future__ import annotations

from conformance.fuzz.choices import Choices
from conformance.fuzz.programs import moved, named
from conformance.fuzz.share import Report, Share
from conformance.fuzz.themes import MOVED
from conformance.fuzz.workers import Here
from conformance.program.program import Program
from conformance.settings.settings import Settings
from conformance.suite.suite import Selection


def settings(backend: str, *levels: str, **more) -> Settings:
    selection = Selection(levels=levels or ("values",))
    return Settings(backend=backend, oracle="impl", isolation=False, selection=selection, **more)


def search(backend: str, examples: int = 400, theme: str = "pointwise", **more) -> Report:
    return Here(settings(backend, **more)).share(Share(theme, 0, examples, examples))


def moved_program(theme: str, index: int) -> Program:
    return named(moved(Choices(f"0/{theme}/{index}"), MOVED[theme]), "")
