"""Functions over two operands that choose among torch's overloads for tensors and numbers.

Where torch has an overload of its own for a number (`fmod.Scalar` records FmodBackward0,
`fmod.Tensor` FmodBackward1), each is a primitive; the public function chooses by its arguments.
"""

from __future__ import annotations

from impl.operator import FUNCTIONS, Operator
from impl.tensor import Tensor


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
        return op(input, other) if out is None else op.into(out, (input, other))

    in_tensors, in_number = written or (tensors, number)

    def write(input, other):
        return (in_tensors if isinstance(other, Tensor) else in_number).inplace(input, other)

    for spelled, made in ((name, call), (name + "_", write)):
        made.__name__ = made.__qualname__ = spelled
        made.__doc__ = doc if made is call else f"`{name}` in place."
        FUNCTIONS[spelled] = made
        setattr(Tensor, spelled, made)
