"""Builds the extension, by importing it, and says whether the device is there."""

from pretend_device import module

try:
    module._lazy_init()
    print(f"pretend: {module.device_count()} devices")
except RuntimeError as error:
    print(f"pretend: no device: {error}")
