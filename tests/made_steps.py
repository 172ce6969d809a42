"""The steps of short programs, as a backend runs them."""

import json

from conformance.backends import find
from conformance.execution.execute import trace
from conformance.observe.trace import Step, Trace
from conformance.program.program import Program

TORCH = find("torch")


def program(source: str, **fields) -> Program:
    return Program("T-01.1", "leaves", "import torch\n" + source, "", **fields)


def steps(source: str, backend=TORCH, **fields) -> list[Step]:
    """The steps of `source` without that of `import torch`."""
    made = trace(program(source, **fields), backend)
    again = Trace.from_json(json.loads(json.dumps(made.to_json(), allow_nan=False)))
    assert again == made
    return made.steps[1:]
