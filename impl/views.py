"""Views: tensors over part of another's storage, and how they follow its history.

A view operator is a function on geometries: from the sizes, strides and offset of its input to
those of its result. The same function makes the tensor's view, the array's view in formulas, and
(through `as_strided`) the slice that a rewritten history differentiates.

    @view(node="TransposeBackward0")
    def transpose(self: Geometry, dim0, dim1) -> Geometry: ...
"""

from __future__ import annotations

import functools

import numpy as np

from impl import forward, hooks, inference, messages
from impl.dtypes import WIDE
from impl.geometries import Geometry, Window, alias, array_kernel, check_bounds, geometry
from impl.graph import gradient_edge, meta_of
from impl.modes import STATE
from impl.operator import FUNCTIONS, OPERATORS, RAW, TAPED, Operator, spelling, written
from impl.storage import contiguous_strides
from impl.tensor import Tensor, requires_grad

DEFAULT, NO_GRAD, INFERENCE = "default", "no_grad", "inference"
MULTI, FUNCTION = "multi", "function"


class View:
    """What a view knows of its base: the root tensor, how the view came about, and the version
    of the storage up to which its grad_fn is current (torch's DifferentiableViewMeta).

    `remake` makes the view again from another tensor in the place of the base; None where a
    geometry is enough to do that.
    """

    __slots__ = ("base", "creation", "remake", "version")

    def __init__(self, base: Tensor, creation: str, version: int, remake=None) -> None:
        self.base = base
        self.creation = creation
        self.version = version
        self.remake = remake

    @property
    def forward_base(self) -> Tensor | None:
        """The tensor of whose tangent the view's is a part (see `impl.forward`)."""
        return self.base

    @property
    def forward_remake(self):
        """How to make that part; None where a geometry is enough."""
        return self.remake


class DualView(View):
    """A view of its base that shows another tensor's tangent: `forward_base`'s, or its own."""

    __slots__ = ("_forward_base", "_forward_remake")

    def __init__(self, view: View, forward_base: Tensor | None, forward_remake=None) -> None:
        super().__init__(view.base, view.creation, view.version, view.remake)
        self._forward_base = forward_base
        self._forward_remake = forward_remake

    @property
    def forward_base(self) -> Tensor | None:
        return self._forward_base

    @property
    def forward_remake(self):
        return self._forward_remake


def view_of(tensor: Tensor, target: Geometry, multiple: bool = False, remake=None) -> Tensor:
    """A view of `tensor`, related to the root of its views, without a node yet."""
    return relate(alias(tensor, target), tensor, multiple, remake)


def relate(result: Tensor, tensor: Tensor, multiple: bool = False, remake=None) -> Tensor:
    """Make an alias of `tensor` a view, related to the root of its views, without a node yet.

    `remake` makes such an alias from another tensor, where that takes more than a geometry, or is
    asked for (`STATE.view_replay`).
    """
    if tensor._inference:  # whose views have no base
        return result
    creation = MULTI if multiple else DEFAULT
    if not STATE.enabled:
        creation = INFERENCE if STATE.inference else NO_GRAD
    parent, version = tensor._view, result._storage.version
    if parent is None:
        result._view = View(tensor, creation, version, remake)
        return result
    if creation == DEFAULT or parent.creation == INFERENCE:
        creation = parent.creation
    base = parent.base
    view = View(base, creation, version, _remaking(result, remake, tensor, base, parent.remake))
    if isinstance(parent, DualView):
        forward_base = tensor if parent.forward_base is None else parent.forward_base
        again = _remaking(result, remake, tensor, forward_base, parent.forward_remake)
        view = DualView(view, forward_base, again)
    result._view = view
    return result


def _remaking(result: Tensor, remake, tensor: Tensor, base: Tensor, before):
    """How to make from a tensor in the place of `base` what `result` is; None if a geometry tells.

    `remake` is how `result` was made of `tensor`, `before` how that is made of `base`.
    """
    if remake is None and before is None:
        return None
    if tensor is base:
        return remake
    return _chain(before or _restriding(tensor, base), remake or _restriding(result, tensor))


def _restriding(result: Tensor, source: Tensor):
    """How to make from another `source` the view of it that has the geometry of `result`."""
    shape, strides, offset = geometry(result)
    offset -= source._offset
    return lambda tensor: as_strided(tensor, shape, strides, tensor._offset + offset)


def _chain(first, second):
    return lambda tensor: second(first(tensor))


