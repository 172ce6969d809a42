"""Forward mode: dual tensors, the level they live in, and how tangents keep to their primals.

A dual is a tensor with a tangent. The tangent lies in memory as its primal does: a view's tangent
is a view of the base's tangent, and a write in place writes the tangent in place. How operators
compute the tangents of their results is in `impl.tangents`.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from impl import inference, messages
from impl.dtypes import DIFFERENTIABLE
from impl.graph import Node, gradient_edge
from impl.modes import STATE, count_everywhere
from impl.pending import bits, marked
from impl.storage import strided
from impl.tensor import Tensor, requires_grad

_level: Level | None = None  # the only one there can be, for all threads


class Level:
    """What holds duals together: when it is left, they lose their tangents."""

    number = 0

    def __init__(self) -> None:
        self.holders: list[weakref.ref] = []


def is_seen() -> bool:
    """Whether tangents are seen in this thread."""
    return STATE.forward and not STATE.inference


def enter() -> int:
    """Enter the level and return its number. Raises RuntimeError if it has been entered."""
    global _level
    if _level is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _level = Level()
    count_everywhere(1)
    return _level.number


def leave() -> None:
    """Leave the level: all tangents are gone. Raises RuntimeError if there is none."""
    global _level
    if _level is None:
        raise RuntimeError("Dual level must be a positive number.")
    for reference in _level.holders:
        holder = reference()
        if holder is not None:
            holder._tangent = None
    _level = None
    count_everywhere(-1)


# -- duals ------------------------------------------------------------------------------------


def make_dual(primal: Tensor, tangent: Tensor, level: int) -> Tensor:
    """A view of `primal` that carries `tangent` (the very tensor, if it lies in memory alike).

    Raises RuntimeError for another level than the one there is, a primal or a tangent that is a
    dual, and a tangent of another shape.
    """
    if of(primal) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            f"same level {level} is not supported."
        )
    from impl.operator import TAPED

    dual = unrelated(TAPED.view(primal, primal._raw.shape))
    if dual._strides != primal._strides:  # a view changes those of sizes that are one
        dual._raw, dual._strides = primal._raw[...], primal._strides
    if level != 0:
        raise RuntimeError("Invalid level given to _make_dual")
    give(dual, tangent)
    return dual


def unpack_dual(dual: Tensor, level: int) -> tuple[Tensor, Tensor | None]:
    """The primal of a tensor, a view of it, and its tangent. Raises RuntimeError as `make_dual`."""
    if not isinstance(dual, Tensor):
        raise TypeError(
            "_unpack_dual(): argument 'dual' (position 1) must be Tensor, "
            f"not {type(dual).__name__}"
        )
    if level != 0:
        raise RuntimeError("Invalid level given to _fw_primal")
    return primal(dual), of(dual)


class CppFunction(Node):
    """What records the taking of a primal; torch has no better class for it, but a name."""

    def _evaluate(self, grads, interpretation, wanted):
        return grads

    def name(self) -> str:
        return "torch::autograd::Identity"


def primal(value: Any) -> Any:
    """A view of a tensor that has no tangent; anything else as it is."""
    if not isinstance(value, Tensor):
        return value
    from impl.geometries import geometry
    from impl.views import view_of

    result = unrelated(view_of(value, geometry(value)))
    if STATE.enabled and requires_grad(value):
        node = CppFunction()
        node._connect((gradient_edge(value),))
        node._describe((value,))
        result._node = node
    return result


def unrelated(view: Tensor) -> Tensor:
    """The view, made to have a tangent of its own, not its base's."""
    from impl import views

    if view._view is not None:  # inference tensors' views have no base at all
        view._view = views.DualView(view._view, None)
    return view


# -- tangents ---------------------------------------------------------------------------------


def of(tensor: Tensor) -> Tensor | None:
    """The tangent of a tensor, or None: its own, or the part of its base's that it shows."""
    if _level is None or not is_seen():
        return None
    tangent = tensor._tangent
    if tangent is None and tensor._view is not None:
        base = tensor._view.forward_base
        whole = None if base is None else of(base)
        if whole is not None:
            tangent = _part(whole, tensor)
            _attach(tensor, tangent)
    return tangent


