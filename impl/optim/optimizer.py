"""`Optimizer`, the base of all optimizers."""

from __future__ import annotations

import copy
import functools
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, ClassVar

from impl.core.dtypes import FLOATING, float32
from impl.core.grad_mode import enable_grad, is_grad_enabled, set_grad_enabled
from impl.factories.type_info import typename
from impl.optim.kept_state import complete
from impl.optim.optimizer_hooks import (
    Hooked,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from impl.tensor.tensor import Tensor

UNORDERED = (
    "optimizer parameters need to be organized in ordered collections, but the ordering of tensors "
    "in sets will change between runs."
)


class Optimizer(Hooked):
    """Parameters in groups, their options and their state (torch.optim.Optimizer).

    `params` are tensors, (name, tensor) pairs, or dictionaries of groups with options of their
    own. A subclass defines `_impl_update`, which steps one group, or `step`. Raises TypeError for
    arguments that are not tensors, ValueError for an empty list, for non-leaves and for a tensor
    in two groups.
    """

    #: Options that a step takes as tensors where they are given so.
    _impl_computed_in_tensors: tuple[str, ...] = ()
    #: Options that a step reads before and after it begins the state of a group, in this order.
    _impl_read_before = ""
    _impl_read_after = ""
    #: Options that older versions did not have, with the values that saved groups get for them.
    _impl_added_options: ClassVar[dict[str, Any]] = {}
    #: Entries of a parameter's state that older versions saved as numbers.
    _impl_numbers_in_tensors: tuple[str, ...] = ()

    def __init__(self, params, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {typename(params)}"
            )
        if isinstance(params, set):
            warnings.warn(
                f"{UNORDERED} Please use a list instead. This will be an error in a future "
                "release.",
                FutureWarning,
                stacklevel=2,
            )
        self.defaults = defaults
        self._impl_init_hooks()
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
        """Take over what `__getstate__` returned, now or in an older version.

        Raises KeyError for the state of a parameter that lacks a number of this class.
        """
        self.__dict__.update(state)
        self._impl_init_hooks()
        self.defaults.setdefault("differentiable", False)
        complete(self)

    def __check_parameter(self, param) -> None:
        """Raise TypeError for a parameter that is no tensor, ValueError for one that is no leaf."""
        if not isinstance(param, Tensor):
            raise TypeError(
                "optimizer can only optimize Tensors, but one of the params is " + typename(param)
            )
        differentiable = self.defaults.get("differentiable")
        if not differentiable and not (param.is_leaf or param.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group; options that it does not set get the optimizer's defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(f"{UNORDERED} Please use a list instead.")
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
            self.__check_parameter(param)
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

    def __init_subclass__(cls, **options) -> None:
        super().__init_subclass__(**options)
        if "_impl_update" in vars(cls) and "step" not in vars(cls):
            cls.step = _step_of(cls)  # type: ignore[method-assign]

    def step(self, closure=None):
        """Raise NotImplementedError: subclasses define a step."""
        raise NotImplementedError

    def _impl_step_groups(self, closure=None):
        """Update the parameters that have gradients, with grad mode off unless differentiable.

        Calls `closure` before, with grad mode on, and returns its result. Raises KeyError for an
        option that a group lacks.
        """
        loss = None
        with set_grad_enabled(self.defaults.get("differentiable", False)):
            if closure is not None:
                with enable_grad():
                    loss = closure()
            for group in self.param_groups:
                with self.__uncounted(group):
                    require(group, self._impl_read_before)
                    self._impl_prepare(group)
                    require(group, self._impl_read_after)
                    self._impl_update(as_numbers(group, self._impl_computed_in_tensors))
        return loss

    @contextmanager
    def __uncounted(self, group: dict[str, Any]) -> Iterator[None]:
        """Give the parameters of a fused group and their state back the versions that they had:
        fused kernels write without incrementing version counters."""
        if not group.get("fused"):
            yield
            return
        before = {t._storage: t._storage.version for t in self.__written(group)}
        yield
        for tensor in self.__written(group):
            tensor._storage.version = before.get(tensor._storage, 0)

    def __written(self, group: dict[str, Any]) -> Iterator[Tensor]:
        """The parameters of a group and the tensors of their state, but for the counts of steps."""
        for param in group["params"]:
            yield param
            kept = self.state.get(param, {})
            yield from (v for k, v in kept.items() if k != "step" and isinstance(v, Tensor))

    def _impl_prepare(self, group: dict[str, Any]) -> None:
        """Begin the state of a group's parameters, one after the other, before any of them is
        written. One that the optimizer refuses leaves the state of those before it."""

    def _impl_update(self, group: dict[str, Any]) -> None:
        """Step the parameters of one group."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients, or set them to zero in place."""
        # The truth of the options by which torch sets them together, which may raise.
        bool(self.defaults.get("foreach") or self.defaults.get("fused"))
        if not hasattr(self, "_zero_grad_profile_name"):  # of a class that does not call __init__
            self._patch_step_function()
        for param in chain.from_iterable(group["params"] for group in self.param_groups):
            gradient = param._own_grad
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
        begin = 0
        for group in self.param_groups:
            # A parameter that a group lists twice has the number of its last place there.
            places = enumerate(group["params"], begin)
            numbers |= {id(param): i for i, param in places if id(param) not in numbers}
            begin += len(group["params"])
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
                kept = _group_of(key, state_dict["param_groups"])
                state[params[key]] = _cast(params[key], value, kept)
            else:
                state[key] = value
        for group, other in pairs:
            other["params"] = group["params"]
            if "param_names" in group:
                other.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for after in self._optimizer_load_state_dict_post_hooks.values():
            after(self)

    def __repr__(self) -> str:
        text = ""
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {k}: {group[k]}\n" for k in sorted(group) if k != "params")
        return f"{type(self).__name__} ({text})"


def _step_of(cls: type) -> Any:
    """The `step` of a class that updates groups, with the name of the class in messages."""

    def run(self, closure=None):
        return self._impl_step_groups(closure)

    run.__name__, run.__qualname__ = "step", f"{cls.__name__}.step"
    run.__doc__ = Optimizer._impl_step_groups.__doc__

    @functools.wraps(run)
    def step(*args, **kwargs):
        args[0]  # IndexError, where a hook has replaced the arguments by none
        return run(*args, **kwargs)

    return step


def with_gradient(group: dict[str, Any]) -> list[Tensor]:
    """The parameters of a group that have a gradient. A step begins the state of all of them before
    it writes to the first."""
    return [param for param in group["params"] if param._own_grad is not None]


def differentiated(group: dict[str, Any]) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each parameter that has a gradient, with the gradient, negated if `maximize` is on."""
    for param in with_gradient(group):
        yield param, -param._own_grad if group.get("maximize") else param._own_grad


def require(held: dict[str, Any], names: str) -> None:
    """Raise KeyError for the first of these names that a group, or a state, does not hold."""
    for name in names.split():
        held[name]


def _group_of(number, groups: list[dict[str, Any]]) -> dict[str, Any]:
    """The saved group with the parameter of this number."""
    return next((group for group in groups if number in group["params"]), {})


def _cast(param: Tensor, value, group: dict[str, Any], key=None):
    """The value with its tensors in the parameter's dtype, except step counts, which are in float32
    where the saved group is that of a kernel that takes them as such."""
    if isinstance(value, Tensor):
        if key == "step" and (group.get("capturable") or group.get("fused")):
            return value.to(float32)
        floating = param.dtype.category == FLOATING
        return value.to(param.dtype) if floating and key != "step" else value
    if isinstance(value, dict):
        return {k: _cast(param, v, group, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_cast(param, v, group) for v in value)  # type: ignore[call-arg]
    return value


def as_numbers(group: dict[str, Any], in_tensors: tuple[str, ...] = ()) -> dict[str, Any]:
    """A group with numbers for options that are tensors, unless these are differentiated, or 0-dim
    and among those that a step computes with `in_tensors`, in their own precision. Tensors with
    dimensions that are one of several numbers of an option stay, which most updates refuse."""
    kept = {"params", "param_names"}
    if not (group.get("fused") or group.get("foreach")):
        kept.update(name for name in in_tensors if getattr(group[name], "ndim", None) == 0)
    return {name: value if name in kept else _number(value) for name, value in group.items()}


def _number(value):
    if isinstance(value, tuple):
        return tuple(v if getattr(v, "ndim", 0) else _number(v) for v in value)
    if isinstance(value, Tensor) and not (is_grad_enabled() and value.requires_grad):
        return value.item()
    return value


class _RequiredParameter:
    """The mark of an option without a default value."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]
