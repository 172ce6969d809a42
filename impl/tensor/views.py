"""Views and their bases: ViewMeta, and regeneration of grad_fn (csrc/autograd/variable.h).

*MakeView* and *RegenerateView* of the specification's algorithms (reference/spec/00-algorithms.md).

A view operator is a function on geometries: from the sizes, strides and offset of its input to
those of its result. The same function makes views of tensors, views of arrays in formulas, and
(through `as_strided`) the slice in CopySlices.

    @view(node="TransposeBackward0")
    def transpose(self: Geometry, dim0, dim1) -> Geometry: ...
"""

from __future__ import annotations

from impl.core import messages
from impl.core.read_only import add_read_only
from impl.core.registry import OPERATORS
from impl.core.state import STATE
from impl.graph import hooks
from impl.graph.edge import gradient_edge
from impl.graph.node_creation_hooks import created
from impl.tensor.aliases import alias
from impl.tensor.geometry import Geometry, geometry
from impl.tensor.tensor import Tensor, requires_grad
from impl.tensor.wrappers import hides_history

DEFAULT, NO_GRAD, INFERENCE = "default", "no_grad", "inference"
MULTI, FUNCTION = "multi", "function"


class ViewMeta:
    """The metadata of a differentiable view (torch's DifferentiableViewMeta).

    Attributes:
        base: the root tensor, which is no view itself.
        creation: how the view was created (CreationMeta); all but DEFAULT forbid recorded writes.
        version: the version of the storage for which the view's grad_fn is current (attr_version).
        view_fn: function that replays the view on another base; None if as_strided suffices.
    """

    __slots__ = ("base", "creation", "version", "view_fn")

    def __init__(self, base: Tensor, creation: str, version: int, view_fn=None) -> None:
        self.base = base
        self.creation = creation
        self.version = version
        self.view_fn = view_fn

    @property
    def forward_base(self) -> Tensor | None:
        """The base for forward AD: the view's tangent is a view of the base's tangent."""
        return self.base

    @property
    def forward_view_fn(self):
        """The `view_fn` for `forward_base`."""
        return self.view_fn


class DualViewMeta(ViewMeta):
    """A ViewMeta with separate forward metadata: `forward_base` is not `base`; None: no base."""

    __slots__ = ("_forward_base", "_forward_view_fn")

    def __init__(self, view: ViewMeta, forward_base: Tensor | None, forward_view_fn=None) -> None:
        super().__init__(view.base, view.creation, view.version, view.view_fn)
        self._forward_base = forward_base
        self._forward_view_fn = forward_view_fn

    @property
    def forward_base(self) -> Tensor | None:
        return self._forward_base

    @property
    def forward_view_fn(self):
        return self._forward_view_fn


def view_of(tensor: Tensor, target: Geometry, multiple: bool = False, view_fn=None) -> Tensor:
    """A view of `tensor` with a geometry, without a node."""
    return as_view(alias(tensor, target), tensor, multiple, view_fn)


def as_view(result: Tensor, tensor: Tensor, multiple: bool = False, view_fn=None) -> Tensor:
    """Make an alias of `tensor` a differentiable view of its base, without a node.

    `view_fn` replays the view on another tensor; it is given where as_strided does not suffice, or
    with `STATE.view_replay`. `multiple`: the operator returns several views.
    """
    if STATE.within_dispatch:
        return result
    if tensor._inference:  # views of inference tensors have no base
        return result
    creation = MULTI if multiple else DEFAULT
    if STATE.inference or not STATE.grad_mode:
        creation = INFERENCE if STATE.inference else NO_GRAD
    parent, version = tensor._view, result._storage.version
    if parent is None:
        result._view = ViewMeta(tensor, creation, version, view_fn)
        return result
    if creation == DEFAULT or parent.creation == INFERENCE:
        creation = parent.creation
    base = parent.base
    view = ViewMeta(
        base, creation, version, _view_fn(result, view_fn, tensor, base, parent.view_fn)
    )
    if isinstance(parent, DualViewMeta):
        forward_base = tensor if parent.forward_base is None else parent.forward_base
        again = _view_fn(result, view_fn, tensor, forward_base, parent.forward_view_fn)
        view = DualViewMeta(view, forward_base, again)
    result._view = view
    return result


def _view_fn(result: Tensor, view_fn, tensor: Tensor, base: Tensor, before):
    """The view_fn from `base` to `result`, composed; None if as_strided suffices.

    `view_fn` goes from `tensor` to `result`, and `before` from `base` to `tensor`.
    """
    if view_fn is None and before is None:
        return None
    if tensor is base:
        return view_fn
    return _chain(before or _restrided(tensor), view_fn or _restrided(result))


def _restrided(result: Tensor):
    """A view_fn to `result` by as_strided, at its own place in a storage as in torch: on a tensor
    with another offset than the base it shows something else, or is out of bounds."""
    shape, strides, offset = geometry(result)
    as_strided = OPERATORS["as_strided"]
    return lambda tensor: as_strided(tensor, shape, strides, offset)


def _chain(first, second):
    return lambda tensor: second(first(tensor))


def regenerate_grad_fn(tensor: Tensor, record: ViewMeta) -> None:
    """Regenerate the grad_fn of a view after a write to its base, from the base's grad_fn.

    Raises RuntimeError if the creation of the view forbids it (several views, no_grad).
    """
    check_creation(tensor, base_changed=True)
    if record.view_fn is not None:
        node = _replayed(record)
    else:
        node = OPERATORS["as_strided"].node(
            (record.base, tensor._raw.shape, tensor.stride(), tensor._offset),
            (tensor,),
            1,
            (gradient_edge(record.base),),
        )
        if STATE.node_creation_hooks:
            created(node)
    hooks.move_hooks(node, tensor)
    tensor._node = node
    tensor._nr = 0
    record.version = tensor._storage.version


def _replayed(record: ViewMeta):
    enabled, STATE.enabled = STATE.enabled, True
    try:
        return record.view_fn(record.base)._node
    finally:
        STATE.enabled = enabled


def check_creation(tensor: Tensor, base_changed: bool) -> None:
    """Raise RuntimeError if the creation of the view forbids rewriting its history."""
    creation = tensor._view.creation
    if creation != DEFAULT:
        text = messages.view_misuse(creation, tensor._node, tensor._nr, base_changed)
        raise RuntimeError(text)


def grad_fn(self):
    """The node of this tensor, None for a leaf; that of a view is regenerated after a write."""
    view = self._view
    if (
        view is not None
        and view.version != self._storage.version
        and (self._node is not None or requires_grad(view.base))
    ):
        regenerate_grad_fn(self, view)
    return self._node


def _shown_grad_fn(self):
    """The node that a program sees: none of a transform out of sight, or of its inputs."""
    node = grad_fn(self)
    if node is None or node._wrapper_of is not None:
        return None
    return None if STATE.transforms and hides_history(self) else node


add_read_only(Tensor, "grad_fn", _shown_grad_fn)
Tensor._grad_fn = property(grad_fn)  # for the implementation, which asks no class and no mode
