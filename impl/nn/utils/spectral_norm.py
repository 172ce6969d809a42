"""Spectral normalisation as a hook that computes the weight before each call.

T. Miyato et al., ICLR 2018. The parametrisation of the same name computes it on access.
"""

from __future__ import annotations

from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.nn import functional as F
from impl.nn.modules.module import Module
from impl.nn.parameter import Parameter
from impl.nn.utils.norm_hooks import refuse_lazy, refuse_second, remove
from impl.nn.utils.parametrizations import check_iterations, dimension_of, slices_first
from impl.operators.products.multi_dot import multi_dot
from impl.tensor.tensor import Tensor


class SpectralNorm:
    """The forward pre-hook that divides a weight, `<name>_orig`, by its greatest singular value.

    The buffers `<name>_u` and `<name>_v` are the singular vectors.
    """

    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        check_iterations(n_power_iterations)
        self.name, self.dim, self.eps = name, dim, eps
        self.n_power_iterations = n_power_iterations

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix whose rows are the slices along `dim`."""
        weight = slices_first(weight, self.dim)
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight divided by its greatest singular value, after power iterations if required."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v = F.normalize(matrix.t().mv(u), dim=0, eps=self.eps, out=v)
                    u = F.normalize(matrix.mv(v), dim=0, eps=self.eps, out=u)
                # Clones, so that a second call does not change saved tensors.
                u, v = u.clone(), v.clone()
        return weight / C.dot(u, matrix.mv(v))

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for name in (self.name, f"{self.name}_u", f"{self.name}_v", f"{self.name}_orig"):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


class _Versioned:
    """State dict hook that adds the version of the normalisation to the metadata."""

    def __init__(self, hook: SpectralNorm) -> None:
        self.hook = hook

    def __call__(self, module, state_dict, prefix, local_metadata) -> None:
        kinds = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.hook.name}.version"
        if key in kinds:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        kinds[key] = SpectralNorm._version


class _Upgraded:
    """Load state dict pre-hook that computes `v` for a state of version 0, which has the weight."""

    def __init__(self, hook: SpectralNorm) -> None:
        self.hook = hook

    def __call__(self, state_dict, prefix, local_metadata, strict, missing_keys, *_) -> None:
        hook, key = self.hook, prefix + self.hook.name
        version = local_metadata.get("spectral_norm", {}).get(f"{hook.name}.version")
        if version is not None and version >= 1:
            return
        current = all(f"{key}_{part}" in state_dict for part in ("orig", "u", "v"))
        if version is None and current and key not in state_dict:
            return
        lacking = [key + part for part in ("_orig", "", "_u") if key + part not in state_dict]
        if lacking:
            missing_keys.extend(lacking if strict else ())
            return
        with no_grad():
            original, u = state_dict[f"{key}_orig"], state_dict[f"{key}_u"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = hook.reshape_weight_to_matrix(original)
            inverse = C.pinverse(matrix.t().mm(matrix))
            v = multi_dot([inverse, matrix.t(), u.unsqueeze(1)]).squeeze(1)
            state_dict[f"{key}_v"] = v.mul_(sigma / C.dot(u, matrix.mv(v)))


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a parameter, `<name>_orig`, by its greatest singular value before each call; power
    iterations in training mode estimate the value (torch.nn.utils.spectral_norm).

    Raises RuntimeError if it is normalised already, ValueError for an uninitialized parameter.
    """
    dim = dimension_of(module, dim)
    refuse_second(module, SpectralNorm, "spectral", name)
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    refuse_lazy(weight, SpectralNorm, "spectral")
    with no_grad():
        u, v = (
            F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps)
            for n in hook.reshape_weight_to_matrix(weight).size()
        )
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    # Until the first call the weight is an attribute, no longer a parameter.
    setattr(module, name, weight.data)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(_Versioned(hook))
    module._register_load_state_dict_pre_hook(_Upgraded(hook))
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a parameter with its current value; ValueError if it is not normalised."""
    hook = remove(module, SpectralNorm, "spectral", name)
    for number, after in list(module._state_dict_hooks.items()):
        if isinstance(after, _Versioned) and after.hook is hook:
            del module._state_dict_hooks[number]
    # The hook before loading stays, as in torch: states for a weight that is not normalised are
    # refused from now on.
    return module
