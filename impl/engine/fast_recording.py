"""The fast path of a pass that records: `GraphTask.run` for `RecordingGradients`.

A node that nothing observes needs none of the checks of `GraphTask.call_function`: its compiled
formulas run at once, and gradients that fit go on to the next nodes. Any other node, and gradients
that have to be fitted, take the steps of the reference loop. The operations are recorded in the
same order; `tests/test_impl_fast_backward.py` holds the graphs equal.
"""

from __future__ import annotations

from heapq import heappop, heappush

from impl.engine.gradient_values import RECORDING
from impl.engine.input_buffer import InputBuffer
from impl.graph.input_metadata import meets


def run(task, roots) -> None:
    """Run a pass that records, outside anomaly mode; see `GraphTask.run`."""
    exec_info, captures = task.exec_info, task.captures
    task.start(roots)
    ready, ties, dependencies = task.ready.heap, task.ready.ties, task.dependencies
    buffers = task.buffers
    while ready:
        _, _, node, gradient = heappop(ready)
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
            needed = [*map(exec_info.__contains__, node._next_nodes)]
        if plan.recorded_backward:
            outputs = plan.recorded_backward(node, gradient, needed)
        else:
            outputs = node._evaluate((gradient,), RECORDING, needed)
        if not task.keep_graph:
            node._release()
        arriving = node._meta if node._plan.fits else None
        if (target := node._next_node) is not None:
            values, targets = (outputs[plan.single],), (target,)
            fits = target._meta is arriving is not None or _fit(values, targets, arriving)
        else:
            values, targets = outputs, node._next_nodes
            fits = _fit(values, targets, arriving)
        if not fits:
            task.deliver(node, outputs, task.validate_outputs(node, outputs, None))
            continue
        # `GraphTask.deliver` for gradients that no node has written.
        for edge, target in enumerate(targets):
            if target is None:
                continue
            value = values[edge]
            if dependencies.get(target, 1) != 1:
                if (buffer := buffers.get(target)) is None:
                    buffers[target] = InputBuffer(dependencies[target] - 1, value)
                    continue
                buffer.add(0, value, 0, RECORDING)
                if buffer.missing:
                    continue
                del buffers[target]
                value = buffer.complete(target, task.versions)
            heappush(ready, (-target._sequence, next(ties), target, value))


def _fit(values, targets, arriving) -> bool:
    """Whether the next nodes have one output, of which gradients have the shape and dtype.

    `arriving` is the metadata of the incoming gradient where the outgoing ones have the same.
    """
    for edge, target in enumerate(targets):
        if target is None:
            continue
        meta, value = target._meta, values[edge]
        if meta is None or not (meta is arriving or value is None or meets(value._raw, meta)):
            return False
    return True
