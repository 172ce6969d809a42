"""Comparisons of two programs, both run on torch, and the fields that are compared."""

from conformance.backends import find
from conformance.base.levels import LEVELS
from conformance.compare.compare import compare
from conformance.compare.verdict import Verdict
from conformance.execution.execute import trace
from conformance.observe.fields import Comparator, fields_of
from conformance.observe.trace import Trace
from conformance.program.program import Program

TORCH = find("torch")
TENSOR_FIELDS, GRAD_FIELDS = (  # of strided tensors
    {row.name: row.level for row in fields_of(of) if row.comparator is not Comparator.OPTIONAL}
    for of in ("tensor", "grad")
)

ALL = dict.fromkeys(LEVELS, "conforms")

SOURCE = """\
x = torch.tensor([1., 2., 3.], requires_grad=True)
y = x * x
(y * 2).sum().backward()
x.backward()
y
"""


def program(source: str = SOURCE, **fields) -> Program:
    return Program("T-01.1", "leaves", source, "", **fields)


def observed(source: str = SOURCE) -> Trace:
    return trace(program(source), TORCH)


def verdict(expected: str, got: str) -> Verdict:
    """The comparison of two sources, statement by statement, as if both were the first one."""
    return compare(observed(expected), observed(got), program(expected))
