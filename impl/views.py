"""Views: tensors over part of another's storage, and how they follow its history.

A view operator is a function on geometries: from the sizes, strides and offset of its input to
those of its result. The same function makes the tensor's view, the array's view in formulas, and
(through `as_strided`) the slice that a rewritten history differentiates.

    @view(node="TransposeBackward0")
    def transpose(self: Geometry, dim0, dim1) -> Geometry: ...
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from impl import hooks, messages
from impl.graph import gradient_edge
from impl.modes import STATE
from impl.operator import FUNCTIONS, OPERATORS, RAW, TAPED, Operator, spelling, written
from impl.storage import contiguous_strides, element_strides, extent, strided, strides_of
from impl.tensor import Tensor, requires_grad

DEFAULT, NO_GRAD, MULTI = "default", "no_grad", "multi"


class Geometry(NamedTuple):
    """Sizes, strides and offset over a storage, in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class View:
    """What a view knows of its base: the root tensor, how the view came about, and the version
    of the storage up to which its grad_fn is current (torch's DifferentiableViewMeta)."""

    __slots__ = ("base", "creation", "version")

    def __init__(self, base: Tensor, creation: str, version: int) -> None:
        self.base = base
        self.creation = creation
        self.version = version


def geometry(tensor: Tensor) -> Geometry:
    """The sizes, strides and offset of a tensor."""
    return Geometry(tensor._raw.shape, tensor.stride(), tensor._offset)


def alias(tensor: Tensor, target: Geometry) -> Tensor:
    """A tensor over the same storage, counter included, with no history: what detach() returns."""
    shape, strides, offset = target
    raw = tensor._array()
    result = Tensor.__new__(Tensor)
    result._storage = storage = tensor._storage
    if shape == raw.shape and offset == tensor._offset and strides == tensor.stride():
        result._raw = raw
    else:
        result._raw = strided(storage.flat, shape, strides, offset)
    if strides != contiguous_strides(shape):
        result._strides = strides
    result._offset = offset
    return result


def view_of(tensor: Tensor, target: Geometry, multiple: bool = False) -> Tensor:
    """A view of `tensor`, related to the root of its views, without a node yet."""
    result = alias(tensor, target)
    creation = (MULTI if multiple else DEFAULT) if STATE.enabled else NO_GRAD
    parent = tensor._view
    base = tensor
    if parent is not None:
        base = parent.base
        if creation == DEFAULT:
            creation = parent.creation
    result._view = View(base, creation, result._storage.version)
    return result


class ViewOperator(Operator):
    """A primitive whose results are views of its first argument."""

    def __init__(self, function, node, multiple: bool, inplace_node=None) -> None:
        self.geometry = function
        self.multiple = multiple
        self.bounded = False  # whether what it asks for may lie outside the storage
        super().__init__(_array_kernel(function, multiple), node, None, False, ("result",), True)
        # In torch the in-place form of a view operator is an operator, and a node, of its own.
        self.inplace_class = inplace_node and type(inplace_node, (self.node_class,), {})

    @property
    def is_straight(self) -> bool:
        return not self.multiple and super().is_straight

    def __call__(self, tensor, *args):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{self.name}(): argument 'input' (position 1) must be Tensor, "
                f"not {type(tensor).__name__}"
            )
        targets = self.geometry(geometry(tensor), *args)
        if not self.multiple:
            targets = (targets,)
        if self.bounded:
            check_bounds(tensor, targets[0])
        results = [view_of(tensor, t, self.multiple) for t in targets]
        if results and STATE.enabled and self.bits and requires_grad(tensor):
            every = (tensor, *args)
            node = self.node(every, results, 1, (gradient_edge(tensor),))
            node.describe(results)
            for number, result in enumerate(results):
                result._node = node
                result._nr = number
        return tuple(results) if self.multiple else results[0]

    def inplace(self, tensor, *args):
        """Change the geometry of the tensor itself (`t_`, `squeeze_`); counts as a write."""
        from impl import inplace

        inplace.check(tensor, requires_grad(tensor))
        target = self.geometry(geometry(tensor), *args)
        if self.bounded:
            check_bounds(tensor, target)
        node = None
        if STATE.enabled and requires_grad(tensor):
            node = self.node((tensor, *args), (tensor,), 1, (gradient_edge(tensor),))
            node.__class__ = self.inplace_class
        changed = alias(tensor, target)
        tensor._raw, tensor._strides, tensor._offset = (
            changed._raw,
            changed._strides,
            changed._offset,
        )
        tensor._storage.version += 1
        if node is not None:
            node.describe((tensor,))
            # No value has changed: a view's base keeps its history, and what was to happen to the
            # gradient of the tensor's former shape still will.
            tensor._node, tensor._nr = node, 0
            if tensor._view is not None:
                tensor._view.version = tensor._storage.version
        return tensor


