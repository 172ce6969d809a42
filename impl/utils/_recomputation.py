"""Recomputation of a checkpointed call's saved tensors.

While the call runs, each tensor that a node saves is replaced by a `Holder`. The first holder that
a backward pass unpacks makes the call run again; the tensors saved by the rerun, in the same order,
fill the holders for that pass. A value is returned once and then dropped.
"""

from __future__ import annotations

import weakref
from typing import Any

from impl.core.grad_mode import enable_grad
from impl.core.state import STATE
from impl.tape.saved_tensor_hooks import saved_tensors_hooks
from impl.tape.saved_variable import SavedVariable
from impl.tensor.tensor import Tensor

_PREFIX = "torch.utils.checkpoint: "
_TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint\N{NON-BREAKING HYPHEN}debug mode globally.

If this error occurs under torch.compile with automatic_dynamic_shapes enabled,
it may be because the recomputation selected a different compiled graph than the
forward pass (e.g., a dynamic graph instead of the original static graph).
To fix this, either:
  - Use torch._dynamo.mark_dynamic() to explicitly mark varying dimensions as
    dynamic upfront, avoiding the static-to-dynamic transition.
  - Call torch._C._dynamo.eval_frame._set_lru_cache(False) to disable LRU cache
    reordering, which can change which graph is checked first between forward
    and recompute.
See https://github.com/pytorch/pytorch/issues/166926 for more details and
workaround examples.
"""
_OVERLAP = (
    "Performing two backward calls that overlap (i.e. require the same saved activation in order "
    "to compute gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup "
    "context. "
)
_READ: Any = object()  # marks a value that was already unpacked


class CheckpointError(RuntimeError):
    """A rerun that saved different tensors than the call, or a value that was unpacked twice."""


class _StopRecomputationError(Exception):
    """Raised to stop a rerun that has saved all tensors (early stop)."""


class GraphExecGroup:
    """Context in which backward passes share one rerun of each checkpointed call.

    Raises RuntimeError when entered inside another (torch.utils.checkpoint.GraphExecGroup).
    """

    def __enter__(self) -> GraphExecGroup:
        if STATE.checkpoint_group is not None:
            raise RuntimeError(
                "GraphExecGroup contexts cannot be nested. Already inside group "
                f"{STATE.checkpoint_group}"
            )
        STATE.checkpoint_group = self
        return self

    def __exit__(self, *exc) -> None:
        STATE.checkpoint_group = None


class Holder:
    """The stand-in for a saved tensor: for each backward pass, the recomputed value until it is
    read."""

    __slots__ = ("__weakref__", "values")

    def __init__(self) -> None:
        self.values: dict = {}


def user_hooks() -> tuple | None:
    """The saved-tensor hooks, the innermost ones, that are not those of a checkpoint."""
    for hooks in reversed(STATE.saved_hooks):
        if not getattr(hooks[0], "is_of_checkpoint", False):
            return hooks
    return None


class CheckpointFrame:
    """One checkpointed call: its function and arguments, and the holders of its saved tensors.

    `run` takes the arguments again; `describe` returns the metadata of a tensor that a rerun must
    reproduce; `explain` raises in the place of a CheckpointError, if it is given.
    """

    def __init__(self, run, args, early_stop: bool, describe, explain=None) -> None:
        self.run = run
        self.explain = explain
        self.arguments = [SavedVariable(a, False) if isinstance(a, Tensor) else a for a in args]
        self.early_stop = early_stop
        self.describe = describe
        self.places: list[weakref.ref] = []
        self.descriptions: list = []
        self.passes: set = set()  # backward passes for which the call has run again
        self.returned = False
        self.saves_more = False  # a pass inside the call reruns it before all is saved

    def hooks(self) -> saved_tensors_hooks:
        """The saved-tensor hooks under which the call runs the first time."""
        return saved_tensors_hooks(self._pack, self._unpack)

    def _pack(self, tensor: Tensor) -> Holder:
        place = Holder()
        self.places.append(weakref.ref(place))
        self.descriptions.append(self.describe(tensor))
        return place

    _pack.is_of_checkpoint = True  # type: ignore[attr-defined]

    def _unpack(self, place: Holder) -> Tensor:
        if self.explain is None:
            return self._unpacked(place)
        try:
            return self._unpacked(place)
        except CheckpointError as error:
            self.explain(error)
            raise

    def _unpacked(self, place: Holder) -> Tensor:
        key = STATE.checkpoint_group or (STATE.graph_task.number if STATE.graph_task else object())
        if key not in self.passes:
            self._run_again(key)
        value = place.values[key]
        if value is _READ:
            raise CheckpointError(
                f"{_PREFIX}Unpack is being triggered for a tensor that was already unpacked once. "
                f"{_OVERLAP if STATE.checkpoint_group else ''}If you are calling ctx.saved_tensors "
                "in backward, make sure to do so only once. Otherwise please open an issue with "
                "details on your use case."
            )
        place.values[key] = _READ
        return value

    def _run_again(self, key) -> None:
        arguments = [
            a.tensor_for(None) if isinstance(a, SavedVariable) else a for a in self.arguments
        ]
        count = 0

        def fill(tensor: Tensor) -> Tensor:
            nonlocal count
            tensor = tensor.detach() if tensor.requires_grad else tensor
            count += 1
            self._fill(count, key, tensor)
            return tensor

        fill.is_of_checkpoint = True  # type: ignore[attr-defined]
        try:
            with saved_tensors_hooks(fill, lambda tensor: tensor), enable_grad():
                self.run(*arguments)
        except _StopRecomputationError:
            pass
        self.passes.add(key)
        if not self.saves_more:
            self._check(count, key)

    def _fill(self, count: int, key, tensor: Tensor) -> None:
        """Store the rerun's `count`-th saved tensor in its holder for one pass, if the holder is
        alive."""
        if count > len(self.places):
            if self.returned:
                raise CheckpointError(
                    f"{_PREFIX}trying to save more tensors during recomputation than during the "
                    f"original forward pass.\n{_TIP}"
                )
            self.saves_more = True
            return
        place = self.places[count - 1]()
        if place is not None:
            place.values[key] = tensor
        if self.early_stop and count == len(self.places):
            raise _StopRecomputationError

    def _check(self, count: int, key) -> None:
        """Raise CheckpointError if a rerun saved fewer tensors, or tensors with other metadata."""
        if count != len(self.places):
            raise CheckpointError(
                f"{_PREFIX}A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.places)}\n"
                f"Number of tensors saved during recomputation: {count}.\n{_TIP}"
            )
        differing = ""
        for i, (reference, before) in enumerate(zip(self.places, self.descriptions, strict=True)):
            place = reference()
            after = before if place is None else self.describe(place.values[key])
            if before != after:
                differing += (
                    f"tensor at position {i}:\nsaved metadata: {before}\n"
                    f"recomputed metadata: {after}\n"
                )
        if differing:
            raise CheckpointError(
                f"{_PREFIX}Recomputed values for the following tensors have different metadata "
                f"than during the forward pass.\n{differing}.\n{_TIP}"
            )
