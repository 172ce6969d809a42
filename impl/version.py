"""The accelerators that the library was built for, all of them absent (torch.version)."""

from __future__ import annotations

cuda = hip = xpu = None
debug = False
git_version = None

__all__ = ["cuda", "debug", "git_version", "hip", "xpu"]
