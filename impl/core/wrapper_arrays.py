"""WrapperArray: the array of a wrapper subclass, sizes and strides over no memory.

It is as a MetaArray, on the CPU: what a program sees of the tensor is that of any other, and a
function that would compute with it, without asking the class of the tensor, raises NeedsElements.
"""

from __future__ import annotations

from impl.core.meta_arrays import MetaArray, meta_strided


class WrapperArray(MetaArray):
    """The array of a tensor without memory whose class is asked for each operator."""

    __slots__ = ()


def wrapper_array(shape, dtype, strides) -> WrapperArray:
    """A WrapperArray with strides in elements, None for row-major ones."""
    made = meta_strided(shape, dtype, strides)
    return WrapperArray(made.shape, made.dtype, None, 0, made.strides)
