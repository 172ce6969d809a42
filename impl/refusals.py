"""What torch does not have, refused in its words: kernels for some dtypes, some derivatives."""

from __future__ import annotations

from impl.dtypes import BY_NUMPY, dtype


def not_implemented(kernel: str, d: dtype) -> NotImplementedError:
    """torch's error for a dtype that its kernel of that name was not compiled for."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{d.legacy}'")


def refuse_bool(value, kernel: str) -> None:
    """Raise NotImplementedError, with torch's name of the kernel, for a bool value."""
    if value.dtype.kind == "b":
        raise not_implemented(kernel, BY_NUMPY[value.dtype])


def refuse_integers(value, kernel: str) -> None:
    """Raise NotImplementedError, with torch's name of the kernel, for integers and bools."""
    if value.dtype.kind in "iub":
        raise not_implemented(kernel, BY_NUMPY[value.dtype])


def no_derivative(name: str):
    """A formula for the operator `name`, which torch records but cannot differentiate.

    Raises RuntimeError when it runs.
    """

    def refuse(F, grad):
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return refuse
