"""`torch.autograd.grad_mode`."""

from impl.modes import enable_grad, no_grad, set_grad_enabled

__all__ = ["enable_grad", "no_grad", "set_grad_enabled"]
