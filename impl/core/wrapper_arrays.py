"""WrapperArray: the array of a wrapper subclass, sizes and strides over no memory.

It is as a MetaArray, on the CPU, so that the tensor has the attributes of any other. Operators ask
the class of the tensor and compute nothing with it, so a function that does raises.
"""

from __future__ import annotations

from impl.core.meta_arrays import MetaArray, NeedsElements, meta_strided


class WrapperArray(MetaArray):
    """The array of a tensor without memory whose class is asked for each operator."""

    __slots__ = ()

    def _refuse(self, *args, **settings):
        raise NeedsElements("a function that does not ask the class of a tensor without memory")

    __array__ = __bool__ = __float__ = __int__ = __index__ = __complex__ = _refuse
    __array_ufunc__ = item = tolist = tobytes = nonzero = __iter__ = _refuse


def wrapper_array(shape, dtype, strides) -> WrapperArray:
    """A WrapperArray with strides in elements, None for row-major ones."""
    made = meta_strided(shape, dtype, strides)
    return WrapperArray(made.shape, made.dtype, None, 0, made.strides)
