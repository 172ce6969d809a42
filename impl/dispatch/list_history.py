"""The history of operators over lists of tensors: one node for all results of a call, and
the checks before any tensor is written (the generated kernels of `_foreach_*`).
"""

from __future__ import annotations

import functools

from impl.core.dtypes import BY_NUMPY, DIFFERENTIABLE
from impl.core.grad_mode import no_grad
from impl.core.state import STATE
from impl.dispatch.not_implemented import undifferentiable_dtype
from impl.dispatch.record import (
    check_write,
    edges_of,
    gradient_edges,
    record_undifferentiable,
)
from impl.graph.node import Node
from impl.tape.inplace import set_history
from impl.tensor.nested import tensors_of
from impl.tensor.tensor import requires_grad

# The overloads of an operator of two tensors that take numbers.
_OF_NUMBER = {
    (name, kind) for name in ("add", "sub", "mul", "div") for kind in ("Scalar", "ScalarList")
}
# The numbers in the names of nodes that are not 0, by the operator and its overload.
_NUMBERS = {
    **dict.fromkeys(_OF_NUMBER, 1),
    **{("maximum", "ScalarList"): 1, ("minimum", "ScalarList"): 1, ("lerp", "List"): 1},
    **{("pow", "ScalarList"): 1, ("pow", "ScalarAndTensor"): 2, ("max", ""): 1},
    **{("clamp_min", "List"): 1, ("clamp_max", "List"): 1},
}
# The overloads that have a derivative of their own, of which the node has a class in Python.
_OWN = {
    *{(name, kind) for name in ("maximum", "minimum") for kind in ("Scalar", "ScalarList")},
    *(("pow", "List"), ("pow", "ScalarList"), ("pow", "ScalarAndTensor"), ("norm", "Scalar")),
    ("div", "List"),
}


class ListNode(Node):
    """The node of all results of a call: it passes the gradient of each on to the node that the
    operator has recorded for it. A result whose operands do not require grad has none."""

    __module__ = "builtins"  # as of a C++ class

    def __init__(self, name: str, parts: list, of_number: bool) -> None:
        super().__init__()
        self._name = name
        self._parts = parts
        given = [[] if part is None else part._edges() for part in parts]
        width = 1 if of_number else max(map(len, given))  # a number has no edge
        rows = [edges[:width] or [None] * width for edges in given]
        self._set_next_edges([edges[n] for n in range(width) for edges in rows])
        self._versions = {
            n * len(parts) + i: times
            for i, part in enumerate(parts)
            for n, times in (getattr(part, "_versions", None) or {}).items()
            if n < width
        } or None

    def name(self) -> str:
        return self._name

    def _evaluate(self, grads, form, wanted):
        count = len(self._parts)
        result: list = [None] * len(self._next_nodes)
        for i, (part, grad) in enumerate(zip(self._parts, grads, strict=True)):
            if part is not None and grad is not None:
                places = range(i, len(result), count)
                asked = [wanted is None or wanted[place] for place in places]
                more = [False] * (len(part._edge_nodes()) - len(asked))
                found = part._evaluate([grad], form, [*asked, *more])
                for place, value in zip(places, found, strict=False):
                    result[place] = value
        return result

    def _release(self) -> None:
        for part in self._parts:
            if part is not None:
                part._release()


@functools.cache
def _class_named(name: str) -> type[ListNode]:
    return type(name, (ListNode,), {"__module__": "builtins"})


def share_node(name: str, kind: str, results: tuple) -> tuple:
    """Give all results of a call one node, where an operand requires grad; returns them.

    `kind` is ATen's name of the overload, empty if there is one only. Raises RuntimeError for
    results of which the dtype has no gradient.
    """
    parts = [result._grad_fn for result in results]
    if all(part is None for part in parts):
        return results
    for result in results:
        if result._raw.dtype not in DIFFERENTIABLE:
            raise undifferentiable_dtype(BY_NUMPY[result._raw.dtype])
    own = (name, kind) in _OWN
    end = "" if own else kind
    camel = name.title().replace("_", "")
    shown = f"Foreach{camel}Backward{_NUMBERS.get((name, kind), 0)}{end}"
    of_number = (name, kind) in _OF_NUMBER
    node = _class_named(shown if own else "CppFunction")(shown, parts, of_number)
    node._set_input_metadata(results)
    for number, result in enumerate(results):
        set_history(result, node, number)
    return results


def rename_writes(name: str, kind: str, targets: list) -> None:
    """Give tensors that an operator of a number has written the node that it has in lists; a view
    keeps that of the write through it."""
    if not STATE.enabled or (name, kind) not in _OF_NUMBER:
        return
    shown = f"{name.capitalize()}Backward1"
    for target in targets:
        if target._view is None and target._grad_fn is not None:
            node = _class_named(shown)(shown, [target._grad_fn], True)
            node._set_input_metadata((target,))
            set_history(target, node)


def check_writes(tensors: tuple, operands: tuple) -> None:
    """Raise RuntimeError if the write of one of the tensors cannot be recorded, before any is
    written."""
    for number, tensor in enumerate(tensors):
        given = [o[number : number + 1] if isinstance(o, list | tuple) else o for o in operands]
        check_write(tensor, any(map(requires_grad, tensors_of(given))))


def underived(name: str, tensors: tuple, operands: list, compute) -> tuple:
    """The results of an operator without a derivative, which `compute` returns: where a tensor
    requires grad they get one node that raises."""
    edges = gradient_edges(*tensors, *operands) if STATE.enabled else []
    with no_grad():
        results = tuple(compute())
    if edges:
        record_undifferentiable(name, edges, results, made=True)
    return results


def write_underived(name: str, targets: tuple, operands: list, compute) -> None:
    """Have `compute` write the targets, as an operator in place that has no derivative: one of them
    gets a node that raises where it or one of the operands beside the targets requires grad."""
    with no_grad():
        compute()
    for target in targets if STATE.enabled else ():
        edges = edges_of(target, *operands)
        if any(edge is not None for edge in edges):
            record_undifferentiable(name, edges, [target])
