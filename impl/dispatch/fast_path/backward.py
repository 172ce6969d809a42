"""Compiled backwards: the formulas of a GradientPlan as one function, of arrays or of tensors."""

from __future__ import annotations

import ast
import copy
from typing import Any

from numpy import ndarray

from impl.core import messages
from impl.core.dtypes import WIDE
from impl.core.registry import array_ops, tensor_ops
from impl.core.state import STATE
from impl.core.storage import Storage
from impl.core.strides import strides_of
from impl.dispatch.formula_helpers import refuse_shapes
from impl.dispatch.gradient_plan import (
    CONJUGATE,
    GRADIENT,
    INPUT,
    LIST,
    NEEDS,
    OUTPUT,
    TENSOR_READS,
    both,
)
from impl.dispatch.kernel_parameters import names_of
from impl.tape.saved_variable import unpack_array, unpack_tensor
from impl.tensor.tensor import Tensor


def _unpack_list(values, node):
    return [v if v is None else unpack_array(v, node) for v in values]


def _unpack_tensors(values, node):
    return [v if v is None else unpack_tensor(v, node) for v in values]


def _output_of(storage, node):
    """`unpack_tensor` of an output that was not written since it was saved."""
    raw, meta = storage.buffer, node._meta
    if STATE.fast_path is None or type(raw) is not ndarray or (raw.shape, raw.dtype) != meta:
        return unpack_tensor(storage, node)
    output: Any = object.__new__(Tensor)
    output._raw = raw
    output._strides = strides = strides_of(raw)
    output._dense_meta = meta if strides is None and raw.dtype in WIDE and raw.size else None
    output._memory = storage
    output._node = node
    output._view = None
    output._requires_grad = False
    output._nr = 0
    return output


# The names that compiled backwards refer to.
SCOPE = {
    "FREED": messages.FREED,
    "Storage": Storage,
    "Tensor": Tensor,
    "both": both,
    "output_of": _output_of,
    "refuse_shapes": refuse_shapes,
    "unpack_array": unpack_array,
    "unpack_list": _unpack_list,
    "unpack_tensor": unpack_tensor,
    "unpack_tensors": _unpack_tensors,
}


def backward(plan, edges: int, real: bool):
    """A function (node, grad, keep, wanted) that runs a plan's formulas on raw values.

    It returns a list of the gradients per edge, None where there is none (where the plan has a
    single edge, its gradient alone), and frees the saved variables unless `keep` or on an error.
    `wanted` says of each edge whether it is needed (None: all). `real` promises that nothing saved
    is complex.
    """
    head = ["def compiled_backward(node, grad, keep, wanted):", *_saved(plan)]
    lines = []
    for i, (kind, _) in enumerate(plan.reads):
        value = f"s{i}"
        if kind in (INPUT, OUTPUT):
            value = f"s{i}._raw if {_unwritten(i)} else unpack_array(s{i}, node)"
            value = f"{value} if s{i} is not None else None"
        if kind == OUTPUT:  # an output that is not differentiable is saved like an input
            bare = f"type(s{i}) is Storage and not s{i}.version"
            value = f"s{i}.buffer if {bare} else {value}"
        elif kind == LIST:
            value = f"unpack_list(s{i}, node)"
        lines.append(f"    v{i} = {value}")
    if plan.saves_tensors:
        lines.append("    if not keep: node._saved = None")
    scope: dict[str, Any] = {**SCOPE, "F": array_ops, "__name__": __name__}
    results = ["None"] * edges
    selected = ["None"] * edges
    for targets, call in _calls(plan, real, scope):
        if len(targets) == 1:
            results[targets[0]] = call
            selected[targets[0]] = f"{call} if wanted[{targets[0]}] else None"
        else:
            lines.append(f"    {', '.join(f'g{t}' for t in targets)}, = {call}")
            for target in targets:
                results[target] = selected[target] = f"g{target}"
    if plan.single is not None:
        lines.append(f"    return {results[plan.single]}")
    else:
        order = [targets[0] for targets, *_ in plan.formulas if len(targets) == 1]
        lines += ["    if wanted is None:", *_returned(results, order)]
        lines += ["    else:", *_returned(selected, order)]
    exec("\n".join([*head, *_guarded(lines)]), scope)
    return scope["compiled_backward"]


