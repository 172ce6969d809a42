"""`torch.nn.utils.prune`: parameters whose entries or channels are zero by a mask.

A pruned parameter `<name>` is split into the parameter `<name>_orig` and the buffer `<name>_mask`;
their product is the plain attribute `<name>`, which a forward pre-hook computes before each call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from impl.core.memory_formats import contiguous_format
from impl.core.registry import C
from impl.nn.modules.module import Module
from impl.nn.utils.convert_parameters import parameters_to_vector
from impl.nn.utils.pruning_amounts import (
    check_amount,
    check_channels,
    check_count,
    counted,
    norms_of_slices,
)
from impl.nn.utils.pruning_hooks import BasePruningMethod, PruningContainer, pruning_hook
from impl.tensor.tensor import Tensor

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]

BasePruningMethod.__module__ = PruningContainer.__module__ = __name__


class Identity(BasePruningMethod):
    """Prunes nothing: the mask is that of the methods before
    (torch.nn.utils.prune.Identity)."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask itself."""
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> Any:  # type: ignore[override]
        """Split the parameter; returns the hook."""
        return super().apply(module, name)


class _OfEntries(BasePruningMethod):
    """Prunes an amount of entries: a number of them, or a fraction between 0 and 1."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        check_amount(amount)
        self.amount = amount

    def _chosen(self, t: Tensor, count: int) -> Tensor:
        """The positions, in row-major order, of the entries to prune."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A copy of the mask without the chosen entries."""
        count = counted(self.amount, t.nelement())
        check_count(count, t.nelement())
        mask = default_mask.clone(memory_format=contiguous_format)
        if count != 0:
            mask.view(-1)[self._chosen(t, count)] = 0
        return mask


class RandomUnstructured(_OfEntries):
    """Prunes entries at random (torch.nn.utils.prune.RandomUnstructured)."""

    def _chosen(self, t: Tensor, count: int) -> Tensor:
        return C.topk(C.rand_like(t).view(-1), k=count).indices

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any) -> Any:  # type: ignore[override]
        """Split the parameter; returns the hook."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_OfEntries):
    """Prunes the entries of the smallest magnitude (torch.nn.utils.prune.L1Unstructured)."""

    def _chosen(self, t: Tensor, count: int) -> Tensor:
        return C.topk(C.abs(t).view(-1), k=count, largest=False).indices

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: Any, importance_scores: Any = None
    ) -> Any:
        """Split the parameter; returns the hook."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _OfChannels(BasePruningMethod):
    """Prunes an amount of slices along a dimension."""

    PRUNING_TYPE = "structured"
    amount: Any
    dim: int

    def _kept(self, t: Tensor, channels: int, count: int) -> Any:
        """The index of the channels to keep."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without the channels that are not kept."""
        check_channels(t, self.dim)
        channels = t.shape[self.dim]
        count = counted(self.amount, channels)
        check_count(count, channels)
        kept = self._kept(t, channels, count)
        if kept is None:
            return default_mask
        mask = C.zeros_like(t)
        index: list[Any] = [slice(None)] * t.dim()
        index[self.dim] = kept
        mask[tuple(index)] = 1
        mask *= default_mask.to(dtype=mask.dtype)
        return mask


class RandomStructured(_OfChannels):
    """Prunes channels at random (torch.nn.utils.prune.RandomStructured)."""

    def __init__(self, amount: Any, dim: int = -1) -> None:
        check_amount(amount)
        self.amount, self.dim = amount, dim

    def _kept(self, t: Tensor, channels: int, count: int) -> Any:
        if count == 0:
            return None
        drawn = C.rand(channels)
        return drawn > C.kthvalue(drawn, k=count).values

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, dim: int = -1) -> Any:  # type: ignore[override]
        """Split the parameter; returns the hook."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_OfChannels):
    """Prunes the channels of the smallest norm (torch.nn.utils.prune.LnStructured)."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        check_amount(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def _kept(self, t: Tensor, channels: int, count: int) -> Any:
        norms = norms_of_slices(t, self.n, self.dim)
        best = C.topk(norms, k=channels - count, largest=True).indices
        return None if count == 0 else best

    @classmethod
    def apply(  # type: ignore[override]
        cls,
        module: Module,
        name: str,
        amount: Any,
        n: Any,
        dim: int,
        importance_scores: Any = None,
    ) -> Any:
        """Split the parameter; returns the hook."""
        return super().apply(
            module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask (torch.nn.utils.prune.CustomFromMask)."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The product of both masks. Raises AssertionError for another shape."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> Any:  # type: ignore[override]
        """Split the parameter; returns the hook."""
        return super().apply(module, name, mask=mask)


def identity(module: Module, name: str) -> Module:
    """Split a parameter without pruning it; returns the module (torch.nn.utils.prune.identity)."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Prune entries at random; returns the module (torch.nn.utils.prune.random_unstructured)."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: Any, importance_scores: Any = None
) -> Module:
    """Prune the entries of the smallest magnitude, or score; returns the module
    (torch.nn.utils.prune.l1_unstructured)."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Prune channels at random; returns the module (torch.nn.utils.prune.random_structured)."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
) -> Module:
    """Prune the channels of the smallest norm; returns the module
    (torch.nn.utils.prune.ln_structured)."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune entries of several parameters, pairs of module and name, by one choice among all of
    them (torch.nn.utils.prune.global_unstructured)."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs: Any = parameters
    flat = parameters_to_vector([scores.get((m, n), getattr(m, n)) for m, n in pairs])
    masks = [getattr(m, f"{n}_mask", C.ones_like(getattr(m, n))) for m, n in pairs]
    container, method = PruningContainer(), pruning_method(**kwargs)
    container._tensor_name = method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    mask: Any = container.compute_mask(flat, parameters_to_vector(masks))
    start = 0
    for module, name in pairs:
        parameter = getattr(module, name)
        end = start + parameter.numel()
        custom_from_mask(module, name, mask=mask[start:end].view_as(parameter))
        start = end


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune by a given mask; returns the module (torch.nn.utils.prune.custom_from_mask)."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter a plain one, whose pruned entries are zeros; returns the module.

    Raises ValueError if it is not pruned (torch.nn.utils.prune.remove).
    """
    found = pruning_hook(module, name)
    if found is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    key, hook = found
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one below it, is pruned
    (torch.nn.utils.prune.is_pruned)."""
    return any(
        isinstance(hook, BasePruningMethod)
        for each in module.modules()
        for hook in each._forward_pre_hooks.values()
    )
