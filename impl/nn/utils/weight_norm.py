"""Weight normalisation as a hook that computes the weight before each call.

T. Salimans and D. P. Kingma, NeurIPS 2016; in torch deprecated in favour of the parametrisation.
"""

from __future__ import annotations

import warnings
from typing import Any

from impl.nn.modules.module import Module
from impl.nn.parameter import Parameter
from impl.nn.utils.normalising_hooks import refuse_lazy, refuse_second, removed
from impl.operator import FUNCTIONS


class WeightNorm:
    """The hook: sets the weight from `<name>_g`, norms, and `<name>_v`, a direction."""

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim

    def compute_weight(self, module: Module) -> Any:
        """The direction with those norms."""
        g, v = (getattr(module, f"{self.name}_{part}") for part in "gv")
        return FUNCTIONS["_weight_norm"](v, g, self.dim)

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"], module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Make a parameter a direction `<name>_v` times the norms `<name>_g` of its slices along `dim`,
    of the whole for None, computed before each call; FutureWarning (torch.nn.utils.weight_norm).

    Raises RuntimeError for a second time, ValueError for a parameter without values yet.
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    refuse_second(module, WeightNorm, "weight", name)
    hook = WeightNorm(name, -1 if dim is None else dim)
    weight = getattr(module, name)
    refuse_lazy(weight, WeightNorm, "weight")
    del module._parameters[name]
    norms = FUNCTIONS["norm_except_dim"](weight, 2, hook.dim)
    module.register_parameter(f"{name}_g", Parameter(norms.data))
    module.register_parameter(f"{name}_v", Parameter(weight.data))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a parameter with its present value; ValueError if it is not normalised."""
    removed(module, WeightNorm, "weight", name)
    return module
