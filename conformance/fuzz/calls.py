"""Calls of torch's operators, with arguments drawn by the types of their signatures."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from conformance.fuzz import operands
from conformance.fuzz.draft import Draft
from conformance.fuzz.operators import Argument, Signature

# The texts that an argument of this name takes; the table of signatures knows only its type.
TEXTS = {
    "reduction": ("'none'", "'mean'", "'sum'"),
    "padding_mode": ("'zeros'", "'border'", "'reflection'", "'reflect'", "'circular'"),
    "rounding_mode": ("'floor'", "'trunc'", "None"),
    "approximate": ("'none'", "'tanh'"),
    "indexing": ("'ij'", "'xy'"),
    "nonlinearity": ("'tanh'", "'relu'"),
    "pad_mode": ("'reflect'", "'constant'"),
    "reduce": ("'sum'", "'prod'", "'mean'", "'amax'", "'amin'", "'add'", "'multiply'"),
    "side": ("'left'", "'right'"),
    "norm": ("'forward'", "'backward'", "'ortho'"),
    "UPLO": ("'L'", "'U'"),
    "driver": ("'gels'", "'gelsy'", "'gelsd'", "None"),
    "compute_mode": ("'use_mm_for_euclid_dist'", "'donot_use_mm_for_euclid_dist'"),
    "line_search_fn": ("'strong_wolfe'", "None"),
    "interpolation": ("'linear'", "'lower'", "'higher'", "'midpoint'", "'nearest'"),
    "ord": ("'fro'", "'nuc'"),
    "equation": ("'ij,jk->ik'", "'i,i'", "'ii'", "'...i,...i->...'", "'ij->ji'", "'ij,kj'"),
    "mode": (
        *("'constant'", "'reflect'", "'replicate'", "'circular'", "'nearest'", "'linear'"),
        *("'bilinear'", "'bicubic'", "'mean'", "'sum'", "'max'", "'reduced'", "'complete'"),
    ),
}  # fmt: skip
DIMENSION = (
    *("dim", "dim0", "dim1", "dim2", "dims", "axis", "axis0", "axis1", "axes", "start_dim"),
    *("end_dim", "source", "destination", "batch_dim", "tensor_dim"),
)
INDEX = ("index", "indices", "target", "targets", "offsets", "lengths", "indexes")
MASK = ("mask", "condition", "attn_mask")
WRONG_SHARE = 0.012


def statement(draft: Draft, signature: Signature) -> str:
    """A statement that calls the operator, or reads the attribute, and binds its result."""
    choices = draft.choices
    spelling = choices.pick(signature.spellings)
    if spelling.startswith("Tensor."):
        receiver = operands.live_tensor(draft)
        access = f"{receiver}.{spelling.removeprefix('Tensor.')}"
        if signature.attribute:
            return f"{draft.fresh()} = {access}"
        drawn = argument_list(draft, signature.arguments[1:], receiver, signature.pointwise)
        call = f"{access}({', '.join(drawn)})"
        name = draft.fresh()
        if spelling.endswith("_") and choices.chance(0.6):
            return call
    else:
        drawn = argument_list(draft, signature.arguments, None, signature.pointwise)
        call = f"{spelling}({', '.join(drawn)})"
        name = draft.fresh()
    return f"{name} = {call}"


def arguments(draft: Draft, asked: Sequence[Argument], of: str | None = None) -> str:
    """The arguments of a call, as source."""
    return ", ".join(argument_list(draft, asked, of))


def argument_list(
    draft: Draft, asked: Sequence[Argument], of: str | None = None, pointwise: bool = False
) -> list[str]:
    """The arguments of a call, each as source; some are left out, and few are wrong.

    Only a ``pointwise`` operator writes to an operand: others may read elements that were already
    written.
    """
    choices = draft.choices
    parts: list[str] = []
    named = choices.chance(0.12)
    written: list[str] = []
    for argument in asked:
        if argument.out:
            written.append(argument.name)
            continue
        if argument.default is not None and not argument.is_large and choices.chance(0.62):
            named = True
            continue
        if choices.chance(WRONG_SHARE):
            text = choices.pick(operands.WRONG if choices.chance(0.8) else operands.NUMPY)
        elif argument.optional and choices.chance(0.3):
            text = "None"
        else:
            text = value(draft, argument, of)
        if of is None and argument.type == "Tensor":
            of = text
        if named or argument.keyword:
            parts.append(f"{argument.name}={text}")
        else:
            parts.append(text)
    if written:
        read = set() if pointwise else set(re.findall(r"\w+", " ".join([*parts, of or ""])))
        outs = [out_tensor(draft, read) for _ in written]
        parts.append(f"out={outs[0]}" if len(outs) == 1 else f"out=({', '.join(outs)})")
    if parts and choices.chance(WRONG_SHARE):
        parts.pop()
    elif choices.chance(WRONG_SHARE / 2):
        parts.append(f"extra={choices.pick(operands.WRONG)}")
    return parts


def out_tensor(draft: Draft, read: Container[str]) -> str:
    """A tensor for a result, none of those that are read: mostly an empty new one."""
    if draft.choices.chance(0.3) and (live := operands.live_tensor(draft)) not in read:
        return live
    return f"torch.zeros(0, dtype=torch.{draft.floating})"


def value(draft: Draft, argument: Argument, of: str | None) -> str:
    """A value for the argument, by its type, and by its name where that has a meaning."""
    choices, name = draft.choices, argument.name
    if name in TEXTS and argument.type in ("str", "any"):
        return choices.pick(TEXTS[name])
    match argument.type:
        case "Tensor":
            return tensor(draft, name)
        case "Tensor[]":
            tensors = [tensor(draft, name) for _ in range(choices.integer(1, 3))]
            return f"[{', '.join(tensors)}]" if choices.chance(0.7) else f"({', '.join(tensors)},)"
        case "Scalar":
            return (
                choices.pick(operands.NUMPY[:4]) if choices.chance(0.03) else operands.number(draft)
            )
        case "int" if name in DIMENSION or name.startswith("dim"):
            return operands.dimension(draft, of)
        case "int[]" if name in DIMENSION or name.startswith("dim"):
            return operands.dimensions(draft, of)
        case "int":
            return operands.number(draft, whole=True)
        case "int[]":
            return operands.sizes(draft, of)
        case "float":
            return operands.number(draft, floating=True)
        case "float[]" | "Scalar[]":
            return str([float(operands.number(draft, whole=True)) / 4 for _ in range(2)])
        case "bool":
            return choices.pick(("True", "False"))
        case "bool[]":
            return "[True, False, True]"
        case "str":
            return "'a'"
        case "dtype":
            return f"torch.{operands.drawn_dtype(draft)}"
        case "device":
            return "'cpu'"
        case "layout":
            return "torch.strided"
        case "memory_format":
            kinds = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
            return f"torch.{choices.pick(kinds)}"
        case "Generator":
            return "None"
    return anything(draft, name, of)


def tensor(draft: Draft, name: str) -> str:
    """A tensor for an argument of that name, or at times a number or an array in its place."""
    choices = draft.choices
    if name in INDEX and choices.chance(0.8):
        few = [str(choices.integer(0, max(0, draft.sizes[0] - 1))) for _ in range(4)]
        return operands.new_tensor(draft, dtype="int64", elements=few)
    if name in MASK and choices.chance(0.7):
        return operands.new_tensor(draft, dtype="bool")
    if name in ("other", "value", "exponent", "weight", "end") and choices.chance(0.08):
        return operands.number(draft) if choices.chance(0.7) else choices.pick(operands.NUMPY)
    return operands.live_tensor(draft)


def anything(draft: Draft, name: str, of: str | None) -> str:
    """A value for an argument without a type."""
    choices = draft.choices
    if name in DIMENSION:
        return operands.dimensions(draft, of)
    if "size" in name or name in ("stride", "padding", "kernel_size"):
        return operands.sizes(draft, of)
    kinds = (operands.live_tensor, operands.number, lambda d: operands.sizes(d, of))
    return choices.pick(kinds)(draft)
