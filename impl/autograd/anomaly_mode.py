"""`torch.autograd.anomaly_mode`: anomaly detection."""

from impl.graph.anomaly_mode import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
