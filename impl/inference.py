"""Inference tensors: what inference mode makes. They have no version counter and are never saved.

torch leaves the autograd and the view-tracking keys off such a tensor, which explains the rest: an
operator all of whose operands are inference tensors records nothing, their views have no base, and
what fails outside the mode is whatever would need the counter, after the kernel has run.
"""

from __future__ import annotations

from impl import messages
from impl.modes import STATE
from impl.storage import contiguous_strides

# The operators whose kernels, in torch, write to their result while they make it. Where an operand
# has autograd's keys the counter does not see it; a result of inference tensors, made outside the
# mode, begins with the number of those writes.
_ONCE = """abs addmm amax_dim amin_dim angle baddbmm clone_layout complex_of_parts diagonal_copy dot
    index_copy kthvalue_dim logsumexp_dims max_all median_dim min_all mv nan_to_num prod_all
    prod_dim repeat rot90 scatter_add scatter_src scatter_value sort_default sum_all sum_dim
    to_copy vdot"""
_TWICE = """constant_pad_nd diag_embed index_add index_put max_dim mean_all mean_dim min_dim
    mode_dim mse_loss select_scatter slice_scatter"""
WRITES = {name: n for n, names in enumerate((_ONCE, _TWICE), 1) for name in names.split()}


def mark(tensor) -> None:
    """Make a new tensor an inference tensor."""
    tensor._inference = tensor._uncounted = True
    keep_long_way(tensor)


def keep_long_way(tensor) -> None:
    """Have operators on the tensor go the long way: strides that are stated are the sign for it."""
    if tensor._strides is None:
        tensor._strides = contiguous_strides(tensor._raw.shape)
        tensor._common = None


def detached(alias):
    """What detach() makes of an inference tensor's alias: outside the mode it can be written."""
    if not STATE.inference:
        alias._storage = alias._storage.sharing()
        alias._uncounted = False
    return alias


def recordable(operator, args) -> bool:
    """Whether any operand is not an inference tensor.

    A number where a differentiable tensor could stand counts as a tensor made for it.
    """
    differentiable = None
    for i in operator.tensor_positions:
        a = args[i]
        if a is None:
            continue
        inference = getattr(a, "_inference", None)
        if inference is None:
            differentiable = differentiable or {position for _, position in operator.bits}
            inference = i not in differentiable
        if not inference:
            return True
    position = operator.list_position
    return position is not None and not all(t is None or t._inference for t in args[position])


def records_copies(tensor) -> bool:
    """Whether a copy of the tensor is recorded as what its kernel does: a write to new memory.

    So it is for an inference tensor that requires grad, where nothing records the copy itself.
    """
    return tensor._inference and tensor._requires_grad and STATE.enabled


def count_making(operator, args, outputs) -> None:
    """Count the writes by which torch's kernel makes the results of inference tensors."""
    times = WRITES.get(operator.name, 0)
    if times and not STATE.inference and not recordable(operator, args):
        for output in outputs:
            output._storage.version += times


def count(tensor) -> None:
    """Count a write that was made to a tensor.

    Raises RuntimeError for an inference tensor outside inference mode.
    """
    if not tensor._uncounted:
        tensor._storage.version += 1
    elif not STATE.inference:
        raise RuntimeError(messages.INFERENCE_WRITE)


def check_flag(tensor) -> None:
    """Raise RuntimeError if the tensor must not be made to require grad."""
    if tensor._inference and not STATE.inference:
        raise RuntimeError(messages.INFERENCE_FLAG)


def check_save(tensor) -> None:
    """Raise RuntimeError if the tensor cannot be saved for backward."""
    if tensor._inference:
        raise RuntimeError(messages.INFERENCE_SAVE)
