"""The backward pass (csrc/autograd/engine.cpp): the algorithm *Backward* of the specification.

Comments name its steps (reference/spec/00-algorithms.md): dependencies are counted (Backward 3),
the cotangents wait in the roots' buffers (Backward 5), the ready node that was recorded last runs
(Backward 6, RunNode), and its gradients are made to fit (ValidateGradients) and delivered to the
buffers of the next nodes (Backward 7).

`impl.engine.fast_backward` is the same algorithm specialised for gradients that are arrays; a test
holds the two equal. Both are iterative: a chain of any length takes no stack.
"""

from __future__ import annotations

import itertools

from impl.core import messages
from impl.core.devices import CPU
from impl.engine.dependencies import count_dependencies, reachable
from impl.engine.general_step import GeneralStep
from impl.engine.gradient_versions import OutgoingVersions
from impl.engine.input_buffer import InputBuffer, InputBuffers
from impl.engine.ready_queue import ReadyQueue
from impl.graph import anomaly_mode
from impl.graph.input_metadata import meets
from impl.tensor.batched_tensor import physical


class GraphTask(GeneralStep):
    """One backward pass: its state, and the loop over the nodes (GraphTask, Engine)."""

    _task_numbers = itertools.count(1)

    place = CPU  # the device of the roots
    roots: tuple  # the nodes that the pass starts from
    dependencies: dict  # how many gradients a node waits for, where not one
    reached: set | None = None  # all nodes of the pass, once that is asked

    def __init__(self, form, keep_graph: bool) -> None:
        super().__init__(form, keep_graph)
        self.number = next(self._task_numbers)  # identifies the pass without keeping anything alive
        self.buffers: dict = {}  # node -> its input buffer, while gradients are missing
        self.ready = ReadyQueue()
        self.callbacks: list = []  # functions that users queue to be called after the pass
        self.warnings: list[str] = []  # those of C++, of which Python is told after the pass

    def run(self, roots) -> None:
        """Run the pass. `roots` are ((node, output number), gradient) in the caller's order."""
        self.start(roots)
        # Backward 6
        while self.ready:
            node, gradients = self.ready.pop()
            if self.exec_info is not None and node not in self.exec_info:
                continue
            grads = [gradients] if node._metas is None else gradients
            gradients = None
            result = self.run_node(node, grads, self.needed_edges(node))
            grads = None  # drop our references: a leaf takes over an unshared gradient
            if result is not None:
                outputs, outgoing = result
                result = None
                self.share_scalars(outputs)
                versions = self.fit_outputs(node, outputs, outgoing)
                self.deliver(node, outputs, versions)

    def start(self, roots) -> None:
        """Count dependencies, deliver the roots' gradients, and queue the roots that are ready."""
        self.roots = tuple(dict.fromkeys(node for (node, _), _ in roots))
        # Backward 3
        self.dependencies = count_dependencies(self.roots)
        for (node, _), _ in roots:
            self.dependencies[node] += 1
        complete = []
        # Backward 5
        for (node, number), gradient in roots:
            if self.add_to_buffer(node, number, gradient, 0):
                complete.append(node)
        for node in self.roots:
            if node in complete:
                self.ready.push(node, self.take_buffer(node))

    def needed_edges(self, node) -> list[bool] | None:
        """For each edge whether the pass goes on there; None: for all."""
        if self.exec_info is None:
            return None
        return [target in self.exec_info for target in node._edge_nodes()]

    def run_node(self, node, grads: list, needed):
        """`call_function`; in anomaly mode errors are reported."""
        if not anomaly_mode.MODE.enabled:
            return self.call_function(node, grads, needed)
        with anomaly_mode.watch(node):
            return self.call_function(node, grads, needed)

    def fit_outputs(self, node, outputs: list, outgoing: OutgoingVersions | None) -> list[int]:
        """`validate_outputs`; in anomaly mode errors are reported, and NaN raises."""
        if not anomaly_mode.MODE.enabled:
            return self.validate_outputs(node, outputs, outgoing)
        with anomaly_mode.watch(node):
            versions = self.validate_outputs(node, outputs, outgoing)
            anomaly_mode.check(node, map(physical, outputs))
            return versions

    def validate_roots(self, roots) -> list:
        """The roots with gradients of the shapes and dtypes that their nodes recorded; the tensors
        may have been given other memory since.

        Raises RuntimeError for a gradient that has no such shape or dtype (validate_outputs;
        ValidateGradients 2 and ValidateGradients 3).
        """
        fitted = []
        for i, (edge, gradient) in enumerate(roots):
            meta = edge[0]._input_meta(edge[1])
            integers = self.form.shape_dtype(gradient)[1].kind in "biu"
            if integers or not self.meets(gradient, meta):
                gradient = self.fit("", i, gradient, meta)
            fitted.append((edge, gradient))
        return fitted

    def validate_outputs(self, node, outputs: list, outgoing: OutgoingVersions | None) -> list[int]:
        """Fit the gradients to the inputs they belong to, in place; returns their versions.

        Raises RuntimeError for a gradient that has no such shape or dtype (validate_outputs).
        """
        versions = [0] * len(outputs)
        records, numbers = self.form.records, node._input_nrs
        for edge, target in enumerate(node._edge_nodes()):
            value = outputs[edge]
            if target is None or value is None:
                continue
            version = 0 if outgoing is None else outgoing.of(edge, value)
            meta = target._input_meta(numbers[edge] if numbers else 0)
            if not meets(value._raw if records else value, meta):
                value, version = self.refit(node, edge, value, meta, version)
                outputs[edge] = value
            versions[edge] = version
        return versions

    def deliver(self, node, outputs: list, versions: list[int]) -> None:
        """Add each gradient to the buffer of the next node, and queue the nodes that are ready
        (Backward 7)."""
        numbers = node._input_nrs
        for edge, target in enumerate(node._edge_nodes()):
            if target is None:
                continue
            value, outputs[edge] = outputs[edge], None
            version = versions[edge]
            if not version and target._metas is None and self.dependencies.get(target, 1) == 1:
                self.ready.push(target, value)  # all that a buffer would do
                continue
            complete = self.add_to_buffer(target, numbers[edge] if numbers else 0, value, version)
            value = None
            if complete:
                self.ready.push(target, self.take_buffer(target))

    def add_to_buffer(self, node, number: int, gradient, version: int) -> bool:
        """Add a gradient to the buffer of a node; returns whether that was the last one missing."""
        buffer = self.buffers.get(node) or self.new_buffer(node)
        buffer.add(number, gradient, version, self.form)
        return not buffer.missing

    def new_buffer(self, node) -> InputBuffer | InputBuffers:
        """The empty buffer of a node, which from now on waits for its gradients."""
        missing = self.dependencies.get(node, 1)
        single = node._metas is None
        buffer = InputBuffer(missing) if single else InputBuffers(node._num_inputs, missing)
        self.buffers[node] = buffer
        return buffer

    def take_buffer(self, node):
        """The complete gradient of a node, or the list of them; the versions are noted."""
        return self.buffers.pop(node).complete(node, self.versions)

    def will_run(self, node) -> bool:
        """Whether the pass runs a node, or captures what arrives there.

        As in torch a single root is not counted. Raises RuntimeError for a leaf that is captured.
        """
        if self.reached is None:
            self.reached = reachable(self.roots)
        if node not in self.reached or (len(self.roots) == 1 and node in self.roots):
            return False
        if self.exec_info is None:
            return True
        if node in self.captures and not node._edge_nodes():
            raise RuntimeError(messages.CAPTURED_LEAF)
        return node in self.exec_info and (self.exec_info[node] or node in self.captures)
