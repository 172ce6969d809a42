"""Multi-grad hooks: one call for the gradients of several tensors."""

from __future__ import annotations

import functools
import weakref

from impl.core.state import STATE
from impl.graph.edge import found_edge
from impl.graph.hooks import RemovableHandle, register_tensor_hook

_SHOWN = "register_multi_grad_hook.<locals>.get_inner_hook.<locals>.inner_hook"


class _MultiHandle(RemovableHandle):
    """Removes several hooks at once."""

    __module__ = "impl.autograd.graph"

    def __init__(self, handles) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __repr__(self) -> str:
        return f"<torch.autograd.graph._MultiHandle object at {id(self):#x}>"


def register_multi_grad_hook(tensors, fn, *, mode: str = "all") -> RemovableHandle:
    """Call `fn` in every pass with the gradients of `tensors`.

    In mode "all" once, when all those that the pass reaches are known, with a list that has None
    for the others; in mode "any" with the first gradient that is known. Raises ValueError for
    another mode; AssertionError in mode "all" for a tensor that does not require grad
    (torch.autograd.graph.register_multi_grad_hook).
    """
    modes = {"all": _register_all, "any": _register_any}
    if mode not in modes:
        raise ValueError(f"Expects mode to be one of {tuple(modes)} but got {mode}")
    return _MultiHandle(modes[mode](tensors, fn))


def _register_all(tensors, fn) -> list[RemovableHandle]:
    nodes = []
    for tensor in tensors:
        edge = found_edge(tensor) if tensor.requires_grad else None
        if edge is None:
            raise AssertionError("Expected gradient function to be set")
        nodes.append(edge[0])
    # By pass: the gradients that have arrived, by their position, and how many will.
    arrived: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
    expected: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()

    def arrive(position: int, grad) -> None:
        task = _task()
        gradients = arrived.get(task)
        if gradients is None:
            gradients = arrived[task] = {}
            expected[task] = sum([task.will_run(node) for node in nodes])
        gradients[position] = grad
        if len(gradients) == expected[task]:
            fn([gradients.get(i) for i in range(len(nodes))])
            del arrived[task]

    def hook(position: int):
        def inner_hook(grad) -> None:
            arrive(position, grad)

        inner_hook.__qualname__ = _SHOWN  # a warning shows it where the tensor is pickled
        return inner_hook

    return [register_tensor_hook(t, hook(position)) for position, t in enumerate(tensors)]


def _register_any(tensors, fn) -> list[RemovableHandle]:
    called: weakref.WeakSet = weakref.WeakSet()  # the passes in which it was

    @functools.wraps(fn)
    def first(grad) -> None:
        task = _task()
        if task not in called:
            called.add(task)
            fn(grad)

    return [register_tensor_hook(t, first) for t in tensors if t.requires_grad]


def _task():
    if STATE.graph_task is None:
        raise AssertionError("expected this hook to be called inside a backward call")
    return STATE.graph_task
