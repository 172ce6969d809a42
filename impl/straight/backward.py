"""The backward of a node the straight way: its plan's formulas in one function, on raw values."""

from __future__ import annotations

import ast
import copy
import inspect
from typing import Any

from impl import messages
from impl.saved import raw_of
from impl.storage import Storage
from impl.tensor import Tensor


def _unpack_list(values, node):
    return [v if v is None else raw_of(v, node) for v in values]


def backward(plan, edges: int, real: bool):
    """A function (node, grad, keep, wanted) that runs a plan's formulas on raw values.

    It returns a list of the gradients per edge, None where there is none (where the plan has a
    single edge, its gradient alone), and frees what the node saved unless `keep`. `wanted` says of
    each edge whether anybody needs it (None: all). `real` promises that nothing saved is complex.
    """
    from impl.operator import RAW
    from impl.plans import CONJUGATE, GRADIENT, INPUT, LIST, NEEDS, OUTPUT, both

    scope: dict[str, Any] = {
        "F": RAW,
        "FREED": messages.FREED,
        "Storage": Storage,
        "Tensor": Tensor,
        "both": both,
        "raw_of": raw_of,
        "unpack_list": _unpack_list,
    }
    lines = ["def straight(node, grad, keep, wanted):", "    saved = node._kept"]
    if plan.saves_tensors:
        lines.append("    if saved is None: raise RuntimeError(FREED)")
    if plan.reads:
        lines.append(f"    {', '.join(f's{i}' for i in range(len(plan.reads)))}, = saved")
    for i, (kind, _) in enumerate(plan.reads):
        value = f"s{i}"
        if kind in (INPUT, OUTPUT):
            same = f"(memory := s{i}._memory) is None or not (memory.version or s{i}._detached)"
            value = f"s{i}._raw if type(s{i}) is Tensor and ({same}) else raw_of(s{i}, node)"
            value = f"{value} if s{i} is not None else None"
        if kind == OUTPUT:  # what is not differentiable is kept like an input
            bare = f"type(s{i}) is Storage and not s{i}.version"
            value = f"s{i}.buffer if {bare} else {value}"
        elif kind == LIST:
            value = f"unpack_list(s{i}, node)"
        lines.append(f"    v{i} = {value}")
    if plan.saves_tensors:
        lines.append("    if not keep: node._kept = None")
    results = ["None"] * edges
    selected = ["None"] * edges
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
            else:
                conjugated = kind == CONJUGATE and not real
                given.append(f"F.conj(v{which})" if conjugated else f"v{which}")
        call = f"f{number}({', '.join(given)})"
        if hasattr(function, "expression"):
            call = _written_out(function, given)
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
        lines.append(f"    if wanted is None: return [{', '.join(results)}]")
        lines.append(f"    return [{', '.join(selected)}]")
    exec("\n".join(lines), scope)
    return scope["straight"]


def _written_out(function, given: list[str]) -> str:
    """A formula that is an expression, with what it is given in the place of its parameters."""
    values = dict(zip(inspect.signature(function).parameters, given, strict=True))

    class Substitution(ast.NodeTransformer):
        def visit_Name(self, node):
            return ast.Name(values[node.id], node.ctx)

    tree = Substitution().visit(copy.deepcopy(function.expression))
    return f"({ast.unparse(tree)})"
