"""The backward pass: which nodes run, in which order, and where the gradients go."""

from __future__ import annotations

import heapq
import warnings
import weakref

import numpy as np

from impl import messages, seeds
from impl.accumulation import accumulate
from impl.graph import AccumulateGrad, gradient_edge
from impl.hooks import retain_grad, run_node_hooks, run_tensor_hooks
from impl.interpretation import TAPED_INTERPRETATION, RawInterpretation, expandable
from impl.modes import STATE
from impl.tensor import Tensor


class _Task:
    """One backward pass. Iterative: a chain of any length takes no stack."""

    def __init__(self, interpretation, keep_graph: bool) -> None:
        self.interpretation = interpretation
        self.keep_graph = keep_graph
        self.needed: dict | None = None  # with inputs: which nodes lead to one; None: all
        # How often a waiting gradient was written in place: its version, should it surface.
        self.additions: dict = {}
        self.captures: dict = {}  # {node: [(output number, position of the input)]}
        self.captured: list = []

    # -- preparation ------------------------------------------------------------------------

    def _dependencies(self, roots) -> dict:
        counts: dict = {}
        seen = set()
        pending = []
        for node in roots:
            if node not in seen:
                seen.add(node)
                pending.append(node)
        while pending:
            for edge in pending.pop().edges:
                if edge is not None:
                    node = edge[0]
                    if node in counts:
                        counts[node] += 1
                    else:
                        counts[node] = 1
                    if node not in seen:
                        seen.add(node)
                        pending.append(node)
        return counts

    def select(self, roots, targets, execute_targets: bool) -> None:
        """Mark the nodes between the roots and the targets, the only ones that will run."""
        leads: dict = {node: execute_targets for node in targets}
        order, seen = [], set()
        pending = [(node, False) for node in roots]
        while pending:
            node, done = pending.pop()
            if done:
                order.append(node)
                continue
            if node in seen:
                continue
            seen.add(node)
            pending.append((node, True))
            for edge in node.edges:
                if edge is not None and edge[0] not in seen:
                    pending.append((edge[0], False))
        reaches = dict.fromkeys(targets, True)
        for node in order:
            for edge in node.edges:
                if edge is not None and reaches.get(edge[0]):
                    reaches[node] = True
                    leads[node] = True
                    break
        self.needed = leads

    # -- the pass ---------------------------------------------------------------------------

    def run(self, roots) -> None:
        """`roots` are (edge, gradient) in the caller's order."""
        interpretation, needed = self.interpretation, self.needed
        add, shape_dtype = interpretation.add, interpretation.shape_dtype
        unshared, additions = interpretation.unshared, self.additions
        buffers: dict = {}
        starts = dict.fromkeys(edge[0] for edge, _ in roots)
        counts = self._dependencies(starts)
        for (node, number), gradient in roots:
            self._deliver(buffers, node, number, gradient)
        ready: list = []
        tie = 0
        for node in starts:
            if not counts.get(node):
                heapq.heappush(ready, (-node.sequence, tie, node))
                tie += 1
        push, pop = heapq.heappush, heapq.heappop
        while ready:
            node = pop(ready)[2]
            grads = buffers.pop(node, None)
            if needed is not None and node not in needed:
                continue
            if grads is None:
                grads = [None] * len(node.meta)
            versions = node.versions
            if versions is not None:
                arrived = [g is not None for g in grads]
            carried = self._carried(node, grads) if additions else ()
            outputs = self._step(node, grads)
            grads = None
            if outputs is None:
                continue
            edges = node.edges
            for i in range(len(edges)):
                edge = edges[i]
                if edge is None:
                    continue
                target, number = edge
                value = outputs[i]
                outputs[i] = None
                if value is not None:
                    shape, dtype = shape_dtype(value)
                    expected = target.meta[number]
                    made = versions.get(i, 0) if versions is not None else 0
                    if made and callable(made):
                        made = int(made(arrived))
                    for reference, count in carried:
                        passed = reference()
                        if passed is not None and (value is passed or value.base is passed):
                            made = count
                        passed = None
                    if shape != expected[0] or dtype is not expected[1]:
                        value = self._fit(node, i, value, expected)
                        made = 0
                    buffer = buffers.get(target)
                    if buffer is None:
                        buffer = buffers[target] = [None] * len(target.meta)
                    held = buffer[number]
                    if held is None:
                        buffer[number] = value
                        if made:
                            additions[target, number] = made
                    else:
                        buffer[number] = None
                        if unshared(held, 2) and held.base is None:
                            held += value
                            key = (target, number)
                            additions[key] = additions.get(key, 0) + 1
                        else:
                            held = add(held, value)
                            additions.pop((target, number), None)
                        buffer[number] = held
                    held = value = None
                remaining = counts[target] = counts[target] - 1
                if not remaining:
                    push(ready, (-target.sequence, tie, target))
                    tie += 1

    def _deliver(self, buffers, node, number, gradient) -> None:
        buffer = buffers.get(node)
        if buffer is None:
            buffer = buffers[node] = [None] * len(node.meta)
        held = buffer[number]
        buffer[number] = gradient if held is None else self.interpretation.add(held, gradient)

    def _step(self, node, grads):
        """Run one node with its hooks; None if it is only captured, not run."""
        interpretation = self.interpretation
        runs = self.needed is None or self.needed[node]
        if runs and self.captures:
            # What passes through is captured before the tensor's own hooks, what ends here after.
            self._capture(node, grads)
        hooked = node.tensor_hooks or node.retained or type(node) is AccumulateGrad
        if hooked:
            grads = self._tensor_hooks(node, grads)
        if not runs:
            self._capture(node, grads)
            return None
        if node.pre_hooks:
            grads = self._node_hooks(node.pre_hooks, grads)
        if type(node) is AccumulateGrad:
            accumulate(interpretation, node.variable, grads, self.additions.pop((node, 0), 0))
            if node.post_hooks:
                self._node_hooks(node.post_hooks, [], grads)
            return None
        wanted = None
        if self.needed is not None:
            wanted = [e is not None and (e[0] in self.needed) for e in node.edges]
        outputs = node.evaluate(grads, interpretation, wanted)
        if node.post_hooks:
            outputs = self._node_hooks(node.post_hooks, outputs, grads)
        if not self.keep_graph:
            node.release()
        return outputs

    def _carried(self, node, grads) -> list:
        """How often the gradients that arrive were written: formulas may pass them on."""
        return [
            (weakref.ref(g), self.additions[node, number])
            for number, g in enumerate(grads)
            if type(g) is np.ndarray and (node, number) in self.additions
        ]

    def _capture(self, node, grads) -> None:
        for number, position in self.captures.get(node, ()):
            self.captured[position] = self._result(node, number, grads[number])

    def _fit(self, node, position: int, value, expected):
        """Reduce a broadcast gradient to its input's shape, and cast it to its dtype."""
        shape, dtype = self.interpretation.shape_dtype(value)
        if shape != expected[0]:
            if not expandable(expected[0], shape):
                raise RuntimeError(
                    f"Function {node.name()} returned an invalid gradient at index {position} - "
                    f"got {list(shape)} but expected shape compatible with {list(expected[0])}"
                )
            value = self.interpretation.sum_to(value, expected[0])
        if dtype != expected[1]:
            value = self.interpretation.cast(value, expected[1])
        return value

    # -- hooks ------------------------------------------------------------------------------

    def _result(self, node, number: int, value):
        if value is None:
            return None
        result = self.interpretation.result(value)
        if (node, number) in self.additions:
            result._storage.version = self.additions[node, number]
        return result

    def _lift(self, value):
        return None if value is None else self.interpretation.lift(value)

    def _lower(self, value):
        # Not remembered as given: if no hook kept the tensor, the leaf may take the array over.
        return value if value is None or self.interpretation.records else value._raw

    def _tensor_hooks(self, node, grads):
        grads = list(grads)
        for number in range(len(grads)):
            hooks = node.hooks_of_output(number)
            if hooks:
                if type(node) is AccumulateGrad and grads[number] is None:
                    continue
                gradient = self._lift(grads[number])
                result = run_tensor_hooks(hooks, gradient)
                grads[number] = self._lower(result)
            reference = node.retained.get(number) if node.retained else None
            tensor = reference and reference()
            if tensor is not None and grads[number] is not None:
                gradient = self._lift(grads[number])
                held = tensor._grad
                tensor._grad = gradient.clone() if held is None else held + gradient
        return grads

    def _node_hooks(self, hooks, values, *rest):
        lifted = tuple(self._lift(v) for v in values)
        others = [tuple(self._lift(v) for v in r) for r in rest]
        return [self._lower(v) for v in run_node_hooks(hooks, lifted, *others)]


