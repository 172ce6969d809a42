"""The names of ATen's overloads of operators in place, which errors of transforms show."""

from __future__ import annotations

from impl.tensor.tensor import Tensor

_PARSED = {
    "fill_scalar_inplace": "fill_.Scalar",
    "fill_tensor_inplace": "fill_.Tensor",
    "masked_fill_scalar": "masked_fill_.Scalar",
    "masked_fill_tensor": "masked_fill_.Tensor",
    "index_fill_scalar": "index_fill_.int_Scalar",
    "index_fill_tensor": "index_fill_.int_Tensor",
    "bernoulli_drawn": "bernoulli_.float",
}
_TENSOR = {"add", "sub", "mul", "div", "floor_divide"}  # which take a number as a tensor, too
_SCALAR_OR_TENSOR = {
    *("eq", "ne", "lt", "le", "gt", "ge", "pow", "fmod", "remainder", "lerp", "bitwise_and"),
    *("bitwise_or", "bitwise_xor"),
}


def overload_of(name: str, args: tuple) -> str:
    """The overload of the operator in place with this name that takes these arguments."""
    if name in _PARSED:
        return _PARSED[name]
    written = name.removesuffix("_drawn") + "_"
    if name in _TENSOR:
        return f"{written}.Tensor"
    if name in _SCALAR_OR_TENSOR:
        return f"{written}.{'Tensor' if isinstance(args[-1], Tensor) else 'Scalar'}"
    return written
