"""`torch.func`: functional calls of modules, and transforms of functions."""

from impl.func.functionalization import functionalize
from impl.func.jacobians import hessian, jacfwd, jacrev
from impl.func.linearization import linearize
from impl.func.mapping import vmap
from impl.func.modules import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from impl.func.rearrangement import rearrange
from impl.func.transforms import grad, grad_and_value, jvp, vjp

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
