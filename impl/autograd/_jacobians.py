"""Jacobians for gradcheck: by finite differences, by backwards, and by forward mode.

Here a Jacobian has a row for each element of an input and a column for each element of an output.
A function is given with all its inputs, perturbed in their own memory, so that captured aliases see
the change. Complex inputs have conjugate Wirtinger derivatives, of functions with real outputs
(torch/autograd/gradcheck.py; docs/notes/gradcheck).
"""

from __future__ import annotations

import itertools
from typing import Any

from impl.autograd import forward_ad
from impl.autograd._gradcheck_texts import NOT_REENTRANT
from impl.core.registry import FUNCTIONS
from impl.engine.backward import grad
from impl.factories import creation
from impl.tensor.tensor import Tensor


class GradcheckError(RuntimeError):
    """Raised by gradcheck and gradgradcheck for a wrong gradient."""


def as_tuple(value) -> tuple:
    """A tuple or list as a tuple; anything else as a tuple of one."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def required(inputs) -> list[tuple[int, Tensor]]:
    """The inputs that require grad, with their positions."""
    return [(i, t) for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]


def is_inexact(value) -> bool:
    """Whether a value is a tensor of a floating or complex dtype."""
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def _empty(outputs, rows: int, dtype=None) -> list[Any]:
    """A Jacobian of zeros for each differentiable output."""
    return [o.new_zeros((rows, o.numel()), dtype=dtype) for o in outputs if is_inexact(o)]


# -- finite differences ---------------------------------------------------------------------


class Difference:
    """Central differences of `function` at its inputs, of width `eps`."""

    def __init__(self, function, inputs, eps: float, real_only: bool = True) -> None:
        self.function = function
        self.inputs = inputs
        self.eps = eps
        self.real_only = real_only  # whether complex outputs are unexpected

    def jacobians(self, outputs) -> list[list[Any]]:
        """For each input that requires grad, the Jacobian of each output."""
        return [self._jacobian(t, outputs) for _, t in required(self.inputs)]

    def products(self, directions) -> list[list[Any]]:
        """For each input, the Jacobian of each output times that input's direction.

        A direction is a flat tensor, or for a complex input a pair: of its real and imaginary part.
        """
        result = []
        for (_, tensor), direction in zip(required(self.inputs), directions, strict=True):
            place = tensor.data
            parts = direction if isinstance(direction, tuple) else (direction, direction)
            steps = [part.reshape(place.shape) * self.eps for part in parts]
            result.append(self._derivatives(place, steps[0], steps[-1], ""))
        return result

    def _jacobian(self, tensor: Any, outputs) -> list[Any]:
        dtype = tensor.dtype if tensor.is_complex() else None
        blocks = _empty(outputs, tensor.numel(), dtype)
        memory = tensor.data  # writing here escapes the version check
        for k, index in enumerate(itertools.product(*map(range, memory.shape))):
            where = f"on index {index} "
            column = self._derivatives(memory[index], self.eps, self.eps, where)
            for block, derivative in zip(blocks, column, strict=False):
                block[k] = derivative
        return blocks

    def _derivatives(self, place: Any, step, imaginary_step, where: str) -> list[Any]:
        """The derivative of each output, flat, along a step at `place`."""
        along = self._quotients(place, step, where)
        if place.is_complex():
            across = self._quotients(place, imaginary_step * 1j, where)
            for derivative in along:
                _check_real(derivative)
            return [a + b * 1j for a, b in zip(along, across, strict=True)]
        if self.real_only:
            for derivative in along:
                _check_real(derivative)
        return along

    def _quotients(self, place: Any, step, where: str) -> list[Any]:
        original = place.clone()
        place.copy_(original - step)
        before = self._outputs()
        place.copy_(original + step)
        after = self._outputs()
        place.copy_(original)
        result = []
        for a, b in zip(before, after, strict=False):
            self._check_alike(a, b, where)
            result.append(((b - a) / (2 * self.eps)).detach().reshape(-1))
        return result

    def _outputs(self) -> list[Any]:
        return [output.clone() for output in as_tuple(self.function(*self.inputs))]

    def _check_alike(self, a: Tensor, b: Tensor, where: str) -> None:
        for name in ("shape", "dtype"):
            if getattr(a, name) != getattr(b, name):
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {name} when inputs are "
                    f"perturbed {where}by {self.eps}, but got: {name}s {getattr(a, name)} and "
                    f"{getattr(b, name)}."
                )


def _check_real(derivative: Tensor) -> None:
    if derivative.is_complex():
        raise AssertionError("Expected ds_dx to be real-valued, not complex")


# -- backward -------------------------------------------------------------------------------


def backward_jacobians(
    inputs, output: Tensor, tolerance: float, check_dtypes: bool, direction: Tensor | None = None
) -> list[Any]:
    """For each input that requires grad, its Jacobian of one output, by one backward per column.

    With a direction, a single column: the Jacobian times the direction. Everything is computed
    twice. Raises GradcheckError when the two differ by more than `tolerance`, and with
    `check_dtypes` for a gradient of another dtype than its input.
    """
    tensors = [t for _, t in required(inputs)]
    first, dtypes_agree = _columns(tensors, output, direction)
    second, _ = _columns(tensors, output, direction)
    if not dtypes_agree and check_dtypes:
        raise GradcheckError("Gradient has dtype mismatch")
    for a, b in zip(first, second, strict=True):
        if a.numel() and (a - b).abs().max() > tolerance:
            raise GradcheckError(NOT_REENTRANT.format(tolerance))
    return first


def _columns(tensors, output: Tensor, direction: Tensor | None) -> tuple[list[Any], bool]:
    count = output.numel() if direction is None else 1
    jacobians = [t.new_zeros((t.numel(), count)) for t in tensors]
    dtypes_agree = True
    # One seed for all columns, which hooks may keep, and see written.
    seed = output.new_zeros(output.shape) if direction is None else direction.reshape(output.shape)
    flat = seed.reshape(-1)
    for k in range(count):
        if direction is None:
            flat.zero_()
            flat[k] = 1.0
        grads = grad(output, tensors, seed, retain_graph=True, allow_unused=True)
        for tensor, jacobian, gradient in zip(tensors, jacobians, grads, strict=True):
            if gradient is not None:
                dtypes_agree = dtypes_agree and gradient.dtype == tensor.dtype
                jacobian[:, k] = gradient.reshape(-1)
    return jacobians, dtypes_agree


# -- forward mode ---------------------------------------------------------------------------


def forward_jacobians(
    function, inputs, outputs, check_dtypes: bool, directions=None
) -> list[list[Any]]:
    """For each input that requires grad, the Jacobian of each output, by forward mode.

    With directions, one per input, the Jacobians times them, as flat tensors. Raises ValueError for
    complex inputs, and with `check_dtypes` GradcheckError for a tangent that is complex where its
    output is not.
    """
    tensors = required(inputs)
    if any(t.is_complex() for _, t in tensors):
        raise ValueError(
            "Expected inputs to be non-complex for _get_analytical_jacobian_forward_ad."
        )
    zeros = {position: creation.zeros_like(tensor) for position, tensor in tensors}
    result = []
    for number, (position, tensor) in enumerate(tensors):
        rows = []
        if directions is None:
            blocks = _empty(outputs, tensor.numel())
            for k in range(tensor.numel()):
                tangent: Any = creation.zeros_like(tensor)
                tangent[_unravelled(k, tensor.shape)] = 1.0
                rows.append(pushed(function, inputs, {**zeros, position: tangent}, check_dtypes))
        else:
            blocks = _empty(outputs, 1)
            tangent = directions[number].view_as(tensor)
            rows.append(pushed(function, inputs, {**zeros, position: tangent}, check_dtypes))
        for k, row in enumerate(rows):
            for block, (_, derivative) in zip(blocks, row, strict=False):
                if derivative is not None:
                    block[k].copy_(derivative.reshape(-1))
        result.append(blocks if directions is None else [b.squeeze(0) for b in blocks])
    return result


def _unravelled(k: int, shape) -> tuple[int, ...]:
    index = []
    for n in reversed(shape):
        k, i = divmod(k, n)
        index.append(i)
    return tuple(reversed(index))


def pushed(function, inputs, tangents: dict, check_dtypes: bool = False) -> list:
    """(primal, tangent or None) of each differentiable output, from tangents by position.

    Raises GradcheckError, with `check_dtypes`, for a tangent that is complex where its output is
    not.
    """
    with forward_ad.dual_level():
        arguments = list(inputs)
        for position, tensor in required(inputs):
            arguments[position] = tensor.detach()
            if position in tangents:
                dual = forward_ad.make_dual(arguments[position], tangents[position])
                arguments[position] = dual
        result = []
        for output in filter(is_inexact, as_tuple(function(*arguments))):
            primal, tangent = forward_ad.unpack_dual(output)
            if check_dtypes and tangent is not None and primal.is_complex() != tangent.is_complex():
                raise GradcheckError("Forward AD gradient has dtype mismatch.")
            result.append((primal, tangent))
    return result


def check_absent_tangents(function, inputs, directions) -> None:
    """Raise GradcheckError unless an input without a tangent counts as one with a zero tangent."""
    tensors = required(inputs)
    tangents = {
        position: direction.view_as(tensor)
        for (position, tensor), direction in zip(tensors, directions, strict=True)
    }
    for position, tensor in tensors:
        absent = {p: t for p, t in tangents.items() if p != position}
        expected = pushed(function, inputs, {**absent, position: creation.zeros_like(tensor)})
        got = pushed(function, inputs, absent)
        for number, ((_, a), (_, b)) in enumerate(zip(expected, got, strict=False)):
            if a is not None and b is not None and not FUNCTIONS["allclose"](a, b):
                raise GradcheckError(
                    "Mismatch in tangent values for output with index: ",
                    number,
                    " when input: ",
                    tensor,
                    " has an undefined tangent value. ",
                    " Got: ",
                    a,
                    " but expected: ",
                    b,
                )
