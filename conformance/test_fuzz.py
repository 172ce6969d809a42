"""The suite, second part: random programs, which are not known before they are drawn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance import fuzz
from conformance.failure import failure
from conformance.judge import Judge
from conformance.known import KnownDivergences
from conformance.options import Settings, read_settings
from conformance.plan import identities
from conformance.plugin import PREFIX


@pytest.fixture(scope="module")
def conform_judge(pytestconfig: pytest.Config) -> Iterator[Judge]:
    """What judges the programs that are drawn; nothing that is drawn is a known divergence."""
    settings = read_settings(pytestconfig.option, PREFIX)
    if reason := identities(settings)[2]:
        pytest.skip(reason)
    judge = Judge(settings, KnownDivergences())
    yield judge
    judge.close()


@pytest.mark.parametrize("theme", list(fuzz.THEMES))
def test_random_programs(
    theme: str, conform_judge: Judge, conform_settings: Settings, pytestconfig: pytest.Config
) -> None:
    """No program of the theme is found that does on the backend what it does not on the oracle."""
    examples = pytestconfig.getoption("conform_examples", None) or fuzz.EXAMPLES
    search = fuzz.sought(conform_judge, examples, conform_settings.seed, theme)
    if search.finding:
        message = failure(search.finding.line, conform_settings)
        pytest.fail(f"{message}\n  {fuzz.kept(search.finding)}", pytrace=False)
    if not search.outcomes["conforms"]:
        pytest.skip(f"nothing was compared: {dict(search.outcomes)}")
