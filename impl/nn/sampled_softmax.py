"""Softmax of noisy scores.

E. Jang, S. Gu, B. Poole, "Categorical reparameterization with Gumbel-softmax", ICLR 2017.
"""

from __future__ import annotations

import warnings

from impl.operator import FUNCTIONS
from impl.tensor import Tensor


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample from the categories scored along `dim`, softened by the temperature `tau`; with
    `hard` one-hot, with the gradient of the soft sample (torch.nn.functional.gumbel_softmax)."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -FUNCTIONS["empty"](logits.shape, dtype=logits.dtype).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = FUNCTIONS["zeros_like"](logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