def _array_kernel(function, multiple: bool):
    @functools.wraps(function)
    def kernel(raw, *args):
        array = np.asarray(raw)
        strides = strides_of(array) or contiguous_strides(array.shape)
        if array.size:  # those of single elements too, where row-major is a matter of opinion
            strides = element_strides(array)
        source = Geometry(array.shape, strides, 0)
        targets = function(source, *args)
        views = [_array_view(array, t) for t in (targets if multiple else (targets,))]
        return tuple(views) if multiple else views[0]

    kernel.__name__ = function.__name__
    return kernel


def _array_view(array: np.ndarray, target: Geometry) -> np.ndarray:
    if 0 in target.shape:
        if 0 in target.strides:  # of an expanded nothing; NumPy could not tell it from row-major
            return np.empty(target.shape, array.dtype)
        return strided(array.reshape(-1)[:0], *target)
    size = array.itemsize
    start = array.__array_interface__["data"][0] + target.offset * size
    window = np.asarray(Memory(array, start, target.shape, [s * size for s in target.strides]))
    # The array interface knows extension types (bfloat16) only as bytes.
    return window if window.dtype == array.dtype else window.view(array.dtype)


class Memory:
    """Describes a window of an array's memory to NumPy, and keeps the array alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: np.ndarray, address: int, shape, strides) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (address, False),
            "shape": tuple(shape),
            "strides": tuple(strides),
            "typestr": owner.dtype.str,
            "version": 3,
        }


def view(
    *,
    node: str | None = None,
    inplace_node: str | None = None,
    multiple: bool = False,
    function: bool = True,
    method: bool = True,
    inplace: bool = False,
):
    """Define a view operator from its function on geometries (the first parameter's).

    `multiple` is for functions that return several views as one operation (`unbind`, `split`),
    which forbids writing to them in place.
    """

    def define(geometry_function) -> ViewOperator:
        op = ViewOperator(geometry_function, node, multiple, inplace_node)
        OPERATORS[op.name] = op
        call = spelling(op, geometry_function, False)
        setattr(RAW, op.name, op.kernel)
        setattr(TAPED, op.name, call)
        if function:
            FUNCTIONS[op.name] = call
        if method:
            setattr(Tensor, op.name, call)
        if inplace:
            setattr(Tensor, op.name + "_", spelling(op, geometry_function, False, inplace=True))
        return op

    return define


@view(node="AsStridedBackward0", inplace_node="AsStridedBackward1", inplace=True)
def as_strided(self: Geometry, size, stride, storage_offset=None) -> Geometry:
    """A view with any sizes, strides and offset (in elements) over the storage."""
    offset = self.offset if storage_offset is None else storage_offset
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(stride)}"
        )
    return Geometry(tuple(size), tuple(stride), offset)


def check_bounds(tensor: Tensor, target: Geometry) -> None:
    """Raise RuntimeError when a geometry reaches beyond the storage."""
    size, stride, offset = target
    itemsize = tensor._raw.dtype.itemsize
    needed = 0 if 0 in size else offset + extent(size, stride)
    if needed > tensor._storage.flat.size:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, "
            f"and itemsize {itemsize} requiring a storage size of {needed * itemsize} are out of "
            f"bounds for storage of size {tensor._storage.nbytes()}"
        )


as_strided.bounded = True
as_strided.gradient(
    self=written(
        lambda F, grad, self_layout, size, stride, storage_offset: F.as_strided_backward(
            grad, self_layout, size, stride, storage_offset
        )
    )
)


def refresh(tensor: Tensor, record: View) -> None:
    """Give a view whose base was written since a grad_fn from the base's present history.

    Raises RuntimeError for a view whose creation forbids that (several views, no_grad).
    """
    check_creation(tensor, base_changed=True)
    node = as_strided.node(
        (record.base, tensor._raw.shape, tensor.stride(), tensor._offset),
        (tensor,),
        1,
        (gradient_edge(record.base),),
    )
    hooks.move_to(node, tensor)
    tensor._node = node
    tensor._nr = 0
    record.version = tensor._storage.version


def check_creation(tensor: Tensor, base_changed: bool) -> None:
    """Raise RuntimeError if the view's history must not be rewritten."""
    creation = tensor._view.creation
    if creation != DEFAULT:
        text = messages.view_misuse(creation, tensor._node, tensor._nr, base_changed)
        raise RuntimeError(text)


@view(node="AliasBackward0", function=False, method=False)
def alias_(self: Geometry) -> Geometry:
    return self


alias_.gradient(self=lambda F, grad: grad)


def alias_view(tensor: Tensor) -> Tensor:
    """A view of the whole tensor, recorded as an operation (`x[...]`)."""
    return alias_(tensor)
