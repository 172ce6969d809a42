"""`torch.autograd.gradcheck`: comparison of gradients with finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from impl.autograd import _gradcheck_texts as texts
from impl.autograd._jacobian_comparisons import (
    Options,
    backward_comparisons,
    differentiable_outputs,
    forward_comparisons,
)
from impl.autograd._jacobians import GradcheckError, as_tuple, pushed, required
from impl.core import dtypes
from impl.core.registry import FUNCTIONS
from impl.engine.backward import grad
from impl.factories import creation
from impl.graph.edge import gradient_edge
from impl.graph.node import Node
from impl.tensor.tensor import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def gradcheck(
    func: Callable,
    inputs,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func` with respect to `inputs` with central differences.

    Args:
        func: a function of the inputs that returns a tensor or a tuple or list of tensors.
        inputs: one argument or a tuple or list of them; those that require grad are checked, and
            should be float64 or complex128.
        eps: the step of the differences.
        atol, rtol: the tolerances, as in `allclose`.
        raise_exception: raise GradcheckError instead of returning False.
        nondet_tol: the tolerance between two runs of a backward.
        check_undefined_grad: whether undefined gradients of outputs must act as zeros.
        check_grad_dtypes: whether gradients must have the dtype of their inputs.
        check_batched_grad, check_batched_forward_grad: compare batched with single passes.
        check_forward_ad, check_backward_ad: the modes to check.
        fast_mode: compare the Jacobians' products with random vectors only.
        masked: for sparse tensors, which impl does not have.

    Raises GradcheckError for a wrong gradient; ValueError if no input requires grad, RuntimeError
    for an input with overlapping elements, AssertionError for outputs that change their shape or
    dtype and for contradictory options (torch.autograd.gradcheck).
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    _require("check_batched_grad", check_batched_grad, "check_backward_ad", check_backward_ad)
    _require(
        "check_batched_forward_grad",
        check_batched_forward_grad,
        "check_forward_ad",
        check_forward_ad,
    )
    options = Options(
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_batched_forward_grad=check_batched_forward_grad,
        check_forward_ad=check_forward_ad,
        check_backward_ad=check_backward_ad,
        fast_mode=fast_mode,
        masked=masked,
    )
    try:
        _check(func, as_tuple(inputs), options)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable,
    inputs,
    grad_outputs=None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """`gradcheck` of the gradient of `func`, as a function of its inputs and cotangents.

    `grad_outputs` are the cotangents, by default random between -1 and 1 and differentiable
    (`gen_non_contig_grad_outputs`: not contiguous). Else as `gradcheck`
    (torch.autograd.gradgradcheck).
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    for name, flag in (
        ("check_undefined_grad", check_undefined_grad),
        ("check_batched_grad", check_batched_grad),
    ):
        _require(name, flag, "check_rev_over_rev", check_rev_over_rev)
    arguments = as_tuple(inputs)
    if grad_outputs is None:
        outputs = differentiable_outputs(func(*arguments))
        cotangents = tuple(_random_like(o, gen_non_contig_grad_outputs) for o in outputs)
    else:
        cotangents = as_tuple(grad_outputs)
    count = len(cotangents)  # a count of 0 makes both slices below wrong, as in torch
    differentiable = {i for i, _ in required(arguments + cotangents)}

    def gradient(*values):
        # Tensors passed in forward mode have lost requires_grad.
        taken = [v.requires_grad_() if i in differentiable else v for i, v in enumerate(values)]
        outputs = differentiable_outputs(func(*taken[:-count]))
        targets = [v for i, v in enumerate(taken[:-count]) if i in differentiable]
        grads = grad(outputs, targets, taken[-count:], create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradcheck(
        gradient,
        arguments + cotangents,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _require(name: str, flag: bool, other: str, needed: bool) -> None:
    if flag and not needed:
        raise AssertionError(f"Setting {name}=True requires {other} to be True")


def _random_like(output: Tensor, strided: bool) -> Tensor:
    result = creation.empty(tuple(output.shape), dtype=output.dtype)
    (FUNCTIONS["view_as_real"](result) if output.is_complex() else result).uniform_(-1, 1)
    if strided and output.numel() > 1:
        result = FUNCTIONS["repeat_interleave"](result, 2, dim=-1)[..., ::2]
    return result.requires_grad_()


# -- the checks -----------------------------------------------------------------------------


def _check(func: Callable, inputs: tuple, options: Options) -> None:
    _check_inputs(inputs)
    result = func(*inputs)
    outputs = differentiable_outputs(result)
    if any(output.is_sparse for output in outputs):
        raise ValueError(texts.SPARSE_OUTPUT)
    if options.check_backward_ad:
        for comparison in backward_comparisons(func, result, inputs, outputs, options):
            comparison.run()
    if options.check_forward_ad:
        for comparison in forward_comparisons(func, result, inputs, outputs, options):
            comparison.run()
    if options.check_batched_forward_grad:
        _check_batched_forward(func, inputs)
    if not options.check_backward_ad:
        return
    if options.check_batched_grad:
        for i, output in enumerate(outputs):
            _check_batched(inputs, output, i)
    _check_zero_seeds(outputs, inputs, options)
    if options.check_undefined_grad:
        _check_undefined(func, outputs, inputs)


def _check_inputs(inputs: tuple) -> None:
    for i, tensor in required(inputs):
        if tensor.dtype not in (dtypes.float64, dtypes.complex128):
            warnings.warn(texts.PRECISION.format(i), UserWarning, stacklevel=2)
        if any(s <= 0 and n > 1 for s, n in zip(tensor.stride(), tensor.size(), strict=True)):
            raise RuntimeError(texts.OVERLAP.format(i))
    if not required(inputs):
        raise ValueError(texts.NOTHING_REQUIRED)


# -- further requirements on a backward -----------------------------------------------------


def _check_zero_seeds(outputs, inputs, options: Options) -> None:
    """Check that zero cotangents give zero gradients."""
    tensors = [t for _, t in required(inputs)]
    zeros = [o.new_zeros(o.shape) for o in outputs]
    grads = grad(outputs, tensors, zeros, allow_unused=True)
    for gradient in grads:
        if gradient is None:
            continue
        if options.masked:
            zero = FUNCTIONS["allclose"](gradient, creation.zeros_like(gradient))
        else:
            zero = gradient.eq(0).all()
        if not zero:
            raise GradcheckError("backward not multiplied by grad_output")


class UndefinedGrad(Node):
    """Node that replaces every gradient by an undefined one (torch's UndefinedGrad)."""

    __module__ = "builtins"  # as of a C++ class

    def _evaluate(self, grads, form, wanted):
        return [None]


def _undefined(output: Tensor) -> Tensor:
    result = output.detach()
    node = UndefinedGrad()
    node._set_next_edges([gradient_edge(output)])
    node._set_input_metadata([result])
    result._node = node
    return result


def _check_undefined(func, outputs, inputs) -> None:
    """Check that undefined gradients act as zeros: of all outputs together, and of each alone."""
    everything = [_undefined(o) for o in differentiable_outputs(func(*inputs))]
    chosen = [everything]
    if len(everything) > 1:
        for i in range(len(outputs)):
            again = differentiable_outputs(func(*inputs))
            chosen.append([_undefined(o) if i == j else o for j, o in enumerate(again)])
    tensors = [t for _, t in required(inputs)]
    for roots in chosen:
        zeros = [r.new_zeros(r.shape) for r in roots]
        try:
            grads = grad(roots, tensors, zeros, allow_unused=True)
        except RuntimeError as error:
            warnings.warn(texts.UNDEFINED_WARNING, UserWarning, stacklevel=2)
            raise GradcheckError(
                f"Expected backward function to handle undefined output grads. {texts.UNDEFINED}"
            ) from error
        if any(g is not None and not g.eq(0).all() for g in grads):
            warnings.warn(texts.UNDEFINED_WARNING, UserWarning, stacklevel=2)
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                f"undefined or zero. {texts.UNDEFINED}"
            )


# -- batches --------------------------------------------------------------------------------


def _check_batched(inputs, output: Tensor, number: int) -> None:
    """Check that a batch of cotangents gives the results of single passes."""
    tensors = [t for _, t in required(inputs)]
    seeds = [FUNCTIONS["randn_like"](output) for _ in range(2)]
    keep = {"retain_graph": True, "allow_unused": True}
    rows = [_filled(grad(output, tensors, seed, **keep), tensors) for seed in seeds]
    try:
        batch = grad(output, tensors, FUNCTIONS["stack"](seeds), is_grads_batched=True, **keep)
    except RuntimeError as error:
        raise GradcheckError(texts.NOT_BATCHED.format(error, texts.BATCHED)) from error
    for i, expected in enumerate(_stacked(rows)):
        got = creation.zeros_like(expected) if batch[i] is None else batch[i]
        _check_same(got, expected, number, i, texts.BATCHED)


def _check_batched_forward(func, inputs) -> None:
    """Check that a batch of tangents gives the results of single passes; a loop stands in."""
    for position, tensor in required(inputs):
        tangents = [FUNCTIONS["randn_like"](tensor) for _ in range(2)]
        expected, batch = (
            _stacked([_tangents(pushed(func, inputs, {position: t})) for t in tangents])
            for _ in range(2)
        )
        for i, (got, exp) in enumerate(zip(batch, expected, strict=True)):
            _check_same(got, exp, i, i, texts.BATCHED_FORWARD)


def _check_same(got: Tensor, expected: Tensor, output: int, number: int, advice: str) -> None:
    if not FUNCTIONS["allclose"](got, expected):
        text = (
            f"\nFor output {output} and input {number}:\n\n{advice}\n\nGot:\n{got}\n\n"
            f"Expected:\n{expected}\n"
        )
        raise GradcheckError(text.strip())


def _filled(grads, tensors) -> list[Tensor]:
    return [creation.zeros_like(t) if g is None else g for g, t in zip(grads, tensors, strict=True)]


def _tangents(duals) -> list[Tensor]:
    return [creation.zeros_like(p) if t is None else t for p, t in duals]


def _stacked(rows) -> list[Tensor]:
    return [FUNCTIONS["stack"](column) for column in zip(*rows, strict=True)]
