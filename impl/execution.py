"""Passes as callers see them: from which tensors to which inputs, in which modes."""

from __future__ import annotations

import warnings

from impl import messages
from impl.accumulation import accumulate
from impl.engine import Task
from impl.graph import AccumulateGrad, GradientEdge, gradient_edge
from impl.hooks import retain_grad, run_post_accumulate
from impl.interpretation import interpreting
from impl.modes import STATE
from impl.paths import leading
from impl.stacks import LEVELS, elsewhere
from impl.tensor import Tensor


def run_alone(node, grads):
    """Run a node's formula on one tensor or None per output, recording in grad mode.

    Returns one gradient or None per edge, a single one by itself. No hook is called and nothing is
    freed; a leaf's node accumulates. Raises TypeError for another number of gradients.
    """
    if len(grads) != node._width:
        raise TypeError(f"expected {node._width} arguments, got {len(grads)} instead")
    interpretation = interpreting(STATE.enabled)
    lowered = [None if g is None else interpretation.lower(g) for g in grads]
    if isinstance(node, AccumulateGrad):
        accumulate(interpretation, node.variable, lowered[0], 0)
        if node.variable._post_accumulate:
            run_post_accumulate(node.variable)
        return ()
    outputs = node._evaluate(lowered, interpretation, None)
    results = tuple(None if value is None else interpretation.lift(value) for value in outputs)
    return results[0] if len(results) == 1 else results


def execute(
    tensors, cotangents, keep_graph, create_graph, inputs, accumulate: bool, interpretation=None
) -> list:
    """Run a pass from `tensors`, with their cotangents, to `inputs` (None: to all leaves).

    Returns the gradients of the inputs, or None where nothing arrived; with `accumulate` they go
    to the inputs' `.grad` instead. Raises RuntimeError for a root or an input that does not require
    grad, and whatever a formula or a hook raises. `interpretation` says how gradients are taken,
    if not in the usual way.
    """
    if interpretation is None:
        # NumPy knows no strides of what is empty, tensors do.
        empty = any(c is not None and not c._raw.size for c in cotangents)
        interpretation = interpreting(create_graph, empty)
    given = (tensors, cotangents, keep_graph, create_graph, inputs, accumulate, interpretation)
    return _execute(*given) if STATE.level < LEVELS else elsewhere(_execute, *given)


def _execute(
    tensors, cotangents, keep_graph, create_graph, inputs, accumulate: bool, interpretation
) -> list:
    roots = []
    task = Task(interpretation, keep_graph)
    previous = STATE.level, STATE.grad_mode, STATE.task, STATE.whole
    try:
        STATE.level += 1
        STATE.grad_mode = bool(create_graph)
        STATE.task = task
        STATE.whole = STATE.whole and inputs is None
        for i, (tensor, cotangent) in enumerate(zip(tensors, cotangents, strict=True)):
            edge = edge_of(tensor)
            if edge is None:
                raise RuntimeError(
                    f"element {i} of tensors does not require grad and does not have a grad_fn"
                )
            if cotangent is None:
                raise RuntimeError(
                    f"element {i} of gradients tuple is None, but the corresponding Tensor "
                    "requires grad"
                )
            lowered = interpretation.lower(cotangent)
            dtype = edge[0]._dtype_of(edge[1])
            if dtype is not None and cotangent._raw.dtype != dtype:
                lowered = interpretation.cast(lowered, dtype)
            roots.append((edge, lowered))
        if inputs is not None:
            _aim(task, roots, inputs, accumulate)
        if accumulate and create_graph:
            warnings.warn(messages.CREATE_GRAPH, UserWarning, stacklevel=3)
        task.run(roots)
        for callback in task.callbacks:  # which may queue others
            callback()
        return task.captured
    finally:
        STATE.level, STATE.grad_mode, STATE.task, STATE.whole = previous


def edge_of(tensor):
    """The (node, output number) of a tensor or of a GradientEdge."""
    return tensor[:2] if isinstance(tensor, GradientEdge) else gradient_edge(tensor)


def _aim(task: Task, roots, inputs, accumulate: bool) -> None:
    targets = []
    for position, tensor in enumerate(inputs):
        if not isinstance(tensor, (Tensor, GradientEdge)):
            raise RuntimeError(
                f"all inputs have to be Tensors or GradientEdges, but got {type(tensor).__name__}"
            )
        if isinstance(tensor, GradientEdge):
            pass  # there is no tensor that could keep a gradient
        elif accumulate:
            if tensor.grad_fn is not None or not tensor.requires_grad:
                retain_grad(tensor)
        elif not tensor.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        edge = edge_of(tensor)
        if edge is not None:
            targets.append(edge[0])
            if not accumulate:
                task.captures.setdefault(edge[0], []).append((edge[1], position))
    if not accumulate:
        task.captured = [None] * len(inputs)
    task.needed = leading([edge[0] for edge, _ in roots], targets, accumulate)
