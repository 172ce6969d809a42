"""`autograd.backward` and `autograd.grad`: their arguments, and the results of a pass."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from impl.core import messages
from impl.core.grad_mode import enable_grad, no_grad
from impl.core.registry import FUNCTIONS
from impl.core.state import STATE
from impl.core.warning import warn
from impl.engine import batched_gradients, execution, seeds
from impl.engine.dependencies import reachable
from impl.graph.edge import GradientEdge
from impl.tensor import batched_tensor, forward_grad, legacy_batched_tensor
from impl.tensor.overridable import has_torch_function
from impl.tensor.tensor import PLAIN, Tensor, requires_grad
from impl.tensor.torch_function import handle_torch_function, overrides


def backward(
    tensors,
    grad_tensors=None,
    retain_graph=None,
    create_graph=False,
    grad_variables=None,
    inputs=None,
) -> Any:
    """Accumulate the gradients of `tensors`, weighted by their cotangents, into the leaves.

    Args:
        tensors: a tensor or a sequence of them, of any shape; each must require grad.
        grad_tensors: for each its cotangent (same shape, cast to its dtype) or None, which is
            allowed for one real element and means one.
        retain_graph: keep the saved tensors of the graph; by default as `create_graph`.
        create_graph: record the computation of the gradients.
        grad_variables: the former name of `grad_tensors`.
        inputs: accumulate into these tensors only (one, a sequence, or the values of a dict).

    Raises RuntimeError on a shape mismatch, a missing cotangent, a freed graph, or a saved tensor
    that was modified; TypeError for arguments of other types (torch.autograd.backward).
    """
    if STATE.transforms:
        raise RuntimeError(messages.BACKWARD_TRANSFORMED)
    if grad_variables is not None:
        warn(messages.GRAD_VARIABLES, FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(messages.BOTH_GRAD_VARIABLES)
        grad_tensors = grad_variables
    targets = None if inputs is None else _edge_nodes(inputs, "backward")
    roots = _roots(tensors)
    if asked := _asked(roots, targets or ()):
        return handle_torch_function(
            backward,
            asked,
            roots,
            grad_tensors=grad_tensors,
            retain_graph=retain_graph,
            create_graph=create_graph,
            inputs=targets,
        )
    cotangents = seeds.cotangents(roots, seeds.as_tuple(grad_tensors, len(roots)))
    keep_graph, create_graph, _ = _flags(retain_graph, create_graph, True)
    seeds.check_count(roots, cotangents)
    execution.run_backward(roots, cotangents, keep_graph, create_graph, targets, accumulate=True)
    return None


def _asked(roots: tuple, inputs: tuple) -> list:
    """The roots and inputs whose classes may take the pass over, if one of them, or a mode, does
    (has_torch_function); else an empty list."""
    if not STATE.function_modes and PLAIN.issuperset(map(type, (*roots, *inputs))):
        return []
    values = [value for value in (*roots, *inputs) if not isinstance(value, GradientEdge)]
    return values if has_torch_function(values) else []


def _of_tensor(self, gradient=None, retain_graph=None, create_graph=False, inputs=None) -> None:
    """Accumulate gradients into the leaves; see `autograd.backward`."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


