"""Padding as layers: with a constant, reflected, repeated at the edge, or around."""

from __future__ import annotations

from impl.nn import functional as F
from impl.nn.modules.module import Module
from impl.tensor import Tensor


class _Pad(Module):
    """Pads the last `spatial` dimensions; one number stands for all sides."""

    spatial: int
    mode: str

    def __init__(self, padding) -> None:
        super().__init__()
        sides = 2 * self.spatial
        self.padding = (padding,) * sides if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPad(_Pad):
    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        rank, least = input._raw.ndim, self.spatial + 1
        if rank not in (least, least + 1):
            raise ValueError(f"expected {least}D or {least + 1}D input (got {rank}D input)")
        return super().forward(input)


def _layer(base: type[_Pad], name: str, spatial: int, how: str, **more) -> type:
    text = f"The last {spatial} dimension(s) padded {how} (torch.nn.{name})."
    body = {"spatial": spatial, "__doc__": text, "__module__": __name__, **more}
    return type(name, (base,), body)


_CONSTANT, _ZERO, _AROUND = "with a value", "with zeros", "from the other end"
ConstantPad1d = _layer(_ConstantPad, "ConstantPad1d", 1, _CONSTANT)
ConstantPad2d = _layer(_ConstantPad, "ConstantPad2d", 2, _CONSTANT)
ConstantPad3d = _layer(_ConstantPad, "ConstantPad3d", 3, _CONSTANT)
ZeroPad1d = _layer(_ZeroPad, "ZeroPad1d", 1, _ZERO)
ZeroPad2d = _layer(_ZeroPad, "ZeroPad2d", 2, _ZERO)
ZeroPad3d = _layer(_ZeroPad, "ZeroPad3d", 3, _ZERO)
CircularPad1d = _layer(_CircularPad, "CircularPad1d", 1, _AROUND)
CircularPad2d = _layer(_CircularPad, "CircularPad2d", 2, _AROUND)
CircularPad3d = _layer(_CircularPad, "CircularPad3d", 3, _AROUND)
ReflectionPad1d = _layer(_Pad, "ReflectionPad1d", 1, "by reflection", mode="reflect")
ReflectionPad2d = _layer(_Pad, "ReflectionPad2d", 2, "by reflection", mode="reflect")
ReflectionPad3d = _layer(_Pad, "ReflectionPad3d", 3, "by reflection", mode="reflect")
ReplicationPad1d = _layer(_Pad, "ReplicationPad1d", 1, "with the edge", mode="replicate")
ReplicationPad2d = _layer(_Pad, "ReplicationPad2d", 2, "with the edge", mode="replicate")
ReplicationPad3d = _layer(_Pad, "ReplicationPad3d", 3, "with the edge", mode="replicate")
