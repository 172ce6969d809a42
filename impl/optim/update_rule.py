"""Update rules: the base of the optimizers that update each parameter by itself, and its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

import numpy as np

from impl.core.dtypes import FLOATING, REDUCED, python_number
from impl.core.registry import C
from impl.core.state import STATE
from impl.optim.kept_state import number_tensor
from impl.optim.optimizer import Optimizer, differentiated, require, with_gradient
from impl.optim.options import check_option
from impl.optim.sparse_rules import refuse_sparse
from impl.tensor.tensor import Tensor


def as_real(*tensors):
    """Views of complex tensors as pairs of real numbers; real tensors as they are."""
    return [t if t is None or not t.is_complex() else C.view_as_real(t) for t in tensors]


def zeros(optimizer, group: dict[str, Any], param: Tensor) -> Tensor:
    """Initial value of a moving average."""
    return C.zeros_like(param)


def one(optimizer, group: dict[str, Any], param: Tensor) -> Tensor:
    """Initial value of a product or a weight."""
    return number_tensor(1.0)


def filled(like: Tensor, value) -> Tensor:
    """A tensor of one number; of a complex tensor both parts are that number."""
    if like.is_complex():
        value = complex(value, value)
    elif isinstance(value, np.generic):
        value = python_number(value)
    return C.full_like(like, value)


class Kept(NamedTuple):
    """A tensor in the state of each parameter: its name and its value before the first step.

    It is kept only in groups for which `only_if` holds, if that is given.
    """

    name: str
    first: Callable[[Any, dict[str, Any], Any], Tensor] = zeros
    only_if: Callable[[dict[str, Any]], Any] | None = None


class UpdateRule(Optimizer):
    """Base of the optimizers that update each parameter by itself, in `_impl_update`."""

    #: Names of the options, in the order of torch's defaults (which a state_dict shows).
    _impl_options: str
    #: Options whose range is checked, in the order of the checks.
    _impl_checked: str
    #: Tensors in the state of each parameter, after the count "step".
    _impl_state: tuple[Kept, ...]
    #: For the loop and for `foreach`: which tensors have to be on an accelerator that can capture
    #: graphs, with `capturable`, and whether XLA is among these.
    _impl_captured = "params and state_steps", "params and state_steps"
    _impl_captured_by_xla = True, False
    #: Options that are read where a state is begun.
    _impl_read_at_begin = "capturable"
    #: The order in which the entries of a state are read, where it is not that of `_impl_state`.
    _impl_read_of_state = ""
    _impl_added_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }
    _impl_numbers_in_tensors: tuple[str, ...] = ("step",)
    #: Whether gradients may be sparse.
    _impl_takes_sparse = False

    def __init__(self, params, defaults: dict[str, Any]) -> None:
        super().__init__(params, defaults)
        if defaults.get("fused"):
            if defaults["differentiable"]:
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults["foreach"]:
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def _impl_defaults(self, options: dict[str, Any]) -> dict[str, Any]:
        """Check the constructor's arguments and return the options in torch's order."""
        for name in self._impl_checked.split():
            check_option(name, options[name])
        return {name: options[name] for name in self._impl_options.split()}

    def __check_capture(self, group: dict[str, Any]) -> None:
        """Raise AssertionError for options of a group that its gradients do not allow here."""
        foreach, fused = group.get("foreach"), group.get("fused")
        if foreach and group.get("differentiable"):
            raise AssertionError("_foreach ops don't support autograd")
        if group.get("capturable") and not fused:
            devices = ["cuda", "xpu", "hpu", "privateuseone"]
            devices += ["xla"] * self._impl_captured_by_xla[bool(foreach)]
            raise AssertionError(
                f"If capturable=True, {self._impl_captured[bool(foreach)]} must be on supported "
                f"devices: {devices}."
            )

    def _impl_begin(self, group: dict[str, Any], param: Tensor) -> None:
        """Fill the state of a parameter before its first step."""
        require(group, self._impl_read_at_begin)
        check_fused(group, param)
        state = self.state[param]
        state["step"] = number_tensor(0.0, group.get("fused"))
        for name, first, only_if in self._impl_state:
            if only_if is None or only_if(group):
                state[name] = first(self, group, param)

    def _impl_kept(self, group: dict[str, Any]) -> list[str | None]:
        """Names of the tensors in a state, None for those that this group does not keep."""
        return [
            name if only_if is None or only_if(group) else None
            for name, _, only_if in self._impl_state
        ]

    def _impl_prepare(self, group: dict[str, Any]) -> None:
        named = next(kind for kind in type(self).__mro__ if "_impl_options" in vars(kind))
        names = ""
        for param in with_gradient(group):
            if not self._impl_takes_sparse:
                refuse_sparse(named.__name__, param)
            state = self.state[param]
            if not state:
                self._impl_begin(group, param)
            if not names:
                kept = " ".join(filter(None, self._impl_kept(group)))
                names = f"{self._impl_read_of_state or kept} step"
            require(state, names)
            self._impl_check_begun(group, state)

    def _impl_check_begun(self, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Raise RuntimeError for options of a group that do not go with a state."""

    def _impl_each(
        self, group: dict[str, Any], lr=None, decay_real: bool = False
    ) -> Iterator[tuple]:
        """Yield the terms of the formula for each parameter of the group that has a gradient.

        These are the step, counted; the parameter; its gradient with weight decay; and the tensors
        of its state, None for one that this group does not keep. Complex tensors are viewed as
        pairs of real numbers, before the weight decay with `decay_real`, else after it. `lr` is the
        learning rate of a decoupled weight decay.
        """
        names = self._impl_kept(group)
        for param, grad in differentiated(group):
            state = self.state[param]
            self.__check_capture(group)
            state["step"] += 1
            # Steps are counted as lists are added to.
            state["step"]._storage.version -= _hides_writes(group) or _hides_writes(group, "fused")
            kept = [None if name is None else state[name] for name in names]
            with computed(group, param, grad, kept) as (param, grad, kept):
                if decay_real:
                    param, grad = as_real(param, grad)
                if "weight_decay" in self.defaults:
                    grad = decayed(group, param, grad, lr)
                yield state["step"], *as_real(param, grad, *kept)


