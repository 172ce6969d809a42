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
    "how does torch.max send gradients back": "TIES-",
    "what do the numbers in y.backward(torch.FloatTensor([0.1, 1.0, 0.0001])) mean": "SEED-",
    "why does zeroing y.detach() make backward raise": "ALIAS-0",
    "why did the gradient come out doubled": "ACCUM-",
    "TIES01": "TIES-01",
}
"""Questions as people type them, and the beginnings of rules that answer them."""

ERRORS = {
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: [torch.FloatTensor [64, 10]], which is output 0 of ReluBackward0, is at version 1; "
    "expected version 0 instead": "INPLACE- VERSION- ALIAS-",
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed)": "ACCUM-06 ACCUM-07 ACCUM-16 ACCUM-34",
    "grad can be implicitly created only for scalar outputs": "SEED-02",
    "a leaf Variable that requires grad is being used in an in-place operation.": "INPLACE-05",
    "a view of a leaf Variable that requires grad is being used in an in-place operation.": (
        "INPLACE-06"
    ),
    "element 0 of tensors does not require grad and does not have a grad_fn": "SEED-12 LEAF-",
    "One of the differentiated Tensors appears to not have been used in the graph. Set "
    "allow_unused=True if this is the desired behavior.": "ACCUM-12 API-07",
    "One of the differentiated Tensors does not require grad": "API-05",
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.": (
        "LEAF-18 LEAF-37"
    ),
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed.": "LEAF-14",
    "Only Tensors of floating point and complex dtype can require gradients": "LEAF-04",
    "you can only change requires_grad flags of leaf variables.": "LEAF-07",
    "Mismatch in shape: grad_output[0] has a shape of torch.Size([4]) and output[0] has a shape of "
    "torch.Size([5]).": "SEED-04 SEED-17",
    "Output 0 of Unbind is a view and is being modified inplace. This view is the output "
    "of a function that returns multiple views.": "ALIAS-28",
    "cannot register a hook on a tensor that doesn't require gradient": "LEAF-26 HOOKS-04",
    "can't retain_grad on Tensor that has requires_grad=False": "LEAF-13",
    "Inference tensors cannot be saved for backward.": "MODES-18",
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol": (
        "LEAF-31"
    ),
    "functions with out=... arguments don't support automatic differentiation": "INPLACE-39",
    "Function 'SqrtBackward0' returned nan values in its 0th output.": "MODES-2",
    "Using backward() with create_graph=True will create a reference cycle": "API-54",
    "returned an invalid gradient at index 0 - got [7] but expected shape compatible with [2]": (
        "FUNC-08"
    ),
}
"""The messages that users of autograd meet most often, and the rules that explain them."""


@pytest.fixture(scope="module")
def specification(tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp("specification")
    site = folder / "site"
    command = [sys.executable, "-m", "conformance.cli", "spec", str(site)]
    subprocess.run(command, cwd=folder, env=environment(), check=True)
    return site


@pytest.mark.parametrize(
    ("question", "rules"), [*QUESTIONS.items(), *ERRORS.items()], ids=[*QUESTIONS, *ERRORS]
)
def test_the_first_three_results_answer_the_question(
    question: str, rules: str, opened: Any, specification: Path
) -> None:
    address = f"{(specification / 'index.html').as_uri()}#?q={quote(question)}"
    page = opened(address, mark="site-ready")
    found = wait(lambda: texts(page, "#hits .row-id"))[:3]
    assert any(one.startswith(tuple(rules.split())) for one in found), found
