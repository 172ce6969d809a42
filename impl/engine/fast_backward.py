"""The fast path of the backward pass: `GraphTask.run` for gradients that are arrays.

A specialised loop, written out in one function because calls cost more than the arithmetic on
small arrays. It runs compiled backwards (`Node._compiled_backward`) itself and hands every other
node (hooks, captures, custom Functions, several outputs, no compiled backward) to
`GraphTask.call_function`, the step of the reference loop. It also avoids:

- a node that gets one gradient needs no input buffer, and the only ready node needs no queue;
- a gradient whose shape and dtype are known to fit is not compared;
- identities are skipped; a leaf takes its gradient at once where it would be the next to run, even
  behind a view such as the transpose of a layer's weight.

`tests/test_impl_fast_backward.py` holds values, versions and the order of execution equal.
"""

from __future__ import annotations

from heapq import heappop, heappush

from numpy import asarray, generic, ndarray

from impl.core.strides import is_permuted
from impl.engine.accumulation import accumulate
from impl.engine.dependencies import count_dependencies
from impl.engine.gradient_versions import OutgoingVersions, aliases
from impl.engine.input_buffer import InputBuffer
from impl.graph.accumulate_grad import AccumulateGrad
from impl.graph.node import RUNS_FIRST


def run(task, roots) -> None:  # noqa: C901  one loop, written out: see above
    """Run a pass whose gradients are arrays, outside anomaly mode; see `GraphTask.run`."""
    form, keep_graph, exec_info = task.form, task.keep_graph, task.exec_info
    versions, buffers, captures = task.versions, task.buffers, task.captures
    ready, ties = task.ready.heap, task.ready.ties
    # The node to run next, and another that is ready: mostly there are no more, and no queue.
    node = gradient = spare = spare_gradient = None
    if len(roots) == 1 and roots[0][0][0]._metas is None:
        # Nothing else arrives at a single root: none is reached from itself.
        (node, _), gradient = roots[0]
        task.roots = (node,)
        task.dependencies = count_dependencies(task.roots)
    else:
        task.start(roots)
    dependencies = task.dependencies
    # Whether all gradients have their dimensions in row-major order, as most have. Where not, an
    # element-wise formula has to see to the order.
    row_major = not any(type(g) is ndarray and is_permuted(g) for _, g in roots)
    while True:
        # -- 2. the ready node that was recorded last ----------------------------------------
        if spare is not None:
            if node is None:
                node, gradient, spare, spare_gradient = spare, spare_gradient, None, None
            elif spare._sequence > node._sequence:
                node, gradient, spare, spare_gradient = spare, spare_gradient, node, gradient
        elif ready:
            if node is not None and ready[0][0] < -node._sequence:
                heappush(ready, (-node._sequence, next(ties), node, gradient))
                node = gradient = None
            if node is None:
                node, gradient = heappop(ready)[2:]
        elif node is None:
            return
        compiled = node._compiled_backward
        needed = None
        if exec_info is not None:
            if node not in exec_info:
                node = gradient = None
                continue
            if node._next_node is None:
                needed = [*map(exec_info.__contains__, node._next_nodes)]
        elif (
            (target := node._next_node) is not None
            and node._is_identity
            and compiled is not None
            and dependencies.get(target, 1) == 1
        ):
            if versions and (version := versions.pop(node, 0)):
                versions[target] = version
            node = target
            continue
        outgoing = passed_on = fitting = passed = None  # facts about the outgoing gradients
        # -- 3. the formula ------------------------------------------------------------------
        if (
            compiled is not None
            and gradient is not None
            and (exec_info is None or node not in captures)
            and (
                row_major
                or type(gradient) is not ndarray
                or not node._operator.layout_sensitive
                or not is_permuted(gradient)
            )
        ):
            if versions and (incoming := versions.pop(node, 0)) and not node._makes_gradient:
                if isinstance(gradient, generic):
                    gradient = asarray(gradient)  # of which there can be views
                passed = gradient
            if (target := node._next_node) is not None:
                gradient = compiled(node, gradient, keep_graph, None)
                meta, plan = target._meta, node._plan
                if row_major and not plan.fits and type(gradient) is ndarray:
                    row_major = gradient.flags.c_contiguous or not is_permuted(gradient)
                if (
                    (meta is node._meta and plan.fits)
                    or type(gradient) is meta
                    or (
                        type(gradient) is ndarray
                        and type(meta) is tuple
                        and gradient.shape == meta[0]
                        and gradient.dtype is meta[1]
                    )
                ):
                    version = plan.version
                    if passed is not None:
                        if aliases(gradient, passed):
                            version = incoming
                        passed = None
                    if target not in dependencies or dependencies[target] == 1:
                        if version:
                            versions[target] = version
                        node = target
                    else:
                        if (buffer := buffers.get(target)) is None:
                            buffers[target] = InputBuffer(
                                dependencies[target] - 1, gradient, version
                            )
                            node = gradient = None
                            continue
                        buffer.add(0, gradient, version, form)
                        node = gradient = None
                        if not buffer.missing:
                            node, gradient = target, task.take_buffer(target)
                    continue
                targets, written = node._edge_nodes(), plan.version
                outputs = [None] * len(targets)
                outputs[plan.single] = gradient
            else:
                written, fused = 0, None
                if node._fused_backward is not None and exec_info is None and passed is None:
                    fused = node._fused_backward(node, gradient, keep_graph, dependencies)
                if fused is not None:
                    outputs, targets = fused
                else:
                    outputs = compiled(node, gradient, keep_graph, needed)
                    targets = node._next_nodes
                    if node._plan.fits:
                        fitting = node._meta
            gradient = None
            if passed is not None:
                if len(targets) > 1 and outputs[0] is outputs[-1] and not _alike(targets):  # see 4.
                    outgoing = OutgoingVersions.passing_on(passed, incoming)
                else:
                    passed_on = [
                        incoming if aliases(value, passed) else written for value in outputs
                    ]
                passed = None  # so that a sum of gradients may be taken in place
        elif exec_info is None and type(node) is AccumulateGrad and not node._is_observed:
            version = versions.pop(node, 0) if versions else 0
            accumulate(form, node.variable, gradient, version)
            node = gradient = None
            continue
        else:
            grads = [gradient] if node._metas is None else gradient
            gradient = None
            if exec_info is not None and needed is None:
                needed = task.needed_edges(node)
            result = task.call_function(node, grads, needed)
            grads = None
            if result is None:
                node = None
                continue
            outputs, outgoing = result
            result = None
            targets, written = node._edge_nodes(), 0
        # -- 4. gradients that have to be fitted -----------------------------------------------
        outgoing_versions = passed_on
        one_for_several = len(targets) > 1 and outputs[0] is outputs[-1]
        if one_for_several and type(outputs[0]) is not ndarray and isinstance(outputs[0], generic):
            task.share_scalars(outputs)
        if outgoing is not None:
            outgoing_versions = task.validate_outputs(node, outputs, outgoing)
        elif one_for_several and not _alike(targets):
            # One array for several inputs: a leaf must not find it held for those to be fitted.
            outgoing_versions = task.validate_outputs(node, outputs, None)
        elif fitting is None and len(targets) > 1 and _is_complex(outputs[0]):
            _refuse_complex(task, node, outputs)
        # -- 5. delivery ---------------------------------------------------------------------
        following = None
        # Leaves take their gradients at once, unless a node of the same priority was queued.
        at_once = exec_info is None
        for edge, target in enumerate(targets):
            if target is None:
                continue
            value, outputs[edge] = outputs[edge], None
            meta = target._meta
            version = written if outgoing_versions is None else outgoing_versions[edge]
            if not (
                value is None
                or (fitting is not None and meta is fitting)
                or (
                    type(meta) is tuple
                    and type(value) is ndarray
                    and value.shape == meta[0]
                    and value.dtype is meta[1]
                )
                or type(value) is meta
            ):
                number = 0 if node._input_nrs is None else node._input_nrs[edge]
                expected = target._input_meta(number)
                if not task.meets(value, expected):
                    value, version = task.refit(node, edge, value, expected, version)
            is_leaf = type(target) is AccumulateGrad
            missing = dependencies.get(target, 1)
            if (
                missing == 1
                and at_once
                and target._view_backward is not None
                and target._sequence == node._sequence - 1  # so that it is next
                and type(target._next_node) is AccumulateGrad
                and target._compiled_backward is not None
                and not (version or value is None)
            ):
                view, target, is_leaf = target, target._next_node, True
                value, meta = view._view_backward(value), target._meta
                if (value.shape, value.dtype) != meta and not task.meets(value, meta):
                    value, version = task.refit(view, 0, value, meta, 0)
                missing = dependencies.get(target, 1)
            if row_major and not is_leaf and fitting is None and type(value) is ndarray:
                row_major = value.flags.c_contiguous or not is_permuted(value)
            if missing != 1 or meta is None:
                buffer = buffers.get(target)
                if buffer is None:
                    if meta is not None:
                        buffers[target] = InputBuffer(missing - 1, value, version)
                        value = None
                        continue
                    buffer = task.new_buffer(target)
                number = 0 if meta is not None or not node._input_nrs else node._input_nrs[edge]
                buffer.add(number, value, version, form)
                value = None
                if buffer.missing:
                    continue
                del buffers[target]
                value = buffer.complete(target, versions)
            elif version and value is not None:
                versions[target] = version
            if is_leaf and at_once and not target._is_observed:
                version = versions.pop(target, 0) if versions else 0
                accumulate(form, target.variable, value, version)
                value = None
                continue
            # A queued leaf, or a node that only raises, keeps the leaves behind it waiting.
            at_once = at_once and target._sequence != RUNS_FIRST
            if following is None:
                following, gradient = target, value
            else:
                if target._sequence > following._sequence:
                    following, target, gradient, value = target, following, value, gradient
                if spare is None and not ready:
                    spare, spare_gradient = target, value
                else:
                    if spare is not None:
                        heappush(ready, (-spare._sequence, next(ties), spare, spare_gradient))
                        spare = spare_gradient = None
                    heappush(ready, (-target._sequence, next(ties), target, value))
            value = None
        node = following


def _is_complex(gradient) -> bool:
    return gradient is not None and gradient.dtype.kind == "c"


def _refuse_complex(task, node, outputs) -> None:
    """Raise RuntimeError for a complex gradient of a real input, before others are delivered."""
    for edge, (value, target) in enumerate(zip(outputs, node._edge_nodes(), strict=True)):
        if target is not None and _is_complex(value):
            number = 0 if node._input_nrs is None else node._input_nrs[edge]
            expected = target._input_meta(number)
            if not task.meets(value, expected):
                task.refit(node, edge, value, expected, 0)


def _alike(targets) -> bool:
    """Whether the first and the last of several inputs have one shape and dtype."""
    first, last = targets[0], targets[-1]
    return first is None or last is None or first._meta is last._meta or first._meta == last._meta
