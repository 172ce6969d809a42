"""The backward pass: which nodes run, in which order, and where the gradients go."""

from __future__ import annotations

import heapq
import itertools
import warnings
import weakref

import numpy as np

from impl import messages, seeds
from impl.accumulation import accumulate
from impl.graph import AccumulateGrad, gradient_edge, meets
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

    @staticmethod
    def _dependencies(roots) -> dict:
        """How many gradients each reachable node waits for."""
        counts = dict.fromkeys(roots, 0)
        pending = list(roots)
        while pending:
            for node in pending.pop().next:
                if node is not None:
                    if node in counts:
                        counts[node] += 1
                    else:
                        counts[node] = 1
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
            for target in node.next:
                if target is not None and target not in seen:
                    pending.append((target, False))
        reaches = dict.fromkeys(targets, True)
        for node in order:
            for target in node.next:
                if target is not None and reaches.get(target):
                    reaches[node] = True
                    leads[node] = True
                    break
        self.needed = leads

    # -- the pass ---------------------------------------------------------------------------

    def run(self, roots) -> None:
        """`roots` are (edge, gradient) in the caller's order.

        Of the nodes whose gradients are complete, the one recorded last runs first; leaves run at
        once (torch's queue). A buffer holds the gradient of a node's only output, or the list of
        those of several.
        """
        straight, keep = not self.interpretation.records, self.keep_graph
        needed, additions = self.needed, self.additions
        buffers: dict = {}
        starts = dict.fromkeys(edge[0] for edge, _ in roots)
        counts = self._dependencies(starts)
        for (node, number), gradient in roots:
            self._deliver(buffers, node, number, gradient)
        ready: list = []
        ties = itertools.count()
        for node in starts:
            if not counts[node]:
                heapq.heappush(ready, (-node.sequence, next(ties), node))
        following = None  # the first that got ready, which mostly is the next and needs no queue
        wanted = None
        while True:
            if following is not None:
                node, following = following, None
                if ready and ready[0][0] < -node.sequence:
                    node = heapq.heappushpop(ready, (-node.sequence, next(ties), node))[2]
            elif ready:
                node = heapq.heappop(ready)[2]
            else:
                return
            gradient = buffers.pop(node, None)
            targets = node.next
            if needed is not None:
                if node not in needed:
                    continue
                wanted = [target in needed for target in targets]
            plan = node.plan
            carried = versions = None
            if (
                straight
                and plan is not None
                and plan.straight is not None
                and not node.hooked
                and gradient is not None
                and (needed is None or node not in self.captures)
                and (not additions or (node, 0) not in additions)
                and node.versions is None
            ):
                outputs = plan.straight(node, gradient, keep, wanted)
                gradient = None
            else:
                grads = gradient if node.width > 1 else [gradient]
                gradient = None
                if grads is None:
                    grads = [None] * node.width
                versions = node.versions
                if versions is not None:
                    arrived = [g is not None for g in grads]
                    versions = {
                        i: int(made(arrived)) if callable(made) else made
                        for i, made in versions.items()
                    }
                carried = self._carried(node, grads) if additions else None
                outputs = self._step(node, grads, wanted)
                grads = None
                if outputs is None:
                    continue
            i = -1
            for target in targets:
                i += 1
                if target is None:
                    continue
                value = outputs[i]
                if value is not None:
                    outputs[i] = None
                    if target.width == 1 and not carried and not versions:
                        if type(value) is not (meta := target.meta) and (
                            type(meta) is not tuple
                            or not straight
                            or value.shape != meta[0]
                            or value.dtype is not meta[1]
                        ):
                            value = self._fit(node, i, value, meta)
                        if (held := buffers.get(target)) is None:
                            buffers[target] = value
                        else:
                            buffers[target] = None
                            buffers[target] = self._sum(held, value, (target, 0))
                            held = None
                    else:
                        number = 0 if node.numbers is None else node.numbers[i]
                        made = versions.get(i, 0) if versions else 0
                        if carried:
                            made = self._passed_on(carried, value, made)
                        meta = target.expected(number)
                        if not self._meets(value, meta):
                            value = self._fit(node, i, value, meta)
                            made = 0
                        self._deliver(buffers, target, number, value, made)
                    value = None
                remaining = counts[target] = counts[target] - 1
                if not remaining:
                    if following is None:
                        following = target
                    else:
                        heapq.heappush(ready, (-target.sequence, next(ties), target))

    def _deliver(self, buffers, node, number: int, gradient, made: int = 0) -> None:
        """Put a gradient, which was written `made` times, into a node's buffer, or add it."""
        if node.width == 1:
            held = buffers.get(node)
            buffers[node] = None
        else:
            buffer = buffers.get(node)
            if buffer is None:
                buffer = buffers[node] = [None] * node.width
            held = buffer[number]
            buffer[number] = None
        if held is not None:
            gradient = self._sum(held, gradient, (node, number))
        elif made:
            self.additions[node, number] = made
        if node.width == 1:
            buffers[node] = gradient
        else:
            buffer[number] = gradient

    def _sum(self, held, value, place):
        """Two gradients for the same place: in place, if nobody else holds the first."""
        # Referenced by the caller's name and ours, and by the call's own.
        if self.interpretation.unshared(held, 3) and held.base is None:
            held += value
            self.additions[place] = self.additions.get(place, 0) + 1
            return held
        self.additions.pop(place, None)
        return self.interpretation.add(held, value)

    def _meets(self, value, meta) -> bool:
        return meets(value._raw if self.interpretation.records else value, meta)

    @staticmethod
    def _passed_on(carried, value, made: int) -> int:
        """How often a gradient was written that a formula passed on, or of which it made a view."""
        for reference, count in carried:
            passed = reference()
            if passed is not None and (value is passed or value.base is passed):
                made = count
        return made

    def _step(self, node, grads, wanted):
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

    def _fit(self, node, position: int, value, meta):
        """Reduce a broadcast gradient to its input's shape, and cast it to its dtype."""
        if self._meets(value, meta):
            return value
        expected, wanted = meta if type(meta) is tuple else ((), np.dtype(meta))
        shape, dtype = self.interpretation.shape_dtype(value)
        if shape != expected:
            if not expandable(expected, shape):
                raise RuntimeError(
                    f"Function {node.name()} returned an invalid gradient at index {position} - "
                    f"got {list(shape)} but expected shape compatible with {list(expected)}"
                )
            value = self.interpretation.sum_to(value, expected)
        if dtype != wanted:
            value = self.interpretation.cast(value, wanted)
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