def _returned(results: list[str], order: list[int]) -> list[str]:
    """The indented lines that return the list of results, each of which is an expression; those of
    the edges in `order` are evaluated in that order, in which torch evaluates formulas."""
    early = [edge for place, edge in enumerate(order) if any(e < edge for e in order[place:])]
    lines = [f"        g{edge} = {results[edge]}" for edge in early]
    values = [f"g{edge}" if edge in early else value for edge, value in enumerate(results)]
    return [*lines, f"        return [{', '.join(values)}]"]


def _guarded(lines: list[str]) -> list[str]:
    """The lines, in a statement that gives a node its saved values back where a formula fails."""
    return [
        "    try:",
        *(f"    {line}" for line in lines),
        "    except BaseException as error:",
        "        node._saved = saved",
        "        refuse_shapes(error)",
        "        raise",
    ]


def recorded_backward(plan, edges: int, real: bool):
    """A function (node, grad, wanted) that runs a plan's formulas on tensors, which record.

    It returns a list of the gradients per edge, and frees nothing; see `backward`.
    """
    lines = ["def recorded_backward(node, grad, wanted):", *_saved(plan)]
    for i, (kind, _) in enumerate(plan.reads):
        value = f"s{i}"
        if kind == LIST:
            value = f"unpack_tensors(s{i}, node)"
        elif kind in TENSOR_READS:
            value = f"s{i} if {_unwritten(i)} else unpack_tensor(s{i}, node)"
            if kind == OUTPUT:
                bare = f"type(s{i}) is Storage and not s{i}.version"
                value = f"output_of(s{i}, node) if {bare} else {value}"
        lines.append(f"    v{i} = {value}")
    scope: dict[str, Any] = {**SCOPE, "F": tensor_ops, "__name__": __name__}
    results = ["None"] * edges
    for targets, call in _calls(plan, real, scope):  # in the order in which torch records them
        for target in targets:
            results[target] = f"g{target}"
        if len(targets) == 1:
            needed = f"wanted is None or wanted[{targets[0]}]"
            call = f"({call}) if {needed} else None,"
        lines.append(f"    {', '.join(f'g{t}' for t in targets)}, = {call}")
    lines.append(f"    return [{', '.join(results)}]")
    exec("\n".join(lines), scope)
    return scope["recorded_backward"]


def _saved(plan) -> list[str]:
    """The lines that read the saved values into s0, s1 and so on."""
    lines = ["    saved = node._saved"]
    if plan.saves_tensors:
        lines.append("    if saved is None: raise RuntimeError(FREED)")
    if plan.reads:
        lines.append(f"    {', '.join(f's{i}' for i in range(len(plan.reads)))}, = saved")
    return lines


def _unwritten(i: int) -> str:
    """The condition under which a saved value is a plain tensor that was never written."""
    written = f"memory.version or memory.altered or s{i}._detached"
    return f"type(s{i}) is Tensor and ((memory := s{i}._memory) is None or not ({written}))"


def _calls(plan, real: bool, scope: dict):
    """For each formula its edges and the expression that calls it."""
    for number, (targets, function, arguments) in enumerate(plan.formulas):
        scope[f"f{number}"] = function
        given = ["F"]
        for place, (kind, which) in enumerate(arguments):
            if kind == GRADIENT:
                given.append("(grad,)" if which is None else "grad")
            elif kind == NEEDS:
                name = f"needs{number}_{place}"
                scope[name] = which
                given.append(f"({name} if wanted is None else both({name}, wanted))")
            elif kind == CONJUGATE and not real:
                conj = "conj_operand" if plan.reads[which][0] == INPUT else "conj"
                given.append(f"F.{conj}(v{which})")
            else:
                given.append(f"v{which}")
        # Written out, a conjugate is taken where it is used, which would show in recorded nodes.
        if hasattr(function, "expression") and (real or scope["F"] is array_ops):
            yield targets, _written_out(function, given)
        else:
            yield targets, f"f{number}({', '.join(given)})"


def _written_out(function, given: list[str]) -> str:
    """A formula that is an expression, with its arguments substituted for the parameters."""
    values = dict(zip(names_of(function), given, strict=True))

    class Substitution(ast.NodeTransformer):
        def visit_Name(self, node):
            return ast.Name(values[node.id], node.ctx)

    tree = Substitution().visit(copy.deepcopy(function.expression))
    return f"({ast.unparse(tree)})"
