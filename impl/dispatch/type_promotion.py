"""Type promotion: the common dtype of operands (c10's promoteTypes, ATen's result_type)."""

from __future__ import annotations

import numpy as np

from impl.core import messages
from impl.core.dims import wrap_dims
from impl.core.dtypes import (
    CATEGORY,
    COMPLEX,
    FLOATING,
    HALF_COMPLEX,
    REDUCED,
    bfloat16,
    category_of_number,
    float16,
    float32,
    get_default_dtype,
    result_dtype,
)
from impl.core.sizes import broadcast_shapes
from impl.core.warning import warn_once
from impl.core.zero_arrays import promoted
from impl.dispatch.derivatives import DerivativeInfo
from impl.dispatch.facts import (
    NoComplex,
)
from impl.tensor.tensor import Tensor, requires_grad

_BFLOAT16, _FLOAT16 = bfloat16.numpy, float16.numpy
_NUMBERS = (bool, int, float, complex, np.generic)


class TypePromotion(DerivativeInfo):
    """Casts the operands of an operator to their common dtype, before its kernel runs."""

    promote: str | None  # None, "arithmetic" or "float"; see `impl.dispatch.definition.operator`
    complex: NoComplex | None
    elementwise: bool
    exact_number: bool
    validated_numbers: tuple[str, ...]

    def _refuse_complex(self, raws) -> None:
        present = [raws[i] for i in self.tensor_positions if raws[i] is not None]
        try:
            d = result_dtype(present)
        except NotImplementedError:  # complex numbers of half precision, which NumPy lacks
            if self.complex is None or self.complex.kernel is None:
                raise
            brain = any(getattr(value, "dtype", None) == _BFLOAT16 for value in present)
            legacy = HALF_COMPLEX[bfloat16 if brain else float16][1]
            for _ in range(2):
                warn_once(messages.experimental(legacy))
            text = f"\"{self.complex.kernel}\" not implemented for '{legacy}'"
            raise NotImplementedError(text) from None
        if d.category == COMPLEX and self.complex is not None:
            self._look_before_kernel(present, raws)
            raise self.complex.refusal(d)

    def _look_before_kernel(self, present, raws) -> None:
        """Raise the errors that torch raises before the kernel refuses complex numbers."""
        assert self.complex is not None
        if self.elementwise and self.complex.kernel is not None:
            broadcast_shapes(*map(np.shape, present))
        place = self.position.get("dim")
        if place is not None and (self.complex.kernel is not None or self.complex.after_dims):
            wrap_dims(raws[place], present[0].ndim)

    def _promote(self, raws):
        """Cast the operands to their common dtype; returns the result's if that is another one."""
        positions = self.tensor_positions
        first = None
        for i in positions:
            value = raws[i]
            if value is None:
                continue
            d = getattr(value, "dtype", None)
            if d is None:
                category = category_of_number(value)
                if first is None or category > CATEGORY[first] or CATEGORY[first] < FLOATING:
                    break
            elif first is None:
                first = d
            elif d is not first:
                break
            # NumPy takes a Python number next to bfloat16 for a float32.
            if first is _BFLOAT16 or (first is _FLOAT16 and self.exact_number):
                break
        else:
            if self.promote != "float" or CATEGORY[first] >= FLOATING:
                return None
        present = [raws[i] for i in positions if raws[i] is not None]
        target = result_dtype(present)
        if self.promote == "float" and target.category < FLOATING:
            target = get_default_dtype()
        rounded = None
        if self.exact_number and target.numpy in REDUCED and np.size(raws[positions[-1]]) == 1:
            rounded, target = target.numpy, float32
        for i in positions:
            value = raws[i]
            if value is None:
                continue
            if isinstance(value, (np.ndarray, np.generic)):
                if value.dtype != target.numpy:
                    raws[i] = promoted(value, target.numpy)
            else:
                # Through an array, so that an integer out of range wraps around as torch's does.
                raws[i] = np.asarray(value).astype(target.numpy)[()]
        return rounded

    def _with_numbers(self, args):
        """The arguments with numbers for 0-dim tensors in the place of one.

        Raises TypeError for a tensor that has dimensions or requires grad.
        """
        for name in self.validated_numbers:
            place = self.position[name]
            value = args[place]
            if isinstance(value, Tensor):
                if value._raw.ndim or requires_grad(value):
                    raise TypeError(
                        f"{self.name}(): argument '{name}' must be Number, not "
                        f"{type(value).__name__}"
                    )
                args = (*args[:place], value.item(), *args[place + 1 :])
        return args

    def promotes_in_backward(self, args, output) -> bool:
        """Whether NumPy would promote the formulas' arguments in another way than torch does.

        It knows no weak tensors without dimensions, rounds numbers to half precision, and makes
        doubles of floats and integers.
        """
        if self.promote is None:
            return False
        dtype = output._raw.dtype
        for i in self.tensor_positions:
            value = args[i]
            if isinstance(value, Tensor):
                kind = value._raw.dtype
                if kind is not dtype and (
                    not value._raw.ndim
                    or dtype in REDUCED
                    or (kind.kind in "iu" and np.promote_types(kind, dtype) is not dtype)
                ):
                    return True
            elif value is not None and dtype in REDUCED:
                return True
        return False


def common_dtype(raw, operands) -> np.dtype:
    """The dtype that the operands of a pointwise operator are cast to: that of the result `raw`,
    but comparisons return bool."""
    if raw.dtype != np.bool_:
        return raw.dtype
    return result_dtype([a._raw if isinstance(a, Tensor) else a for a in operands]).numpy
