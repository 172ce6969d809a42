"""The warning of the names of mixed precision from before `torch.amp`: `torch.cuda.amp.autocast`
and its like."""

from __future__ import annotations

from impl.core.warning import warn


def warn_deprecated(kind: str, name: str) -> None:
    """Warn that a class of `torch.amp` is meant, for a type of device (FutureWarning)."""
    warn(
        f"`torch.{kind}.amp.{name}(args...)` is deprecated. Please use "
        f"`torch.amp.{name}('{kind}', args...)` instead.",
        FutureWarning,
    )
