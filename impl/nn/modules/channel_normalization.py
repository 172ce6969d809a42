"""Response normalisation across channels as a layer."""

from __future__ import annotations

from impl.nn import channel_response
from impl.nn.modules.module import Module
from impl.tensor import Tensor


class CrossMapLRN2d(Module):
    """Normalises channels by those within `size` of them (torch.nn.CrossMapLRN2d).

    Raises ValueError unless (N, C, H, W).
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return channel_response.CrossMapLRN2d.apply(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
