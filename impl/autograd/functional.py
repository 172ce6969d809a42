"""`torch.autograd.functional`: Jacobians and Hessians, whole or multiplied with a vector.

Every function here applies the caller's function to fresh tensors, so that what it captured is no
input, and differentiates the result with `autograd.grad`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl import creation
from impl.applications import (
    CONSTANT,
    HVP,
    JVP,
    STRICT,
    VHP,
    VJP,
    Application,
    as_tuple,
    is_single_element,
    unpacked,
)
from impl.grad import grad
from impl.modes import enable_grad
from impl.operator import FUNCTIONS
from impl.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_FORWARD = "forward-mode"
_STRATEGIES = (_FORWARD, "reverse-mode")
_BAD_STRATEGY = 'Expected strategy to be either "forward-mode" or "reverse-mode".'


def vjp(func: Callable, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """`func(*inputs)`, and the vector `v` (its shape) times the Jacobian (shape of the inputs).

    Raises RuntimeError for a `v` of other structure or sizes or, where the output has not one
    element, without one, and in strict mode for an input without influence; TypeError for what is
    neither a tensor nor a tuple of tensors.
    """
    with enable_grad():
        application = Application("vjp", func, inputs, create_graph, strict)
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
    """`func(*inputs)`, and the Jacobian times the vector `v` (shape of the inputs, its own shape).

    The gradient is linear in its cotangent, and the derivative with respect to the cotangent is
    this product: two backwards stand for forward mode. Errors as `vjp`.
    """
    with enable_grad():
        application = Application("jvp", func, inputs, create_graph, strict)
        v = application.input_vector(v)
        application.run()
        outputs = application.outputs
        cotangents = tuple(creation.zeros_like(o, requires_grad=True) for o in outputs)
        gradients = _gradients(outputs, application.inputs, cotangents, True)
        application.check(gradients, "gradient")
    grads = _gradients(gradients, cotangents, v, create_graph)
    product = application.complete(grads, outputs, JVP)
    return application.results(product, application.many_outputs)


def vhp(func: Callable, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """`func(*inputs)` (one element), and the vector `v` times its Hessian (shapes of the inputs).

    Raises RuntimeError for a function of several outputs or elements; else as `jvp`.
    """
    application, v, jacobian = _differentiated("vhp", func, inputs, v, create_graph, strict)
    grads = _gradients(jacobian, application.inputs, v, create_graph)
    product = application.complete(grads, application.inputs, VHP)
    return application.results(product, application.many_inputs)


def hvp(func: Callable, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """`func(*inputs)` (one element), and its Hessian times the vector `v` (shapes of the inputs).

    Takes one backward more than `vhp`. Errors as `vhp`.
    """
    application, v, jacobian = _differentiated("hvp", func, inputs, v, create_graph, strict)
    inputs = application.inputs
    with enable_grad():
        cotangents = tuple(creation.zeros_like(t, requires_grad=True) for t in inputs)
        twice = _gradients(jacobian, inputs, cotangents, True)
    grads = _gradients(twice, cotangents, v, create_graph)
    product = application.complete(grads, inputs, HVP)
    return application.results(product, application.many_inputs)


def _differentiated(name: str, func, inputs, v, create_graph: bool, strict: bool):
    """The application of a function of one element, the vector, and its recorded gradients."""
    with enable_grad():
        application = Application(name, func, inputs, create_graph, strict)
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
    """The Jacobian of `func` at `inputs`: for each output and input a tensor of both their shapes.

    Nested as (output, input), each level only where a tuple was. Raises RuntimeError in strict
    mode for a pair that is independent, AssertionError for an unknown strategy.
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
        application = Application("jacobian", func, inputs, create_graph, strict)
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
        blocks[0]  # a function without outputs has no Jacobian
        cut = tuple(application.cut(row) for row in blocks)
    return _unpacked_twice(cut, application.many_outputs, application.many_inputs)


