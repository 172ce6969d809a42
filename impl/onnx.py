"""`torch.onnx`, the exporter to ONNX, which impl does not have."""

from __future__ import annotations

__all__ = ["is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """False (torch.onnx.is_in_onnx_export)."""
    return False