_of_tensor.__name__ = "backward"
Tensor.backward = _of_tensor


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
    not used when `allow_unused`; zeros with `materialize_grads`. For a dict of inputs, a dict.
    With `is_grads_batched` the first dimension of every cotangent counts a batch, which comes first
    in every result. Arguments and errors as `backward`; also RuntimeError for an input that does
    not require grad or was not used (torch.autograd.grad).
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(messages.MATERIALIZE_UNUSED)
    if allow_unused is None:
        allow_unused = materialize_grads
    roots = _roots(outputs)
    targets = _edge_nodes(inputs, "grad")
    if asked := _asked(roots, targets):
        results = handle_torch_function(
            grad,
            asked,
            roots,
            targets,
            grad_outputs=grad_outputs,
            retain_graph=retain_graph,
            create_graph=create_graph,
            only_inputs=only_inputs,
            allow_unused=allow_unused,
            is_grads_batched=is_grads_batched,
            materialize_grads=materialize_grads,
        )
        return dict(zip(inputs, results, strict=True)) if type(inputs) is dict else results
    if not only_inputs:
        warn(messages.ONLY_INPUTS, FutureWarning)
    many = bool(is_grads_batched)
    cotangents = seeds.cotangents(roots, seeds.as_tuple(grad_outputs, len(roots)), many)
    size = seeds.batch_size(cotangents) if many else 0
    keep_graph, recorded, allow_unused = _flags(retain_graph, create_graph, allow_unused)
    seeds.check_count(roots, cotangents)
    if many:
        results = _batch(roots, cotangents, size, keep_graph, recorded, targets)
    else:
        ends, inner = (_shown(roots), _shown(targets)) if STATE.transforms else (roots, targets)
        results = _pass(ends, cotangents, keep_graph, recorded, inner)
    for i, result in enumerate(results):
        if result is None and not allow_unused:
            raise RuntimeError(messages.UNUSED.format(i))
    if materialize_grads:
        missing = [t for r, t in zip(results, targets, strict=True) if r is None]
        if any(isinstance(t, GradientEdge) for t in missing):
            raise RuntimeError(messages.MATERIALIZE_EDGE)
        results = [
            FUNCTIONS["zeros_like"](targets[i], requires_grad=create_graph) if r is None else r
            for i, r in enumerate(results)
        ]
    return dict(zip(inputs, results, strict=True)) if type(inputs) is dict else tuple(results)


def _shown(tensors) -> tuple:
    """Tensors for a pass in a transform: without the history that they do not show there."""
    return tuple(
        one if isinstance(one, GradientEdge) or one.requires_grad else one.detach()
        for one in tensors
    )


def gradients(roots, targets, cotangents, create_graph: bool, retain_graph=None) -> tuple:
    """`grad` with a history of any level, as formulas and transforms call it; None for an input
    that was not used."""
    roots, targets = tuple(roots), tuple(targets)
    given = seeds.cotangents(roots, seeds.as_tuple(cotangents, len(roots)))
    keep_graph, create_graph, _ = _flags(retain_graph, create_graph, True)
    return tuple(_pass(roots, given, keep_graph, create_graph, targets))


def _pass(roots, cotangents, keep_graph: bool, create_graph: bool, targets) -> list:
    """The gradients of one pass. The graph of batched tensors is that of their values, which have
    the dimensions that `vmap` hides."""
    if not STATE.batched:
        return execution.run_backward(roots, cotangents, keep_graph, create_graph, targets, False)
    seeds = [
        None if cotangent is None else batched_tensor.explicit(cotangent, root)
        for root, cotangent in zip(roots, cotangents, strict=True)
    ]
    values = [
        batched_tensor.physical(tensor)
        if isinstance(tensor, GradientEdge) or is_recorded(tensor)
        else tensor.detach()  # without the history of its value
        for tensor in (*roots, *targets)
    ]
    ends, inputs = values[: len(roots)], values[len(roots) :]
    found = execution.run_backward(ends, seeds, keep_graph, create_graph, inputs, False)
    return [
        None if gradient is None else batched_tensor.hidden(gradient, target)
        for gradient, target in zip(found, targets, strict=True)
    ]


def is_recorded(tensor: Tensor) -> bool:
    """Whether a tensor has a history, or a batched one has one within the `vmap`."""
    if isinstance(tensor, batched_tensor.BatchedTensor):
        return tensor.requires_grad
    return requires_grad(tensor)


# Nodes whose formulas read the memory around a gradient, in which another row must not be.
_READING_MEMORY = {"AsStridedScatterBackward0"}


def _batch(roots, cotangents, size: int, keep_graph: bool, create_graph: bool, targets) -> list:
    """A pass for all rows of the cotangents, and the rows of the results put together.

    Where nothing observes how often nodes run, there is one pass for each row, which is faster.
    """
    edges = [execution.edge_of(root) for root in roots]
    nodes = [*reachable([edge[0] for edge in edges])] if all(edges) else []
    apart = any(node.name() in _READING_MEMORY for node in nodes)
    with enable_grad() if create_graph else no_grad():
        rows = [
            [cotangent[k].clone() if apart else cotangent[k] for cotangent in cotangents]
            for k in range(size)
        ]
    seen = batched_gradients.watched(nodes)
    if seen and not forward_grad.is_used():
        seeds = [legacy_batched_tensor.batch(list(column)) for column in zip(*rows, strict=True)]
        how = batched_gradients.BatchedGradients(size, create_graph)
        with batched_gradients.shown():
            found = execution.run_backward(
                roots, seeds, keep_graph, create_graph, targets, False, how
            )
        return [
            value.expand(size, *value.shape)
            if type(value) is Tensor  # the same for all rows
            else _stacked(legacy_batched_tensor.examples_of(value, size), rows, cotangents)
            for value in found
        ]
    passes = _one_by_one(roots, rows, keep_graph, create_graph, targets)
    return [_stacked(result, rows, cotangents) for result in zip(*passes, strict=True)]


