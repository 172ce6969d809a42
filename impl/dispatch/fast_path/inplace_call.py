"""The fast path of in-place operators: guards, the write, the rebased history."""

from __future__ import annotations

from impl.dispatch.fast_path.call import FastCall
from impl.dispatch.gradient_plan import OUTPUT
from impl.tape import inplace
from impl.tensor.write import overwrite


class InplaceCall(FastCall):
    """Writes the source of a function that applies an operator in place."""

    write = "overwrite(input, r)"
    caught = "Exception"  # the slow path may refuse the write first

    def __init__(self, *description) -> None:
        super().__init__(*description)
        self.made = "input"

    def _meta_of(self, position: int) -> str:
        return "common" if self.op.layout_sensitive else "floating"

    def _takes_any_order(self, position: int) -> bool:
        return False

    def _condition(self, tensors) -> str:
        tests = [super()._condition(tensors)]
        if not self.op.layout_sensitive:  # whose tensors may have any strides, zero ones too
            tests.append("input._strides is None")
        for i in tensors[1:]:
            x = self.names[i]
            shares = f"{x}._memory is None or {x}._memory is not input._memory"
            tests.append(f"({x} is None or {shares})" if i in self.op.optional else f"({shares})")
        return " and ".join(tests)

    def _compute(self, value: str, tensors, given) -> None:
        if self.op._kernel_in_memory is None:
            super()._compute(value, tensors, given)
            return
        self.scope["in_memory"] = self.op._kernel_in_memory
        alike = self._alike(tensors)
        self._add(f"r = in_memory if type(r0) is ndarray and {alike} else None  # called later")
        self._add("if r is None:")
        self.indent += 1
        super()._compute(value, tensors, given)
        self.indent -= 1
        self.write = f"overwrite(input, r) if r is not in_memory else in_memory({', '.join(given)})"

    def _result(self, tensors, edges, raws) -> None:
        op = self.op
        self.scope.update(
            NEEDS_SLOW_PATH=inplace.NEEDS_SLOW_PATH,
            overwrite=overwrite,
            fast_path_history=inplace.fast_path_history,
            rewrite=inplace.rewrite,
        )
        self._finished = self.general
        self.alike = True  # from here on
        plain = op.elementwise and op.promote is not None and not op.optional
        alike = self._alike(tensors) if plain else "False"
        fits = "r.shape == r0.shape and r.dtype is r0.dtype"
        self._add(f"if not {alike} and not ({fits}): return {self.general}")
        self._add("memory = input._storage if input._memory is None else input._memory")
        self._add("if path:")
        self.indent += 1
        if 0 not in edges:  # No formula for the written operand; the slow path raises.
            self._add(f"return {self.general}")
        else:
            self._history(edges)
        self.indent -= 1
        self._add(self.write)
        self._add("memory.version += 1")
        self._add("return input")

    def _alike(self, tensors) -> str:
        """The condition under which the float operands have one shape, dtype and layout."""
        operands = [f"m{i}" for i in tensors if self._is_floating(i)]
        return f"({' is '.join(operands)})" if len(operands) > 1 else "True"

    def _history(self, edges) -> None:
        self._add("n0 = fast_path_history(input)")
        self._add(f"if n0 is NEEDS_SLOW_PATH: return {self.general}")
        others = [i for i in edges if i != 0]
        for i in others:
            self._operand(i)
        some = " or ".join(f"n{i} is not None" for i in edges)
        self._add(f"if {some}:")
        self.indent += 1
        if others:
            self._for_each_set(edges, self._written)
        else:
            self._written(edges)
        self._add(f"node._sequence = {self.sequence}")
        self._add("node._meta = m0")
        self._add(self.write)
        self._add("memory.version += 1")
        self._add("rewrite(input, node)")
        self._add("return input")
        self.indent -= 1

    def _written(self, present) -> None:
        """The node, unless it saves the target, before or after the write."""
        plan = self.op.plan(sum(self.grad_inputs[i] for i in present), True)
        # A view is connected through its base; other outputs than the first take the slow path.
        numbered = [f"{self.names[i]}._nr" for i in present if i != 0]
        if self.op.saves_target(sum(self.grad_inputs[i] for i in present)) or any(
            kind == OUTPUT for kind, _ in plan.reads
        ):
            self._add(f"return {self.general}")
            return
        if numbered:
            self._add(f"if {' or '.join(numbered)}: return {self.general}")
        self._node(present)
        if 0 in present:
            self._add("if input._view is not None:")
            order = sorted(self.grad_inputs, key=lambda i: self.grad_inputs[i])
            nodes = [f"n{i}, " if i in present and i != 0 else "None, " for i in order]
            self._add(f"    node._next_nodes = ({''.join(nodes)})")
        else:
            self._add(f"if input._view is not None: return {self.general}")