def _hides_writes(group: dict[str, Any], option: str = "foreach") -> bool:
    """Whether no version shows the writes to lists of tensors that an option of the group stands
    for: under a dispatch mode kernels count none."""
    return bool(group.get(option)) and STATE.before_write is not None


@contextmanager
def computed(
    group: dict[str, Any], param: Tensor, grad: Tensor, kept: list[Tensor | None]
) -> Iterator[tuple[Tensor, Tensor, list]]:
    """The tensors with which a step of a parameter computes: those that were given, or their
    copies in float32 where a fused kernel updates half precision, which rounds its results."""
    if _hides_writes(group):
        storages = [t._storage for t in (param, *kept) if t is not None]
        versions = [storage.version for storage in storages]
        yield param, grad, kept
        for storage, version in zip(storages, versions, strict=True):
            storage.version = version
        return
    if not (group.get("fused") and param.dtype.numpy in REDUCED):
        yield param, grad, kept
        return
    wide, wide_kept = param.float(), [None if t is None else t.float() for t in kept]
    yield wide, grad.float(), wide_kept
    param.copy_(wide)
    for tensor, result in zip(kept, wide_kept, strict=True):
        if tensor is not None:
            tensor.copy_(result)


def check_fused(group: dict[str, Any], param: Tensor) -> None:
    """Raise RuntimeError for a parameter without a fused update, if the group asks for one."""
    if group.get("fused") and param.dtype.category != FLOATING:
        devices = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported "
            f"devices: {devices} but {param.dtype} and cpu"
        )


def decayed(group: dict[str, Any], param: Tensor, grad: Tensor, lr=None) -> Tensor:
    """The gradient plus weight_decay · θ; decoupled, the gradient itself, and θ is scaled."""
    decay = group["weight_decay"]
    if decay == 0:
        return grad
    if grad.is_sparse and group.get("lr_decay") is not None:  # of Adagrad
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    if group.get("decoupled_weight_decay"):
        param.mul_(1 - lr * decay)
        return grad
    if isinstance(decay, Tensor) and decay.requires_grad:
        return grad.addcmul_(param.clone(), decay)  # writes `.grad`, as torch does
    return grad.add(param, alpha=decay)
