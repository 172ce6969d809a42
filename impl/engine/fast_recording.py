"""The fast path of a pass that records: `GraphTask.run` for gradients that are tensors.

A node that nothing observes needs none of the checks of `GraphTask.call_function`: its compiled
formulas run at once, and gradients that fit go on to the next nodes. Any other node, and gradients
that have to be fitted, take the steps of the reference loop. The operations are recorded in the
same order; `tests/test_impl_fast_backward.py` holds the graphs equal.
"""

from __future__ import annotations

from heapq import heappop, heappush

from impl.engine.gradient_values import RECORDING
from impl.graph.input_metadata import meets


def run(task, roots) -> None:
    """Run a pass whose gradients are tensors, outside anomaly mode; see `GraphTask.run`."""
    form, exec_info, captures = task.form, task.exec_info, task.captures
    task.start(roots)
    compiled, ready = form is RECORDING, task.ready.heap
    while ready:
        node, gradient = heappop(ready)[2:]
        if exec_info is not None and node not in exec_info:
            continue
        plan = node._plan
        if (
            plan is None
            or gradient is None
            or node._compiled_backward is None
            or node._versions is not None
            or node in captures
        ):
            grads = [gradient] if node._metas is None else gradient
            gradient = None
            result = task.call_function(node, grads, task.needed_edges(node))
            if result is not None:
                task.deliver(node, result[0], task.validate_outputs(node, *result))
            continue
        needed = None
        if exec_info is not None and node._next_node is None:
            needed = [target in exec_info for target in node._next_nodes]
        if compiled and plan.recorded_backward:
            outputs = plan.recorded_backward(node, gradient, needed)
        else:
            outputs = node._evaluate((gradient,), form, needed)
        if not task.keep_graph:
            node._release()
        if node._next_node is None:
            pairs = [*zip(outputs, node._next_nodes, strict=True)]
        else:
            pairs = [(outputs[plan.single], node._next_node)]
        if _fit(pairs, node._meta if plan.fits else None):
            _deliver(task, pairs)
        else:
            task.deliver(node, outputs, task.validate_outputs(node, outputs, None))


def _fit(pairs, arriving) -> bool:
    """Whether gradients have the shapes and dtypes that the only outputs of the next nodes ask for.

    `arriving` is the metadata of the incoming gradient where the outgoing ones have the same.
    """
    for value, target in pairs:
        if target is not None and value is not None:
            meta = target._meta
            if meta is None or (meta is not arriving and not meets(value._raw, meta)):
                return False
    return True


def _deliver(task, pairs) -> None:
    """`GraphTask.deliver` for gradients that no node has written."""
    ready, ties, dependencies, buffers = (
        task.ready.heap,
        task.ready.ties,
        task.dependencies,
        task.buffers,
    )
    for value, target in pairs:
        if target is None:
            continue
        if dependencies.get(target, 1) != 1:
            buffer = buffers.get(target) or task.new_buffer(target)
            buffer.add(0, value, 0, task.form)
            if buffer.missing:
                continue
            value = task.take_buffer(target)
        heappush(ready, (-target._sequence, next(ties), target, value))
