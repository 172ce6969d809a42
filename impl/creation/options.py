"""What every factory takes: sizes, dtype, device, pin_memory, requires_grad."""

from __future__ import annotations

import numpy as np

from impl import dtypes
from impl.devices import check_device
from impl.dtypes import BY_NUMPY
from impl.operator import FUNCTIONS, new
from impl.sizes import sizes_of
from impl.tensor import Tensor


def publish(factory):
    """Decorate a function of the torch namespace."""
    FUNCTIONS[factory.__name__] = factory
    return factory


def check_options(device=None, pin_memory=False, layout=None) -> None:
    """Check the options every factory takes. Raises as torch without an accelerator does."""
    if device is not None:
        check_device(device)
    if pin_memory:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
            "allocator is available on this system."
        )


def finish(raw, requires_grad: bool, strides=None, name: str = "tensor") -> Tensor:
    """A leaf over a new raw value; errors as `require`, in which `name` is the factory's."""
    tensor = new(raw if raw.ndim else raw[()], strides)
    if requires_grad:
        require(tensor, requires_grad, name)
    return tensor


def require(tensor: Tensor, requires_grad, name: str) -> Tensor:
    """The tensor with the flag that a factory was given.

    Raises TypeError for a flag that is no bool, RuntimeError for an integer tensor that would
    require grad.
    """
    if not isinstance(requires_grad, bool):
        raise TypeError(
            f"{name}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}"
        )
    if requires_grad:
        if BY_NUMPY[tensor._raw.dtype].category < dtypes.FLOATING:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        tensor._requires_grad = True
    return tensor


def size_of(name: str, size, named=None) -> tuple[int, ...]:
    """The sizes a factory was given, one by one, as a sequence, or by keyword (`named`).

    Raises TypeError for sizes that are missing or no integers, RuntimeError for negative ones.
    """
    if named is not None:
        size = (named,)
    elif not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    if len(size) == 1 and isinstance(size[0], Tensor):
        size = (int(size[0].item()),)
    first = size[0] if size else ()
    if not isinstance(first, (tuple, list)) and not hasattr(first, "__index__"):
        raise TypeError(
            f"{name}(): argument 'size' (position 1) must be tuple of ints, not "
            f"{type(first).__name__}"
        )
    result = sizes_of(size)
    for n in result:
        if n < 0:
            if name == "zeros":
                raise RuntimeError(f"{name}: Dimension size must be non-negative.")
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(result)}"
            )
    return result


def type_of(dtype) -> np.dtype:
    """The NumPy dtype of a factory's `dtype`, the default one for None."""
    return (dtypes.get_default_dtype() if dtype is None else dtype).numpy
