"""Functions over two operands that choose among torch's overloads for tensors and numbers.

Where torch has an overload of its own for a number (`fmod.Scalar` records FmodBackward0,
`fmod.Tensor` FmodBackward1), each is a primitive; the public function chooses by its arguments.
"""

from __future__ import annotations

from impl.core.registry import FUNCTIONS
from impl.dispatch.operator import Operator
from impl.tensor.tensor import Tensor


def publish(
    name: str,
    tensors: Operator,
    number: Operator,
    of_number: Operator | None = None,
    *,
    doc: str,
    written: tuple[Operator, Operator] | None = None,
) -> None:
    """Publish `name` as function and method, with `out=`, and `name_` which writes in place.

    Args:
        tensors, number, of_number: the primitives for (tensor, tensor), (tensor, number) and
            (number, tensor).
        doc: the function's docstring.
        written: the primitives of the in-place form for a tensor and a number, when they differ.
    """
    for op in (tensors, number, of_number):
        if op is not None:
            op.name = name

    def choose(input, other):
        if isinstance(input, Tensor):
            return tensors if isinstance(other, Tensor) else number
        return tensors if of_number is None else of_number

    def call(input, other, *, out=None):
        op = choose(input, other)
        return op(input, other) if out is None else op.call_out(out, (input, other))

    in_tensors, in_number = written or (tensors, number)

    def write(input, other):
        return (in_tensors if isinstance(other, Tensor) else in_number).inplace(input, other)

    for spelled, made in ((name, call), (name + "_", write)):
        made.__name__ = made.__qualname__ = spelled
        made.__doc__ = doc if made is call else f"`{name}` in place."
        FUNCTIONS[spelled] = made
        setattr(Tensor, spelled, made)


def chosen(
    name: str,
    tensors: Operator,
    number: Operator,
    of_number: Operator,
    *,
    doc: str,
):
    """A function, published nowhere, that chooses as that of `publish` does, with `out=`."""
    for op in (tensors, number, of_number):
        op.name = name

    def call(first, second, *, out=None):
        if isinstance(first, Tensor):
            op = tensors if isinstance(second, Tensor) else number
        else:
            op = of_number
        return op(first, second) if out is None else op.call_out(out, (first, second))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call
