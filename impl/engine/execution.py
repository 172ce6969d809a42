"""The execution of a pass: its roots, inputs and modes (Engine::execute).

Comments name the steps of *Backward* in the specification (reference/spec/00-algorithms.md).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from impl.core import messages
from impl.core.devices import META
from impl.core.dtypes import BY_NUMPY
from impl.core.meta_arrays import is_meta
from impl.core.named_types import type_name
from impl.core.registry import method_of
from impl.core.state import FAST_PATH, STATE
from impl.core.warning import is_due
from impl.engine import dependencies, fast_backward, fast_recording
from impl.engine.accumulation import accumulate
from impl.engine.engine import GraphTask
from impl.engine.gradient_values import RECORDING, gradient_form
from impl.engine.gradient_versions import outgoing_versions
from impl.engine.reentrant_backward import MAX_DEPTH, in_new_thread
from impl.graph import anomaly_mode
from impl.graph.accumulate_grad import OF_EMPTY_LEAVES, AccumulateGrad
from impl.graph.edge import GradientEdge, gradient_edge
from impl.graph.hooks import retain_grad, run_post_accumulate
from impl.graph.input_metadata import shape_and_dtype
from impl.graph.node import Node
from impl.tape.saved_variable import saves_subclass
from impl.tensor.dispatching import ALIVE
from impl.tensor.tensor import DISPATCHING, Tensor, requires_grad

# Whether passes take the specialised loops (`impl.engine.fast_backward` and `fast_recording`).
FAST_BACKWARD = FAST_PATH


@method_of(Node)
def __call__(self, *grads):
    """Run the node's formula on one tensor or None per output, recording in grad mode.

    Returns one gradient or None per edge, a single one by itself. No hook is called and nothing is
    freed; a leaf's node accumulates. Raises TypeError for another number of gradients, and for a
    value that is no tensor.
    """
    if len(grads) != self._num_inputs:
        raise TypeError(f"expected {self._num_inputs} arguments, got {len(grads)} instead")
    for position, value in enumerate(grads):
        if not (value is None or isinstance(value, Tensor)):
            raise TypeError(f"argument {position} is not a Variable")
    form = gradient_form(STATE.enabled, bool(ALIVE) and _meets_classes([self], grads))
    lowered = [None if g is None else form.to_array(g) for g in grads]
    if isinstance(self, AccumulateGrad):
        gradient = lowered.pop()
        accumulate(form, self.variable, gradient, 0)
        if self.variable._post_accumulate:
            run_post_accumulate(self.variable)
        return ()
    outgoing = outgoing_versions({}, self, lowered)
    outputs = self._evaluate(lowered, form, None)
    if self._takes_real_part:
        outputs = _with_real_parts(self, outputs, form)
    results = tuple(None if value is None else form.to_tensor(value) for value in outputs)
    if outgoing is not None:
        for edge, result in enumerate(results):
            if result is not None and (version := outgoing.of(edge, outputs[edge])):
                result._storage.version = version
    return results[0] if len(results) == 1 else results


def _with_real_parts(node: Node, outputs, form) -> list:
    """A node's results with the real parts of the complex ones that are for real inputs."""
    results = list(outputs)
    for edge, (target, number) in enumerate(node._edge_pairs()):
        value = results[edge]
        if target is None or value is None or form.shape_dtype(value)[1].kind != "c":
            continue
        wanted = shape_and_dtype(target._input_meta(number))[1]
        if wanted is not None and wanted.kind != "c":
            results[edge] = form.F.real_part(value)
    return results


def run_backward(
    tensors, cotangents, keep_graph, create_graph, inputs, accumulate: bool, form=None
) -> list:
    """Run a pass from `tensors`, with their cotangents, to `inputs` (None: to all leaves).

    Returns the gradients of the inputs, or None where nothing arrived; with `accumulate` they go
    to the inputs' `.grad` instead. Raises RuntimeError for a root or an input that does not require
    grad, and whatever a formula or a hook raises. `form` says how gradients are taken,
    if not in the usual way.
    """
    if form is None:
        # Empty arrays have no strides in NumPy, empty tensors do; those of the meta device no data.
        on_tensors = (
            STATE.batched
            or bool(STATE.dispatch_modes)
            or any(
                c is not None and (not c._raw.size or is_meta(c._raw) or _keeps_memory(tensor, c))
                for tensor, c in zip(tensors, cotangents, strict=True)
            )
        )
        if (ALIVE or OF_EMPTY_LEAVES) and not on_tensors:
            edges = [edge_of(tensor) for tensor in tensors]
            nodes = dependencies.reachable([edge[0] for edge in edges if edge is not None])
            on_tensors = _meets_classes(nodes, cotangents)
            on_tensors |= not nodes.isdisjoint(OF_EMPTY_LEAVES)
        form = gradient_form(create_graph, on_tensors)
    given = (tensors, cotangents, keep_graph, create_graph, inputs, accumulate, form)
    return (
        _execute(*given) if STATE.reentrant_depth < MAX_DEPTH else in_new_thread(_execute, *given)
    )


