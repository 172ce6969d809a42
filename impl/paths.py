"""What a backward pass finds out about the graph before it runs."""

from __future__ import annotations

from sys import getrefcount

from impl.graph import AccumulateGrad


def waiting(roots) -> dict:
    """How many gradients each reachable node waits for; those without an entry wait for one."""
    counts = dict.fromkeys(roots, 0)
    pending = list(roots)
    while pending:
        node = pending.pop()
        while (target := node._only) is not None:
            # Referenced by the node, by our name, and by the call's own: there is no other edge.
            if getrefcount(target) == 3:
                node = target
                continue
            if target in counts:
                counts[target] += 1
                break
            counts[target] = 1
            node = target
        else:
            for target in node._branches:
                if target is None:
                    continue
                if getrefcount(target) == 3:  # by the tuple, our name, and the call's own
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


def leading(roots, targets, run_targets: bool) -> dict:
    """The nodes from which a path leads to a target, and whether each is run or only reached."""
    leads: dict = dict.fromkeys(targets, run_targets)
    parents, pending = _parents(roots), list(leads)
    while pending:
        for node in parents.pop(pending.pop(), ()):
            if not leads.get(node):
                leads[node] = True
                pending.append(node)
    if len(roots) == 1 and roots[0]._run is None:
        leads.setdefault(roots[0], False)  # its tensors' hooks run in any case, as torch's do
    return leads


def _parents(roots) -> dict:
    """The nodes whose gradients go to it, for every node to which a path leads from the roots."""
    parents: dict = {}
    known, pending = set(roots), list(roots)
    while pending:
        node = pending.pop()
        for target in node._branches if node._only is None else (node._only,):
            if target is None:
                continue
            if target in parents:
                parents[target].append(node)
                continue
            parents[target] = [node]
            if target not in known:
                pending.append(target)
    return parents
