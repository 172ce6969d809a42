"""Dependencies: the traversals of the graph before a pass (compute_dependencies and init_to_execute
in csrc/autograd/engine.cpp)."""

from __future__ import annotations

from sys import getrefcount

from impl.core.ownership import NAME_AND_HOLDER
from impl.core.state import STATE
from impl.graph.accumulate_grad import AccumulateGrad


def count_dependencies(roots) -> dict:
    """How many gradients each reachable node waits for; those without an entry wait for one."""
    counts = dict.fromkeys(roots, 0)
    pending = list(roots)
    while pending:
        node = pending.pop()
        while (target := node._next_node) is not None:
            if getrefcount(target) == NAME_AND_HOLDER:  # this is the only edge to it
                node = target
                continue
            if target in counts:
                counts[target] += 1
                break
            counts[target] = 1
            node = target
        else:
            for target in node._next_nodes:
                if target is None:
                    continue
                if getrefcount(target) == NAME_AND_HOLDER:  # the tuple
                    if type(target) is not AccumulateGrad:  # which leads nowhere
                        pending.append(target)
                elif target in counts:
                    counts[target] += 1
                else:
                    counts[target] = 1
                    pending.append(target)
    return counts


def reachable(roots) -> set:
    """The nodes to which a path leads from the roots, and these."""
    return set(roots).union(_parents(roots))


def exec_info(roots, targets, run_targets: bool) -> dict:
    """The nodes from which a path leads to a target, and whether each is run or only reached."""
    leads: dict = dict.fromkeys(targets, run_targets)
    parents, pending = _parents(roots), list(leads)
    while pending:
        for node in parents.pop(pending.pop(), ()):
            if not leads.get(node):
                leads[node] = True
                pending.append(node)
    if len(roots) == 1 and roots[0]._compiled_backward is None:
        leads.setdefault(roots[0], False)  # its tensors' hooks run in any case, as torch's do
    return leads


def _parents(roots) -> dict:
    """The nodes whose gradients go to it, for every node to which a path leads from the roots.

    The graph of a function that torch.func transforms ends at its inputs, which torch has wrapped.
    """
    parents: dict = {}
    level = STATE.transforms[-1] if STATE.transforms else None
    known, pending = set(roots), list(roots)
    while pending:
        node = pending.pop()
        if level is not None and node._wrapper_of is level:
            continue
        for target in node._next_nodes if node._next_node is None else (node._next_node,):
            if target is None:
                continue
            if target in parents:
                parents[target].append(node)
                continue
            parents[target] = [node]
            if target not in known:
                pending.append(target)
    return parents
