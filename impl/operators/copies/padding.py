"""Padding of the last dimensions: constant, reflection, replication and circular."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core.memory_formats import formatted_as
from impl.core.meta_arrays import is_meta
from impl.core.strides import element_strides, empty_strided, is_dense
from impl.dispatch.definition import Array, native, operator, written
from impl.dispatch.facts import CastPolicy, SavedAs
from impl.dispatch.not_implemented import refuse_bool, require_scalar_type
from impl.kernels.casting import filled
from impl.kernels.reduced_precision import add_at, widened
from impl.tensor.allocation import preserved
from impl.tensor.tensor import Tensor

# -- constant padding -------------------------------------------------------------------------


def _adds(args) -> bool:
    """Whether anything is added: memory is filled with it."""
    return any(number > 0 for number in args[1])


def _sides(ndim: int, pad) -> list[tuple[int, int]]:
    """The padding before and after each dimension; `pad` starts with the last dimension."""
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (ndim - len(pairs)) + pairs[::-1]


@operator(method=False, fresh=True, writes=_adds, batching="leading")
def constant_pad_nd(input: Array, pad, value=0) -> Array:
    """`value` added around the last dimensions, or elements removed where `pad` is negative
    (torch.constant_pad_nd).

    `pad` has two numbers for each of these dimensions, the last dimension first. Raises
    RuntimeError for an odd number of them, for too many, and when a size would become negative.
    """
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. "
            f"Pad length is {len(pad)}while the input has {input.ndim}dimensions."
        )
    sides = _sides(input.ndim, pad)
    shape = []
    for n, (before, after) in zip(input.shape, sides, strict=True):
        if n + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        shape.append(n + before + after)
    kept = input[
        tuple(
            slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(input.shape, sides, strict=True)
        )
    ]
    if all(number <= 0 for number in pad):
        return _cloned(kept)
    result = filled(shape, value, input.dtype)
    result[
        tuple(slice(max(b, 0), r - max(a, 0)) for r, (b, a) in zip(shape, sides, strict=True))
    ] = kept
    return formatted_as(result, input)


def _cloned(part):
    """A copy with the strides of a part, also in dimensions of size one, if that is dense."""
    strides = element_strides(part)
    if is_meta(part) or not is_dense(part.shape, strides):
        return preserved(part)
    result = empty_strided(part.shape, strides, part.dtype)
    result[...] = part
    return result


@constant_pad_nd.composes
def _copied_within(input, pad, value):
    """Memory that is filled, with the part of the input that is kept copied into it; where nothing
    is added, a clone of that part."""
    result = inner = constant_pad_nd.computed(input, pad, value)
    for dim, (before, after) in enumerate(_sides(input._raw.ndim, pad)):
        if before < 0 or after < 0:
            cut = max(-before, 0), max(-after, 0)
            input = input.narrow(dim, cut[0], input._raw.shape[dim] - sum(cut))
        if before > 0 or after > 0:
            inner = inner.narrow(dim, max(before, 0), input._raw.shape[dim])
    if inner is result:
        return input.clone()
    inner.copy_(input)
    return result


constant_pad_nd.gradient(
    input=lambda F, grad, pad: F.constant_pad_nd(grad, tuple(-p for p in pad), 0)
)
constant_pad_nd.forward(lambda F, input_t, pad: F.constant_pad_nd(input_t, pad, 0))


# -- reflection, replication and circular padding -----------------------------------------------


def _reflected(n: int, before: int, after: int) -> np.ndarray:
    positions = np.abs(np.arange(-before, n + after))
    return np.where(positions < n, positions, 2 * (n - 1) - positions)


def _replicated(n: int, before: int, after: int) -> np.ndarray:
    return np.clip(np.arange(-before, n + after), 0, n - 1)


def _taken(value, places):
    first = value.ndim - len(places)
    for axis, index in enumerate(places):
        value = np.take(value, index, first + axis)
    return value


def _added_back(grad, places, shape):
    """The adjoint of `_taken`: gradients are added to the elements that were taken."""
    total = widened(grad)
    first = len(shape) - len(places)
    for axis, index in enumerate(places):
        axis += first
        sizes = (*total.shape[:axis], shape[axis], *total.shape[axis + 1 :])
        collected = np.zeros(sizes, total.dtype)
        add_at(collected, (slice(None),) * axis + (index,), total)
        total = collected
    return total.astype(grad.dtype, copy=False)


def _check_reflection(shape, pad) -> None:
    sides = _sides(len(shape), pad)
    for axis in range(len(shape) - 1, len(shape) - len(pad) // 2 - 1, -1):
        before, after = sides[axis]
        n = shape[axis]
        if before >= n or after >= n:
            number = 4 + 2 * (len(shape) - 1 - axis)
            raise RuntimeError(
                f"Argument #{number}: Padding size should be less than the corresponding input "
                f"dimension, but got: padding ({before}, {after}) at dimension {axis} of input "
                f"{[*shape]}"
            )


def _check_filled(shape, ndim: int) -> None:
    """Raise RuntimeError for an empty dimension other than the batch's."""
    if 0 in shape[len(shape) == ndim + 2 :]:
        raise RuntimeError(
            f"Expected {ndim + 1}D or {ndim + 2}D (batch mode) tensor with possibly 0 batch size "
            f"and other non-zero dimensions for input, but got: {[*shape]}"
        )


