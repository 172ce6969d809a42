"""Questions of readers, put to the search of the specification as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from command import environment
from report_page import texts, wait

pytestmark = pytest.mark.browser

QUESTIONS = {
    "why does max give zeros and None": "TIES-",
    "what do the numbers in y.backward(torch.FloatTensor([0.1, 1.0, 0.0001])) mean": "SEED-",
    "why did the gradient come out doubled": "ACCUM-",
    "needed for gradient computation has been modified by an inplace operation": "INPLACE-",
    "Trying to backward through the graph a second time": "ACCUM-",
    "grad can be implicitly created only for scalar outputs": "SEED-",
    "a leaf Variable that requires grad is being used in an in-place operation": "INPLACE-",
    "element 0 of tensors does not require grad and does not have a grad_fn": "LEAF-",
    "TIES01": "TIES-01",
}


@pytest.fixture(scope="module")
def specification(tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp("specification")
    site = folder / "site"
    command = [sys.executable, "-m", "conformance.cli", "spec", str(site)]
    subprocess.run(command, cwd=folder, env=environment(), check=True)
    return site


@pytest.mark.parametrize("question", QUESTIONS)
def test_question_finds_a_rule_of_its_chapter_among_the_first(
    question: str, opened: Any, specification: Path
) -> None:
    address = f"{(specification / 'index.html').as_uri()}#?q={quote(question)}"
    page = opened(address, mark="site-ready")
    found = wait(lambda: texts(page, "#hits .row-id"))[:5]
    assert any(one.startswith(QUESTIONS[question]) for one in found), found
