"""`torch.autograd.anomaly_mode`: anomaly detection."""

from impl.core.registry import name_home
from impl.graph.anomaly_mode import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]


name_home(globals())
