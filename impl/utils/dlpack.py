"""`torch.utils.dlpack`: memory that libraries share."""

from impl.factories.creation.dlpack import DLDeviceType, from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
