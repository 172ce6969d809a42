"""Modules and optimisers with random options, as statements of a program."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from conformance.fuzz import calls, operands
from conformance.fuzz.draft import Draft
from conformance.fuzz.operators import Signature

TRIES = 6
"""Modules that are built until one of them can be applied."""

INPUTS = 2
"""Inputs that are tried for a module."""

REFUSED = 0.1
"""The share of refused modules and inputs with which a program ends."""

FEATURES = ("in_features", "input_size", "d_model", "embed_dim")
CHANNELS = ("in_channels", "num_features", "num_channels")
"""Attributes with the size of an input's last dimension, and with that of its channels."""

EXTENTS = {1: (3, 4, 5, 6, 8), 2: (2, 3, 4, 4), 3: (2, 3, 3)}
"""Sizes of the dimensions that a module with so many of them goes through."""

SHARES = ("0.0", "1.0", "0.5", "0.25")
_SPATIAL = re.compile(r"([123])d$")

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
SMOOTH = ("({x} * {x}).sum()", "{x}.sin().sum()")
"""Losses without kinks: between these a quasi-Newton method only multiplies rounding."""
STEPS = (
    "{o}.step()", "{o}.zero_grad()", "repr({o})", "{o}.state_dict()", "{o}.param_groups",
    "{o}.zero_grad(set_to_none=False)", "{o}.add_param_group({{'params': [{x}]}})",
    "{o}.load_state_dict({o}.state_dict())", "{o}.param_groups[0]['lr'] = 0.5", "{o}.defaults",
)  # fmt: skip


def module(draft: Draft, signature: Signature) -> None:
    """Build a module, apply it to a tensor or two, and use it as a program would.

    A module that refuses its options or its inputs is mostly given up for another one: a program
    that ends there compares a message, and no derivative.
    """
    choices = draft.choices
    for left in reversed(range(TRIES)):
        before = draft.state()
        refused = _built(draft, signature) or _applied(draft)
        if refused is None:
            break
        if not left or choices.chance(REFUSED):
            draft.refuse(refused)
            return
        draft.return_to(before)
    if choices.chance(0.35):
        draft.attempt(choices.pick(USES).format(m="m"))


def _built(draft: Draft, signature: Signature) -> str | None:
    """Bind `m` to a module, perhaps with a hook; returns the statement if it is refused."""
    choices, name = draft.choices, signature.spellings[0]
    draft.spatial = spatial(name)
    built = f"m = {name}({calls.arguments(draft, signature.arguments)})"
    draft.spatial = 0
    if not draft.attempt(built):
        return built
    if choices.chance(0.2):
        draft.attempt("log = []")
        draft.attempt(choices.pick(HOOKS).format(m="m"))
    if choices.chance(0.35):
        draft.attempt(choices.pick(USES).format(m="m"))
    return None


def _applied(draft: Draft) -> str | None:
    """Apply the module, perhaps twice; returns the last statement if all are refused."""
    choices, applied = draft.choices, ""
    for _ in range(INPUTS):
        before = draft.state()
        given = ", ".join(_inputs(draft))
        applied = f"{draft.fresh()} = m({given})"
        if draft.attempt(applied):
            if choices.chance(0.3):
                draft.attempt(f"{draft.fresh()} = m({given})")
            return None
        draft.return_to(before)
    _inputs(draft)
    return applied


def _inputs(draft: Draft) -> list[str]:
    """Tensors for a module: mostly as many as it asks for, in the shapes that it states."""
    choices, module = draft.choices, draft.namespace["m"]
    asked = required(type(module).forward)
    if not asked or choices.chance(0.1):
        asked = ("input",) * choices.pick((1, 1, 2, 3))
    shape = stated_shape(draft, module)
    return [_input(draft, name, shape, index) for index, name in enumerate(asked)]


def _input(draft: Draft, name: str, shape: tuple[int, ...], index: int) -> str:
    """A tensor for the argument of that name of a module whose first input has the shape."""
    choices, module = draft.choices, draft.namespace["m"]
    if choices.chance(0.12):
        return operands.live_tensor(draft)
    if hasattr(module, "num_embeddings") or (name == "target" and choices.chance(0.4)):
        classes = [str(choices.integer(0, 1)) for _ in range(4)]
        rows = shape[:1] + shape[2:] if name == "target" and choices.chance(0.7) else shape
        return operands.new_tensor(draft, shape=rows, dtype="int64", elements=classes)
    own = getattr(module, f"in{index + 1}_features", None)
    if isinstance(own, int) and own >= 0:
        shape = (*shape[:-1], own)
    elif index and choices.chance(0.2):
        shape = operands.drawn_shape(draft)
    dtype = "float32" if choices.chance(0.9) else operands.drawn_dtype(draft)
    few = list(SHARES) if name == "target" and choices.chance(0.5) else None
    return operands.new_tensor(draft, shape=shape, dtype=dtype, elements=few)


def stated_shape(draft: Draft, module: Any) -> tuple[int, ...]:
    """A shape with the number of dimensions in the module's name and the sizes that it states."""
    choices = draft.choices
    extents, batched = spatial(type(module).__name__), choices.chance(0.8)
    if extents:
        shape = [choices.pick((1, 2)) for _ in range(1 + batched)]
        shape += [choices.pick(EXTENTS[extents]) for _ in range(extents)]
    else:
        shape = [operands.drawn_size(draft) for _ in range(choices.pick((1, 2, 2, 3, 3, 4)))]
    last = _stated(module, FEATURES)
    inner = getattr(module, "normalized_shape", None) or last[:1]
    if inner:
        shape[max(0, len(shape) - len(inner)) :] = inner
    channels = _stated(module, CHANNELS)
    if channels and len(shape) > 1:
        shape[1 if batched or not extents else 0] = channels[0]
    return operands.fitted(tuple(shape))


def _stated(module: Any, names: Sequence[str]) -> list[int]:
    found = (getattr(module, name, None) for name in names)
    return [size for size in found if isinstance(size, int) and 0 <= size <= operands.LARGEST]


def spatial(name: str) -> int:
    """The number of dimensions in the name of a module, such as 2 of Conv2d; 0 without one."""
    found = _SPATIAL.search(name)
    return int(found[1]) if found else 0


@cache
def required(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments without a default that a module's `forward` takes."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    return tuple(p.name for p in positional if p.default is p.empty)


def optimiser(draft: Draft, signature: Signature) -> None:
    """Build an optimiser of some leaves, and take a few steps."""
    choices = draft.choices
    leaves = [
        operands.new_tensor(draft, dtype=draft.floating, requires_grad=True)
        for _ in range(choices.pick((1, 1, 2)))
    ]
    drawn = calls.argument_list(draft, signature.arguments[1:])
    dense = all(draft.namespace[leaf].is_contiguous() for leaf in leaves)
    drawn = [o for o in drawn if dense or not o.startswith("fused=")]  # torch writes beyond others
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
        total = choices.pick(SMOOTH if "LBFGS" in built else (*SMOOTH, "({x} - 1).abs().sum()"))
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
