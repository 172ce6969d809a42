"""Calls of operators that take a list of tensors, of which one output is made."""

from __future__ import annotations

from typing import Any

from impl.core import inference_mode
from impl.core.dtypes import DIFFERENTIABLE
from impl.core.state import STATE
from impl.dispatch import dispatch_modes, forward_rules, meta_kernels
from impl.dispatch.operator_writes import OperatorWrites
from impl.graph.edge import gradient_edge
from impl.graph.node_creation_hooks import created
from impl.tensor.tensor import DISPATCHING, Tensor, requires_grad
from impl.tensor.torch_dispatch import asks


class OperatorLists(OperatorWrites):
    """The spelling of an operator whose operands are in a list."""

    kernel: Any
    _meta_kernel: Any

    def _joined(self, tensors, raws):
        """The result of the kernel for a list of tensors."""
        if not meta_kernels.mixes(raws):
            return self.kernel(*raws)
        meta_kernels.check_same_device(tensors, with_scalars=False)
        kernel = self._meta_kernel(raws) or self.kernel
        return meta_kernels.call(lambda given: kernel(*given), raws)

    def record_list(self, args, outputs) -> None:
        """Record the one output of an operator that takes a list of tensors, if one of these
        requires grad."""
        tensors = args[self.list_position]
        if not (STATE.enabled and inference_mode.recordable(self, args)):
            return
        flags = [isinstance(t, Tensor) and requires_grad(t) for t in tensors]
        if any(flags) and outputs[0]._raw.dtype in DIFFERENTIABLE:
            edges = [gradient_edge(t) if f else None for t, f in zip(tensors, flags, strict=True)]
            outputs[0]._node = self.node(args, outputs, 1, edges)
            if STATE.node_creation_hooks:
                created(outputs[0]._node)

    def _apply_list(self, args):
        position = self.list_position
        assert position is not None
        tensors = args[position]
        raws = [*args]
        raws[position] = [t._raw if isinstance(t, Tensor) else t for t in tensors]
        for i in self.tensor_positions:
            if isinstance(args[i], Tensor):
                raws[i] = args[i]._raw
        if (STATE.dispatch_modes or DISPATCHING) and asks(args):
            outputs = (dispatch_modes.called(self, args),)
        elif (result := inference_mode.composed(self, args)) is not NotImplemented:
            return result
        else:
            outputs = (self._output(self._joined(tensors, raws), raws, False, args),)
        self.record_list(args, outputs)
        forward_rules.propagate(self, args, outputs)
        return outputs[0]
