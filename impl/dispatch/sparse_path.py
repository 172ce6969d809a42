"""Operators on sparse tensors: the kernel for them, and the same record as on dense ones.

A node that was recorded for sparse operands runs its formulas on tensors, whose operators find
their sparse kernels again.
"""

from __future__ import annotations

from impl.core import messages
from impl.core.sparse_array import SparseArray
from impl.core.state import STATE
from impl.dispatch import forward_rules
from impl.graph.node_creation_hooks import created
from impl.kernels.casting import converted
from impl.tape import inplace as in_place
from impl.tensor import write
from impl.tensor.sparse_tensor import over
from impl.tensor.tensor import Tensor, requires_grad
from impl.tensor.torch_dispatch import share_version
from impl.tensor.views import DEFAULT, ViewMeta


def call(op, args):
    """Apply an operator to operands of which some are sparse.

    Raises NotImplementedError for an operator that has no kernel for them.
    """
    raws, mask, _ = op._unwrap(args)
    outputs = _outputs(op, _run(op, raws))
    if op.list_position is not None:
        op.record_list(args, outputs)
        mask = 0
    if mask:
        _record(op, args, outputs, mask)
    forward_rules.propagate(op, args, outputs)
    return outputs[0] if len(outputs) == 1 else outputs


def view(op, args):
    """Apply a view operator to a sparse tensor."""
    source = args[0]
    result = over(_run(op, (source._raw, *args[1:])))
    if STATE.enabled and requires_grad(source):
        _record(op, args, (result,), 1)
    base = source if source._view is None else source._view.base
    if result.is_sparse:
        result._storage = source._storage
    else:  # the selected elements, summed: new memory
        share_version(result, source)
    result._view = ViewMeta(base, DEFAULT, result._storage.version)
    return result


def inplace(op, args):
    """Apply an operator and write its result into the first argument; see
    `OperatorWrites.inplace`."""
    raws, mask, _ = op._unwrap(args, written=True)
    target = args[0]
    in_place.check(target, mask != 0)
    # A kernel may write into the memory of the elements.
    recorded = (target.clone(), *args[1:]) if mask and op.saves_target(mask) else args
    result = _run(op, raws, op.sparse_inplace_kernel, written="_")
    if (type(result) is SparseArray) != target.is_sparse:
        raise NotImplementedError(f"{op.name}_ of tensors of several layouts")
    node = None
    if mask:
        node = op.node(recorded, None, mask, op.edges(args, mask), (target,))
        node._on_tensors()
    assign(target, result)
    if node is not None:
        history = in_place.rebase_history(target, node)
        op.save_outputs(node, args, (target,))
        if STATE.node_creation_hooks:
            created(history)
    return target


def assign(target: Tensor, result) -> None:
    """Write a result into a tensor of the same layout, and increment its version counter."""
    if type(result) is not SparseArray:
        write.write(target, result)
        return
    dtype = target._raw.dtype
    target._raw = result.with_values(converted(result.values, dtype))
    target._storage.version += 1


_EXPANDED = ("expand", "repeat")
_STRIDED = ("squeeze", "split", "slice", "diagonal")
"""Beginnings of names of views that ATen makes by `as_strided`."""


def _run(op, raws, kernel=None, written=""):
    kernel = kernel or op.sparse_kernel
    if kernel is not None:
        return kernel(*raws)
    if op.name in _EXPANDED:
        raise RuntimeError("expand is unsupported for Sparse tensors")
    strided = op.is_view and op.name.startswith(_STRIDED)
    name = "as_strided" if strided else {"rot90": "flip"}.get(op.name, op.name) + written
    raise NotImplementedError(messages.NO_KERNEL.format(name, "SparseCPU"))


def _record(op, args, outputs, mask: int) -> None:
    """Record a node, unless the results are integers, whose formulas run on tensors."""
    op.record(args, outputs, mask)
    if (node := outputs[op.differentiable_outputs[0]]._node) is not None:
        node._on_tensors()


def _outputs(op, result) -> tuple[Tensor, ...]:
    results = (result,) if len(op.outputs) == 1 else result
    return tuple(map(over, results))
