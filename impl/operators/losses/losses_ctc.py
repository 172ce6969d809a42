"""Connectionist temporal classification: the likelihood of labels under all their alignments.

A. Graves, S. Fernandez, F. Gomez and J. Schmidhuber, ICML 2006: equations 6 and 7 for the forward
variable alpha, 10 and 11 for beta, 16 for the gradient. The labels are extended by a blank before,
between and after them, so that L labels make S = 2 L + 1 states.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from impl.core.registry import tensor_ops
from impl.core.state import STATE
from impl.dispatch import forward_rules
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.not_implemented import (
    no_derivative,
    refuse_gradient,
    require_full_precision,
)
from impl.operators.losses.losses import MEAN, NONE, SUM
from impl.tensor.tensor import Tensor, new

_CHECK = " (while checking arguments for ctc_loss_allocate_outputs)"


def _check(log_probs, targets, input_lengths, target_lengths, blank) -> None:
    if not log_probs.size:
        raise RuntimeError("log_probs tensor must not be empty")
    if targets.ndim not in (1, 2):
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument "
            f"#2 'targets'{_CHECK}"
        )
    if log_probs.ndim != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.ndim}-dimensional tensor for "
            f"argument #1 'log_probs'{_CHECK}"
        )
    times, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
    for length in target_lengths:
        _check_length("target_lengths", length)
    longest = max(target_lengths)
    expected = batch if targets.ndim > 1 else sum(target_lengths)
    if targets.shape[0] != expected:
        raise RuntimeError(
            f"Expected tensor to have size {expected} at dimension 0, but got size "
            f"{targets.shape[0]} for argument #2 'targets'{_CHECK}"
        )
    if targets.ndim > 1 and targets.shape[1] < longest:
        raise RuntimeError(
            f"Expected tensor to have size at least {longest} at dimension 1, but got size "
            f"{targets.shape[1]} for argument #2 'targets'{_CHECK}"
        )
    for length in input_lengths:
        _check_length("input_lengths", length)
        if length > times:
            raise RuntimeError(
                f"Expected input_lengths to have value at most {times}, but got value "
                f"{length}{_CHECK}"
            )


def _check_length(name: str, length: int) -> None:
    if length < 0:
        raise RuntimeError(
            f"Expected {name} to have value at least 0, but got value {length}{_CHECK}"
        )


class _States:
    """The extended labels (N, S), the states that exist, and the states whose preceding blank may
    be skipped."""

    def __init__(self, targets, lengths, blank: int) -> None:
        self.lengths = np.array(lengths)
        longest = max(lengths)
        self.labels = np.full((len(lengths), 2 * longest + 1), blank)
        counted = np.arange(longest) < self.lengths[:, None]
        if targets.ndim == 1:
            self.labels[:, 1::2][counted] = targets
        else:
            self.labels[:, 1::2][counted] = targets[:, :longest][counted]
        self.last = 2 * self.lengths
        self.counted = np.arange(self.labels.shape[1]) <= self.last[:, None]
        self.skips = np.zeros(self.labels.shape, bool)
        self.skips[:, 2:] = self.labels[:, 2:] != self.labels[:, :-2]

    def emitted(self, log_probs):
        """The log-probabilities of the states, (N, T, S), minus infinity beyond the last one."""
        chosen = np.take_along_axis(
            log_probs.transpose(1, 0, 2), self.labels[:, None, :].repeat(len(log_probs), 1), 2
        )
        return np.where(self.counted[:, None, :], chosen, log_probs.dtype.type(-np.inf))


def _reached(*terms):
    """The logarithm of the sum of exponentials of the terms, all of which may be minus infinity."""
    largest = np.maximum.reduce(terms)
    base = np.where(np.isneginf(largest), 0, largest)
    with np.errstate(divide="ignore"):
        return np.log(sum(np.exp(term - base) for term in terms)) + base


def _moved(values, step: int):
    """The values shifted by `step` states, filled with minus infinity."""
    moved = np.full_like(values, -np.inf)
    if abs(step) >= values.shape[1]:
        return moved
    if step > 0:
        moved[:, step:] = values[:, :-step]
    else:
        moved[:, :step] = values[:, -step:]
    return moved


def _alpha(emitted, states: _States):
    alpha = np.full_like(emitted, -np.inf)
    alpha[:, 0, :2] = emitted[:, 0, :2]
    for t in range(1, emitted.shape[1]):
        before = alpha[:, t - 1]
        skipped = np.where(states.skips, _moved(before, 2), -np.inf).astype(before.dtype)
        alpha[:, t] = _reached(before, _moved(before, 1), skipped) + emitted[:, t]
    return alpha


def _beta(emitted, states: _States, lengths):
    beta = np.full_like(emitted, -np.inf)
    rows = np.arange(len(lengths))
    skips = np.zeros_like(states.skips)
    skips[:, :-2] = states.skips[:, 2:]
    ends = np.arange(emitted.shape[2]) >= states.last[:, None] - 1
    for t in range(emitted.shape[1] - 1, -1, -1):
        if t + 1 < emitted.shape[1]:
            after = beta[:, t + 1]
            skipped = np.where(skips, _moved(after, -2), -np.inf).astype(after.dtype)
            going = _reached(after, _moved(after, -1), skipped) + emitted[:, t]
            beta[:, t] = np.where(t < lengths[:, None] - 1, going, beta[:, t])
        starting = rows[lengths == t + 1]
        beta[starting, t] = np.where(ends[starting], emitted[starting, t], -np.inf)
    return beta


@operator(
    node="CtcLossBackward0",
    outputs=("result0", "result1"),
    function=False,
    method=False,
    numbers=False,
    torch_name="_ctc_loss",
)
def ctc_loss_forward(
    log_probs: Array, targets: Array, input_lengths, target_lengths, blank, zero_infinity
) -> tuple:
    """Minus the log-likelihoods (N,) and the logarithms of alpha (N, T, S)."""
    require_full_precision(log_probs, "ctc_loss_cpu")
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    states = _States(targets, target_lengths, blank)
    alpha = _alpha(states.emitted(log_probs), states)
    rows, lengths = np.arange(len(alpha)), np.array(input_lengths)
    ends = alpha[rows, np.maximum(lengths, 1) - 1]
    last = ends[rows, states.last]
    earlier = np.where(states.last > 0, ends[rows, np.maximum(states.last - 1, 0)], -np.inf)
    found = -_reached(last, earlier.astype(last.dtype))
    nothing = np.where(states.lengths > 0, np.inf, 0.0)
    return np.where(lengths > 0, found, nothing).astype(log_probs.dtype), alpha


@operator(node="NotImplemented", function=False, method=False, numbers=False)
def ctc_loss_backward(
    grad: Array,
    log_probs: Array,
    targets: Array,
    input_lengths,
    target_lengths,
    neg_log_likelihood: Array,
    log_alpha: Array,
    blank,
    zero_infinity,
) -> Array:
    """The gradient of the log-probabilities, (T, N, C)."""
    states, lengths = _States(targets, target_lengths, blank), np.array(input_lengths)
    paths = log_alpha + _beta(states.emitted(log_probs), states, lengths)
    rows, value = np.arange(len(lengths)), log_probs.transpose(1, 0, 2)
    total = np.full(value.shape, -np.inf, value.dtype)
    for state, labels in enumerate(states.labels.T):
        total[rows, :, labels] = np.logaddexp(total[rows, :, labels], paths[:, :, state])
    with np.errstate(invalid="ignore"):
        taken = np.exp(total + neg_log_likelihood[:, None, None] - value)
        result = (np.exp(value) - taken) * grad[:, None, None]
    passed: Any = np.arange(value.shape[1]) < lengths[:, None]
    if zero_infinity:
        passed = passed & ~np.isposinf(neg_log_likelihood).reshape(-1, 1)
    kept = np.where(passed[..., None], result, 0).transpose(1, 0, 2)
    return kept.astype(log_probs.dtype, order="C")


@ctc_loss_forward.differentiable("result0").gradients("log_probs")
def _gradient(
    F,
    grad,
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    result0,
    result1,
    blank,
    zero_infinity,
):
    lengths = input_lengths, target_lengths
    return F.ctc_loss_backward(
        grad, log_probs, targets, *lengths, result0, result1, blank, zero_infinity
    )


ctc_loss_forward.forward("unsupported", name="_ctc_loss", invited=True)
ctc_loss_backward.gradients("grad", "log_probs", "neg_log_likelihood")(
    no_derivative("_ctc_loss_backward")
)


def _lengths(name: str, given) -> tuple[int, ...]:
    if not isinstance(given, Tensor):
        return tuple(given)
    if given._raw.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral")
    return tuple(np.reshape(given._raw, -1).tolist())


@function(method=False, batching="composed_fallback")
@fp32
def ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction=NONE, zero_infinity=False
) -> Tensor:
    """Minus the log-likelihood of label sequences, given the log-probabilities (T, N, C) or (T, C)
    of the classes at each time; `targets` are (N, L), or the sequences one after another.

    The lengths are tuples or tensors of integers. A mean is over the sequences, each divided by
    its length. Raises RuntimeError for sizes that do not fit, NotImplementedError for dtypes other
    than float32 and float64 (torch.nn.functional.ctc_loss).
    """
    if STATE.transforms:  # for whose tensors torch looks at the lengths in the kernel
        forward_rules.refuse(ctc_loss_forward, (log_probs, None, (), (), blank, zero_infinity))
    if STATE.transforms or STATE.before_write is not None:  # and in a dispatch mode, too
        for name, given in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
            refuse_gradient("_ctc_loss", name, given if isinstance(given, Tensor) else None)
    inputs = _lengths("input_lengths", input_lengths)
    goals = _lengths("target_lengths", target_lengths)
    batched = log_probs._raw.ndim == 3
    values = log_probs if batched else log_probs.unsqueeze(1)
    is_saved = targets._raw.dtype == np.int64  # `targets.to(kLong)` is the tensor itself
    labels = targets if is_saved else new(np.asarray(targets._raw).astype(np.int64))
    result = ctc_loss_forward(values, labels, inputs, goals, blank, zero_infinity)[0]
    if zero_infinity:
        result = tensor_ops.where(result == math.inf, result.new_zeros(()), result)
    if reduction == MEAN:
        shares = new(np.maximum(np.array(goals), 1).astype(result._raw.dtype))
        return (result / shares).mean()
    if reduction == SUM:
        return result.sum()
    return result if batched else result.squeeze(0)
