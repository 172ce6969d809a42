"""Functions applied to fresh tensors, for `autograd.functional`, and what `strict` says of them.

The texts and the order of the checks are torch's (torch/autograd/functional.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from impl.core.registry import C
from impl.tensor.tensor import Tensor

STRICT = "This is not allowed in strict mode"
_NO_GRAPH = {
    "output": (
        "Output {} of the user-provided function does not require gradients. The outputs must be "
        "computed in a differentiable manner from the input when running in strict mode."
    ),
    "gradient": (
        "The gradient with respect to input {} is independent of the inputs of the user-provided "
        f"function. {STRICT}."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with "
        f"respect to input {{}} is independent of the input. {STRICT}. You should ensure that "
        "your function is twice differentiable and that the jacobian depends on the inputs (this "
        "would be violated by a linear function for example)."
    ),
}
_NO_PATH = f"The output of the user-provided function is independent of input {{}}. {STRICT}."
CONSTANT = (
    "The {} of the user-provided function is independent of input {}. "
    f"{STRICT} when create_graph=True."
)


class Product(NamedTuple):
    """The messages of `strict` for a product: for a missing entry, and for one without a graph."""

    missing: str
    of: str  # the matrix that is constant if the product does not require grad


VJP = Product(_NO_PATH, "jacobian")
JVP = Product(
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when "
    f"using the double backward trick to compute forward mode gradients. {STRICT}.",
    "jacobian",
)
VHP = Product(
    f"The jacobian of the user-provided function is independent of input {{}}. {STRICT}.",
    "hessian",
)
HVP = Product(
    "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. "
    f"{STRICT} as it prevents from using the double backward trick to replace forward mode AD.",
    "hessian",
)


class FunctionalCall:
    """A function applied to fresh copies of its inputs, and the structure of its results."""

    def __init__(self, name: str, function, inputs, create_graph: bool, strict: bool) -> None:
        self.name = name
        self.function = function
        self.create_graph = create_graph
        self.strict = strict
        self.many_inputs, given = as_tuple(inputs, "inputs", name)
        self.inputs = _fresh(given, create_graph, True)
        self.outputs: tuple[Tensor, ...] = ()
        self.many_outputs = False

    def run(self) -> None:
        """Apply the function; `strict` wants every output to require grad."""
        result = self.function(*self.inputs)
        what = "outputs of the user-provided function"
        self.many_outputs, self.outputs = as_tuple(result, what, self.name)
        self.check(self.outputs, "output")

    def check_single_element(self) -> None:
        """Raise RuntimeError unless the function returned one tensor of one element."""
        if self.many_outputs:
            raise RuntimeError(f"The function given to {self.name} should return a single Tensor")
        if self.outputs[0].numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.name} should contain a "
                "single element"
            )

    def vector(self, v, like: tuple[Tensor, ...], many: bool) -> tuple[Tensor, ...]:
        """The vector of a product, which has the structure and the shapes of `like`."""
        _, vector = as_tuple(v, "v", self.name)
        vector = _fresh(vector, self.create_graph, False)
        if len(vector) != len(like):
            if not many:
                raise RuntimeError("The given v should contain a single Tensor.")
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(vector)}."
            )
        for i, (entry, other) in enumerate(zip(vector, like, strict=True)):
            if entry.size() != other.size():
                where = f"Entry {i} in " if many else ""
                raise RuntimeError(
                    f"{where}v has invalid size: should be {other.size()} but got {entry.size()}."
                )
        return vector

    def input_vector(self, v) -> tuple[Tensor, ...] | None:
        """The vector of a product from the right; None stands for a single one."""
        if v is not None:
            return self.vector(v, self.inputs, self.many_inputs)
        if not is_single_element(self.inputs):
            raise RuntimeError(
                "The vector v can only be None if the input to the user-provided function is a "
                "single Tensor with a single element."
            )
        return None

    def check(self, tensors: Sequence[Tensor | None], what: str) -> None:
        """In strict mode, raise RuntimeError for an output without a path or without
        requires_grad."""
        if not self.strict:
            return
        for i, tensor in enumerate(tensors):
            if tensor is None:
                raise RuntimeError(_NO_PATH.format(i))
            if not tensor.requires_grad:
                raise RuntimeError(_NO_GRAPH[what].format(i))

    def complete(self, grads, like: tuple[Tensor, ...], product: Product) -> tuple[Tensor, ...]:
        """The product with zeros for missing entries; in strict mode an error."""
        result = []
        for i, gradient in enumerate(grads):
            if gradient is None:
                if self.strict:
                    raise RuntimeError(product.missing.format(i))
                gradient = C.zeros_like(like[i])
            elif self.strict and self.create_graph and not gradient.requires_grad:
                raise RuntimeError(CONSTANT.format(product.of, i))
            result.append(gradient)
        return tuple(result)

    def results(self, product: tuple[Tensor, ...], many: bool):
        """The function's output and the product, as the caller gets them."""
        return (
            tuple_postprocess(self.cut(self.outputs), self.many_outputs),
            tuple_postprocess(self.cut(product), many),
        )

    def cut(self, tensors: tuple) -> tuple:
        """Tensors, or tuples of them, without history, unless `create_graph` asks for it."""
        return grad_postprocess(tensors, self.create_graph)


# -- tuples and tensors ---------------------------------------------------------------------


def as_tuple(inp, arg_name: str | None = None, fn_name: str | None = None) -> Any:
    """Whether the argument is a tuple, and it as a tuple; TypeError for all but tensors.

    Without the names that the error tells, the tuple alone, of anything.
    """
    if arg_name is None and fn_name is None:
        return tuple(inp) if isinstance(inp, list | tuple) else (inp,)
    many = isinstance(inp, tuple)
    tensors = inp if many else (inp,)
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            which = f"value at index {i}" if many else f"given {arg_name}"
            raise TypeError(
                f"The {arg_name} given to {fn_name} must be either a Tensor or a tuple of Tensors "
                f"but the {which} has type {type(tensor)}."
            )
    return many, tensors


def grad_postprocess(inputs, create_graph: bool) -> tuple:
    """Tensors, or tuples of them, without history, unless `create_graph` asks for it.

    No tensors at all raise IndexError.
    """
    if not isinstance(inputs[0], Tensor):
        return tuple(grad_postprocess(entry, create_graph) for entry in inputs)
    return inputs if create_graph else tuple(tensor.detach() for tensor in inputs)


def tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """A tuple, or its only entry where `to_unpack` tells that `as_tuple` made the tuple.

    Two flags are those of a tuple of tuples: of the outer one and of the inner ones.
    """
    if isinstance(to_unpack, tuple):
        if len(to_unpack) != 2:
            raise AssertionError("Expected to_unpack tuple to have exactly 2 elements")
        to_unpack, inner = to_unpack
        if not inner:
            res = tuple(entry[0] for entry in res)
    return res if to_unpack else res[0]


def _fresh(tensors: tuple[Tensor, ...], create_graph: bool, requires_grad: bool):
    """New tensors of the same values: connected if there is a way back and it is asked for."""
    return tuple(
        t.view_as(t)
        if create_graph and t.requires_grad
        else t.detach().requires_grad_(requires_grad)
        for t in tensors
    )


def is_single_element(tensors: tuple[Tensor, ...]) -> bool:
    return len(tensors) == 1 and tensors[0].numel() == 1
