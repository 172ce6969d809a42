"""Devices: here there is one, the CPU."""

from __future__ import annotations


class device:
    """Where a tensor lives; here always the CPU."""

    def __init__(self, type: str = "cpu", index: int | None = None) -> None:
        self.type = str(type).split(":")[0]
        self.index = index
        if self.type != "cpu":
            raise RuntimeError(f"impl has no device '{type}'")

    def __eq__(self, other) -> bool:
        return isinstance(other, device) and other.type == self.type

    def __hash__(self) -> int:
        return hash(self.type)

    def __str__(self) -> str:
        return self.type

    def __repr__(self) -> str:
        return f"device(type='{self.type}')"


CPU = device("cpu")


def check_device(place) -> None:
    """Raise as torch without an accelerator does for anything but the CPU, or its name."""
    if str(place).startswith("cuda"):
        raise AssertionError("Torch not compiled with CUDA enabled")
    if not isinstance(place, device):
        device(place)
