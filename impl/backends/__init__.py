"""`torch.backends`: the flags of libraries that impl does not use, all of them unavailable.

Flags keep the values that programs assign, without effect.
"""

from __future__ import annotations

from impl.backends import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
