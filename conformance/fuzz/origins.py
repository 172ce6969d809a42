"""Origins of wrong gradients: the nodes of a program's graph, and findings with the same origin.

A pass differentiates a whole graph in one statement. The nodes of a small program are few; of two
findings the one whose nodes the other has as well is the origin of both.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from conformance.fuzz.causes import GRADIENT, Cause
from conformance.fuzz.share import Found, Share
from conformance.observe.trace import Trace

NAMED = 3
"""Nodes that the name of a cause has at most."""

_NODE = re.compile(r"^(\w+?)(?:Backward\d*)?\(")


def nodes(trace: Trace) -> tuple[str, ...]:
    """The names of the nodes in the graphs that a trace shows, but for those of leaves.

    Overloads of an operator (`SumBackward0`, `SumBackward1`) have one name: they share mistakes.
    """
    return tuple(sorted({name for step in trace.steps for name in _nodes(step.changed)}))


def _nodes(seen: object) -> Iterator[str]:
    if isinstance(seen, dict):
        for line in seen.get("graph") or ():
            if found := _NODE.match(str(line)):
                yield found[1]
        for part in seen.values():
            yield from _nodes(part)
    elif isinstance(seen, list):
        for part in seen:
            yield from _nodes(part)


def located(cause: Cause, trace: Trace) -> Cause:
    """The cause of a small program, of whose spread statements this is the oracle's trace."""
    there = nodes(trace)
    if not cause.is_gradient or not there:
        return cause
    named = f"{GRADIENT}{', '.join(there)}" if len(there) <= NAMED else cause.operator
    return replace(cause, operator=named, nodes=there)


def spread(statements: Sequence[str]) -> list[str]:
    """The statements with a name for the root of each pass, so that a trace shows its graph.

    A function that returns its root, such as the closure of an optimiser, is called once, and so is
    the lambda of a transform, on a leaf.
    """
    return [part for place, one in enumerate(statements) for part in _spread(one, place)]


def _spread(statement: str, place: int) -> Iterator[str]:
    try:
        tree = ast.parse(statement)
    except (SyntaxError, ValueError):
        yield statement
        return
    body = tree.body[0] if len(tree.body) == 1 else None
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    if isinstance(body, ast.Expr | ast.Assign) and isinstance(call := body.value, ast.Call):
        owners = [call.func] if isinstance(call.func, ast.Attribute) else []
        for number, owner in enumerate(owners):
            if isinstance(owner.value, ast.Call | ast.BinOp | ast.Subscript):
                name = f"root_{place}_{number}"
                yield f"{name} = {ast.unparse(owner.value)}"
                owner.value = ast.Name(name)
        for number, root in enumerate(_roots(call)):
            name = f"output_{place}_{number}"
            yield f"{name} = {ast.unparse(root)}"
    yield ast.unparse(tree) if body is not None else statement
    for number, applied in enumerate(n for n in ast.walk(tree) if isinstance(n, ast.Lambda)):
        names = [argument.arg for argument in applied.args.args]
        leaves = ", ".join(f"{name}.detach().requires_grad_()" for name in names)
        yield f"applied_{place}_{number} = ({ast.unparse(applied)})({leaves})"
    for number, function in enumerate(functions):
        if isinstance(function.body[-1], ast.Return) and not function.args.args:
            yield f"returned_{place}_{number} = {function.name}()"


def _roots(call: ast.Call) -> list[ast.expr]:
    """The outputs that a call of `grad` or `backward` of `torch.autograd` differentiates."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr in ("grad", "backward")):
        return []
    if not call.args or ast.unparse(call.func.value) != "torch.autograd":
        return []
    first = call.args[0]
    found = list(first.elts) if isinstance(first, ast.List | ast.Tuple) else [first]
    return [one for one in found if isinstance(one, ast.Call | ast.BinOp | ast.Subscript)]


@dataclass
class Origin:
    """Findings with one origin: the smallest, how often it showed, and the causes of the others."""

    share: Share
    found: Found
    others: list[Cause] = field(default_factory=list)


def origins(findings: Sequence[Origin]) -> list[Origin]:
    """The findings put together by origin, in the order in which the first of each was drawn."""
    order = sorted(range(len(findings)), key=lambda k: (*_size(findings[k].found), k))
    groups: list[list[int]] = []
    for place in order:
        cause = findings[place].found.cause
        for group in groups:
            if findings[group[0]].found.cause.explains(cause):
                group.append(place)
                break
        else:
            groups.append([place])
    return [_joined([findings[place] for place in group]) for group in sorted(groups, key=min)]


def _joined(group: Sequence[Origin]) -> Origin:
    smallest = group[0].found
    count = sum(one.found.count for one in group)
    causes = [cause for one in group for cause in (one.found.cause, *one.others)]
    others = [cause for cause in dict.fromkeys(causes) if cause != smallest.cause]
    return Origin(group[0].share, replace(smallest, count=count), others)


def _size(found: Found) -> tuple[int, int]:
    return len(found.cause.nodes), sum(map(len, found.statements))
