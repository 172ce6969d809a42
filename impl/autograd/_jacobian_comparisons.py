"""Comparisons of Jacobians for gradcheck: by elements, or by products with random vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, compress
from typing import Any

from impl.autograd import _gradcheck_texts as texts
from impl.autograd._jacobians import (
    Difference,
    GradcheckError,
    as_tuple,
    backward_jacobians,
    check_absent_tangents,
    forward_jacobians,
    is_inexact,
    required,
)
from impl.core import dtypes
from impl.core.registry import FUNCTIONS
from impl.factories.generator import Generator
from impl.tensor.tensor import Tensor


@dataclass(frozen=True)
class Options:
    """How close is close enough, and what to look at."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool
    check_batched_grad: bool
    check_batched_forward_grad: bool
    check_forward_ad: bool
    check_backward_ad: bool
    fast_mode: bool
    masked: bool | None


def differentiable_outputs(result) -> tuple[Tensor, ...]:
    return tuple(o for o in as_tuple(result) if o.requires_grad)


@dataclass
class Comparison:
    """One function, of whose complex outputs or inputs only one part is considered, and a mode."""

    function: Callable
    result: Any  # its results
    inputs: Any
    options: Options
    forward: bool = False
    part: str = ""  # "real" or "imaginary": the compared part of complex values
    parted: tuple[int, ...] = ()  # the outputs, or in forward mode inputs, that are complex

    def __post_init__(self) -> None:
        self.result = as_tuple(self.result)
        self.outputs = differentiable_outputs(self.result)
        real_only = not self.forward
        self.difference = Difference(self.function, self.inputs, self.options.eps, real_only)

    def run(self) -> None:
        """Raise GradcheckError where both Jacobians differ."""
        if self.options.fast_mode:
            self._run_fast()
        else:
            self._run_slow()

    def _run_slow(self) -> None:
        numerical = self.difference.jacobians(self.result)
        if not self.outputs:
            for jacobian in chain.from_iterable(numerical):
                _check_zero(jacobian, 0.0)
            return
        kept = [o.requires_grad for o in self.result]
        by_output = [
            row for row, keep in zip(zip(*numerical, strict=True), kept, strict=False) if keep
        ]
        by_input = self._forward() if self.forward else []
        # Numerical ones of integer results are left out before, as in torch, so that they may be
        # too few: an IndexError.
        for i in range(len(by_output if self.forward else self.outputs)):
            analytical = [a[i] for a in by_input] if self.forward else self._backward(i)
            for j, (a, n) in enumerate(zip(analytical, by_output[i], strict=False)):
                if not self._close(a, n, self.options.atol):
                    raise GradcheckError(self._mismatch(a, n, i, j))

    def _forward(self, directions=None) -> list[list[Any]]:
        check_dtypes = self.options.check_grad_dtypes
        return forward_jacobians(self.function, self.inputs, self.result, check_dtypes, directions)

    def _backward(self, number: int, direction=None) -> list[Any]:
        options = self.options
        return backward_jacobians(
            self.inputs,
            self.outputs[number],
            options.nondet_tol,
            options.check_grad_dtypes,
            direction,
        )

    def _run_fast(self) -> None:
        directions, weights = _vectors(self.inputs, () if self.forward else self.outputs)
        products = self.difference.products(directions)
        numerical = [self._compared(row) for row in products]
        if self.forward:
            analytical = self._forward(directions)
        else:
            if not self.outputs:
                inexact = map(is_inexact, self.result * len(products))
                for product in compress(chain.from_iterable(products), inexact):
                    _check_zero(product, self.options.nondet_tol)
            numerical = [
                [(w * n).sum() for w, n in zip(weights, row, strict=True)] for row in numerical
            ]
            by_output = [self._backward(i, w) for i, w in enumerate(weights)]
            analytical = [
                [_dot(row[j].squeeze(1), u) for row in by_output] for j, u in enumerate(directions)
            ]
        for j, row in enumerate(numerical):
            for i, n in enumerate(row):
                total = _total(weights[i]) if weights else 1.0
                atol = self.options.atol * _total(directions[j]) * total
                if not self._close(analytical[j][i], n, atol):
                    text = self._mismatch(analytical[j][i], n, i, j)
                    raise GradcheckError(text + self._slow_details(i, j))

    def _compared(self, products) -> list[Any]:
        """Of the products for each result those that the analytical way has, too: of floating point
        or complex results, backward of those that require grad."""
        kept = [is_inexact(o) and (self.forward or o.requires_grad) for o in self.result]
        return [product for product, keep in zip(products, kept, strict=True) if keep]

    def _close(self, a: Tensor, b: Tensor, atol: float) -> bool:
        dtype = dtypes.promote_types(a.dtype, b.dtype)
        return FUNCTIONS["allclose"](a.to(dtype), b.to(dtype), self.options.rtol, atol)

    def _mismatch(self, analytical: Tensor, numerical: Tensor, i: int, j: int) -> str:
        prefix = mode = ""
        if (j if self.forward else i) in self.parted:
            what = "inputs" if self.forward else "outputs"
            prefix = f"While considering the {self.part} part of complex {what} only, "
        if self.forward:
            mode = "computed with forward mode "
        return (
            f"{prefix}Jacobian {mode}mismatch for output {i} with respect to input {j},\n"
            f"numerical:{numerical}\nanalytical:{analytical}\n"
        )

    def _slow_details(self, i: int, j: int) -> str:
        """Both whole Jacobians of one output and one input, for the message."""
        if self.forward:
            numerical, analytical = self._slow_forward(i, required(self.inputs)[j][0])
        else:
            numerical = self.difference.jacobians(self.outputs)[j][i]
            analytical = backward_jacobians(self.inputs, self.outputs[i], float("inf"), False)[j]
        worst = (numerical - analytical).abs().max()
        text = texts.SLOW_MODE.format(numerical, analytical, worst)
        close = FUNCTIONS["allclose"](analytical, numerical, self.options.rtol, self.options.atol)
        return text + (texts.SLOW_IS_FINE if close else "")

    def _slow_forward(self, number: int, place: int) -> tuple[Any, Any]:
        """Both Jacobians of a floating point or complex result by the argument at a place."""

        def single(tensor):
            arguments = list(self.inputs)
            arguments[place] = tensor
            results = as_tuple(self.function(*arguments))
            return [result for result in results if is_inexact(result)][number]

        chosen = (self.inputs[place],)
        result = (single(*chosen),)
        difference = Difference(single, chosen, self.options.eps, real_only=False)
        analytical = forward_jacobians(single, chosen, result, False)
        return difference.jacobians(result)[0][0], analytical[0][0]


