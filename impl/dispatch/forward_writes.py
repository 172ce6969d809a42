"""Forward mode through writes in place: the tangent of the target is written with it.

The values from before the write that the rule of the operator needs (`impl.dispatch.forward_rules`)
are kept until it has happened.
"""

from __future__ import annotations

from impl.core import messages
from impl.core.state import STATE
from impl.dispatch.forward_rules import (
    Formulas,
    ForwardCall,
    Reapplied,
    Unsupported,
    note_computed,
    recording,
    rule_of,
    tangents_of,
)
from impl.tape import dual_tensor
from impl.tensor import forward_grad


def _reads_target(op, rule) -> bool:
    """Whether a rule needs the values of the first operand, besides its tangent."""
    if isinstance(rule, Reapplied):
        return False
    if isinstance(rule, Formulas):
        parameters = [p for _, _, names in rule.formulas for p in names]
    else:
        parameters = [p for _, _, names in op.formulas for p in names]
    return op.parameters[0] in {p.removesuffix("_conj") for p in parameters}


class TangentWrite:
    """A write in place while levels are open: one to the tangent at each of them, from the
    outermost."""

    def __init__(self, op, args) -> None:
        self.args = args
        self.writes = iter(forward_grad.at_each_level(LevelWrite, op, args))

    def write(self, node=None) -> None:
        """Write the tangents, or give some, after the primal was written and `node` recorded."""
        note_computed(self.args, self.args[:1])
        forward_grad.at_each_level(lambda: next(self.writes).write(node))


class LevelWrite:
    """A write in place at one level: the values that its tangent needs from before the write."""

    def __init__(self, op, args) -> None:
        self.op = op
        self.target = target = args[0]
        tangents = tangents_of(op, args) if forward_grad.can_have(target) else {}
        if not tangents:
            self.call = None
            return
        self.own = tangents.get(0)
        rule = rule_of(op)
        directly = isinstance(rule, Reapplied) and (rule.directly or op.is_view)
        self.directly = directly and self.own is not None
        # A rule that reads the overwritten values reads the tangent of before the write, too; for
        # any other it may have changed, if it has the target's memory.
        self.keeps_own = op.forward_writes or _reads_target(op, rule)
        with forward_grad.computing():
            if not (self.directly or op.forward_writes):
                args = (target.clone(), *args[1:])
                if self.keeps_own and self.own is not None:
                    forward_grad.check_size(target, self.own)  # as of a copy of both
                    tangents[0] = self.own.clone()
        self.call = ForwardCall(op, args, tangents, written=True)
        if isinstance(rule, Unsupported) and rule.text == messages.FORWARD_UNKNOWN:
            rule(self.call)  # an operator without any derivative is refused before the write

    def write(self, node) -> None:
        """Write the tangent, or give one, after the primal was written and `node` recorded."""
        call = self.call
        if call is None:
            return
        rule = rule_of(self.op)
        with forward_grad.computing() as recorded:
            if self.directly:
                assert isinstance(rule, Reapplied)
                tangent = self.op.inplace(*rule.arguments(call))
            else:
                call.outputs = (dual_tensor.primal(self.target),)
                if self.own is not None and STATE.enabled and not self.keeps_own:
                    call.tangents[0] = self.own.clone()
                tangent = (recording if recorded else rule)(call)[0]
            if self.own is not None and tangent is not None and tangent is not self.own:
                self.own.copy_(tangent)
        if self.own is None and tangent is not None:
            forward_grad.set_fw_grad(self.target, tangent, written=True)
        forward_grad.note_on_node(self.target, node)


class _NoTangent:
    """A write outside of a level: there is no tangent to write."""

    @staticmethod
    def write(node=None) -> None:
        pass


def before_write(op, args):
    """Called before a write in place; `write()` of the returned object writes the tangent."""
    return TangentWrite(op, args) if forward_grad.is_entered() else _NoTangent