def _check_result(shape, pad) -> None:
    sides = _sides(len(shape), pad)
    axes = {1: "W", 2: "HW", 3: "DHW"}[len(pad) // 2]
    given = shape[len(shape) - len(axes) :]
    made = [n + b + a for n, (b, a) in zip(shape, sides, strict=True)][-len(axes) :]
    if any(n < 1 for n in made):
        first, second = (
            [f"{a}: {n}" for a, n in zip(axes, sizes, strict=True)] for sizes in (given, made)
        )
        if len(axes) == 1:
            raise RuntimeError(f"input ({first[0]}) is too small. Calculated output {second[0]}")
        raise RuntimeError(
            f"Calculated output {' '.join(second)} must be >= 1 in every dimension (input "
            f"{', '.join(first)})"
        )


def _operators(kind: str, ndim: int, positions, check):
    """Define the operators `<kind>_padNd` and `<kind>_padNd_backward`, its adjoint."""
    name = f"{kind}_pad{ndim}d"

    def places(shape, padding):
        sides = _sides(len(shape), padding)
        return [
            positions(n, *side)
            for n, side in zip(shape[len(shape) - ndim :], sides[-ndim:], strict=True)
        ]

    def forward(input: Array, padding) -> Array:
        _check_filled(input.shape, ndim)
        check(input.shape, padding)
        _check_result(input.shape, padding)
        refuse_bool(input, name.replace("reflect_", "reflection_").replace("ate_", "ation_"))
        return formatted_as(_taken(input, places(input.shape, padding)), input)

    def backward(grad_output: Array, input: Array, padding) -> Array:
        require_scalar_type(input, grad_output.dtype)
        return formatted_as(
            _added_back(grad_output, places(input.shape, padding), input.shape), input
        )

    forward.__name__, backward.__name__ = name, name + "_backward"
    node = f"{kind.capitalize().replace('ate', 'ation')}Pad{ndim}DBackward"
    policy: CastPolicy | None = None if (kind, ndim) == ("reflection", 3) else "fp32"  # as in ATen
    shown = SavedAs(renamed={"input": "self"})
    settings: dict[str, Any] = {"function": False, "method": False, "fresh": True}
    facts: dict[str, Any] = {"autocast": policy, "saved_as": shown, "batching": "merged"}
    facts["writes"] = int((kind, ndim) == ("reflection", 2))  # it resizes an empty tensor in ATen
    apply = operator(node=node + "0", **facts, **settings)(forward)
    apply_backward = operator(node=node + "Backward0", batching="merged", **settings)(backward)
    apply.gradient(
        input=lambda F, grad, input, padding: getattr(F, name + "_backward")(grad, input, padding)
    ).forward("linear")
    apply_backward.gradient(
        grad_output=lambda F, grad, padding: getattr(F, name)(grad, padding),
        input=written(lambda F, grad, input_shape: F.new_zeros(grad, input_shape)),
    )
    return apply


_REFLECTION = {n: _operators("reflection", n, _reflected, _check_reflection) for n in (1, 2, 3)}
_REPLICATION = {
    n: _operators("replicate", n, _replicated, lambda shape, pad: None) for n in (1, 2, 3)
}


def _circular(input: Tensor, padding) -> Tensor:
    """Circular padding, copied slice by slice as in ATen."""
    shape = input._raw.shape
    sides = _sides(len(shape), padding)
    first = len(shape) - len(padding) // 2
    for n, (before, after) in list(zip(shape, sides, strict=True))[first:]:
        if before > n or after > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if n + before + after < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    result = input.new_empty([n + b + a for n, (b, a) in zip(shape, sides, strict=True)])
    target, source = result, input
    for axis in range(first, len(shape)):
        before, after = sides[axis]
        size = result._raw.shape[axis]
        target = target.narrow(axis, max(before, 0), size - max(before, 0) - max(after, 0))
        source = source.narrow(
            axis, max(-before, 0), shape[axis] - max(-before, 0) - max(-after, 0)
        )
    target.copy_(source)
    for axis in range(len(shape) - 1, first - 1, -1):
        before, after = sides[axis]
        size = result._raw.shape[axis]
        if before > 0:
            _wrap(result, axis, 0, size - before - max(after, 0), before)
        if after > 0:
            _wrap(result, axis, size - after, max(before, 0), after)
    return result


def _wrap(result: Tensor, axis: int, to: int, start: int, length: int) -> None:
    source = result.narrow(axis, start, length)
    result.narrow(axis, to, length).copy_(source)


@native()
def pad(input, pad, mode="constant", value=None):
    """The tensor padded in its last dimensions, by two numbers each, the last dimension first.

    `mode` is "constant" (with `value`), "reflect", "replicate" or "circular". Raises RuntimeError
    for sizes that do not fit, NotImplementedError for other modes and ranks
    (torch.nn.functional.pad).
    """
    pad = tuple(pad)
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    ndim = input._raw.ndim
    if len(pad) > 2 * ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {ndim}"
        )
    if mode == "constant":
        return constant_pad_nd(input, pad, 0.0 if value is None else float(value))
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    count = len(pad) // 2
    if ndim - count not in (1, 2) or count not in (1, 2, 3):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if mode == "reflect":
        return _REFLECTION[count](input, pad)
    if mode == "replicate":
        return _REPLICATION[count](input, pad)
    return _circular(input, pad)
