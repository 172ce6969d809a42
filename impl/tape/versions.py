"""Explicit changes of version counters (torch.autograd.graph.increment_version)."""

from __future__ import annotations

from impl.tensor.tensor import Tensor


def increment_version(tensor) -> None:
    """Increment the version counter of a tensor, or of each tensor of an iterable.

    It reports a write that no operator made. Inference tensors, which have no counter, are skipped.
    Raises RuntimeError for other arguments (torch.autograd.graph.increment_version).
    """
    if not isinstance(tensor, Tensor):
        try:
            tensors = list(tensor)
        except TypeError:
            raise RuntimeError("increment_version expect a Iterable[Tensor] as input") from None
    else:
        tensors = [tensor]
    for one in tensors:
        if not isinstance(one, Tensor):
            raise RuntimeError(
                "increment_version expects each element of the iterable to be a tensor"
            )
        if not one.is_inference():
            one._storage.version += 1


class _unsafe_preserve_version_counter:
    """Restore the version counters of a tensor, or a tuple of tensors, at the end of the block.

    Writes in the block then escape the version check. Raises AssertionError for other arguments.
    """

    def __init__(self, tensors) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        if not isinstance(self.tensors, tuple):
            raise AssertionError("Expected tensors to be a tuple")
        self.versions = [tensor._version for tensor in self.tensors]

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc) -> None:
        for tensor, version in zip(self.tensors, self.versions, strict=True):
            tensor._storage.version = version
