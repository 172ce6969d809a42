"""The suite's random programs: one test per search."""

from __future__ import annotations

import pytest

from conformance.fuzz.report import Report
from conformance.run_files.totals import is_known


def test_random_programs(conform_search: Report) -> None:
    """No random program is found that diverges from the oracle."""
    found = conform_search
    if found.fault:
        pytest.fail(f"the harness failed: {found.fault}", pytrace=False)
    if found.line and is_known(found.line):
        pytest.xfail(f"known divergence: {found.line['known']['reason']}")
    if found.line:
        pytest.fail(found.message or "", pytrace=False)
    if not found.outcomes.get("conforms"):
        pytest.skip(f"nothing was compared: {dict(found.outcomes)}")
