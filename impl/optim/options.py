"""Options of optimizers: their ranges."""

from __future__ import annotations

import math

from impl.tensor.tensor import Tensor


def check_option(name: str, value, positive: bool = False) -> None:
    """Raise ValueError, with torch's text, for an option outside its range."""
    if name == "lr" and isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if name == "betas":
        for i in range(2):
            if not 0.0 <= value[i] < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {value[i]}")
    elif name == "etas":
        if not 0.0 < value[0] < 1.0 < value[1]:
            raise ValueError(f"Invalid eta values: {value[0]}, {value[1]}")
    elif not (
        0.0 < value <= math.inf
        if positive
        else 0.0 <= value <= (1.0 if name == "rho" else math.inf)
    ):
        label = {"lr": "learning rate", "eps": "epsilon value"}.get(name, f"{name} value")
        raise ValueError(f"Invalid {label}: {value}")