def give(tensor: Tensor, tangent: Tensor, written: bool = False) -> None:
    """Make `tangent` the tangent of a tensor that has none; a copy of it, if it lies otherwise.

    `written` says that the tensor was written in place: then its base, if it is a view, gets a
    tangent too, which is zero elsewhere. Raises RuntimeError for a tangent that has one itself, or
    another shape.
    """
    if of(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not "
            "supported."
        )
    if tensor._raw.shape != tangent._raw.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor._raw.shape)} while the "
            f"given forward gradient is of size {list(tangent._raw.shape)}."
        )
    base = tensor._view.forward_base if written and tensor._view is not None else None
    if base is not None and of(base) is None:
        if _alike(tangent, base) and _alike(tangent, tensor):
            whole = tangent
        else:
            whole = _zeros(base)
            tangent = _part(whole, tensor).copy_(tangent)
        _attach(base, whole)
    if not _alike(tangent, tensor):
        tangent = _zeros(tensor).copy_(tangent)
    _attach(tensor, tangent)


def _attach(tensor: Tensor, tangent: Tensor) -> None:
    assert _level is not None
    tensor._tangent = tangent
    _level.holders.append(weakref.ref(tensor))
    inference.keep_long_way(tensor)  # in every thread


def keep(output: Tensor) -> None:
    """Note the tangent of an output at its node, whose formula may need it with the output."""
    node = output._node
    if node is not None and output._tangent is not None:
        assert _level is not None
        if node._tangent is None:
            node._tangent = {}
            _level.holders.append(weakref.ref(node))
        node._tangent[output._nr] = output._tangent


def restore(output: Tensor, node) -> None:
    """Give a node's output, made again from what the node saved, the tangent it had."""
    if node._tangent is not None and output._nr in node._tangent:
        _attach(output, node._tangent[output._nr])


def held(tensor: Tensor) -> tuple[Level, Tensor] | None:
    """A tensor's tangent, to be given to another in the same level; None if there is none."""
    tangent = of(tensor)
    return None if tangent is None or _level is None else (_level, tangent)


def hold(tensor: Tensor, kept: tuple[Level, Tensor] | None) -> None:
    """Give a tensor the tangent that `held` returned for one like it, if the level is the same."""
    if kept is not None and kept[0] is _level:
        _attach(tensor, kept[1])


def is_used() -> bool:
    """Whether anything has a tangent that can be seen in this thread."""
    return _level is not None and bool(_level.holders) and is_seen()


def _part(whole: Tensor, view: Tensor) -> Tensor:
    from impl.operator import TAPED

    remake = view._view.forward_remake
    if remake is not None:
        return remake(whole)
    return TAPED.as_strided(whole, view._raw.shape, view.stride(), view._offset)


def _alike(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors lie in memory alike: storage size, offset, sizes, strides, conj bit."""
    if _room(a) != _room(b) or a._offset != b._offset or bits(a) != bits(b):
        return False
    shape = a._raw.shape
    if shape != b._raw.shape:
        return False
    strides = zip(shape, a.stride(), b.stride(), strict=True)
    return 0 in shape or all(n == 1 or mine == other for n, mine, other in strides)


def _room(tensor: Tensor) -> int:
    """How many of a tensor's elements its storage, which may be of another dtype, has room for."""
    return tensor._storage.flat.nbytes // tensor._raw.dtype.itemsize


def _zeros(like: Tensor) -> Tensor:
    """Zeros that lie in memory as a tensor does, in a storage of the same size."""
    from impl.operator import new

    size = _room(like)
    result = new(np.zeros(size, like._raw.dtype))
    strides = like.stride()
    result._raw = strided(result._storage.flat, like._raw.shape, strides, like._offset)
    result._strides, result._offset = strides, like._offset
    return marked(result, *bits(like))


def can_have(tensor: Tensor) -> bool:
    """Whether the dtype is one that tangents exist for."""
    return tensor._raw.dtype in DIFFERENTIABLE


def refuse_out(name: str, values) -> None:
    """Raise NotImplementedError when what a call with out= takes or makes has a tangent."""
    for value in values if _level is not None else ():
        if isinstance(value, (list, tuple)):
            refuse_out(name, value)
        elif isinstance(value, Tensor) and of(value) is not None:
            raise NotImplementedError(messages.FORWARD_OUT.format(name))


# -- operators ----------------------------------------------------------------------------------


class _Nothing:
    """What there is to do about a tangent outside of a level."""

    @staticmethod
    def write() -> None:
        pass


def carry(op, args, outputs) -> None:
    """Give the results of an operator their tangents; see `impl.tangents.carry`."""
    if _level is not None:
        from impl import tangents

        tangents.carry(op, args, outputs)


def refuse(op, args) -> None:
    """Raise NotImplementedError for tangents that an operator has no rule for."""
    if _level is not None:
        from impl import tangents

        tangents.refuse(op, args)


def before_write(op, args):
    """What is called before a write in place, and by `write()` afterwards writes the tangent."""
    if _level is None:
        return _Nothing
    from impl import tangents

    return tangents.Write(op, args)
