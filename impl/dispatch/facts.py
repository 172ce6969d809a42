"""Records of facts that an operator states in its definition (`impl.dispatch.definition`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from impl.core.dtypes import dtype
from impl.dispatch.not_implemented import not_implemented

# How autocast casts the operands of an operator in a block: to the block's dtype, to float32 at
# least, or to the widest dtype among them (the policies of ATen's autocast_mode.h).
CastPolicy = Literal["lower_precision_fp", "fp32", "promote"]


@dataclass(frozen=True)
class NoComplex:
    """How torch refuses complex numbers.

    Attributes:
        kernel: the name of the kernel in "… not implemented for 'ComplexFloat'"; for operators
            whose own kernel refuses no dtype.
        text: the message, where torch has another one; the dtype takes the place of {}.
        error: the class of that error.
        after_dims: whether torch looks at the dimensions before, as it does wherever a `kernel`
            refuses.
        derivative: the name of the operator in the error of one that computes with complex numbers
            but is not recorded for them.
    """

    kernel: str | None = None
    text: str | None = None
    error: type[Exception] = NotImplementedError
    derivative: str | None = None
    after_dims: bool = False

    @property
    def refuses(self) -> bool:
        """Whether the operator refuses to compute."""
        return self.derivative is None

    def refusal(self, d: dtype) -> Exception:
        """The error for operands whose common dtype is complex."""
        if self.kernel:
            return not_implemented(self.kernel, d)
        return self.error((self.text or "").format(d.legacy))

    def check_derivative(self) -> None:
        """Raise NotImplementedError if the operator is not recorded for complex outputs."""
        if self.derivative is not None:
            raise NotImplementedError(
                f"{self.derivative} does not support automatic differentiation for outputs with "
                "complex dtype."
            )


@dataclass(frozen=True)
class MemoryOverlap:
    """Which overlap of memory a write in place or to `out=` forbids (ATen's MemoryOverlap).

    Attributes:
        within: elements of the target may share memory: True, or the (name, example) of a warning.
        disjoint: no operand may share any memory with the target; "late": checked after the
            kernel, which looks at shapes first. Otherwise operands must not overlap it in part.
        operands: which operands are checked: "others" than the first, the "second" alone, "all",
            or "none".
        resolves: tensors with the conj or neg bit are copied before the operator sees them, so that
            they share nothing.
        copied: the first operand is copied to `out=`, which it must not overlap in part.
        preceded: the check of the raw arguments that comes before that of the target's memory.
    """

    within: bool | tuple[str, str] = False
    disjoint: bool | Literal["late"] = False
    operands: Literal["others", "second", "all", "none"] = "others"
    resolves: bool = True
    copied: bool = False
    preceded: Callable[..., object] | None = None


@dataclass(frozen=True)
class SavedAs:
    """The attributes `_saved_<name>` of a node, where they differ from the usual.

    Attributes:
        renamed: torch's name by the name of the formula's parameter; None for the usual. A name of
            None hides the value.
        parts: the endings under which sizes, strides and dimensions of an argument are shown.
        numbers_as_tensors: numbers in the place of a tensor are wrapped as one.
        dim_as_tuple: `dim` is a tuple even if one was given.
        as_needed: a tensor is saved for the gradients that are asked for, and no others
            (wrap_opt_if of derivatives.yaml).
    """

    renamed: Mapping[str, str | None] | None = None
    parts: tuple[str, ...] = ("_sym_sizes", "_sym_strides", "_dim")
    numbers_as_tensors: bool = True
    dim_as_tuple: bool = False
    as_needed: bool = False


USUAL_OVERLAP, USUAL_NAMES = MemoryOverlap(), SavedAs()
