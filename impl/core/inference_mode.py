"""Inference tensors: made in inference mode, without a version counter, never saved for backward.

Such a tensor lacks the dispatch keys Autograd and ADInplaceOrView (c10/core/InferenceMode.h). So an
operator all of whose operands are inference tensors records no node, and their views have no base.
Outside the mode an operation on them fails only where it needs the version counter, which is after
the kernel has run.
"""

from __future__ import annotations

from impl.core import messages
from impl.core.state import STATE
from impl.core.strides import contiguous_strides


def mark(tensor) -> None:
    """Make a new tensor an inference tensor: no version counter, and always the slow path."""
    tensor._inference = tensor._uncounted = True
    use_slow_path(tensor)


def use_slow_path(tensor) -> None:
    """Make operators on the tensor take the slow path, by setting `_strides` explicitly."""
    if tensor._strides is None:
        tensor._strides = contiguous_strides(tensor._raw.shape)
        tensor._dense_meta = None


def detached(alias):
    """The result of detach() for an alias of an inference tensor: writable outside the mode."""
    if not STATE.inference:
        alias._storage = alias._storage.sharing()
        alias._uncounted = False
    return alias


def as_normal(alias):
    """A new alias of an inference tensor as a normal tensor, which a wrapper of torch.func is."""
    alias._storage = alias._storage.sharing()
    alias._inference = alias._uncounted = False
    return alias


def recordable(operator, args) -> bool:
    """Whether an operator may record: some operand is not an inference tensor.

    A Python number in the position of a differentiable tensor counts as a normal tensor, because
    torch wraps it in one; so does an operand that is not given, where `missing_counts`.
    """
    differentiable = None
    for i in operator.tensor_positions:
        a = args[i]
        if a is None:
            if operator.missing_counts:
                return True
            continue
        inference = getattr(a, "_inference", None)
        if inference is None:
            differentiable = differentiable or {position for _, position in operator.grad_inputs}
            inference = i not in differentiable
        if not inference:
            return True
    position = operator.list_position
    return position is not None and not all(t is None or t._inference for t in args[position])


def records_copies(tensor) -> bool:
    """Whether a copy of the tensor is recorded as CopyBackwards, a write to new memory.

    The case is an inference tensor that requires grad: `clone` itself records no node for it, but
    the `copy_` in its kernel does.
    """
    shown = tensor._inference and not _below_mode()
    return shown and _is_flagged(tensor) and STATE.enabled


def shows_kernel(operator, args) -> bool:
    """Whether the operators that torch's kernel calls show: it runs with the dispatch keys that
    record and that increment version counters.

    So it does outside the mode if all operands are inference tensors; with any normal operand those
    keys are excluded and the outputs begin at version 0. Below autograd the versions show, too.
    """
    if STATE.inference or _below_mode():
        return False
    if STATE.below_autograd:
        return not STATE.within_dispatch
    return not recordable(operator, args)


def _below_mode() -> bool:
    """Whether kernels run in the handler of a dispatch mode, below the keys that record and count:
    so they do under `allow_mutation_on_saved_tensors`."""
    return STATE.before_write is not None


def composed(operator, args):
    """The result of the operators that torch's kernel is composed of, where these show and the
    operator states them (`Operator.composes`); else NotImplemented."""
    if operator.composition is None or not shows_kernel(operator, args):
        return NotImplemented
    return operator.composition(*args)


def refuses(name: str):
    """The composition of an operator whose kernel is another one with `out=`, which refuses
    operands that require grad before anything else. Raises RuntimeError."""

    def refuse(*args):
        if STATE.enabled and any(map(_is_flagged, args)):
            raise RuntimeError(messages.OUT_GRADIENT.format(name))
        return NotImplemented

    return refuse


def count_making(operator, args, outputs):
    """Add the in-place writes of torch's kernel to the versions of the outputs, where it shows.

    Returns the operand of which a copy is recorded in the outputs, or None. Raises
    RuntimeError where an operand requires grad, if the kernel calls another operator with `out=`,
    which refuses that.
    """
    times = operator.writes
    if not times or not shows_kernel(operator, args):
        return None
    flagged = STATE.enabled and any(map(_is_flagged, args))
    name = _of_arguments(operator.written_by, args) if flagged else None
    if name is not None:
        raise RuntimeError(messages.OUT_GRADIENT.format(name))
    times = _of_arguments(times, args)
    if not times:
        return None
    each = times if isinstance(times, tuple) else (times,) * len(outputs)
    for output, count in zip(outputs, each, strict=True):
        output._storage.version += count
    place = _of_arguments(operator.copies, args) if flagged else None
    return None if place is None or not _is_flagged(args[place]) else args[place]


def _of_arguments(fact, args):
    """A fact that is stated as such, or as a function of the arguments."""
    return fact(args) if callable(fact) else fact


def count_made(source, result):
    """`count_making` for a result that one write made of a tensor, by no operator; returns it."""
    if source._inference and not STATE.inference and not _below_mode():
        result._storage.version += 1
    return result


def _is_flagged(value) -> bool:
    """Whether a value is a tensor that requires grad: a leaf, or an inference tensor that a
    custom Function returned."""
    return getattr(value, "_requires_grad", False) or getattr(value, "_node", None) is not None


def count(tensor) -> None:
    """Increment the version counter after a write to a tensor; not in a handler of
    `__torch_dispatch__`, which runs below the key that counts (ADInplaceOrView).

    Nor is a write in inference mode counted to a tensor whose data is an inference tensor's. Raises
    RuntimeError for an inference tensor outside inference mode.
    """
    if not tensor._uncounted:
        below = STATE.within_dispatch or (STATE.inference and tensor._inference)
        tensor._storage.version += not below
    elif not STATE.inference:
        raise RuntimeError(messages.INFERENCE_WRITE)


def check_flag(tensor) -> None:
    """Raise RuntimeError for an inference tensor outside the mode: it cannot require grad."""
    if tensor._inference and not STATE.inference:
        raise RuntimeError(messages.INFERENCE_FLAG)


def check_save(tensor) -> None:
    """Raise RuntimeError for an inference tensor, which cannot be saved for backward.

    A function that torch.func differentiates may save it, as a wrapper.
    """
    if tensor._inference and not any(transform.wraps for transform in STATE.transforms):
        raise RuntimeError(messages.INFERENCE_SAVE)
    if tensor._uncounted and not tensor._inference:  # an inference tensor given normal `.data`
        raise RuntimeError(messages.INFERENCE_VERSION)
