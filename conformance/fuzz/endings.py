"""Endings: the ways in which a random program is differentiated."""

from __future__ import annotations

from collections.abc import Callable

from conformance.fuzz import operands
from conformance.fuzz.draft import Draft


def seed_of(draft: Draft, root: str) -> str:
    """A gradient for the root, as source: ones, or a tensor of its shape in any layout."""
    choices = draft.choices
    if choices.chance(0.4):
        return f"torch.ones_like({root})"
    shape, dtype = draft.shape(root), draft.dtype(root)
    if choices.chance(0.04):
        dtype = operands.drawn_dtype(draft)
    return operands.new_tensor(draft, shape=shape, dtype=dtype, requires_grad=choices.chance(0.1))


def backward(draft: Draft, root: str) -> str:
    """backward() from the root, with any of its options."""
    choices = draft.choices
    options = [] if not draft.shape(root) and choices.chance(0.5) else [seed_of(draft, root)]
    if choices.chance(0.25):
        options.append("retain_graph=True")
    if choices.chance(0.15):
        options.append("create_graph=True")
    if choices.chance(0.15) and (leaves := draft.leaves()):
        options.append(f"inputs=[{choices.pick(leaves)}]")
    if choices.chance(0.3):
        return f"{root}.sum().backward()"
    if choices.chance(0.2):
        return f"torch.autograd.backward([{root}], [{options[0]}])" if options else ""
    return f"{root}.backward({', '.join(options)})"


def grad(draft: Draft, root: str) -> str:
    """torch.autograd.grad of the root by some tensors, with any of its options."""
    choices = draft.choices
    inputs = choices.sample([*draft.leaves(), *draft.linked()], choices.integer(1, 3))
    options = [root, f"[{', '.join(inputs)}]", seed_of(draft, root)]
    for name, share in (
        *(("create_graph", 0.5), ("allow_unused", 0.6), ("retain_graph", 0.2)),
        *(("materialize_grads", 0.1), ("is_grads_batched", 0.03)),
    ):
        if choices.chance(share):
            options.append(f"{name}=True")
    return f"{draft.fresh()} = torch.autograd.grad({', '.join(options)})"


def again(draft: Draft, root: str) -> str:
    """A second derivative: of the gradients that a pass has recorded."""
    found = [
        f"{name}[{k}]"
        for name, value in draft.namespace.items()
        if isinstance(value, tuple)
        for k, one in enumerate(value)
        if isinstance(one, draft.torch.Tensor) and one.requires_grad
    ]
    if not found:
        return f"{root}.sum().backward()"
    pick = draft.choices.pick(found)
    if draft.choices.chance(0.5):
        return f"{pick}.sum().backward()"
    inputs = draft.choices.sample(draft.leaves(), 2)
    total = f"({pick} * {pick}).sum()"
    name = draft.fresh()
    return f"{name} = torch.autograd.grad({total}, [{', '.join(inputs)}], allow_unused=True)"


ENDINGS: dict[Callable[[Draft, str], str], float] = {backward: 5.0, grad: 3.0, again: 1.5}


def end(draft: Draft) -> None:
    """Add one or two passes from the last tensors that have a node."""
    choices = draft.choices
    for _ in range(choices.pick((1, 1, 1, 2, 2, 3))):
        linked = draft.linked()
        if not linked:
            return
        root = linked[-1] if choices.chance(0.75) else choices.pick(linked)
        statement = choices.weighted(ENDINGS)(draft, root)
        if statement and not draft.attempt(statement) and choices.chance(0.4):
            draft.refuse(statement)
