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
from impl.func.arguments import Arguments
from impl.func.levels import Transform
from impl.graph.edge import gradient_edge
from impl.tensor import forward_grad
from impl.tensor.aliases import alias, on_copied_memory
from impl.tensor.batched_tensor import hidden, physical
from impl.tensor.geometry import Geometry, geometry
from impl.tensor.lazy_conj import conj_neg_bits, with_bits
from impl.tensor.tensor import Tensor
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
        self._copies: list[tuple[Tensor, Tensor, int]] = []
        """The copies, the arguments that they are of, and the copies' versions before."""

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
        made = _copied(value)
        self._copies.append((made, value, physical(made)._storage.version))
        return made

    def held(self, tensor: Tensor) -> Tensor:
        """The argument, of a copy that is not written; any other tensor as it is."""
        for made, value, version in self._copies:
            if tensor is physical(made) and tensor._storage.version == version:
                return physical(value)
        return tensor

    def write_back(self) -> None:
        """Copy the values of written arguments to the caller's."""
        for made, value, version in self._copies:
            if physical(made)._storage.version != version:
                if made.shape != value.shape:
                    value.resize_(made.shape)
                value.copy_(made)

    def lowered(self, value: Any) -> Any:
        """A result for the caller: an argument that was not written, or a view of it; of a written
        one a tensor of its own."""
        if not isinstance(value, Tensor):
            return value
        result = physical(value)
        for made, original, version in self._copies:
            copy = physical(made)
            if result._storage is not copy._storage:
                continue
            if copy._storage.version == version:
                if value is made:
                    return original
                view = _view(result, physical(original), copy)
                return hidden(view, value) if self.keeps_views else value
            own = _uncounted(_dense(result) if value is made else result)
            return hidden(as_view(own, own.detach()) if self.keeps_views else own, value)
        if result._version and self.holds(value):
            return hidden(_uncounted(result), value)
        return value


def _standing_for(source: Tensor, made: Tensor, tangent: Callable | None = None) -> Tensor:
    """A new tensor with the history and the tangents of another; a `tangent` is made of each, if
    such a function is given."""
    made._tangents = None
    forward_grad.pass_on(source, made, tangent)
    edge = gradient_edge(source) if STATE.enabled else None
    if edge is not None:
        made._node, made._nr = edge
    return made


def _copied(value: Tensor) -> Tensor:
    """A tensor over a copy of the whole memory of another, so that views of the one can be told
    from views of the other; its tangents are copies, too."""
    source = physical(value)
    with no_grad():
        whole = not (source.is_meta or source.is_sparse)
        copy = on_copied_memory(source) if whole else source.detach().clone()
    return hidden(_standing_for(source, copy, _copied), value)


def _view(result: Tensor, source: Tensor, copy: Tensor) -> Tensor:
    """A result over the memory of an argument instead of its copy."""
    sizes, strides, offset = geometry(result)
    place = Geometry(sizes, strides, source._offset + offset - copy._offset)
    reread = result._raw.dtype != source._raw.dtype
    seen = alias(source, place, result._raw.dtype if reread else None)
    if conj_neg_bits(seen) != conj_neg_bits(result):
        seen = with_bits(seen, *conj_neg_bits(result))
    seen = _standing_for(result, seen)
    return seen if result._view is None else as_view(seen, source)  # of a detached one no view


def _dense(written: Tensor) -> Tensor:
    """The result of the operator that torch applies out of place to an argument that is written."""
    with no_grad():
        made = written.detach().clone()
    return _standing_for(written, made)


def _uncounted(result: Tensor) -> Tensor:
    """A result whose version is its own: torch counts no writes to functional tensors."""
    return _standing_for(result, result.data)


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
