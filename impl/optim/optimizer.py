"""`Optimizer`: parameters in groups, the state of each, and steps that are not recorded."""

from __future__ import annotations

import copy
import warnings
from collections import defaultdict
from collections.abc import Iterable
from itertools import chain
from typing import Any

from impl import creation
from impl.dtypes import FLOATING, float32, float64, get_default_dtype
from impl.hooks import RemovableHandle
from impl.modes import enable_grad, no_grad
from impl.operator import FUNCTIONS
from impl.tensor import Tensor


def type_name(value) -> str:
    """A value's type as torch writes it in messages."""
    if isinstance(value, Tensor):
        return f"torch.{value.dtype.legacy}Tensor"
    kind = type(value)
    if kind.__module__ in ("builtins", ""):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def check_least(name: str, value, least: float = 0.0) -> None:
    """Raise ValueError, with torch's name of it, for a number below the least."""
    if not least <= value:
        raise ValueError(f"Invalid {name}: {value}")


def check_betas(betas) -> None:
    """Raise ValueError for a factor of a running mean that is outside [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def refuse(group: dict, *names: str) -> None:
    """Raise NotImplementedError for ways of updating that are not offered."""
    for name in names:
        if group.get(name):
            raise NotImplementedError(f"an optimizer with {name}=True")


def step_count() -> Tensor:
    """How many steps a parameter has seen, as torch keeps it: a tensor."""
    return creation.tensor(0.0, dtype=float64 if get_default_dtype() is float64 else float32)


class Optimizer:
    """The base of all optimizers (torch.optim.Optimizer).

    `params` are tensors, (name, tensor) pairs, or dictionaries of groups with settings of their
    own. A subclass defines `_update`, which steps one group. Raises TypeError for other things than
    tensors, ValueError for none, for non-leaves and for a tensor in two groups.
    """

    def __init__(self, params, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {type_name(params)}"
            )
        refuse(defaults, "foreach", "capturable", "differentiable", "fused")
        self.defaults = defaults
        self._before: dict = {}
        self._after: dict = {}
        self.state: defaultdict[Any, dict] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group; what it does not set is as the optimizer was made with."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        listed = [given] if isinstance(given, Tensor) else list(given)
        names = [p[0] for p in listed if isinstance(p, tuple)]
        param_group["params"] = params = [p[1] if isinstance(p, tuple) else p for p in listed]
        if names:
            if len(names) != len(params):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are "
                    "missing"
                )
            param_group["param_names"] = names
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    + type_name(param)
                )
            if not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information",
                stacklevel=3,
            )
        if any(("param_names" in group) != bool(names) for group in self.param_groups):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if names else 'without'} names to the optimizer"
            )
        known = set(chain.from_iterable(group["params"] for group in self.param_groups))
        if not known.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    # -- steps ----------------------------------------------------------------------------------

    def step(self, closure=None):
        """Update the parameters that have gradients; returns what `closure` does, which is called
        first and with grad mode on."""
        self._run(self._before)
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                self._update(group)
        self._run(self._after)
        return loss

    def _update(self, group: dict[str, Any]) -> None:
        raise NotImplementedError

    def _counted(self, param: Tensor, *moments: str, **numbers: float) -> dict[str, Any]:
        """The parameter's state, with this step counted.

        At the first step the numbers are there as tensors and each of the moments as zeros.
        """
        state = self.state[param]
        if not state:
            state["step"] = step_count()
            for name, number in numbers.items():
                state[name] = creation.tensor(number)
            for name in moments:
                state[name] = FUNCTIONS["zeros_like"](param)
        state["step"] += 1
        return state

    def _run(self, hooks: dict) -> None:
        for hook in list(hooks.values()):
            hook(self, (), {})

    def register_step_pre_hook(self, hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before every step."""
        return RemovableHandle.add(self._before, hook)

    def register_step_post_hook(self, hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after every step."""
        return RemovableHandle.add(self._after, hook)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients, or set them to zero in place."""
        for param in chain.from_iterable(group["params"] for group in self.param_groups):
            gradient = param._grad
            if gradient is None:
                continue
            if set_to_none:
                param.grad = None
                continue
            if gradient.grad_fn is not None:
                gradient.detach_()
            else:
                gradient.requires_grad_(False)
            gradient.zero_()

    # -- state ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """States and settings, with numbers instead of the parameters."""
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state that `state_dict` returned.

        Raises ValueError for another number of groups or of parameters in one.
        """
        saved = copy.deepcopy(state_dict["param_groups"])
        if len(self.param_groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        pairs = list(zip(self.param_groups, saved, strict=True))
        if any(len(group["params"]) != len(other["params"]) for group, other in pairs):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        params = {
            number: param
            for group, other in pairs
            for number, param in zip(other["params"], group["params"], strict=True)
        }
        state: defaultdict[Any, dict] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = _cast(params[key], value)
            else:
                state[key] = value
        for group, other in pairs:
            other["params"] = group["params"]
        self.state, self.param_groups = state, saved

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            lines += ["", f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return f"{type(self).__name__} (" + "\n".join(lines) + "\n)"


def _cast(param: Tensor, value, key=None):
    """The value with its tensors in the parameter's dtype; step counts stay as they are."""
    if isinstance(value, Tensor):
        floating = param.dtype.category == FLOATING
        return value.to(param.dtype) if floating and key != "step" else value
    if isinstance(value, dict):
        return {k: _cast(param, v, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_cast(param, v) for v in value)  # type: ignore[call-arg]
    return value


def differentiated(group: dict[str, Any]):
    """A group's parameters that have gradients, with these, turned where it maximizes."""
    for param in group["params"]:
        if param._grad is not None:
            yield param, -param._grad if group["maximize"] else param._grad


def decayed(group: dict[str, Any], param: Tensor, gradient: Tensor, lr=None) -> Tensor:
    """The gradient of the loss with the group's penalty on large weights.

    Where the decay is decoupled from the gradient, the weights shrink at once by the rate `lr`.
    """
    decay = group["weight_decay"]
    if decay == 0:
        return gradient
    if group.get("decoupled_weight_decay"):
        param.mul_(1 - lr * decay)
        return gradient
    return gradient.add(param, alpha=decay)


def as_real(*tensors):
    """Views of complex tensors as pairs of real numbers; real tensors as they are."""
    return [t if t is None or not t.is_complex() else FUNCTIONS["view_as_real"](t) for t in tensors]
