"""Functions over two operands that choose among torch's overloads for tensors and numbers.

Where torch has an overload of its own for a number (`fmod.Scalar` records FmodBackward0,
`fmod.Tensor` FmodBackward1), each is a primitive; the public function chooses by its arguments.
"""

from __future__ import annotations

from impl.core.devices import device
from impl.core.memory_formats import layout
from impl.core.registry import FUNCTIONS
from impl.dispatch.operator import Operator
from impl.tensor.tensor import Tensor

OUT = ", *, Tensor out = None"  # how a signature in an error's text ends


def publish(
    name: str,
    tensors: Operator,
    number: Operator,
    of_number: Operator | None = None,
    *,
    doc: str,
    written: tuple[Operator, Operator] | None = None,
    refuse=None,
) -> None:
    """Publish `name` as function and method, with `out=`, and `name_` which writes in place.

    Args:
        tensors, number, of_number: the primitives for (tensor, tensor), (tensor, number) and
            (number, tensor).
        doc: the function's docstring.
        written: the primitives of the in-place form for a tensor and a number, when they differ.
        refuse: from two numbers, the error for them; None if they are taken.
    """
    for op in (tensors, number, of_number):
        if op is not None:
            op.name = name

    def choose(input, other):
        if isinstance(input, Tensor):
            return tensors if isinstance(other, Tensor) else number
        return tensors if of_number is None else of_number

    def call(input, other, *, out=None):
        if of_number is None and not isinstance(input, Tensor):
            signatures = (f"Tensor input, {kind} other{OUT}" for kind in ("Tensor", "Number"))
            raise refusal(name, (input, other), *signatures)
        if refuse is not None and not (isinstance(input, Tensor) or isinstance(other, Tensor)):
            raise refuse(input, other)
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


def refusal(name: str, given: tuple, *signatures: str, named: dict | None = None) -> TypeError:
    """The error for arguments, and arguments by keyword, that no overload takes."""
    kinds = [_kind(value) for value in given]
    # torch lists keywords from a hash table, which holds the last one first, and ends with a comma.
    kinds += [f"{key}={_kind(value)}" for key, value in reversed((named or {}).items())]
    end = "" if given or not named else ", "
    listed = "".join(f" * ({signature})\n" for signature in signatures)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(kinds)}{end}), "
        f"but expected one of:\n{listed}"
    )


def _kind(value) -> str:
    kind = type(value)
    return f"torch.{kind.__name__}" if kind in (layout, device) else kind.__name__


def of_numbers(name: str, first, second, parameters=("input", "other")) -> TypeError:
    """The error for two numbers where one must be a tensor."""
    a, b = parameters
    kinds = (f"Tensor {a}, Tensor", f"Number {a.replace('input', 'self')}, Tensor")
    signatures = (f"{kind} {b}{OUT}" for kind in (*kinds, f"Tensor {a}, Number"))
    return refusal(name, (first, second), *signatures)


def chosen(
    name: str,
    tensors: Operator,
    number: Operator,
    of_number: Operator,
    *,
    doc: str,
    parameters: tuple[str, str] = ("input", "other"),
):
    """A function, published nowhere, that chooses as that of `publish` does, with `out=`.

    It raises TypeError when neither operand is a tensor.
    """
    for op in (tensors, number, of_number):
        op.name = name

    def call(first, second, *, out=None):
        if isinstance(first, Tensor):
            op = tensors if isinstance(second, Tensor) else number
        elif isinstance(second, Tensor):
            op = of_number
        else:
            raise of_numbers(name, first, second, parameters)
        return op(first, second) if out is None else op.call_out(out, (first, second))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call
