"""Batched tensors: the gradients of a pass with is_grads_batched (ATen/BatchedTensorImpl.h).

torch runs such a pass once, over tensors with a hidden batch dimension (vmap). So a hook, or the
backward of a custom Function, is called once, with one gradient of the usual shape. Here that
gradient holds a list of examples, each a tensor, and an operator is applied to each of them; so are
the formulas of nodes other than custom Functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core import messages
from impl.tensor.nested import tensors_of
from impl.tensor.tensor import Tensor, blank

RANDOM = (
    "vmap: We do not yet support calling random operations inside of vmap. Please perform random "
    "operations outside of vmap as a workaround"
)
_SIZES = "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}"
_WRITE = (
    "vmap: aten::{}(self, *extra_args) is not possible because there exists a Tensor `other` in "
    "extra_args that has more elements than `self`. This happened due to `other` being vmapped "
    "over but `self` not being vmapped over at level 1. Please try to use out-of-place operators "
    "instead of aten::{}. If said operator is being called inside the PyTorch framework, please "
    "file a bug report instead."
)


def _refuse(*args, **named):
    raise RuntimeError(messages.NO_POINTER)


class _NoElements(np.ndarray):
    """The array of a batched tensor: it has shape and dtype, and raises on access to elements.

    Elements would be those of one example only.
    """

    __array_ufunc__ = __array_function__ = __getitem__ = __setitem__ = _refuse
    astype = copy = item = reshape = tolist = tobytes = _refuse


class Batched(Tensor):
    """A batched tensor: a list of examples, with the shape and dtype of one of them."""

    _examples: list[Tensor]
    _shape_only: np.ndarray

    @property
    def _raw(self):
        return self._shape_only

    @_raw.setter
    def _raw(self, value) -> None:
        _refuse()

    _array = _refuse  # memory is shared and written per example only

    def _applied(self, op, args):
        """The results of an operator with this tensor among its arguments."""
        return mapped(op.slow_path, args)

    def _written(self, op, args):
        """The target of an operator in place with this tensor among its arguments."""
        return written(op.inplace, op.name, args)

    def item(self):
        """Raises RuntimeError: there is no batching rule."""
        raise RuntimeError(messages.NO_RULE.format("aten::item"))

    def __bool__(self) -> bool:
        raise RuntimeError(messages.NO_RULE.format("aten::is_nonzero"))

    tolist = __deepcopy__ = untyped_storage = _refuse

    def detach(self):
        """Raises RuntimeError: no batching rule, and the fallback does not support views."""
        raise RuntimeError(messages.NO_VIEW_RULE.format("aten::detach"))

    data: Any = property(detach)  # crashes the process in torch
    numpy = detach  # type: ignore[assignment]

    def __format__(self, spec: str) -> str:
        return self.detach()

    def __repr__(self) -> str:
        return f"<a batch of {len(self._examples)} tensors of {self.shape}>"


Batched.__name__ = Batched.__qualname__ = Tensor.__name__  # torch has only one class
Batched.__module__ = Tensor.__module__


def batch(examples: list[Tensor]) -> Tensor:
    """The batched tensor of examples with equal dtype and layout.

    Raises RuntimeError if their shapes differ.
    """
    result: Any = blank(Batched)
    result._examples = examples
    first = examples[0]
    for i, example in enumerate(examples):
        if example._raw.shape != first._raw.shape:
            sizes = [*first._raw.shape], [*example._raw.shape]
            raise RuntimeError(_SIZES.format(*sizes, i))
    result._shape_only = np.asarray(first._raw).view(_NoElements)
    result._strides, result._node, result._nr = first._strides, first._node, first._nr
    result._requires_grad = first._requires_grad
    return result


def examples_of(value, size: int) -> list:
    """The value for each of `size` examples; a value without a batch is the same for all."""
    if type(value) is Batched:
        return value._examples
    if isinstance(value, (list, tuple)) and holds(value):
        every = [examples_of(v, size) for v in value]
        return [type(value)(entries) for entries in zip(*every, strict=True)]
    return [value] * size


def _batches(values):
    """The batched tensors among values, and in lists among them."""
    return (tensor for tensor in tensors_of(values) if type(tensor) is Batched)


def holds(values) -> bool:
    """Whether any of the values, or of the entries of lists among them, is a batched tensor."""
    return next(_batches(values), None) is not None


def mapped(function, args):
    """Apply a function to each example, and return its results as batched tensors (vmap)."""
    results = [function(*example) for example in zip(*_every(args), strict=True)]
    if isinstance(results[0], tuple):
        return tuple(batch(list(entries)) for entries in zip(*results, strict=True))
    return batch(results)


def written(function, name: str, args):
    """Apply an in-place operator, which writes its first argument, to each example.

    Raises RuntimeError if only other arguments are batched: the first cannot hold several results.
    """
    if type(args[0]) is not Batched:
        raise RuntimeError(_WRITE.format(*[f"{name}_"] * 2))
    for example in zip(*_every(args), strict=True):
        function(*example)
    return args[0]


def _every(args) -> list[list]:
    size = len(next(_batches(args))._examples)
    return [examples_of(a, size) for a in args]
