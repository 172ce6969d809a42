"""Selective checkpointing: operators whose results are kept, by a policy, and not computed again.

The first run is made in a mode that asks the policy about each operator and keeps the results; the
rerun in one that hands them out, by the number of the call of that operator.
"""

from __future__ import annotations

import enum
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import impl.ops  # noqa: F401 (it defines the operators)
from impl.dispatch.dispatch_modes import TorchDispatchMode
from impl.dispatch.op_overload import OpOverload, OpOverloadPacket, namespace
from impl.tensor.tensor import Tensor
from impl.utils._pytree import tree_map
from impl.utils._recomputation import user_hooks


class CheckpointPolicy(enum.Enum):
    """The answers of a policy (torch.utils.checkpoint.CheckpointPolicy); those about offloading
    are taken as recomputation."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


# The operators that are run each time, and no policy is asked about; a program may add some.
SAC_IGNORED_OPS = {namespace("aten").detach.default}

_SAVING = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
_RECOMPUTE: Any = object()  # the entry of a call that is made again
_CONSUMED: Any = object()  # the entry of a result that has been handed out
_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend "
    "on global state that changed between forward and backward."
)
_BYPASSED = (
    "A saved_tensors_hooks context (e.g. save_on_cpu) is active around a selective activation "
    "checkpoint region. Tensors that SAC saves currently bypass these hooks, but a future release "
    "will route them through the hooks like any other saved tensor. Silence this warning and "
    "choose the behavior explicitly by passing respect_saved_tensors_hooks=True|False to "
    "torch.utils.checkpoint.checkpoint."
)


class SelectiveCheckpointContext:
    """The first argument of a policy: the operator's result, and whether this is a rerun, which it
    never is (torch.utils.checkpoint.SelectiveCheckpointContext)."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Kept:
    """A kept value: a tensor with its version, or the result of a pack hook."""

    def __init__(self, value: Any, unpack: Callable | None = None) -> None:
        self.value, self.unpack = value, unpack
        self.version = value._version if isinstance(value, Tensor) else None

    def read(self, may_be_mutated: bool) -> Any:
        """The value. Raises RuntimeError if it was changed in place, unless it may be."""
        is_stale = self.version is not None and self.value._version != self.version
        if is_stale and not may_be_mutated:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated"
            )
        return self.value if self.unpack is None else self.unpack(self.value)


class _CachingTorchDispatchMode(TorchDispatchMode):
    """The mode of the first run: keeps the results that the policy names."""

    def __init__(self, policy: Callable, kept: dict) -> None:
        self.policy, self.kept = policy, kept
        self.respect_saved_tensors_hooks: bool | None = None
        self.counts: dict[OpOverload, int] = defaultdict(int)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **kwargs)
        if func in SAC_IGNORED_OPS:
            return result
        number = self.counts[func]
        self.counts[func] += 1
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        answer = self.policy(context, func, *args, **kwargs)
        if isinstance(answer, bool):
            answer = CheckpointPolicy.MUST_SAVE if answer else CheckpointPolicy.PREFER_RECOMPUTE
        keeps = answer in _SAVING
        self.kept[func][number] = tree_map(self._keep(), result) if keeps else _RECOMPUTE
        return result

    def _keep(self) -> Callable[[Any], _Kept]:
        """The function that keeps a value, through the user's saved-tensor hooks if they are to be
        respected."""
        hooks = user_hooks()
        if hooks is not None and self.respect_saved_tensors_hooks is None:
            warnings.warn(_BYPASSED, FutureWarning, stacklevel=4)

        def keep(value: Any) -> _Kept:
            if not isinstance(value, Tensor):
                return _Kept(value)
            value = value.detach()
            if hooks is not None and self.respect_saved_tensors_hooks:
                return _Kept(hooks[0](value), hooks[1])
            return _Kept(value)

        return keep


class _CachedTorchDispatchMode(TorchDispatchMode):
    """The mode of a rerun: hands out the kept results, each once."""

    def __init__(self, kept: dict, may_be_mutated: bool) -> None:
        self.kept, self.may_be_mutated = kept, may_be_mutated
        self.counts: dict[OpOverload, int] = defaultdict(int)

    def __enter__(self):
        self.counts.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        number = self.counts[func]
        self.counts[func] += 1
        if func not in self.kept:
            raise RuntimeError(
                f"{func} encountered during backward but not found in storage. {_MISMATCH}"
            )
        entry = self.kept[func].get(number)
        if entry is None:
            raise RuntimeError(
                f"{func} invocation index {number} encountered during backward but not found in "
                f"storage. {_MISMATCH}"
            )
        if entry is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any "
                "region computed under selective activation checkpoint."
            )
        if entry is _RECOMPUTE:
            return func(*args, **kwargs)
        self.kept[func][number] = _CONSUMED
        return tree_map(lambda kept: kept.read(self.may_be_mutated), entry)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable | list, allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """The contexts of a selective checkpoint, for `context_fn` of `checkpoint`
    (torch.utils.checkpoint.create_selective_checkpoint_contexts).

    Args:
        policy_fn_or_list: a function of (context, operator, *args, **kwargs) that returns a
            CheckpointPolicy or a bool, or a list of the operators whose results are kept.
        allow_cache_entry_mutation: whether kept results may be changed in place.

    Raises TypeError for anything else, ValueError for a list of anything but OpOverloads.
    """
    if isinstance(policy_fn_or_list, list):
        policy = _listed(policy_fn_or_list)
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[OpOverload, dict[int, Any]] = defaultdict(dict)
    return (
        _CachingTorchDispatchMode(policy, kept),
        _CachedTorchDispatchMode(kept, allow_cache_entry_mutation),
    )


def _listed(operators: list) -> Callable:
    for op in operators:
        if not isinstance(op, OpOverload):
            hint = (
                "Please update the OpOverloadPacket to a specific OpOverload."
                "For example, if you have `torch.ops.aten.mm`, change it to "
                "`torch.ops.aten.mm.default`."
            )
            raise ValueError(
                f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. "
                f"{hint if isinstance(op, OpOverloadPacket) else ''}"
            )

    def policy(context, op, *args, **kwargs) -> CheckpointPolicy:
        saved = op in operators
        return CheckpointPolicy.MUST_SAVE if saved else CheckpointPolicy.PREFER_RECOMPUTE

    return policy