def _check_zero(jacobian: Any, tolerance: float) -> None:
    if jacobian.numel() and jacobian.abs().max() > tolerance:
        raise GradcheckError("Numerical gradient for function expected to be zero")


def backward_comparisons(func, result, inputs, outputs, options):
    """The function itself, or if an output is complex its imaginary and then its real part."""
    if not any(o.is_complex() for o in as_tuple(result)):
        yield Comparison(func, result, inputs, options)
        return
    parted = tuple(i for i, o in enumerate(outputs) if o.is_complex())
    for part, name in (("imaginary", "imag"), ("real", "real")):

        def one_part(*arguments, name=name):
            values = as_tuple(func(*arguments))
            return tuple(FUNCTIONS[name](v) if v.is_complex() else v for v in values)

        yield Comparison(one_part, one_part(*inputs), inputs, options, part=part, parted=parted)


def forward_comparisons(func, result, inputs, outputs, options):
    """The function itself, or if an input is complex as one of its imaginary, then its real part.

    The other part is held constant.
    """
    parted = tuple(i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.is_complex())
    if not parted:
        yield Comparison(func, result, inputs, options, forward=True)
        if options.check_undefined_grad:
            check_absent_tangents(func, inputs, _vectors(inputs, ())[0])
        return
    made = []
    for part, name in (("imaginary", "imag"), ("real", "real")):

        def of_one_part(*arguments, name=name):
            values = list(arguments)
            for i in parted:
                if name == "imag":
                    values[i] = inputs[i].real + values[i] * 1j
                else:
                    values[i] = values[i] + inputs[i].imag * 1j
            return as_tuple(func(*values))

        parts = [getattr(t, name) if i in parted else t for i, t in enumerate(inputs)]
        made.append((of_one_part, parts))
        yield Comparison(
            of_one_part, of_one_part(*parts), parts, options, True, part=part, parted=parted
        )
    if options.check_undefined_grad:
        for function, parts in made:
            check_absent_tangents(function, parts, _vectors(parts, ())[0])


# -- random vectors -------------------------------------------------------------------------


def _vectors(inputs, outputs) -> tuple[list[Any], list[Any]]:
    """A random unit vector for each input that requires grad (for a complex one a pair) and each
    output, from a generator of its own."""
    generator = Generator()
    directions: list[Any] = []
    for _, tensor in required(inputs):
        if tensor.is_complex():
            real = dtypes.float64 if tensor.dtype == dtypes.complex128 else dtypes.float32
            directions.append(tuple(_vector(tensor, real, generator) for _ in range(2)))
        else:
            directions.append(_vector(tensor, tensor.dtype, generator))
    return directions, [_vector(o, o.dtype, generator) for o in outputs]


def _vector(tensor: Tensor, dtype, generator: Generator) -> Tensor:
    vector = FUNCTIONS["rand"](tensor.numel(), generator=generator).to(dtype)
    vector /= vector.norm()
    return vector


def _dot(vector: Any, direction) -> Any:
    if isinstance(direction, tuple):
        real, imaginary = direction
        return vector.real.dot(real) + 1j * vector.imag.dot(imaginary)
    return vector.dot(direction)


def _total(direction) -> float:
    parts = direction if isinstance(direction, tuple) else (direction,)
    return sum(float(p.sum()) for p in parts)
