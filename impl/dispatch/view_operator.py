"""View operators: functions on geometries (ATen's view functions, and their recording)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from impl.core import inference_mode
from impl.core.dtypes import DIFFERENTIABLE, WIDE
from impl.core.registry import FUNCTIONS, OPERATORS, array_ops, tensor_ops
from impl.core.state import STATE
from impl.core.strides import contiguous_strides
from impl.dispatch import aten, dispatch_modes, forward_rules, forward_writes, sparse_path
from impl.dispatch.definition import public_function
from impl.dispatch.not_implemented import refuse_integer_input
from impl.dispatch.operator import Operator
from impl.graph.edge import gradient_edge
from impl.graph.input_metadata import tensor_meta
from impl.graph.node_creation_hooks import created
from impl.tape import inplace
from impl.tensor import batched_tensor
from impl.tensor.aliases import alias
from impl.tensor.geometry import Geometry, Window, array_kernel, check_bounds, geometry
from impl.tensor.sparse_tensor import SPARSE
from impl.tensor.tensor import DISPATCHING, Tensor, requires_grad
from impl.tensor.torch_dispatch import asks, share_version
from impl.tensor.views import as_view, view_of
from impl.tensor.wrappers import refuse_captured
from impl.tensor.write import announce


class ViewOperator(Operator):
    """A primitive whose results are views of its first argument."""

    fast_path: str | None = "view"
    is_view = True

    def __init__(self, function, node, multiple: bool, inplace_node=None, **facts) -> None:
        self.geometry = function
        self.window = functools.lru_cache(2048, typed=True)(self._window)
        self.multiple = multiple
        self.bounded = facts.pop("bounded", False)
        kernel = array_kernel(function, multiple)
        facts.setdefault("batching", "dims")
        super().__init__(kernel, node, None, False, ("result",), True, **facts)
        # In torch the in-place form of a view operator is an operator, and a node, of its own.
        self.inplace_class = inplace_node and type(inplace_node, (self.node_class,), {})

    @property
    def has_one_gradient(self) -> bool:
        return not self.multiple and super().has_one_gradient

    def slow_path(self, tensor, *args):
        """The views of a tensor of any kind, in any mode."""
        if STATE.batched and (batch := batched_tensor.innermost((tensor,))) is not None:
            return batch._applied(self, (tensor, *args))
        if type(tensor) in SPARSE:
            return sparse_path.view(self, (tensor, *args))
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{self.name}(): argument 'input' (position 1) must be Tensor, "
                f"not {type(tensor).__name__}"
            )
        if (STATE.dispatch_modes or DISPATCHING) and asks((tensor,)):
            results = self._viewed_by_handler(tensor, args)
        else:
            results = self.views(tensor, args)
        if results and STATE.enabled and self.grad_inputs and requires_grad(tensor):
            if tensor._inference:
                return tuple(results) if self.multiple else results[0]
            if results[0]._raw.dtype not in DIFFERENTIABLE:
                refuse_integer_input((tensor,), results[0].dtype)
            self.record_views((tensor, *args), results)
        forward_rules.propagate(self, (tensor, *args), results)
        return tuple(results) if self.multiple else results[0]

    def record_views(self, args, results) -> None:
        """Give views their node."""
        node = self.node(args, results, 1, (gradient_edge(args[0]),))
        node._set_input_metadata(results)
        for number, result in enumerate(results):
            result._node = node
            result._nr = number
        if STATE.node_creation_hooks:
            created(node)

    def _viewed_by_handler(self, tensor: Tensor, args) -> list[Tensor]:
        """The tensors that a handler returned, as views, without nodes yet."""
        viewed = dispatch_modes.called(self, (tensor, *args))
        aliases = viewed if self.multiple else [viewed]
        for viewed in aliases:
            share_version(viewed, tensor)
        replayed = STATE.view_replay or type(tensor) in DISPATCHING
        view_fn = (lambda other: self(other, *args)) if replayed else None
        return [as_view(alias, tensor, self.multiple, view_fn) for alias in aliases]

    def _window(self, shape, strides, offset: int, dtype: np.dtype, *args) -> Window:
        """The window that the view of a tensor shows, which depends on nothing else."""
        source = Geometry(shape, strides or contiguous_strides(shape), offset)
        target = self.geometry(source, *args)
        shape, strides, offset = target
        size = dtype.itemsize
        steps = None if target == source else tuple(s * size for s in strides)
        meta = tensor_meta(np.broadcast_to(np.zeros((), dtype), shape))
        row_major = strides == contiguous_strides(shape)
        return Window(
            shape,
            None if row_major else strides,
            offset,
            0 if 0 in shape else offset * size,
            steps,
            meta,
            meta if row_major and dtype in WIDE and 0 not in shape else None,
        )

    def views(self, tensor: Tensor, args) -> list[Tensor]:
        """The views of the tensor, without nodes yet."""
        targets = self.geometry(geometry(tensor), *args)
        if not self.multiple:
            targets = (targets,)
        if self.bounded:
            check_bounds(tensor, targets[0])
        view_fn = (lambda other: self(other, *args)) if STATE.view_replay else None
        return [view_of(tensor, t, self.multiple, view_fn) for t in targets]

    def inplace(self, tensor, *args):
        """Change the geometry of the tensor itself (`t_`, `squeeze_`); counts as a write."""
        if STATE.batched and (batch := batched_tensor.innermost((tensor,))) is not None:
            return batch._written(self, (tensor, *args))
        if STATE.transforms:
            refuse_captured(tensor, lambda: aten.written_name(self, (tensor, *args)))
        announce(tensor)
        inplace.check(tensor, requires_grad(tensor))
        target = self.geometry(geometry(tensor), *args)
        if self.bounded:
            check_bounds(tensor, target)
        node = None
        if STATE.enabled and requires_grad(tensor):
            node = self.node((tensor, *args), (tensor,), 1, (gradient_edge(tensor),))
            node.__class__ = self.inplace_class
        tangent = forward_writes.before_write(self, (tensor, *args))
        if (STATE.dispatch_modes or DISPATCHING) and asks((tensor,)):
            dispatch_modes.called(self, (tensor, *args), written=True)
        else:
            changed = alias(tensor, target)
            tensor._dense_meta = None
            tensor._raw, tensor._strides, tensor._offset = (
                changed._array(),
                changed._strides,
                changed._offset,
            )
        inference_mode.count(tensor)
        if node is not None:
            node._set_input_metadata((tensor,))
            # Only the geometry changed: a view's base keeps its history, and hooks and retained
            # gradients of the old shape stay.
            tensor._node, tensor._nr = node, 0
            if tensor._view is not None:
                tensor._view.version = tensor._storage.version
            if STATE.node_creation_hooks:
                created(node)
        tangent.write()
        return tensor


class Rereading(ViewOperator):
    """A view that takes the memory for something else: conjugated, negated, numbers for parts.

    `reread` makes the alias of a tensor; the kernel does to an array what formulas ask for.
    """

    fast_path = None

    def __init__(self, reread, kernel, node: str) -> None:
        self.reread = reread
        self.__name__ = self.__qualname__ = reread.__name__
        self.multiple = False
        Operator.__init__(self, kernel, node, None, False, ("result",), True, batching="dims")

    def views(self, tensor: Tensor, args) -> list[Tensor]:
        return [as_view(self.reread(tensor, *args), tensor, False, lambda t: self(t, *args))]


def view(
    *,
    node: str | None = None,
    inplace_node: str | None = None,
    multiple: bool = False,
    function: bool = True,
    method: bool = True,
    inplace: bool = False,
    array=None,
    **facts: Any,
):
    """Define a view operator from its function on geometries (the first parameter's).

    `array` is NumPy's function for the same, of an array and the other arguments, where it has one.
    `multiple` is for functions that return several views as one operation (`unbind`, `split`),
    which forbids writing to them in place. Of the other `facts`, `bounded` says that the geometry
    may lie outside the storage, and has to be checked; the rest are those of
    `impl.dispatch.definition.operator`.
    """

    def define(geometry_function) -> ViewOperator:
        op = ViewOperator(geometry_function, node, multiple, inplace_node, **facts)
        OPERATORS[op.name] = op
        call = public_function(op, geometry_function, False)
        setattr(array_ops, op.name, array or op.kernel)
        setattr(tensor_ops, op.name, call)
        if function:
            FUNCTIONS[op.name] = call
        if method:
            setattr(Tensor, op.name, call)
        if inplace:
            setattr(
                Tensor, op.name + "_", public_function(op, geometry_function, False, inplace=True)
            )
        return op

    return define
