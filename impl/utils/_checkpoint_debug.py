"""`debug=True` of a checkpoint: the operators of both runs, in the error about their difference."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from impl.dispatch.dispatch_modes import TorchDispatchMode
from impl.tensor.tensor import Tensor
from impl.utils._pytree import tree_map
from impl.utils._recomputation import CheckpointError

_RULE = "~" * 78
_LINE = "-" * 78
_ABBREVIATED = {"float": "f", "bfloat": "bf", "complex": "c", "int": "i", "uint": "u"}


class OperatorLog(TorchDispatchMode):
    """A mode that notes each operator with its arguments and results, and where it was called."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.traces: list[str] = []
        self._numbers: dict[int, int] = {}
        self._tensors: list[Tensor] = []  # so that no identity is reused

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **kwargs)
        given = [str(tree_map(self._shown, a)) for a in args]
        given += [f"{k}={tree_map(self._shown, v)}" for k, v in kwargs.items()]
        made = tree_map(self._typed, result)
        self.calls.append(f"{made} = {func.__module__}.{func.__name__}({', '.join(given)})")
        stack = traceback.extract_stack()[:-1]
        lines = [f"{f.filename}:{f.lineno}:{f.name}" for f in reversed(stack)]
        self.traces.append("\n".join(lines))
        return result

    def _shown(self, value: Any) -> str:
        if not isinstance(value, Tensor):
            return repr(value)
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._numbers)
            self._tensors.append(value)
        return f"${self._numbers[id(value)]}"

    def _typed(self, value: Any) -> str:
        shown = self._shown(value)
        if not isinstance(value, Tensor):
            return shown
        return f"{shown}: {_abbreviation(value)}[{', '.join(map(str, value.shape))}]"

    def listed(self, label: str) -> str:
        """The operators with the stacks of their calls."""
        count = len(self.calls)
        return "".join(
            f"{call}   ({i} of {count} in {label})\n\n{trace}\n\n\n"
            for i, (call, trace) in enumerate(zip(self.calls, self.traces, strict=True), 1)
        )


def _abbreviation(tensor: Tensor) -> str:
    name = str(tensor.dtype).removeprefix("torch.")
    word = name.rstrip("0123456789")
    return _ABBREVIATED.get(word, word[:1]) + name[len(word) :]


def logging_contexts() -> tuple[Callable[[], tuple], Callable[[CheckpointError], None]]:
    """A `context_fn` whose contexts note the operators of both runs, and a function that raises
    their log as the error that follows from another one."""
    first, rerun = OperatorLog(), OperatorLog()

    def raise_log(error: CheckpointError) -> None:
        raise CheckpointError(_text(first, rerun)) from error

    return lambda: (first, rerun), raise_log


def _text(first: OperatorLog, rerun: OperatorLog) -> str:
    parts = [
        " An error happened while unpacking tensors; dumping logs of latest computation\n"
        "because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.\n"
        "Scroll all the way down for guidance on how to navigate these logs.\n",
        _headed("        1. Stack traces of the operators that ran in the original forward"),
        first.listed("original"),
        _headed("        2. Stack traces of the operators that ran during recomputation"),
        rerun.listed("recompute"),
        _headed("       3. Log of operators in the original forward and recomputation"),
        "Operations executed during the original forward:\n",
        "\n".join(first.calls),
        "\nOperations executed during recomputation:\n",
        "\n".join(rerun.calls),
        f"\n+{_LINE}+\n ERROR: Detected non-determinism while running activation checkpointing\n",
        " Compare the operators that ran in the original forward and in the recomputation, which\n"
        " are printed above in their order, and the stack traces of those that differ.",
    ]
    return "\n".join(parts)


def _headed(title: str) -> str:
    return f"+{_RULE}+\n|{title.ljust(78)}|\n+{_LINE}+\n"
