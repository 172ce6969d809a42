"""`torch.cuda.streams`: streams and events, of which there are none."""

from __future__ import annotations

from typing import Any

from impl.core.absent_devices import dummies

__all__ = ["Event", "ExternalStream", "Stream"]


class Stream:
    """A stream of CUDA; RuntimeError (torch.cuda.Stream)."""

    def __new__(cls, device: Any = None, priority: int = 0, **kwargs: Any) -> Stream:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class ExternalStream(Stream):
    """A stream of another library; RuntimeError (torch.cuda.ExternalStream)."""


Event = dummies("torch.cuda", "Event")["Event"]
