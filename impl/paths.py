"""What a backward pass finds out about the graph before it runs."""

from __future__ import annotations

from sys import getrefcount


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
                if target is not None:
                    if target in counts:
                        counts[target] += 1
                    else:
                        counts[target] = 1
                        pending.append(target)
    return counts


def reachable(roots) -> set:
    """The nodes to which a path leads from the roots, and these."""
    seen = set(roots)
    pending = list(seen)
    while pending:
        for target in pending.pop()._targets():
            if target is not None and target not in seen:
                seen.add(target)
                pending.append(target)
    return seen


def leading(roots, targets, run_targets: bool) -> dict:
    """The nodes from which a path leads to a target, and whether each is run or only reached."""
    leads: dict = {node: run_targets for node in targets}
    order, seen = [], set()
    pending = [(node, False) for node in roots]
    while pending:
        node, done = pending.pop()
        if done:
            order.append(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        pending.append((node, True))
        for target in node._targets():
            if target is not None and target not in seen:
                pending.append((target, False))
    reaches = dict.fromkeys(targets, True)
    for node in order:
        for target in node._targets():
            if target is not None and reaches.get(target):
                reaches[node] = True
                leads[node] = True
                break
    if len(roots) == 1 and roots[0]._run is None:
        leads.setdefault(roots[0], False)  # its tensors' hooks run in any case, as torch's do
    return leads
