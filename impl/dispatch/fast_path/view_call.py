"""The fast path of view operators: guards, the window on the memory, the node."""

from __future__ import annotations

from impl.dispatch.fast_path.call import FastCall
from impl.tensor.views import DEFAULT, NO_GRAD, ViewMeta


class FastViewCall(FastCall):
    """Writes the source of a function that calls a view operator."""

    def _write(self, general: str) -> None:
        self.scope.update(DEFAULT=DEFAULT, NO_GRAD=NO_GRAD, View=ViewMeta, window=self.op.window)
        self.tensors = [0]
        self._finished = general
        self._add("path = STATE.fast_path")
        self._add(
            f"if path is None or not {self._plain(0)} or input._inference or STATE.view_replay:"
        )
        self._add(f"    return {general}")
        self._root()
        self._window()
        self._output()
        if self.grad_inputs:
            self._add("if path:")
            self.indent += 1
            self._record([0])
            self.indent -= 1
        self._add("return out")

    def _record(self, edges) -> None:
        self._operand(0)
        self._add("if n0 is not None:")
        self.indent += 1
        self._node(edges)
        self._add(f"node._sequence = {self.sequence}")
        self._add("node._meta = meta")
        self._add("out._node = node")
        self.indent -= 1

    def _root(self) -> None:
        """Find the tensor of which the result is a view in the end."""
        self._add("base, view = input, input._view")
        self._add("if view is not None:")
        self._add("    base = view.base")
        plain = "type(view) is View and view.view_fn is None and view.creation == DEFAULT"
        self._add(f"    if not ({plain}): return {self.general}")

    def _window(self) -> None:
        """Look up which part of the memory is shown, and how."""
        self._add("r0 = input._raw")
        self._add("if type(r0) is not ndarray:")
        self._add("    r0 = input._array()")
        self._add(f"    if type(r0) is not ndarray: return {self.general}  # on another device")
        self._add("memory = input._storage if input._memory is None else input._memory")
        self._add("flat, dtype = memory._flat, r0.dtype")
        self._add("if flat is None: flat = memory.flat")
        self._add(f"if flat.dtype is not dtype or dtype.kind != 'f': return {self.general}")
        source = "r0.shape, input._strides, input._offset, dtype"
        self._add("try:")
        # No operator's parameter has such a name.
        fields = "w_shape, w_strides, w_offset, w_start, w_steps, meta, common_result"
        self._add(f"    {fields} = \\")
        self._add(f"        window({', '.join([source, *self.names[1:]])})")
        self._add(f"except TypeError: return {self.general}  # what cannot be looked up")

    def _output(self) -> None:
        self._add("out = new_object(Tensor)")
        shown = "ndarray(w_shape, dtype, flat, w_start, w_steps)"
        self._add(f"out._raw = r0 if w_steps is None else {shown}")
        self._add("out._strides = w_strides")
        self._add("if w_offset: out._offset = w_offset")
        self._add("out._dense_meta = common_result")
        self._add("out._memory = memory")
        self._add("out._node = None")
        self._add("out._requires_grad = False")
        self._add("out._nr = 0")
        self._add("out._view = related = new_object(View)")
        self._add("related.base = base")
        self._add("related.creation = DEFAULT if path else NO_GRAD")
        self._add("related.version = memory.version")
        self._add("related.view_fn = None")
