"""One step of the backward pass (call_function): *RunNode* of the specification's algorithms.

Comments name its steps (reference/spec/00-algorithms.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from impl.core import messages
from impl.core.memory_formats import contiguous_format
from impl.core.sizes import repeated_dims
from impl.engine.accumulation import accumulate
from impl.engine.gradient_versions import (
    OutgoingVersions,
    buffer_slot,
    outgoing_versions,
    owner,
    version_of_tensor,
)
from impl.graph.accumulate_grad import AccumulateGrad
from impl.graph.hooks import run_node_hooks, run_post_accumulate, run_tensor_hooks
from impl.graph.input_metadata import device_of, meets, shape_and_dtype
from impl.tensor.lazy_conj import LazyConjTensor


class GeneralStep:
    """The state that a step of the pass needs, and the step itself."""

    # With `inputs`: the nodes on a path to one, and whether each runs or is only captured.
    exec_info: dict | None = None

    def __init__(self, form, keep_graph: bool) -> None:
        self.form = form  # how gradients are held: arrays or tensors (see `gradient_values`)
        self.keep_graph = keep_graph
        self.versions: dict = {}  # of the gradients that wait (see `gradient_versions`)
        self.captures: dict = {}  # node -> [(output number, position among the inputs)]
        self.captured: list = []

    def call_function(
        self, node, grads: list, needed
    ) -> tuple[list, OutgoingVersions | None] | None:
        """Run one node with its hooks.

        `grads` are the gradients of its outputs, which are taken from the list; `needed` says of
        each edge whether the pass goes on there (None: all). Returns the gradients by edge and
        their versions; None for a leaf, and for a node whose gradients are only captured.
        """
        runs = self.exec_info is None or self.exec_info[node]
        grads[:] = [self.form.in_memory(g) for g in grads]  # which hooks may write
        if runs and self.captures:
            # RunNode 1: gradients that go on are captured before the tensor's hooks, those that
            # end here after.
            self._capture(node, grads)
        hooks = node._hooks_of_outputs()
        # RunNode 2 and RunNode 3
        if hooks or node._retains_grad_of:
            self._call_tensor_hooks(node, hooks, grads, runs)
        if not runs:
            self._capture(node, grads)
            return None
        # RunNode 4
        if node._pre_hooks:
            self._call_pre_hooks(node, grads)
        # RunNode 5
        if type(node) is AccumulateGrad:
            self._accumulate(node, grads)
            return None
        if node._is_custom_function:
            outputs, outgoing, given = self._call_custom_function(node, grads, needed)
        else:
            outgoing = outgoing_versions(self.versions, node, grads)
            outputs = self.form.evaluate(node, grads, needed)
            given = None
            if node._post_hooks:
                given = tuple(self._incoming(node, i, g) for i, g in enumerate(grads))
        # RunNode 7
        if node._post_hooks:
            arrived = (
                {} if node._is_custom_function else dict(zip(map(id, grads), given, strict=True))
            )
            inputs = self._as_inputs(node, outputs, outgoing, arrived)
            del arrived
            left = list(run_node_hooks(node._post_hooks, inputs, given))
            written = {i: version_of_tensor(g) for i, g in enumerate(left) if g is not None}
            outgoing = OutgoingVersions(written)
            # Drop our references: the reference count must show only what hooks kept.
            del outputs, inputs, given
            outputs = self.form.to_arrays(left)
        if node._is_custom_function:
            # Ignore gradients that a custom backward returns for inputs that do not require grad.
            pairs = zip(outputs, node._edge_nodes(), strict=True)
            outputs = [value if target else None for value, target in pairs]
        # RunNode 8
        if not self.keep_graph:
            node._release()
        return outputs, outgoing

    def share_scalars(self, outputs: list) -> None:
        """Put a NumPy scalar that several edges get in memory that they share, as hooks see it."""
        for i, value in enumerate(outputs):
            if isinstance(value, np.generic) and any(o is value for o in outputs[i + 1 :]):
                shared = self.form.in_memory(value)
                outputs[i:] = [shared if o is value else o for o in outputs[i:]]

    # -- formulas -------------------------------------------------------------------------------

    def _accumulate(self, node, grads: list) -> None:
        """Accumulate into the leaf's `.grad`, then call the leaf's hooks."""
        leaf, version = node.variable, self.versions.pop(node, 0)
        gradient = grads.pop()
        accumulate(self.form, leaf, gradient, version)
        if leaf._post_accumulate:
            run_post_accumulate(leaf)
        if node._post_hooks:
            run_node_hooks(node._post_hooks, (), (self._to_tensor(gradient),))

    def _call_custom_function(self, node, grads: list, needed):
        """The gradients that a Function's backward returns, their versions, and its incoming
        gradients.

        They are made to fit, or refused, before anything is freed.
        """
        grads[:] = [self._incoming(node, i, g) for i, g in enumerate(grads)]
        given = tuple(grads) if node._post_hooks else None
        values = self.form.evaluate(node, grads, needed)
        for i, (target, number) in enumerate(node._edge_pairs()):
            if target is None or values[i] is None:
                continue
            meta = target._input_meta(number)
            if not self.meets(values[i], meta):
                values[i] = self._fit(node, i, values[i], meta)
                node._versions[i] = 0
        written = any(node._versions.values())
        return values, OutgoingVersions(node._versions) if written else None, given

    def meets(self, value, meta) -> bool:
        """Whether a gradient has the shape and dtype that its input asks for."""
        return meets(value._raw if self.form.records else value, meta)

    def refit(self, node, edge: int, value, meta, version: int):
        """A gradient made to fit, and its version: a real part is a view, all else is new."""
        fitted = self._fit(node, edge, value, meta)
        view = version and isinstance(fitted, ndarray) and owner(fitted) is owner(value)
        return fitted, version if view else 0

    def _fit(self, node, edge: int, value, meta):
        """A gradient that a node returned, made to fit."""
        origin = f"Function {node.name()} returned an "
        return self.fit(origin, edge, value, meta, node._takes_real_part)

    def fit(self, origin: str, edge: int, value, meta, takes_real_part: bool = False):
        """Reduce a broadcast gradient to the shape of its output, and cast it to its dtype.

        Raises RuntimeError, which begins with its `origin`, for a gradient of another shape, and
        for dtypes without gradients.
        """
        expected, wanted = shape_and_dtype(meta)
        shape, dtype = self.form.shape_dtype(value)
        if shape != expected and repeated_dims(expected, shape) is None:
            raise RuntimeError(
                f"{origin}invalid gradient at index {edge} - "
                f"got {list(shape)} but expected shape compatible with {list(expected)}"
            )
        if wanted is not None and wanted.kind in "biu":
            raise RuntimeError(messages.INTEGER_GRADIENT)
        if dtype is wanted or wanted is None:  # None: a leaf whose gradient may have any dtype
            value = value if shape == expected else self.form.sum_to(value, expected)
            return self._on_device(origin, edge, value, meta)
        if dtype.kind == "c" and wanted.kind != "c" and takes_real_part:
            value = self.form.F.real_part(value)
            dtype = self.form.shape_dtype(value)[1]
        # A real gradient suits a complex input, an integer one does not.
        if dtype.kind in "biuc" and (dtype.kind == "c") != (wanted.kind == "c"):
            raise RuntimeError(messages.COMPLEX_GRADIENT)
        if shape != expected:
            value = self.form.sum_to(value, expected)
        if dtype != wanted:
            value = self.form.cast(value, wanted)
        return self._on_device(origin, edge, value, meta)

    def _on_device(self, origin: str, edge: int, value, meta):
        """A gradient on the device of its input: one without dimensions is copied there.

        Raises RuntimeError for any other on another device.
        """
        found, wanted = self.form.device(value), device_of(meta)
        if found == wanted:
            return value
        if self.form.shape_dtype(value)[0]:
            raise RuntimeError(
                f"{origin}invalid gradient at index {edge} - expected device {wanted} "
                f"but got {found}"
            )
        return self.form.moved(value, wanted)

    # -- hooks ----------------------------------------------------------------------------------

    def _call_tensor_hooks(self, node, hooks, grads: list, runs: bool) -> None:
        """Call the hooks on the outputs, and store the gradients that outputs retain."""
        for number, registered in hooks or ():
            if registered:
                result = run_tensor_hooks(registered, self._incoming(node, number, grads[number]))
                grads[number] = self._replaced(node, number, result, runs)
                result = None
        for number, reference in (node._retains_grad_of or {}).items():
            tensor, gradient = reference(), self._to_tensor(grads[number])
            if tensor is not None and gradient is not None:
                held = tensor._own_grad
                if held is None:
                    tensor._own_grad = gradient.clone(memory_format=contiguous_format)
                else:
                    tensor._own_grad = held + gradient

    def _call_pre_hooks(self, node, grads: list) -> None:
        arrived = tuple(self._incoming(node, i, g) for i, g in enumerate(grads))
        left = list(run_node_hooks(node._pre_hooks, arrived))
        for number in range(len(left)):
            self._note_version(node, number, left[number])
        # Drop our references: the reference count must show only what hooks kept.
        del arrived
        grads[:] = self.form.to_arrays(left)

    def _capture(self, node, grads: list) -> None:
        for number, position in self.captures.get(node, ()):
            value = grads[number]
            if value is not None:
                result = self.form.result(value)
                if (slot := buffer_slot(node, number)) in self.versions:
                    result._storage.version = self.versions[slot]
                value = result
            self.captured[position] = value

    def _to_tensor(self, value):
        return None if value is None else self.form.to_tensor(value)

    def _incoming(self, node, number: int, value):
        """The gradient that arrived for an output, as a tensor with its version."""
        gradient = self._to_tensor(value)
        if (slot := buffer_slot(node, number)) in self.versions:
            gradient._storage.version = self.versions[slot]
        return gradient

    def _replaced(self, node, number: int, result, runs: bool):
        """The gradient that goes on after hooks; a captured one is the very tensor they left."""
        self._note_version(node, number, result)
        if result is None:
            return None
        if not runs:
            return self.form.to_array(result)
        if self.form.records:
            return result
        # Not remembered as given: if no hook kept the tensor, the leaf may take the array over.
        return self.form.steal(result) if isinstance(result, LazyConjTensor) else result._raw

    def _note_version(self, node, number: int, result: Any) -> None:
        """Note the version of a gradient that hooks have left for an output."""
        slot = buffer_slot(node, number)
        self.versions.pop(slot, None)
        if result is not None and (version := version_of_tensor(result)):
            self.versions[slot] = version

    def _as_inputs(self, node, outputs, outgoing: OutgoingVersions | None, known: dict) -> tuple:
        """The gradients for a node's edges as they go on: fitted, as tensors with versions.

        `known` has the tensors of gradients by id; one gradient for several edges is one tensor.
        """
        inputs = []
        for i, (value, (target, number)) in enumerate(
            zip(outputs, node._edge_pairs(), strict=True)
        ):
            version = 0
            if value is not None and outgoing is not None:
                version = outgoing.of(i, value)
            if value is not None and target is not None:
                meta = target._input_meta(number)
                if not self.meets(value, meta):
                    value, version = self.refit(node, i, value, meta, version)
            gradient = known.get(id(value))
            if gradient is None:
                gradient = known[id(value)] = self._to_tensor(value)
            if version:
                gradient._storage.version = version
            inputs.append(gradient)
        return tuple(inputs)
