"""The layout of results: strides as TensorIterator chooses them, row-major, or the kernel's own."""

from __future__ import annotations

from impl.core.meta_arrays import MetaArray, meta_strided, row_major
from impl.core.strides import contiguous_strides, empty_strided, strides_of
from impl.core.tensor_iterator import elementwise_strides
from impl.dispatch.type_promotion import TypePromotion, common_dtype
from impl.tensor.allocation import dense_strides
from impl.tensor.tensor import Tensor, new


class OutputLayout(TypePromotion):
    """Makes tensors of a kernel's results.

    Those of element-wise operators lie as their operands do, which may be permuted; `fresh` results
    keep the strides that the kernel gave them, unless a function of the arguments says how they are
    `laid_out_as`; all others are row-major.
    """

    elementwise: bool
    _casts: bool  # whether operands are cast to their common dtype first
    fresh: bool
    _layouts = None  # from the arguments, the (shape, strides) that the result's layout follows

    def laid_out_as(self, layouts):
        """Register the function from the arguments to the (shape, strides) pairs that the layout of
        an element-wise or fresh result follows, by default those of all operands; or to its
        strides, None for row-major."""
        self._layouts = layouts
        return layouts

    def _output(self, raw, raws, strided: bool, args) -> Tensor:
        if self.elementwise:
            if (strided or not raw.size) and raw.ndim:  # of empty operands, see `dense_meta`
                return new(*self._laid_out(raw, args))
        elif self.fresh and self._layouts is not None and raw.ndim:
            return new(*self._laid_out(raw, args))
        elif raw.ndim > 1 and self.fresh:
            return new(raw, strides_of(raw))
        elif raw.ndim > 1 and not raw.flags.c_contiguous:
            raw = row_major(raw)
        return new(raw)

    def _laid_out(self, raw, args):
        strides = self._elementwise_strides(raw, args)
        if strides is None:
            return row_major(raw) if raw.ndim else raw, None
        if type(raw) is MetaArray:
            return meta_strided(raw.shape, raw.dtype, strides), strides
        laid = empty_strided(raw.shape, strides, raw.dtype)
        laid[...] = raw
        return laid, strides

    def _elementwise_strides(self, raw, args) -> tuple[int, ...] | None:
        """The strides of an element-wise result; None for row-major."""
        if self._layouts is not None:
            operands = self._layouts(args)
            if not isinstance(operands, list):
                return operands
        else:
            present = [args[i] for i in self.tensor_positions if args[i] is not None]
            common = common_dtype(raw, present)
            operands = [
                (a._raw.shape, self._strides_of_operand(a, common))
                if isinstance(a, Tensor)
                else ((), ())
                for a in present
            ]
        return elementwise_strides(raw.shape, operands)

    def _strides_of_operand(self, tensor: Tensor, dtype) -> tuple[int, ...]:
        """A tensor's strides, or if it has to be cast those of its copy."""
        strides = tensor.stride()
        if not self._casts or tensor._raw.dtype == dtype:
            return strides
        return dense_strides(tensor) or contiguous_strides(tensor._raw.shape)
