"""The forward pre-hooks that keep a parameter pruned: `BasePruningMethod`, `PruningContainer`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from impl.core.memory_formats import contiguous_format
from impl.core.registry import C
from impl.nn.modules.module import Module
from impl.tensor.tensor import Tensor


class BasePruningMethod(ABC):
    """The base of pruning methods, which define `compute_mask` and `PRUNING_TYPE`
    (torch.nn.utils.prune.BasePruningMethod)."""

    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask of a tensor whose entries are scores; `default_mask` is that of the methods
        before, or ones."""

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter, multiplied by its mask. Raises AssertionError without one."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, f"{self._tensor_name}_mask")
        orig = getattr(module, f"{self._tensor_name}_orig")
        return mask.to(dtype=orig.dtype) * orig

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> Any:
        """Prune a parameter and keep it pruned, on top of the methods before; returns the hook.

        The scores, by default the parameter's values, have its shape, else AssertionError.
        """
        before = _taken_hook(module, name)
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if before is not None:
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container
        orig = getattr(module, name)
        scores = orig if importance_scores is None else importance_scores
        if scores.shape != orig.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {scores.shape} vs {orig.shape}"
            )
        if isinstance(method, PruningContainer):
            mask = getattr(module, f"{name}_mask").detach().clone(memory_format=contiguous_format)
            method._register(module, scores, mask)
            return method
        module.register_parameter(f"{name}_orig", orig)
        del module._parameters[name]
        try:
            method._register(module, scores, C.ones_like(orig))
        except Exception:
            module.register_parameter(name, getattr(module, f"{name}_orig"))
            del module._parameters[f"{name}_orig"]
            raise
        return method

    def _register(self, module: Module, scores: Tensor, before: Tensor) -> None:
        """Give the module the mask, the pruned tensor and this hook."""
        mask = self.compute_mask(scores, default_mask=before)
        module.register_buffer(f"{self._tensor_name}_mask", mask)
        setattr(module, self._tensor_name, self.apply_mask(module))
        module.register_forward_pre_hook(self)

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Tensor:
        """A tensor multiplied by the mask that this method computes for it, without a module."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(
                "importance_scores should have the same shape as tensor t, got "
                f"{scores.shape} vs {t.shape}"
            )
        before = C.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=before)

    def remove(self, module: Module) -> None:
        """Make the parameter a plain one with its pruned values; the mask is dropped."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        parameter = module._parameters[f"{name}_orig"]
        parameter.data = pruned.data
        del module._parameters[f"{name}_orig"]
        del module._buffers[f"{name}_mask"]
        setattr(module, name, parameter)


class PruningContainer(BasePruningMethod):
    """Pruning methods of one parameter, in the order in which they were applied
    (torch.nn.utils.prune.PruningContainer)."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Append a method. Raises TypeError for another object, ValueError for a method of another
        parameter."""
        if method is not None:
            if not isinstance(method, BasePruningMethod):
                raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
            if self._tensor_name != method._tensor_name:
                raise ValueError(
                    "Can only add pruning methods acting on the parameter named "
                    f"'{self._tensor_name}' to PruningContainer {self}. "
                    f"Found '{method._tensor_name}'"
                )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask so far, with that of the last method for the part that it leaves."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        left = _left(method, t, default_mask)
        partial = method.compute_mask(t[left], default_mask=default_mask[left])
        mask[left] = partial.to(dtype=mask.dtype)
        return mask


def _left(method: Any, t: Tensor, mask: Tensor) -> Any:
    """The index of the part of a tensor that a method looks at, by its `PRUNING_TYPE`: entries or
    channels that are not pruned yet, or everything."""
    kind = method.PRUNING_TYPE
    if kind == "unstructured":
        return mask == 1
    whole = [slice(None)] * t.dim()
    if kind == "global":
        return tuple(whole)
    if kind != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
    if not hasattr(method, "dim"):
        raise AttributeError(
            'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
        )
    dim = method.dim if method.dim >= 0 else t.dim() + method.dim
    if dim < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
    others = [d for d in range(t.dim()) if d != dim]
    return (*whole[:dim], mask.sum(dim=others) != 0, *whole[dim + 1 :])


def pruning_hook(module: Module, name: str) -> tuple[int, BasePruningMethod] | None:
    """The first pruning hook of a parameter, with its key among the forward pre-hooks."""
    return next(iter(_pruning_hooks(module, name)), None)


def _pruning_hooks(module: Module, name: str) -> list[tuple[int, BasePruningMethod]]:
    return [
        (key, hook)
        for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]


def _taken_hook(module: Module, name: str) -> Any:
    """The pruning hook of a parameter, which no longer is a hook; None without one.

    Raises AssertionError for several.
    """
    found = _pruning_hooks(module, name)
    if len(found) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
            "Use a PruningContainer."
        )
    for key, _ in found:
        del module._forward_pre_hooks[key]
    return found[0][1] if found else None