def _keeps_memory(tensor, cotangent: Tensor) -> bool:
    """Whether the gradient of a root lies in memory as its cotangent does, where that is not as an
    array would."""
    if not (cotangent._offset or cotangent._strides):
        return False
    edge = edge_of(tensor)
    return edge is not None and edge[0]._keeps_memory


def _meets_classes(nodes: Iterable[Node], gradients) -> bool:
    """Whether a pass over these nodes may meet tensors of classes that operators ask: as gradients,
    leaves or saved tensors, or in the backward of a Function."""
    return any(type(gradient) in DISPATCHING for gradient in gradients) or any(
        type(node.variable) in DISPATCHING
        if isinstance(node, AccumulateGrad)
        else node._is_custom_function or saves_subclass(node)
        for node in nodes
    )


def _execute(tensors, cotangents, keep_graph, create_graph, inputs, accumulate: bool, form) -> list:
    # Backward 1
    roots = _roots(tensors, cotangents, form)
    task = GraphTask(form, keep_graph)
    if form.records and any(c is not None and c.is_meta for c in cotangents):
        task.place = META
    previous = STATE.reentrant_depth, STATE.grad_mode, STATE.graph_task, STATE.accumulates_all
    try:
        STATE.reentrant_depth += 1
        # Backward 2
        STATE.grad_mode = bool(create_graph)
        STATE.graph_task = task
        STATE.accumulates_all = STATE.accumulates_all and inputs is None
        # Backward 4
        if inputs is not None:
            _aim(task, roots, inputs, accumulate)
        roots = task.validate_roots(roots)
        if accumulate and create_graph and is_due(messages.CREATE_GRAPH):
            task.warnings.append(messages.CREATE_GRAPH)
        fast = FAST_BACKWARD and not anomaly_mode.MODE.enabled and STATE.before_write is None
        if fast and not form.records and not STATE.passes:  # of which plans know no versions
            fast_backward.run(task, roots)
        elif fast and form is RECORDING and not STATE.dispatch_modes:
            fast_recording.run(task, roots)
        else:
            task.run(roots)
        # Backward 8
        for callback in task.callbacks:  # which may queue others
            callback()
        return task.captured
    finally:
        STATE.reentrant_depth, STATE.grad_mode, STATE.graph_task, STATE.accumulates_all = previous
        for message in task.warnings:  # at one place, as torch's module does
            warnings.warn(message, UserWarning, stacklevel=1)


def _roots(tensors, cotangents, form) -> list:
    """The edges where the pass begins, each with its gradient.

    A cast to the dtype of the root is recorded in the caller's grad mode, and shows where the root
    is also an input.
    """
    roots = []
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
        dtype = edge[0]._dtype_of(edge[1])
        if requires_grad(cotangent) and dtype is not None and cotangent._raw.dtype != dtype:
            cotangent = cotangent.to(BY_NUMPY[dtype])
        roots.append((edge, form.to_array(cotangent)))
    return roots


def edge_of(tensor):
    """The (node, output number) of a tensor or of a GradientEdge."""
    return tensor[:2] if isinstance(tensor, GradientEdge) else gradient_edge(tensor)


def _aim(task: GraphTask, roots, inputs, accumulate: bool) -> None:
    targets = []
    for position, tensor in enumerate(inputs):
        if not isinstance(tensor, (Tensor, GradientEdge)):
            raise RuntimeError(
                f"all inputs have to be Tensors or GradientEdges, but got {type_name(tensor)}"
            )
        if isinstance(tensor, GradientEdge):
            pass  # there is no tensor that could keep a gradient
        elif accumulate:
            if tensor._grad_fn is not None or not requires_grad(tensor):
                retain_grad(tensor)
        elif not requires_grad(tensor):
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        edge = edge_of(tensor)
        if edge is not None:
            targets.append(edge[0])
            if not accumulate:
                task.captures.setdefault(edge[0], []).append((edge[1], position))
    if not accumulate:
        task.captured = [None] * len(inputs)
    task.exec_info = dependencies.exec_info([edge[0] for edge, _ in roots], targets, accumulate)
