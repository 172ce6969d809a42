"""Reruns: what a checkpointed call keeps in place of its saved tensors, and how it makes them anew.

While the call runs, each tensor that a node saves is replaced by a `Place`. The first place that a
backward pass reads makes the call run again; what is saved then, in the same order, fills the
places for that pass. A value is given out once and forgotten.
"""

from __future__ import annotations

import weakref
from typing import Any

from impl.modes import STATE, enable_grad
from impl.saved import SavedTensor
from impl.saved_hooks import saved_tensors_hooks
from impl.tensor import Tensor

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
_READ: Any = object()  # in the place of a value that was given out


class CheckpointError(RuntimeError):
    """A rerun that did not do what the call did, or a value asked for twice."""


class _StopRecomputationError(Exception):
    """Ends a rerun that has saved everything it has to."""


class GraphExecGroup:
    """Backward passes inside share one rerun of each checkpointed call.

    Raises RuntimeError when it is entered inside another (torch.utils.checkpoint.GraphExecGroup).
    """

    def __enter__(self) -> GraphExecGroup:
        if STATE.group is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {STATE.group}"
            )
        STATE.group = self
        return self

    def __exit__(self, *exc) -> None:
        STATE.group = None


class Place:
    """What a node keeps instead of a tensor: for each backward pass, the value until it is read."""

    __slots__ = ("__weakref__", "values")

    def __init__(self) -> None:
        self.values: dict = {}


class Call:
    """One checkpointed call: how to run it again, and the places of what it saved.

    `run` takes the arguments again; `describe` gives of a tensor what must be equal in a rerun.
    """

    def __init__(self, run, args, early_stop: bool, describe) -> None:
        self.run = run
        self.arguments = [SavedTensor(a, False) if isinstance(a, Tensor) else a for a in args]
        self.early_stop = early_stop
        self.describe = describe
        self.places: list[weakref.ref] = []
        self.descriptions: list = []
        self.passes: set = set()  # those for which it has been run again
        self.returned = False
        self.saves_more = False  # than there are places yet, as a pass inside the call may do

    def hooks(self) -> saved_tensors_hooks:
        """The context in which the call runs the first time."""
        return saved_tensors_hooks(self._pack, self._unpack)

    def _pack(self, tensor: Tensor) -> Place:
        place = Place()
        self.places.append(weakref.ref(place))
        self.descriptions.append(self.describe(tensor))
        return place

    def _unpack(self, place: Place) -> Tensor:
        key = STATE.group or (STATE.task.number if STATE.task else object())
        if key not in self.passes:
            self._run_again(key)
        value = place.values[key]
        if value is _READ:
            raise CheckpointError(
                f"{_PREFIX}Unpack is being triggered for a tensor that was already unpacked once. "
                f"{_OVERLAP if STATE.group else ''}If you are calling ctx.saved_tensors in "
                "backward, make sure to do so only once. Otherwise please open an issue with "
                "details on your use case."
            )
        place.values[key] = _READ
        return value

    def _run_again(self, key) -> None:
        arguments = [
            a.tensor_for(None) if isinstance(a, SavedTensor) else a for a in self.arguments
        ]
        count = 0

        def fill(tensor: Tensor) -> Tensor:
            nonlocal count
            tensor = tensor.detach() if tensor.requires_grad else tensor
            count += 1
            self._fill(count, key, tensor)
            return tensor

        try:
            with saved_tensors_hooks(fill, lambda tensor: tensor), enable_grad():
                self.run(*arguments)
        except _StopRecomputationError:
            pass
        self.passes.add(key)
        if not self.saves_more:
            self._check(count, key)

    def _fill(self, count: int, key, tensor: Tensor) -> None:
        """Give the `count`-th place its value for one pass, if the place is still wanted."""
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
        """Raise CheckpointError if a rerun saved too little, or something else."""
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