class ViewOperator(Operator):
    """A primitive whose results are views of its first argument."""

    def __init__(self, function, node, multiple: bool, inplace_node=None) -> None:
        self.geometry = function
        self.window = functools.lru_cache(2048, typed=True)(self._window)
        self.multiple = multiple
        self.bounded = False  # whether what it asks for may lie outside the storage
        super().__init__(array_kernel(function, multiple), node, None, False, ("result",), True)
        # In torch the in-place form of a view operator is an operator, and a node, of its own.
        self.inplace_class = inplace_node and type(inplace_node, (self.node_class,), {})

    @property
    def is_straight(self) -> bool:
        return not self.multiple and super().is_straight

    def general(self, tensor, *args):
        """The views of a tensor of any kind, in any mode."""
        if STATE.batched:
            from impl import batched

            if batched.holds((tensor,)):
                return batched.mapped(self.general, (tensor, *args))
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{self.name}(): argument 'input' (position 1) must be Tensor, "
                f"not {type(tensor).__name__}"
            )
        results = self.views(tensor, args)
        if results and STATE.enabled and self.bits and requires_grad(tensor):
            if tensor._inference:
                return tuple(results) if self.multiple else results[0]
            every = (tensor, *args)
            node = self.node(every, results, 1, (gradient_edge(tensor),))
            node._describe(results)
            for number, result in enumerate(results):
                result._node = node
                result._nr = number
        forward.carry(self, (tensor, *args), results)
        return tuple(results) if self.multiple else results[0]

    def _window(self, shape, strides, offset: int, dtype: np.dtype, *args) -> Window:
        """The window that the view of a tensor shows, which depends on nothing else."""
        source = Geometry(shape, strides or contiguous_strides(shape), offset)
        target = self.geometry(source, *args)
        shape, strides, offset = target
        size = dtype.itemsize
        steps = None if target == source else tuple(s * size for s in strides)
        look = meta_of(np.broadcast_to(np.zeros((), dtype), shape))
        row_major = strides == contiguous_strides(shape)
        return Window(
            shape,
            None if row_major else strides,
            offset,
            0 if 0 in shape else offset * size,
            steps,
            look,
            look if row_major and dtype in WIDE else None,
        )

    def views(self, tensor: Tensor, args) -> list[Tensor]:
        """The views of the tensor, without nodes yet."""
        targets = self.geometry(geometry(tensor), *args)
        if not self.multiple:
            targets = (targets,)
        if self.bounded:
            check_bounds(tensor, targets[0])
        remake = (lambda other: self(other, *args)) if STATE.view_replay else None
        return [view_of(tensor, t, self.multiple, remake) for t in targets]

    def inplace(self, tensor, *args):
        """Change the geometry of the tensor itself (`t_`, `squeeze_`); counts as a write."""
        from impl import inplace

        if STATE.batched:
            from impl import batched

            if batched.holds((tensor,)):
                return batched.written(self.inplace, self.name, (tensor, *args))
        inplace.check(tensor, requires_grad(tensor))
        target = self.geometry(geometry(tensor), *args)
        if self.bounded:
            check_bounds(tensor, target)
        node = None
        if STATE.enabled and requires_grad(tensor):
            node = self.node((tensor, *args), (tensor,), 1, (gradient_edge(tensor),))
            node.__class__ = self.inplace_class
        tangent = forward.before_write(self, (tensor, *args))
        changed = alias(tensor, target)
        tensor._common = None
        tensor._raw, tensor._strides, tensor._offset = (
            changed._array(),
            changed._strides,
            changed._offset,
        )
        inference.count(tensor)
        if node is not None:
            node._describe((tensor,))
            # No value has changed: a view's base keeps its history, and what was to happen to the
            # gradient of the tensor's former shape still will.
            tensor._node, tensor._nr = node, 0
            if tensor._view is not None:
                tensor._view.version = tensor._storage.version
        tangent.write()
        return tensor


class Rereading(ViewOperator):
    """A view that takes the memory for something else: conjugated, negated, numbers for parts.

    `reread` makes the alias of a tensor; the kernel does to an array what formulas ask for.
    """

    def __init__(self, reread, kernel, node: str) -> None:
        self.reread = reread
        self.multiple = False
        Operator.__init__(self, kernel, node, None, False, ("result",), True)

    def views(self, tensor: Tensor, args) -> list[Tensor]:
        return [relate(self.reread(tensor, *args), tensor, False, lambda t: self(t, *args))]


def view(
    *,
    node: str | None = None,
    inplace_node: str | None = None,
    multiple: bool = False,
    function: bool = True,
    method: bool = True,
    inplace: bool = False,
    array=None,
):
    """Define a view operator from its function on geometries (the first parameter's).

    `array` is NumPy's function for the same, of an array and the other arguments, where it has one.
    `multiple` is for functions that return several views as one operation (`unbind`, `split`),
    which forbids writing to them in place.
    """

    def define(geometry_function) -> ViewOperator:
        op = ViewOperator(geometry_function, node, multiple, inplace_node)
        OPERATORS[op.name] = op
        call = spelling(op, geometry_function, False)
        setattr(RAW, op.name, array or op.kernel)
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


FUNCTIONS["as_strided_"] = Tensor.as_strided_  # torch has no other in-place view as a function
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
    if record.remake is not None:
        node = _remade(record)
    else:
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


def _remade(record: View):
    enabled, STATE.enabled = STATE.enabled, True
    try:
        return record.remake(record.base)._node
    finally:
        STATE.enabled = enabled


def check_creation(tensor: Tensor, base_changed: bool) -> None:
    """Raise RuntimeError if the view's history must not be rewritten."""
    creation = tensor._view.creation
    if creation != DEFAULT:
        text = messages.view_misuse(creation, tensor._node, tensor._nr, base_changed)
        raise RuntimeError(text)


@view(node="AliasBackward0", function=False, method=False)
def alias_(self: Geometry) -> Geometry:
    return self


alias_.gradient(self=lambda F, grad: grad).forward(lambda F, self_t: self_t)


def alias_view(tensor: Tensor) -> Tensor:
    """A view of the whole tensor, recorded as an operation (`x[...]`)."""
    return alias_(tensor)
