"""`torch.version`: the version of torch that impl behaves as, built for no accelerator."""

from __future__ import annotations

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

# The programs of `impl.run` see it as `torch.__version__`.
__version__ = "2.15.0+impl"

debug = False
git_version = "unknown"
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