# -- the calls ------------------------------------------------------------------------------


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    """Accumulate the gradients of `tensors`, weighted by their cotangents, into the leaves.

    Args:
        tensors: a tensor or a sequence of them, of any shape; each must require grad.
        grad_tensors: for each its cotangent (same shape, cast to its dtype) or None, which is
            allowed for one real element and means one.
        retain_graph: keep what the graph saved; by default as `create_graph`.
        create_graph: record the computation of the gradients.
        inputs: accumulate into these tensors only.

    Raises RuntimeError on a shape mismatch, a missing cotangent, a freed graph, or a saved tensor
    that was modified (torch.autograd.backward).
    """
    if inputs is not None:
        inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
        if len(inputs) == 0:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    cotangents = seeds.cotangents(tensors, seeds.as_tuple(grad_tensors, len(tensors)))
    if retain_graph is None:
        retain_graph = create_graph
    if create_graph and inputs is None:
        warnings.warn(messages.CREATE_GRAPH, UserWarning, stacklevel=3)
    _execute(tensors, cotangents, retain_graph, create_graph, inputs, accumulate=True)


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of `outputs`, weighted by their cotangents, with respect to `inputs`.

    Returns a tuple with one tensor per input (of its shape and dtype), or None for one that was
    not used when `allow_unused`; zeros with `materialize_grads`. Arguments and errors as
    `backward`, and RuntimeError for an input that does not require grad or was not used
    (torch.autograd.grad).
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, "
            "but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if is_grads_batched:
        raise NotImplementedError("is_grads_batched")
    outputs = (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    cotangents = seeds.cotangents(outputs, seeds.as_tuple(grad_outputs, len(outputs)))
    if retain_graph is None:
        retain_graph = create_graph
    results = _execute(outputs, cotangents, retain_graph, create_graph, inputs, accumulate=False)
    for i, result in enumerate(results):
        if result is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )
    if materialize_grads:
        from impl import creation

        results = [
            creation.zeros_like(inputs[i]) if r is None else r for i, r in enumerate(results)
        ]
    return tuple(results)