def hessian(
    func: Callable,
    inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
):
    """The second derivatives of a function of one element: the Jacobian of its Jacobian.

    A tensor of twice the input's shape, or for a tuple of inputs a tuple of tuples of them. Raises
    RuntimeError for a function of several outputs or elements; else as `jacobian`.
    """
    _, many = as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in _STRATEGIES:
        raise AssertionError(_BAD_STRATEGY)

    def gradients(*arguments):
        if outer_jacobian_strategy == _FORWARD:
            arguments = tuple(t.requires_grad_() for t in arguments)
        inner = Application("hessian", func, (), True, strict)

        def single(*inputs):
            inner.inputs = inputs
            inner.run()
            inner.check_single_element()
            return inner.outputs[0].squeeze()

        result = jacobian(single, arguments, create_graph=True)
        inner.check(result, "jacobian")
        return result

    result = jacobian(gradients, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    # `gradients` returns a tuple in any case.
    return result if many else result[0]


# -- rows of a Jacobian ---------------------------------------------------------------------


def _rows(application: Application, number: int) -> tuple[Tensor, ...]:
    """The Jacobian of one output, one backward for each of its elements."""
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
                gradient = creation.zeros_like(inputs[i])
            elif application.strict and application.create_graph and not gradient.requires_grad:
                raise RuntimeError(CONSTANT.format("jacobian", number))  # not `i`, as in torch
            rows[i].append(gradient)
    stack = FUNCTIONS["stack"]
    return tuple(
        stack(r, dim=0).view(output.size() + t.size()) for r, t in zip(rows, inputs, strict=True)
    )


def _batched_rows(application: Application) -> tuple[tuple[Tensor, ...], ...]:
    """The same for all outputs, by one batched backward."""
    outputs, inputs = application.outputs, application.inputs
    sizes = [o.numel() for o in outputs]
    flat = tuple(o.reshape(-1) for o in outputs)
    grads = _gradients(
        flat, inputs, _basis(outputs), application.create_graph, is_grads_batched=True
    )
    columns = []
    for gradient, tensor in zip(grads, inputs, strict=True):
        if gradient is None:
            gradient = creation.zeros_like(tensor).expand(sum(sizes), *tensor.shape)
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
    """The Jacobian by columns: one forward pass with dual tensors for each input element."""
    inputs, many_inputs = as_tuple(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
            "implemented for `vectorize=True`."
        )
    basis = _basis(inputs)
    count = sum(t.numel() for t in inputs)
    columns: list[list[Tensor]] = []
    many_outputs, primals = False, []
    for k in range(max(count, 1)):  # once at least, for the shapes of the outputs
        tangents = [b[k] if count else b.new_zeros(b.shape[1]) for b in basis]
        tangents = [t.view_as(x) for t, x in zip(tangents, inputs, strict=True)]
        primals, pushed, many_outputs = _pushed(func, inputs, tangents)
        columns.append(pushed)
    stack = FUNCTIONS["stack"]
    rows = []
    for i, primal in enumerate(primals):
        block = _columns([pushed[i] for pushed in columns], primal, stack)[:count]
        pieces = block.split([t.numel() for t in inputs], dim=0)
        # In forward mode the batch counts elements of the inputs, which belong to the end.
        rows.append(
            [
                p.permute(*range(1, p.ndim), 0).reshape((*primal.shape, *t.shape))
                for p, t in zip(pieces, inputs, strict=True)
            ]
        )
    return _unpacked_twice(rows, many_outputs, many_inputs)


def _pushed(func, inputs, tangents):
    """Primals and tangents (or None) of the outputs, and whether they are a tuple."""
    from impl.autograd import forward_ad

    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, t) for x, t in zip(inputs, tangents, strict=True)]
        outputs, many = as_tuple(func(*duals), "outputs", None)
        primals, pushed = [], []
        for output in outputs:
            primal, tangent = forward_ad.unpack_dual(output)
            primals.append(primal)
            pushed.append(tangent)
    return primals, pushed, many


def _columns(tangents: list, primal: Tensor, stack) -> Any:
    """The tangents of one output, one above the other."""
    zeros = creation.zeros_like(primal)
    if all(tangent is None for tangent in tangents):  # one for all, as it comes out of a batch
        return zeros.expand(len(tangents), *primal.shape)
    return stack([zeros if tangent is None else tangent for tangent in tangents])


def _basis(tensors: tuple[Tensor, ...]) -> tuple[Any, ...]:
    """The unit matrix of all elements, cut into one block of columns for each tensor."""
    sizes = [t.numel() for t in tensors]
    blocks, start = [], 0
    for tensor, size in zip(tensors, sizes, strict=True):
        block = tensor.new_zeros(sum(sizes), size)
        block.diagonal(-start).fill_(1)
        blocks.append(block)
        start += size
    return tuple(blocks)


# -- tuples and tensors ---------------------------------------------------------------------


def _unpacked_twice(rows, many_outputs: bool, many_inputs: bool):
    if not many_inputs:
        rows = tuple(row[0] for row in rows)
    return unpacked(rows, many_outputs)


def _gradients(
    outputs, inputs, cotangents, create_graph: bool, retain_graph=None, is_grads_batched=False
):
    """`autograd.grad` that leaves out what has no history; None for what is unused."""
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