def _one_by_one(roots, rows, keep_graph: bool, create_graph: bool, targets) -> list:
    """The results of a pass for each row of the cotangents; those after the first do not warn."""
    passes, repeated = [], STATE.repeated
    try:
        for k, row in enumerate(rows):
            STATE.repeated, keeps = repeated or k > 0, keep_graph or k + 1 < len(rows)
            passes.append(execution.run_backward(roots, row, keeps, create_graph, targets, False))
    finally:
        STATE.repeated = repeated
    return passes


def _stacked(rows, seeds, cotangents) -> Tensor | None:
    """Rows as one tensor, or None: recorded if they are, else in the layout torch computes them in.

    Cotangents that the formulas passed on unchanged are not copied.
    """
    present = [row for row in rows if row is not None]
    if not present:
        return None
    rows = [FUNCTIONS["zeros_like"](present[0]) if row is None else row for row in rows]
    for number, cotangent in enumerate(cotangents):
        if all(row is seed[number] for row, seed in zip(rows, seeds, strict=True)):
            return cotangent
    stack = FUNCTIONS["stack"]
    if any(requires_grad(row) for row in rows):
        with enable_grad():
            return stack(rows)
    with no_grad():
        for cotangent in cotangents:
            if all(row._storage is cotangent._storage for row in rows):
                return _in_cotangent(rows, cotangent)
        shape, strides = rows[0].shape, rows[0].stride()
        is_view = rows[0]._is_view()
        order = sorted(range(len(shape)), key=lambda dim: -strides[dim])
        for dim in range(len(shape)):
            if strides[dim] == 0:  # expanded: one element stands for all
                rows = [row.narrow(dim, 0, 1) for row in rows]
        result = stack([row.permute(order) for row in rows])
        if order != sorted(order):
            result = result.permute(0, *(1 + order.index(dim) for dim in range(len(shape))))
            if not is_view:
                result = result.clone()  # which keeps the strides
        return result.expand(len(rows), *shape) if is_view else result


def _in_cotangent(rows, cotangent) -> Tensor:
    """Rows as one view of the cotangent's memory, of which elements they may be parts."""
    first = rows[0]
    step = cotangent.stride(0) * cotangent.element_size() // first.element_size()
    size, strides = (len(rows), *first.shape), (step, *first.stride())
    return first.as_strided(size, strides, first.storage_offset())


# -- arguments ------------------------------------------------------------------------------


def _roots(tensors) -> tuple:
    return (tensors,) if _is_one(tensors) else tuple(tensors)


def _is_one(value) -> bool:
    """Whether a value is one root or input (is_tensor_like)."""
    return isinstance(value, (Tensor, GradientEdge)) or overrides(value)


def _edge_nodes(inputs, function: str) -> tuple:
    """The inputs as a tuple, which is not empty: a tensor, the values of a dict, a sequence."""
    if _is_one(inputs):
        return (inputs,)
    if type(inputs) is dict:
        inputs = inputs.values()
    elif isinstance(inputs, Mapping):
        raise TypeError(messages.INPUTS_MAPPING.format(function, type(inputs).__name__))
    targets = tuple(inputs)
    if not targets:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    return targets


def _flags(retain_graph, create_graph, allow_unused) -> tuple[bool, bool, bool]:
    """The flags by their truth; TypeError or OverflowError for anything but a small integer."""
    if retain_graph is None:
        retain_graph = create_graph
    if type(retain_graph) is type(create_graph) is type(allow_unused) is bool:
        return retain_graph, create_graph, allow_unused
    return truth(retain_graph), truth(create_graph), truth(allow_unused)


def truth(flag) -> bool:
    """A flag that is a number of one byte. Raises TypeError or OverflowError for anything else."""
    number = operator.index(flag)
    if not 0 <= number <= 255:
        bound = "less than minimum" if number < 0 else "greater than maximum"
        raise OverflowError(f"unsigned byte integer is {bound}")
    return bool(number)
