"""`torch.autograd.functional`: Jacobians and Hessians, and their products with vectors.

Every function here applies the caller's function to fresh tensors, so that captured tensors are not
inputs, and differentiates the result with `autograd.grad`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from impl.autograd import forward_ad
from impl.autograd._functional import (
    CONSTANT,
    HVP,
    JVP,
    STRICT,
    VHP,
    VJP,
    FunctionalCall,
    is_single_element,
)
from impl.autograd._functional import as_tuple as _as_tuple
from impl.autograd._functional import grad_postprocess as _grad_postprocess
from impl.autograd._functional import tuple_postprocess as _tuple_postprocess
from impl.core.grad_mode import enable_grad
from impl.core.registry import C
from impl.engine.backward import grad
from impl.tensor.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_FORWARD = "forward-mode"
_STRATEGIES = (_FORWARD, "reverse-mode")
_BAD_STRATEGY = 'Expected strategy to be either "forward-mode" or "reverse-mode".'


def vjp(func: Callable, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """`func(*inputs)`, and the vector-Jacobian product with `v` (shape of the output).

    Raises RuntimeError for a `v` of other structure or sizes, for an output of several elements
    without `v`, and in strict mode for an input that the output does not depend on; TypeError for
    arguments or results other than a tensor or a tuple of tensors.
    """
    with enable_grad():
        application = FunctionalCall("vjp", func, inputs, create_graph, strict)
        application.run()
        outputs = application.outputs
        if v is not None:
            v = application.vector(v, outputs, application.many_outputs)
        elif not is_single_element(outputs):
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single "
                "Tensor with a single element."
            )
    grads = _gradients(outputs, application.inputs, v, create_graph)
    product = application.complete(grads, application.inputs, VJP)
    return application.results(product, application.many_inputs)


def jvp(func: Callable, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """`func(*inputs)`, and the Jacobian-vector product with `v` (shape of the inputs).

    Computed by the double-backward trick: the vector-Jacobian product is linear in its cotangent,
    and its derivative with respect to the cotangent is this product. Errors as `vjp`.
    """
    with enable_grad():
        application = FunctionalCall("jvp", func, inputs, create_graph, strict)
        v = application.input_vector(v)
        application.run()
        outputs = application.outputs
        cotangents = tuple(C.zeros_like(o, requires_grad=True) for o in outputs)
        gradients = _gradients(outputs, application.inputs, cotangents, True)
        application.check(gradients, "gradient")
    grads = _gradients(gradients, cotangents, v, create_graph)
    product = application.complete(grads, outputs, JVP)
    return application.results(product, application.many_outputs)


def vhp(func: Callable, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """`func(*inputs)` (one element), and the vector-Hessian product with `v` (shape of the inputs).

    Raises RuntimeError for a function with several outputs or elements; else as `jvp`.
    """
    application, v, jacobian = _differentiated("vhp", func, inputs, v, create_graph, strict)
    grads = _gradients(jacobian, application.inputs, v, create_graph)
    product = application.complete(grads, application.inputs, VHP)
    return application.results(product, application.many_inputs)


def hvp(func: Callable, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """`func(*inputs)` (one element), and the Hessian-vector product with `v` (shape of the inputs).

    Takes one backward more than `vhp`. Errors as `vhp`.
    """
    application, v, jacobian = _differentiated("hvp", func, inputs, v, create_graph, strict)
    inputs = application.inputs
    with enable_grad():
        cotangents = tuple(C.zeros_like(t, requires_grad=True) for t in inputs)
        twice = _gradients(jacobian, inputs, cotangents, True)
    grads = _gradients(twice, cotangents, v, create_graph)
    product = application.complete(grads, inputs, HVP)
    return application.results(product, application.many_inputs)


def _differentiated(name: str, func, inputs, v, create_graph: bool, strict: bool):
    """The call of a function of one element, the vector, and the gradients, which are recorded."""
    with enable_grad():
        application = FunctionalCall(name, func, inputs, create_graph, strict)
        v = application.input_vector(v)
        application.run()
        application.check_single_element()
        jacobian = _gradients(application.outputs, application.inputs, None, True)
        application.check(jacobian, "jacobian")
    return application, v, jacobian


def jacobian(
    func: Callable,
    inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
):
    """The Jacobian of `func` at `inputs`: a tensor of shape (*output, *input) for each pair.

    Nested as (output, input); a level is a tuple only if the outputs or inputs are one. Raises
    RuntimeError in strict mode for an independent pair, AssertionError for an unknown strategy.
    """
    if strategy not in _STRATEGIES:
        raise AssertionError(
            f"{_BAD_STRATEGY} Hint: If your function has more outputs than inputs, "
            '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == _FORWARD:
        _check_forward(create_graph, strict)
        return _forward_jacobian(func, inputs, vectorize)
    with enable_grad():
        application = FunctionalCall("jacobian", func, inputs, create_graph, strict)
        application.run()
        if vectorize:
            if strict:
                raise RuntimeError(
                    "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are "
                    "not supported together. Please either set `strict=False` or "
                    "`vectorize=False`."
                )
            blocks = _batched_rows(application)
        else:
            blocks = tuple(_rows(application, i) for i in range(len(application.outputs)))
        result = _grad_postprocess(blocks, create_graph)
    return _tuple_postprocess(result, (application.many_outputs, application.many_inputs))


def hessian(
    func: Callable,
    inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
):
    """The Hessian of a function of one element: the Jacobian of its Jacobian.

    A tensor of shape (*input, *input), or for a tuple of inputs a tuple of tuples of them. Raises
    RuntimeError for a function with several outputs or elements; else as `jacobian`.
    """
    many, _ = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in _STRATEGIES:
        raise AssertionError(_BAD_STRATEGY)

    def gradients(*arguments):
        if outer_jacobian_strategy == _FORWARD:
            arguments = tuple(t.requires_grad_() for t in arguments)
        inner = FunctionalCall("hessian", func, (), True, strict)

        def single(*inputs):
            inner.inputs = inputs
            inner.run()
            inner.check_single_element()
            return inner.outputs[0].squeeze()

        result = jacobian(single, arguments, create_graph=True)
        inner.check(result, "jacobian")
        return result

    result = jacobian(gradients, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    # `gradients` always returns a tuple.
    return result if many else result[0]


# -- rows of a Jacobian ---------------------------------------------------------------------


def _rows(application: FunctionalCall, number: int) -> tuple[Tensor, ...]:
    """The Jacobian of one output, by one backward for each of its elements."""
    output, inputs = application.outputs[number], application.inputs
    rows: list[list[Tensor]] = [[] for _ in inputs]
    for j in range(output.numel()):
        element = output.reshape(-1)[j]
        grads = _gradients((element,), inputs, None, application.create_graph, retain_graph=True)
        for i, gradient in enumerate(grads):
            if gradient is None:
                if application.strict:
                    raise RuntimeError(
                        f"Output {number} of the user-provided function is independent of input "
                        f"{i}. {STRICT}."
                    )
                gradient = C.zeros_like(inputs[i])
            elif application.strict and application.create_graph and not gradient.requires_grad:
                raise RuntimeError(CONSTANT.format("jacobian", number))  # not `i`, as in torch
            rows[i].append(gradient)
    stack = C.stack
    return tuple(
        stack(r, dim=0).view(output.size() + t.size()) for r, t in zip(rows, inputs, strict=True)
    )


def _batched_rows(application: FunctionalCall) -> tuple[tuple[Tensor, ...], ...]:
    """The Jacobians of all outputs, by one batched backward (`is_grads_batched`)."""
    outputs, inputs = application.outputs, application.inputs
    sizes = [o.numel() for o in outputs]
    flat = tuple(o.reshape(-1) for o in outputs)
    grads = _gradients(
        flat,
        inputs,
        _construct_standard_basis_for(outputs, [t.numel() for t in outputs]),
        application.create_graph,
        is_grads_batched=True,
    )
    columns = []
    for gradient, tensor in zip(grads, inputs, strict=True):
        if gradient is None:
            gradient = C.zeros_like(tensor).expand(sum(sizes), *tensor.shape)
        pieces = gradient.split(sizes, dim=0)
        columns.append(
            [p.view(o.shape + tensor.shape) for p, o in zip(pieces, outputs, strict=True)]
        )
    return tuple(zip(*columns, strict=True))


def _check_forward(create_graph: bool, strict: bool) -> None:
    for flag, name in ((create_graph, "create_graph"), (strict, "strict")):
        if flag:
            text = (
                f"torch.autograd.functional.jacobian: `{name}=True` and "
                '`strategy="forward-mode"` are not supported together (yet). Please either set '
                f'`{name}=False` or `strategy="reverse-mode"`.'
            )
            raise (NotImplementedError if name == "create_graph" else RuntimeError)(text)


def _forward_jacobian(func, inputs, vectorize: bool):
    """The Jacobian by columns: one pass in forward mode for each element of the inputs."""
    many_inputs, inputs = _as_tuple(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
            "implemented for `vectorize=True`."
        )
    basis = _construct_standard_basis_for(inputs, [t.numel() for t in inputs])
    count = sum(t.numel() for t in inputs)
    columns: list[list[Tensor]] = []
    many_outputs, primals = False, []
    for k in range(max(count, 1)):  # at least once, for the shapes of the outputs
        tangents = [b[k] if count else b.new_zeros(b.shape[1]) for b in basis]
        tangents = [t.view_as(x) for t, x in zip(tangents, inputs, strict=True)]
        primals, pushed, many_outputs = _pushed(func, inputs, tangents)
        columns.append(pushed)
    stack = C.stack
    rows = []
    for i, primal in enumerate(primals):
        block = _columns([pushed[i] for pushed in columns], primal, stack)[:count]
        pieces = block.split([t.numel() for t in inputs], dim=0)
        # In forward mode the first dimension counts elements of the inputs; theirs come last.
        rows.append(
            [
                p.permute(*range(1, p.ndim), 0).reshape((*primal.shape, *t.shape))
                for p, t in zip(pieces, inputs, strict=True)
            ]
        )
    return _tuple_postprocess(rows, (many_outputs, many_inputs))


def _pushed(func, inputs, tangents):
    """Primals and tangents (or None) of the outputs, and whether the output is a tuple."""
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, t) for x, t in zip(inputs, tangents, strict=True)]
        many, outputs = _as_tuple(func(*duals), "outputs", None)
        primals, pushed = [], []
        for output in outputs:
            primal, tangent = forward_ad.unpack_dual(output)
            primals.append(primal)
            pushed.append(tangent)
    return primals, pushed, many


def _columns(tangents: list, primal: Tensor, stack) -> Any:
    """The tangents of one output, stacked; None stands for zeros."""
    zeros = C.zeros_like(primal)
    if all(tangent is None for tangent in tangents):  # as a batched pass in torch
        return zeros.expand(len(tangents), *primal.shape)
    return stack([zeros if tangent is None else tangent for tangent in tangents])


def _construct_standard_basis_for(
    tensors: tuple[Tensor, ...], tensor_numels: Sequence[int]
) -> tuple[Any, ...]:
    """The identity matrix over all elements, as one block of columns for each tensor.

    Minimisers import it under this name of torch's.
    """
    sizes = tensor_numels
    blocks, start = [], 0
    for tensor, size in zip(tensors, sizes, strict=True):
        block = tensor.new_zeros(sum(sizes), size)
        block.diagonal(-start).fill_(1)
        blocks.append(block)
        start += size
    return tuple(blocks)


# -- tuples and tensors ---------------------------------------------------------------------


def _gradients(
    outputs, inputs, cotangents, create_graph: bool, retain_graph=None, is_grads_batched=False
):
    """`autograd.grad` without the outputs that require no grad; None for unused inputs."""
    if cotangents is None:
        cotangents = (None,) * len(outputs)
    pairs = [
        (out, cotangent)
        for out, cotangent in zip(outputs, cotangents, strict=True)
        if out is not None and out.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        [out for out, _ in pairs],
        inputs,
        [cotangent for _, cotangent in pairs],
        retain_graph=retain_graph,
        create_graph=create_graph,
        allow_unused=True,
        is_grads_batched=is_grads_batched,
    )
