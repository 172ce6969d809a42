"""`Optimizer`, the base of all optimizers, and `UpdateRule`, which loops over parameters."""

from __future__ import annotations

import copy
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

from impl.core.dtypes import FLOATING, dtype, float32, float64, get_default_dtype
from impl.core.grad_mode import enable_grad, is_grad_enabled, set_grad_enabled
from impl.core.registry import FUNCTIONS
from impl.factories import creation
from impl.factories.type_info import typename
from impl.optim.optimizer_hooks import (
    Hooked,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from impl.optim.options import check_option
from impl.tensor.tensor import Tensor


class Optimizer(Hooked):
    """Parameters in groups, their options and their state (torch.optim.Optimizer).

    `params` are tensors, (name, tensor) pairs, or dictionaries of groups with options of their
    own. A subclass defines `_update`, which steps one group, or `step`. Raises TypeError for
    arguments that are not tensors, ValueError for an empty list, for non-leaves and for a tensor
    in two groups.
    """

    #: Options that a step takes as tensors where they are given so.
    _computed_in_tensors: tuple[str, ...] = ()

    def __init__(self, params, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {typename(params)}"
            )
        self.defaults = defaults
        self._init_hooks()
        self.state: defaultdict[Any, dict] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("defaults", "state", "param_groups")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._init_hooks()
        self.defaults.setdefault("differentiable", False)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group; options that it does not set get the optimizer's defaults."""
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
                    + typename(param)
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

    def step(self, closure=None):
        """Update the parameters that have gradients, with grad mode off unless differentiable.

        Calls `closure` before, with grad mode on, and returns its result.
        """
        loss = None
        with set_grad_enabled(self.defaults.get("differentiable", False)):
            if closure is not None:
                with enable_grad():
                    loss = closure()
            for group in self.param_groups:
                with self._uncounted(group):
                    self._update(as_numbers(group, self._computed_in_tensors))
        return loss

    @contextmanager
    def _uncounted(self, group: dict[str, Any]) -> Iterator[None]:
        """Give the parameters of a fused group and their state back the versions that they had:
        fused kernels write without incrementing version counters."""
        if not group.get("fused"):
            yield
            return
        before = {t._storage: t._storage.version for t in self._written(group)}
        yield
        for tensor in self._written(group):
            tensor._storage.version = before.get(tensor._storage, 0)

    def _written(self, group: dict[str, Any]) -> Iterator[Tensor]:
        """The parameters of a group and the tensors of their state, but for the counts of steps."""
        for param in group["params"]:
            yield param
            kept = self.state.get(param, {})
            yield from (v for k, v in kept.items() if k != "step" and isinstance(v, Tensor))

    def _update(self, group: dict[str, Any]) -> None:
        """Step the parameters of one group."""
        raise NotImplementedError

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

    def state_dict(self) -> dict[str, Any]:
        """States and options, with numbers in place of the parameters."""
        for before in self._optimizer_state_dict_pre_hooks.values():
            before(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        saved: dict[str, Any] = {"state": state, "param_groups": groups}
        for after in self._optimizer_state_dict_post_hooks.values():
            changed = after(self, saved)
            saved = saved if changed is None else changed
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Replace states and options by those that `state_dict` returned.

        Raises ValueError for another number of groups or of parameters in a group.
        """
        state_dict = state_dict.copy()
        for before in self._optimizer_load_state_dict_pre_hooks.values():
            changed = before(self, state_dict)
            state_dict = state_dict if changed is None else changed
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
        self.__setstate__({"state": state, "param_groups": saved})
        for after in self._optimizer_load_state_dict_post_hooks.values():
            after(self)

    def __repr__(self) -> str:
        text = ""
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {k}: {group[k]}\n" for k in sorted(group) if k != "params")
        return f"{type(self).__name__} ({text})"


def _cast(param: Tensor, value, key=None):
    """The value with its tensors in the parameter's dtype, except step counts."""
    if isinstance(value, Tensor):
        floating = param.dtype.category == FLOATING
        return value.to(param.dtype) if floating and key != "step" else value
    if isinstance(value, dict):
        return {k: _cast(param, v, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_cast(param, v) for v in value)  # type: ignore[call-arg]
    return value


def step_dtype() -> dtype:
    """The dtype of step counts: float32, or float64 if that is the default dtype."""
    return float64 if get_default_dtype() is float64 else float32


def as_real(*tensors):
    """Views of complex tensors as pairs of real numbers; real tensors as they are."""
    return [t if t is None or not t.is_complex() else FUNCTIONS["view_as_real"](t) for t in tensors]


def zeros(optimizer, group: dict[str, Any], param: Tensor) -> Tensor:
    """Initial value of a moving average."""
    return FUNCTIONS["zeros_like"](param)


def one(optimizer, group: dict[str, Any], param: Tensor) -> Tensor:
    """Initial value of a product or a weight."""
    return creation.tensor(1.0)


def filled(like: Tensor, value) -> Tensor:
    """A tensor of one number; of a complex tensor both parts are that number."""
    return FUNCTIONS["full_like"](like, complex(value, value) if like.is_complex() else value)


class Kept(NamedTuple):
    """A tensor in the state of each parameter: its name and its value before the first step.

    It is kept only in groups for which `only_if` holds, if that is given.
    """

    name: str
    first: Callable[[Any, dict[str, Any], Any], Tensor] = zeros
    only_if: Callable[[dict[str, Any]], Any] | None = None


class UpdateRule(Optimizer):
    """Base of the optimizers that update each parameter by itself, by a formula in `_update`."""

    #: Names of the options, in the order of torch's defaults (which a state_dict shows).
    _options: str
    #: Options whose range is checked, in the order of the checks.
    _checked: str
    #: Tensors in the state of each parameter, after the count "step".
    _state: tuple[Kept, ...]
    #: For the loop and for `foreach`: which tensors have to be on an accelerator that can capture
    #: graphs, with `capturable`, and whether XLA is among these.
    _captured = "params and state_steps", "params and state_steps"
    _captured_by_xla = True, False

    def _defaults(self, options: dict[str, Any]) -> dict[str, Any]:
        """Check the constructor's arguments and return the options in torch's order."""
        for name in self._checked.split():
            check_option(name, options[name])
        if options.get("fused"):
            if options["differentiable"]:
                raise RuntimeError("`fused` does not support `differentiable`")
            if options["foreach"]:
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        return {name: options[name] for name in self._options.split()}

    def _check_capture(self, group: dict[str, Any]) -> None:
        """Raise AssertionError for options of a group that its gradients do not allow here."""
        foreach, fused = group.get("foreach"), group.get("fused")
        if foreach and group.get("differentiable"):
            raise AssertionError("_foreach ops don't support autograd")
        if group.get("capturable") and not fused:
            devices = ["cuda", "xpu", "hpu", "privateuseone"]
            devices += ["xla"] * self._captured_by_xla[bool(foreach)]
            raise AssertionError(
                f"If capturable=True, {self._captured[bool(foreach)]} must be on supported "
                f"devices: {devices}."
            )

    def _begin(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        """Fill the state of a parameter before its first step."""
        check_fused(group, param)
        state = self.state[param]
        kind = float32 if group.get("fused") else step_dtype()
        state["step"] = creation.tensor(0.0, dtype=kind)
        for name, first, only_if in self._state:
            if only_if is None or only_if(group):
                state[name] = first(self, group, param)
        return state

    def _each(self, group: dict[str, Any], lr=None, decay_real: bool = False) -> Iterator[tuple]:
        """Yield the terms of the formula for each parameter of the group that has a gradient.

        These are the step, counted; the parameter; its gradient with weight decay; and the tensors
        of its state, None for one that this group does not keep. Complex tensors are viewed as
        pairs of real numbers, before the weight decay with `decay_real`, else after it. `lr` is the
        learning rate of a decoupled weight decay.
        """
        names = [
            name if only_if is None or only_if(group) else None for name, _, only_if in self._state
        ]
        for param, grad in differentiated(group):
            state = self.state[param] or self._begin(group, param)
            self._check_capture(group)
            state["step"] += 1
            kept = [None if name is None else state[name] for name in names]
            if decay_real:
                param, grad = as_real(param, grad)
            if "weight_decay" in self.defaults:
                grad = decayed(group, param, grad, lr)
            yield state["step"], *as_real(param, grad, *kept)


def differentiated(group: dict[str, Any]) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each parameter that has a gradient, with the gradient, negated if `maximize` is on."""
    for param in group["params"]:
        if param._grad is not None:
            yield param, -param._grad if group["maximize"] else param._grad


def check_fused(group: dict[str, Any], param: Tensor) -> None:
    """Raise RuntimeError for a parameter without a fused update, if the group asks for one."""
    if group.get("fused") and param.dtype.category != FLOATING:
        devices = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported "
            f"devices: {devices} but {param.dtype} and cpu"
        )


def as_numbers(group: dict[str, Any], in_tensors: tuple[str, ...] = ()) -> dict[str, Any]:
    """A group with numbers for options that are tensors, unless these are differentiated, or 0-dim
    and among those that a step computes with `in_tensors`, in their own precision."""
    kept = {"params", "param_names"}
    if not (group.get("fused") or group.get("foreach")):
        kept.update(name for name in in_tensors if getattr(group[name], "ndim", None) == 0)
    return {name: value if name in kept else _number(value) for name, value in group.items()}


def _number(value):
    if isinstance(value, tuple):
        return tuple(map(_number, value))
    if isinstance(value, Tensor) and not (is_grad_enabled() and value.requires_grad):
        return value.item()
    return value


def decayed(group: dict[str, Any], param: Tensor, grad: Tensor, lr=None) -> Tensor:
    """The gradient plus weight_decay · θ; decoupled, the gradient itself, and θ is scaled."""
    decay = group["weight_decay"]
    if decay == 0:
        return grad
    if group.get("decoupled_weight_decay"):
        param.mul_(1 - lr * decay)
        return grad
    if isinstance(decay, Tensor) and decay.requires_grad:
        return grad.addcmul_(param.clone(), decay)  # writes `.grad`, as torch does
    return grad.add(param, alpha=decay)


class _RequiredParameter:
    """The mark of an option without a default value."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


__all__ = [
    "Optimizer",
    "UpdateRule",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]
