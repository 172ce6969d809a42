"""The setting up of a search: both sides of a comparison in one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from conformance import backends
from conformance.execution.execute import quiet, silent, trace
from conformance.fuzz.coverage import Coverage
from conformance.fuzz.examiner import EMPTY, Examiner, Run
from conformance.fuzz.programs import Source, named
from conformance.fuzz.search import Search
from conformance.isolation.port import is_port
from conformance.program.program import ProgramError
from conformance.run.sides import child
from conformance.settings.settings import Settings


def search_of(
    settings: Settings,
    corpus: Sequence[Sequence[str]] = (),
    known: Mapping[str, Sequence[str]] = EMPTY,
) -> Search:
    """A search with these settings; the lines that the corpus reaches are no news to it.

    ``known`` are the levels at which programs may diverge that have a text in their source.

    A port's programs run in its own process. Raises BackendError.
    """
    oracle = _found(settings.oracle, settings)
    run: Run
    at_end: tuple[Run, Run] | None = None
    if is_port(settings.backend):
        process = child(settings)
        run, backend = process.trace, None
        version, claimed = process.identity().version, process.identity().levels
    else:
        backend = _found(settings.backend, settings)
        run = partial(trace, backend=backend)
        version, claimed = backend.version, backend.levels
        sides = (partial(trace, backend=side, at_end=True) for side in (oracle, backend))
        at_end = (next(sides), next(sides))
    coverage = Coverage(settings.backend)
    for statements in corpus:
        with suppress(ProgramError), coverage.watched(), quiet(), silent():
            run(named(statements, ""))
    expected = partial(trace, backend=oracle)
    examiner = Examiner(expected, run, settings.selection.levels, claimed, at_end, known)
    source = Source(oracle, backend)
    return Search(source, examiner, coverage, settings.seed, corpus, version)


def _found(name: str, settings: Settings) -> backends.Backend:
    found = backends.find(name, settings.imports)
    found.seed = settings.seed
    found.default_dtype = settings.default_dtype
    return found
