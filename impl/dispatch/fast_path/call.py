"""The fast path of operator calls: guards, the kernel, the output, the node."""

from __future__ import annotations

import inspect
import itertools

import numpy as np

from impl.core.devices import CPU
from impl.core.dtypes import GREATEST_SCALAR, LEAST_SCALAR, WIDE
from impl.core.state import STATE
from impl.core.storage import Storage
from impl.core.strides import contiguous_strides, strides_of
from impl.dispatch.gradient_plan import DEVICE, INPUT, LAYOUT, OUTPUT, SHAPE, VALUE
from impl.dispatch.kernel_parameters import signature_of
from impl.graph.accumulate_grad import grad_accumulator
from impl.graph.edge import edge_node
from impl.graph.input_metadata import tensor_meta
from impl.graph.node import RUNS_FIRST, next_sequence
from impl.tape.saved_variable import save
from impl.tensor.tensor import (
    PLAIN,
    Tensor,
    addend_meta,
    dense_meta,
    elementwise_meta,
    float_meta,
    requires_grad,
)

# The names that generated functions refer to.
SCOPE = {
    "CPU": CPU,
    "common": dense_meta,
    "contiguous_strides": contiguous_strides,
    "elementwise": elementwise_meta,
    "floating": float_meta,
    "STATE": STATE,
    "tensor_meta": tensor_meta,
    "WIDE": WIDE,
    "PLAIN": PLAIN,
    "Storage": Storage,
    "Tensor": Tensor,
    "accumulator": grad_accumulator,
    "addend": addend_meta,
    "edge_node": edge_node,
    "ndarray": np.ndarray,
    "new_object": object.__new__,
    "next_sequence": next_sequence,
    "requires_grad": requires_grad,
    "save": save,
    "strides_of": strides_of,
}


