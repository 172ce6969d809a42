"""Functions without writes (torch.func.functionalize).

torch wraps the arguments in functional tensors, whose writes become values, and copies values to
the arguments when the function has ended. Here the function has a copy of each argument, of the
same history, which it may write; arguments of the same memory are copied one by one, as there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.state import STATE
from impl.core.strides import contiguous_strides, strided
from impl.func.arguments import Arguments
from impl.func.levels import Transform
from impl.graph.edge import gradient_edge
from impl.tensor import forward_grad
from impl.tensor.aliases import alias
from impl.tensor.batched_tensor import hidden, physical
from impl.tensor.geometry import Geometry, elements, geometry
from impl.tensor.lazy_conj import conj_neg_bits, with_bits
from impl.tensor.tensor import Tensor, new
from impl.tensor.views import as_view
from impl.utils._pytree import tree_flatten, tree_unflatten

_REMOVED = (
    "functionalize(f, remove='mutations'): received invalid argument for remove={}. Valid options "
    "are:\n     remove='mutations': all inplace and out= operators will be removed from the "
    "program, and replaced with their out-of-place equivalents.\n     "
    "remove='mutations_and_views': In addition to the above, all aliasing operators {{view}} will "
    "be replaced with their non-aliasing counterparts, {{view}}_copy.\n"
)


class FunctionalLevel(Transform):
    """One run of a function without writes."""

    wraps = functional = True

    def __init__(self, keeps_views: bool) -> None:
        self.keeps_views = keeps_views
        self.arguments = Arguments()
        self._originals: list[tuple[Tensor, Tensor]] = []  # copies and arguments
        self._pairs: list[tuple[Tensor, Tensor, int]] = []  # their values, and the copies' versions

    @contextmanager
    def run(self) -> Iterator[None]:
        """Note where tensors are made for the duration of a block."""
        STATE.fast_path_blockers += 1
        try:
            with super().run():
                yield
        finally:
            STATE.fast_path_blockers -= 1

    def copied(self, value: Any) -> Any:
        """A copy of a tensor with its history, for the function; other values as they are."""
        if not isinstance(value, Tensor):
            return value
        source = physical(value)
        copy = _copied(source)
        _take_history(copy, source)
        self._pairs.append((copy, source, copy._storage.version))
        made = copy if source is value else hidden(copy, value)
        self._originals.append((made, value))
        return made

    def held(self, tensor: Tensor) -> Tensor:
        """The argument, of a copy that is not written; any other tensor as it is."""
        for copy, source, version in self._pairs:
            if tensor is copy and copy._storage.version == version:
                return source
        return tensor

    def write_back(self) -> None:
        """Copy the values of written arguments to the caller's."""
        for (made, value), (copy, _, version) in zip(self._originals, self._pairs, strict=True):
            if copy._storage.version != version:
                if made.shape != value.shape:
                    value.resize_(made.shape)
                value.copy_(made)

    def lowered(self, value: Any) -> Any:
        """A result for the caller: an argument that was not written, or a view of it; of a written
        one a tensor of its own."""
        if not isinstance(value, Tensor):
            return value
        result = physical(value)
        for (made, original), (copy, source, version) in zip(
            self._originals, self._pairs, strict=True
        ):
            if result._storage is not copy._storage:
                continue
            if copy._storage.version == version:
                if value is made:
                    return original
                return hidden(_view(result, source, copy), value) if self.keeps_views else value
            own = _uncounted(_dense(result) if value is made else result)
            return hidden(as_view(own, own.detach()) if self.keeps_views else own, value)
        if result._version and self.holds(value):
            return hidden(_uncounted(result), value)
        return value


def _copied(source: Tensor) -> Tensor:
    """A tensor over a copy of the whole memory of another, with its sizes, strides and offset, so
    that views of the one can be told from views of the other; its tangents are copies, too."""
    with no_grad():
        if source.is_meta or source.is_sparse:
            copy = source.detach().clone()
        else:
            source._array()
            memory = new(elements(source._storage, source._raw.dtype).copy())
            copy = with_bits(alias(memory, geometry(source)), *conj_neg_bits(source))
        forward_grad.pass_on(source, copy, _copied_tangent)
    return copy


def _copied_tangent(tangent: Tensor) -> Tensor:
    value = physical(tangent)
    copy = _copied(value)
    _take_history(copy, value)
    return hidden(copy, tangent)


def _take_history(to: Tensor, source: Tensor) -> None:
    edge = gradient_edge(source) if STATE.enabled else None
    if edge is not None:
        to._node, to._nr = edge


def _view(result: Tensor, source: Tensor, copy: Tensor) -> Tensor:
    """A result over the memory of an argument instead of its copy."""
    sizes, strides, offset = geometry(result)
    kind = result._raw.dtype
    if source.is_meta or source.is_sparse:
        place = Geometry(sizes, strides, source._offset + offset - copy._offset)
        seen = alias(source, place)
    else:
        seen = new(strided(elements(source._storage, kind), sizes, strides, offset))
        seen._storage, seen._offset = source._storage, offset
        seen._strides = None if strides == contiguous_strides(sizes) else strides
        seen = with_bits(seen, *conj_neg_bits(result))
    forward_grad.pass_on(result, seen)
    if result._view is None:  # a detached one
        return seen
    _take_history(seen, result)
    return as_view(seen, source)


def _dense(written: Tensor) -> Tensor:
    """The result of the operator that torch applies out of place to an argument that is written."""
    with no_grad():
        made = written.detach().clone()
    forward_grad.pass_on(written, made)
    _take_history(made, written)
    return made


def _uncounted(result: Tensor) -> Tensor:
    """A result whose version is its own: torch counts no writes to functional tensors."""
    own = result.detach()
    own._storage = result._storage.sharing()
    own._tangents = None
    forward_grad.pass_on(result, own)
    _take_history(own, result)
    return own


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """The function without writes (torch.func.functionalize).

    Raises RuntimeError for another word than "mutations" and "mutations_and_views".
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(_REMOVED.format(remove))

    @functools.wraps(func)
    def call(*args, **kwargs):
        level = FunctionalLevel(remove == "mutations")
        with level.run():
            leaves, spec = tree_flatten((args, kwargs))
            positional, named = tree_unflatten(list(map(level.copied, leaves)), spec)
            result = func(*positional, **named)
        level.write_back()
        leaves, spec = tree_flatten(result)
        return tree_unflatten(list(map(level.lowered, leaves)), spec)

    return call
