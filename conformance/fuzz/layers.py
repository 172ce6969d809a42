"""Modules and optimisers with random options, as statements of a program."""

from __future__ import annotations

from conformance.fuzz import calls, operands
from conformance.fuzz.draft import Draft
from conformance.fuzz.operators import Signature

HOOKS = (
    "{m}.register_forward_hook(lambda m, i, o: log.append(o))",
    "{m}.register_forward_pre_hook(lambda m, i: log.append(i))",
    "{m}.register_full_backward_hook(lambda m, gi, go: log.append((gi, go)))",
    "{m}.register_full_backward_pre_hook(lambda m, go: log.append(go))",
)
USES = (
    "repr({m})", "list({m}.state_dict())", "{m}.eval()", "{m}.train(False)", "{m}.double()",
    "{m}.zero_grad()", "{m}.zero_grad(set_to_none=False)", "{m}.requires_grad_(False)",
    "[p.shape for p in {m}.parameters()]", "{m}.extra_repr()", "copy.deepcopy({m})",
    "{m}.load_state_dict({m}.state_dict())", "list({m}.named_parameters())", "{m}.half()",
    "[p.grad for p in {m}.parameters()]", "list({m}.named_buffers())", "{m}.to(torch.float64)",
    "{m}.apply(lambda m: None)", "{m}.share_memory", "len(list({m}.modules()))", "{m}.bfloat16()",
)  # fmt: skip
STEPS = (
    "{o}.step()", "{o}.zero_grad()", "repr({o})", "{o}.state_dict()", "{o}.param_groups",
    "{o}.zero_grad(set_to_none=False)", "{o}.add_param_group({{'params': [{x}]}})",
    "{o}.load_state_dict({o}.state_dict())", "{o}.param_groups[0]['lr'] = 0.5", "{o}.defaults",
)  # fmt: skip


def module(draft: Draft, signature: Signature) -> None:
    """Build a module, apply it to a tensor or two, and use it as a program would."""
    choices = draft.choices
    name = signature.spellings[0]
    made = False
    for _ in range(6):
        built = f"m = {name}({calls.arguments(draft, signature.arguments)})"
        if made := draft.attempt(built):
            break
    if not made:
        draft.refuse(built)
        return
    if choices.chance(0.2):
        draft.attempt("log = []")
        draft.attempt(choices.pick(HOOKS).format(m="m"))
    if choices.chance(0.35):
        draft.attempt(choices.pick(USES).format(m="m"))
    for _ in range(8):
        inputs = [_input(draft) for _ in range(choices.pick((1, 1, 1, 2, 2, 3)))]
        applied = f"{draft.fresh()} = m({', '.join(inputs)})"
        if draft.attempt(applied):
            if choices.chance(0.3):
                draft.attempt(f"{draft.fresh()} = m({', '.join(inputs)})")
            break
    else:
        draft.refuse(applied)
    if choices.chance(0.35):
        draft.attempt(choices.pick(USES).format(m="m"))


def _input(draft: Draft) -> str:
    """A tensor that a module is applied to: of more dimensions, and of more than one size."""
    choices = draft.choices
    if choices.chance(0.25):
        return operands.live_tensor(draft)
    if choices.chance(0.15):
        few = [str(choices.integer(0, 1)) for _ in range(4)]
        return operands.new_tensor(draft, dtype="int64", elements=few)
    rank = choices.pick((1, 2, 2, 3, 3, 4, 4, 5))
    shape = tuple(operands.drawn_size(draft) for _ in range(rank))
    if choices.chance(0.3):
        shape = tuple(choices.pick((draft.sizes[0], 4, 5)) for _ in range(rank))
    shape = operands.fitted(shape)
    dtype = "float32" if choices.chance(0.9) else operands.drawn_dtype(draft)
    return operands.new_tensor(draft, shape=shape, dtype=dtype)


def optimiser(draft: Draft, signature: Signature) -> None:
    """Build an optimiser of some leaves, and take a few steps."""
    choices = draft.choices
    leaves = [
        operands.new_tensor(draft, dtype=draft.floating, requires_grad=True)
        for _ in range(choices.pick((1, 1, 2)))
    ]
    drawn = calls.argument_list(draft, signature.arguments[1:])
    options = ", ".join(o for o in drawn if choices.chance(0.8))
    given = f"[{', '.join(leaves)}]"
    if choices.chance(0.15):
        given = f"[{{'params': [{leaves[0]}], 'lr': 0.5}}]"
    built = f"o = {signature.spellings[0]}({given}{', ' if options else ''}{options})"
    if not draft.attempt(built):
        draft.refuse(built)
        draft.attempt(f"o = {signature.spellings[0]}({given})")
    for _ in range(choices.integer(1, 3)):
        x = choices.pick(leaves)
        total = choices.pick(("({x} * {x}).sum()", "{x}.sin().sum()", "({x} - 1).abs().sum()"))
        if "LBFGS" in built:
            draft.attempt(
                f"def closure():\n    l = {total.format(x=x)}\n    l.backward()\n    return l"
            )
            draft.attempt("o.step(closure)")
        else:
            draft.attempt(f"{total.format(x=x)}.backward()")
            draft.attempt("o.step()")
        if choices.chance(0.4):
            text = choices.pick(STEPS).format(o="o", x=x)
            if not draft.attempt(text) and choices.chance(0.3):
                draft.refuse(text)
