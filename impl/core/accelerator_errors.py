"""The errors of accelerators, which programs name in `except` clauses."""


class AcceleratorError(RuntimeError):
    """An error of a device (torch.AcceleratorError)."""

    __module__ = "torch"


class OutOfMemoryError(RuntimeError):
    """The memory of a device is used up (torch.OutOfMemoryError)."""

    __module__ = "torch"
