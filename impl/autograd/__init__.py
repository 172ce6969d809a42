"""`torch.autograd`: backward, grad, and the grad modes."""

from impl.autograd import grad_mode, graph
from impl.engine import backward, grad
from impl.modes import enable_grad, no_grad, set_grad_enabled
from impl.tensor import Tensor

Variable = Tensor

__all__ = ["backward", "enable_grad", "grad", "grad_mode", "graph", "no_grad", "set_grad_enabled"]
