"""Programs of a wrapper: a class with `__torch_dispatch__` that logs operators, on one library."""

from __future__ import annotations

import textwrap
from typing import Any

WRAPPER = """
tree_map = torch.utils._pytree.tree_map
TorchDispatchMode = torch.utils._python_dispatch.TorchDispatchMode
class W(torch.Tensor):
    @staticmethod
    def __new__(cls, elem, requires_grad=False):
        return torch.Tensor._make_wrapper_subclass(
            cls, elem.size(), strides=elem.stride(), dtype=elem.dtype, device=elem.device,
            requires_grad=requires_grad)
    def __init__(self, elem, requires_grad=False):
        self.elem = elem
    def __repr__(self):
        return f"W({[round(x, 4) for x in self.elem.flatten().tolist()]})"
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def text(a):
            return type(a).__name__ if isinstance(a, torch.Tensor) else str(a)
        log(func, *map(text, args), sorted(kwargs), torch.is_grad_enabled())
        unwrapped, named = tree_map(lambda a: a.elem if isinstance(a, cls) else a, (args, kwargs))
        result = func(*unwrapped, **named)
        return tree_map(lambda a: cls(a) if isinstance(a, torch.Tensor) else a, result)
x = W(torch.tensor([1.0, 2.0]), requires_grad=True)
"""


def lines(torch: Any, program: str) -> list[str]:
    """The values that a program shows, and the operators that its classes log, on one library."""
    found: list[str] = []

    def note(*values: Any) -> None:
        found.append(" ".join(map(str, values)).replace("impl.", "torch."))

    def tries(*calls: Any) -> None:
        for call in calls:
            try:
                note(call())
            except Exception as error:
                note(type(error).__name__, str(error).split("\n")[0])

    torch.default_generator.manual_seed(0)
    names = {"torch": torch, "log": note, "show": note, "tries": tries}
    exec(WRAPPER + textwrap.dedent(program), names)
    return found