class FastCall:
    """Writes the source of a function that calls an operator; see `function`."""

    made: str  # the names of the returned values
    caught = "(ValueError, MemoryError)"  # of the kernel, for which the slow path is asked

    def __init__(self, op, scope: dict, constants: dict | None, expression: str | None) -> None:
        self.op = op
        self.scope = scope
        self.sequence = "next_sequence()" if op.node_name != "NotImplemented" else str(RUNS_FIRST)
        self.validates = op.validate is not None and constants is None
        self.expression = expression
        self.constants = constants = constants or {}
        self.names = [
            repr(constants[p]) if p in constants else "input" if p == "self" else p
            for p in op.parameters
        ]
        self.grad_inputs = {position: bit for bit, position in op.grad_inputs}
        # The outputs: the differentiable one, which is made here, and others.
        self.main = op.differentiable_outputs[0]
        self.outputs = ["out" if i == self.main else f"out{i}" for i in range(len(op.outputs))]
        self.made = ", ".join(self.outputs)

    def source(self, header: str, general: str) -> str:
        """The whole function."""
        self.lines = [header.rstrip("\n")]
        self.general = general
        self.indent = 1
        self._write(general)
        return "\n".join(self.lines)

    def _add(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def _write(self, general: str) -> None:
        op = self.op
        tensors = sorted(op.tensor_positions)
        number = tensors[1] if op.numbers and len(tensors) == 2 else None
        self._add("path = STATE.fast_path")
        fixed = [i for i in tensors if i != number]
        self._add(f"if path is not None and {' and '.join(map(self._plain, fixed))}:")
        self.indent += 1
        for i in fixed:
            self._read(i)
        if number is None:
            self._body(tensors)
        else:
            x = self.names[number]
            self._add(f"if type({x}) is Tensor or type({x}) in PLAIN:")
            self.indent += 1
            self._read(number)
            self._body(tensors)
            self.indent -= 1
            # Larger integers are refused on the slow path.
            small = f"{LEAST_SCALAR} <= {x} <= {GREATEST_SCALAR}"
            self._add(f"elif type({x}) is float or (type({x}) is int and {small}):")
            self.indent += 1
            self._add(f"r{number} = {x}")
            self._body(fixed)
            self.indent -= 1
        self.indent -= 1
        self._add(f"return {general}")

    def _plain(self, position: int) -> str:
        x = self.names[position]
        test = f"(type({x}) is Tensor or type({x}) in PLAIN)"
        return f"({x} is None or {test})" if position in self.op.optional else test

    def _read(self, position: int) -> None:
        x = self.names[position]
        absent = f"None if {x} is None else " if position in self.op.optional else ""
        self._add(f"r{position} = {absent}{x}._raw")
        if self._is_floating(position):
            # The layout of operands matters to element-wise results, and to ordered formulas.
            found = f"{self._meta_of(position)}({x})"
            if self._takes_any_order(position):
                found += f" or addend({x}, {self.names[self.op.tensor_positions[0]]})"
            self._add(f"m{position} = {absent}{x}._dense_meta or {found}")

    def _meta_of(self, position: int) -> str:
        """The function that finds the meta of an operand on which the fast path can be taken."""
        if not self.op.layout_sensitive:
            return "floating"
        return "elementwise" if self.op.elementwise else "common"

    def _takes_any_order(self, position: int) -> bool:
        """Whether an operand may have its dimensions in another order than the first one's, which
        decides that of the result: a second term, which no formula reads."""
        op, first = self.op, self.op.tensor_positions[0]
        plain = op.elementwise and op.promote is not None and op.grad_inputs and not op.optional
        if not plain or position <= first or len(op.tensor_positions) != 2:
            return False
        reads = op.plan(sum(bit for bit, _ in op.grad_inputs), True).reads
        return not any(kind in (INPUT, OUTPUT) for kind, _ in reads)

    def _is_floating(self, position: int) -> bool:
        """Whether the fast path needs a tensor to be a float one, and its meta."""
        return self.op.promote is not None or position in self.grad_inputs

    def _body(self, tensors) -> None:
        """Check the dtypes, run the kernel, make the output, record."""
        op = self.op
        self.tensors = tensors
        edges = [i for i in tensors if i in self.grad_inputs]
        start = self.indent
        self._add(f"if {self._condition(tensors)}:")
        self.indent += 1
        raws = [f"r{i}" if i in op.tensor_positions else x for i, x in enumerate(self.names)]
        if op.validated_numbers and not self.constants:
            usual = " and ".join(
                f"type({n}) in (float, int) and -1e38 < {n} < 1e38" for n in op.validated_numbers
            )
            self._add(f"if not ({usual}): return {self.general}")
        elif self.validates:
            self._add(f"op.validate({', '.join(raws)})")
        kinds = signature_of(self.scope["kernel"]).parameters
        given = [
            f"{name}={raw}" if kinds[name].kind is inspect.Parameter.KEYWORD_ONLY else raw
            for raw, name in zip(raws, op.parameters, strict=True)
            if name not in self.constants
        ]
        value = self.expression or f"kernel({', '.join(given)})"
        self._compute(value, tensors, given)
        self._result(tensors, edges, raws)
        self.indent = start

    def _compute(self, value: str, tensors, given) -> None:
        self._add(f"try: result = r = {value}")
        self._add(f"except {self.caught}: return {self.general}")

    def _result(self, tensors, edges, raws) -> None:
        """Make the output, and record."""
        op, every = self.op, ", ".join(self.names)
        given = f"[{', '.join(raws)}], ({every},)"
        self._finished = f"op.wrap_outputs(result, {given}, op.grad_input_mask(({every},)))"
        if len(self.outputs) > 1:
            self._add(f"r = result[{self.main}]")
        if op.fresh and not op.elementwise:
            self._add("strides = strides_of(r)")
        elif not op.elementwise:
            self._add("if r.ndim > 1 and not r.flags.c_contiguous:")
            self._add(f"    return {self._finished}")
        for i, output in enumerate(self.outputs):
            if i != self.main:
                self._add(f"{output} = op._output(result[{i}], (), False, ())")
        self._add("out = new_object(Tensor)")
        self._add("out._raw = r")
        self._add("out._strides = out._memory = out._node = out._view = None")
        if op.fresh and not op.elementwise:
            self._add("out._strides = strides")
        self._add("out._requires_grad = False")
        self._add("out._nr = 0")
        # An element-wise result of operands with one meta has the same.
        every_one = op.elementwise and not op.reduces and not op.optional and bool(edges)
        self.alike = every_one and all(map(self._is_floating, tensors))
        if self.alike:
            tests = [" is ".join(f"m{i}" for i in tensors)] if len(tensors) > 1 else []
            if op.promote is None:  # then the result may have any dtype, and half the size
                r0 = f"r{tensors[0]}"
                tests.append(f"r.dtype is {r0}.dtype and r.shape == {r0}.shape")
            meta = f"m{tensors[0]}" + (f" if {' and '.join(tests)} else None" if tests else "")
            self._add(f"out._dense_meta = common_result = {meta}")
        else:
            self._add("out._dense_meta = None")
        if edges:
            self._add("if path:")
            self.indent += 1
            self._record(edges)
            self.indent -= 1
        self._add(f"return {self.made}")

    def _condition(self, tensors) -> str:
        """The condition under which nothing has to be promoted, and every dtype is a float one."""
        promotes = self.op.promote is not None
        first = next((i for i in tensors if self._is_floating(i)), None)
        tests, same = [], []
        for i in tensors:
            x = self.names[i]
            if not self._is_floating(i):
                test = f"{x}._strides is None"
                if self.op.elementwise:
                    test += f" and r{i}.size"  # see `dense_meta`
            else:
                test = f"m{i} is not None"
                if promotes and i != first:
                    dtype = f"r{i}.dtype is r{first}.dtype"
                    test = f"({test} and {dtype})" if i in self.op.optional else dtype
                    same.append(f"m{i}")
            tests.append(f"({x} is None or {test})" if i in self.op.optional else test)
        every = " and ".join(tests)
        if same and not self.op.optional:
            alike = " and ".join(f"{m} is m{first}" for m in same)
            known = " and ".join(f"{m} is not None" for m in same)
            return f"m{first} is not None and ({alike} or ({known} and {every}))"
        return every

    def _record(self, edges) -> None:
        """For each set of operands that require grad: make the node with its saved values."""
        op = self.op
        for i in edges:
            self._operand(i)
        if op.promote is None:  # then the result may have any dtype
            some = " or ".join(f"n{i} is not None" for i in edges)
            mask = " | ".join(f"(n{i} is not None) * {self.grad_inputs[i]}" for i in edges)
            self._add(f"if ({some}) and r.dtype not in WIDE:")
            self._add(f"    op.record(({', '.join(self.names)},), ({self.made},), {mask})")
            self._add(f"    return {self.made}")
        self._for_each_set(edges, self._node)
        self._add(f"else: return {self.made}")
        self._add(f"node._sequence = {self.sequence}")
        meta = "type(r) if type(r) is not ndarray else tensor_meta(r)"
        if self.alike:
            meta = f"common_result or ({meta})"
        # Row-major and of a wide dtype it looks the same as an operand.
        kept = " = out._dense_meta" if op.promote is None and not op.elementwise else ""
        self._add(f"node._meta{kept} = {meta}")
        if kept and op.fresh:
            self._add("if strides is not None: out._dense_meta = None")
        self._add("out._node = node")

    def _for_each_set(self, edges, write) -> None:
        """What `write` adds for a set of operands, for whichever of them require grad."""
        word = "if"
        for size in range(len(edges), 0, -1):
            for present in itertools.combinations(edges, size):
                # Larger sets come first, so that absent operands need no test.
                self._add(f"{word} {' and '.join(f'n{i} is not None' for i in present)}:")
                self.indent += 1
                write(present)
                self.indent -= 1
                word = "elif"

    def _operand(self, i: int) -> None:
        """Find the node of an operand, None if it does not require grad."""
        x = self.names[i]
        if i in self.op.optional:
            self._add(f"if {x} is None: n{i} = None")
            self._add(f"elif (n{i} := {x}._node) is None:")
        else:
            self._add(f"n{i} = {x}._node")
            self._add(f"if n{i} is None:")
        self._add(f"    if {x}._view is None:")
        known = f"({x}._grad_accumulator is not None and {x}._grad_accumulator())"
        self._add(f"        if {x}._requires_grad: n{i} = {known} or accumulator({x})")
        # A view can require grad, because its base does, and be connected to nothing.
        self._add(f"    elif (n{i} := edge_node({x})) is None and requires_grad({x}):")
        self._add(f"        return {self._finished}")
        # That of a view is made anew if its base was written since.
        self._add(f"elif (view := {x}._view) is not None and view.version != {x}._memory.version:")
        self._add(f"    n{i} = {x}._grad_fn")

    def _node(self, present) -> None:
        op, names = self.op, self.names
        mask = sum(self.grad_inputs[i] for i in present)
        plan = self.scope[f"P{mask}"] = op.plan(mask, True)
        self._add("node = NODE()")
        self._add(f"node._plan = P{mask}")
        self.scope[f"R{mask}"] = plan.compiled_backward
        self._add(f"node._compiled_backward = R{mask}")
        if plan.versions is not None:
            versions = f"versions_of(({', '.join(names)},))" if plan.varies else "versions"
            self._add(f"node._versions = P{mask}.{versions}")
        order = sorted(self.grad_inputs, key=lambda i: self.grad_inputs[i])
        if plan.single is not None and plan.compiled_backward is not None:
            self._add(f"node._next_node = n{present[0]}")
        else:
            self._add("node._next_node = None")
            nodes = [f"n{i}, " if i in present else "None, " for i in order]
            self._add(f"node._next_nodes = ({''.join(nodes)})")
        self._add(f"if {' or '.join(f'{names[i]}._nr' for i in present)}:")
        numbers = [f"{names[i]}._nr, " if i in present else "0, " for i in order]
        self._add(f"    node._input_nrs = ({''.join(numbers)})")
        kept = []
        for kind, which in plan.reads:
            if kind == INPUT:
                x = names[which]
                if which in op.optional:
                    kept.append(f"{x} if {x} is None or {x}._memory is None else save({x})")
                elif which in self.tensors:
                    kept.append(f"{x} if {x}._memory is None else save({x})")
                else:  # a number
                    kept.append(x)
            elif kind == OUTPUT and which == self.main:
                self._add("out._memory = memory = Storage(r)")
                kept.append("memory")
            elif kind == OUTPUT and which not in op.differentiable_outputs:
                kept.append(self.outputs[which])  # like an input that was never written
            elif kind == VALUE:
                kept.append(names[which])
            elif kind == SHAPE and which in self.tensors and which not in op.optional:
                kept.append(f"r{which}.shape")
            elif kind == DEVICE:
                kept.append("CPU")
            elif kind == LAYOUT and which in self.tensors and which not in op.optional:
                x = names[which]
                strides = f"contiguous_strides(r{which}.shape)"
                strides = f"{strides} if {x}._strides is None else {x}._strides"
                kept.append(f"(r{which}.shape, {strides}, {x}._offset)")
            else:
                kept.append(
                    f"op.read_saved({kind}, {which}, ({', '.join(names)},), ({self.made},))"
                )
        self._add(f"node._saved = ({''.join(f'({k}), ' for k in kept)})")