def _execute(tensors, cotangents, keep_graph, create_graph, inputs, accumulate: bool):
    interpretation = TAPED_INTERPRETATION if create_graph else RawInterpretation()
    roots = []
    previous = STATE.enabled
    STATE.enabled = bool(create_graph)
    try:
        for i, (tensor, cotangent) in enumerate(zip(tensors, cotangents, strict=True)):
            edge = gradient_edge(tensor)
            if edge is None:
                raise RuntimeError(
                    f"element {i} of tensors does not require grad and does not have a grad_fn"
                )
            if cotangent is None:
                raise RuntimeError(f"element {i} of gradients tuple is None")
            lowered = interpretation.lower(cotangent)
            if cotangent._raw.dtype != tensor._raw.dtype:
                lowered = interpretation.cast(lowered, tensor._raw.dtype)
            roots.append((edge, lowered))
        task = _Task(interpretation, keep_graph)
        if inputs is not None:
            _aim(task, roots, inputs, accumulate)
        task.run(roots)
        return task.captured
    finally:
        STATE.enabled = previous


def _aim(task: _Task, roots, inputs, accumulate: bool) -> None:
    targets = []
    for position, tensor in enumerate(inputs):
        if accumulate:
            if tensor.grad_fn is not None or not tensor.requires_grad:
                retain_grad(tensor)
        elif not tensor.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        edge = gradient_edge(tensor)
        if edge is not None:
            targets.append(edge[0])
            if not accumulate:
                task.captures.setdefault(edge[0], []).append((edge[1], position))
    if not accumulate:
        task.captured = [None] * len(inputs)
    task.select([edge[0] for edge, _ in roots], targets, execute_targets=accumulate)
