"""Weight normalisation as a hook that computes the weight before each call.

T. Salimans and D. P. Kingma, NeurIPS 2016; PyTorch deprecates it in favour of the parametrisation.
"""

from __future__ import annotations

import warnings
from typing import Any

from impl.core.registry import C
from impl.nn.modules.module import Module
from impl.nn.parameter import Parameter
from impl.nn.utils.norm_hooks import refuse_lazy, refuse_second, remove


class WeightNorm:
    """The forward pre-hook that computes a weight: norms `<name>_g`, directions `<name>_v`."""

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim

    def compute_weight(self, module: Module) -> Any:
        """The direction, scaled to the norms."""
        g, v = (getattr(module, f"{self.name}_{part}") for part in "gv")
        return C._weight_norm(v, g, self.dim)

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"], module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Reparametrise a weight as norms `<name>_g` of its slices along `dim`, or of the whole for
    None, times a direction `<name>_v`; FutureWarning (torch.nn.utils.weight_norm).

    Raises RuntimeError if it is normalised already, ValueError for an uninitialized parameter.
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=1,
    )
    refuse_second(module, WeightNorm, "weight", name)
    hook = WeightNorm(name, -1 if dim is None else dim)
    weight = getattr(module, name)
    refuse_lazy(weight, WeightNorm, "weight")
    del module._parameters[name]
    norms = C.norm_except_dim(weight, 2, hook.dim)
    module.register_parameter(f"{name}_g", Parameter(norms.data))
    module.register_parameter(f"{name}_v", Parameter(weight.data))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a parameter with its current value; ValueError if it is not normalised."""
    remove(module, WeightNorm, "weight", name)
    return module
