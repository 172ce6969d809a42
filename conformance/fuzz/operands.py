"""Operands: tensors and Python values of every kind, as source."""

from __future__ import annotations

import math

from conformance.fuzz.draft import Draft, cycled

SIMPLE = ("1.0", "2.0", "-1.0", "0.5", "-2.0", "0.0", "-0.0", "-0.5", "3.0", "0.25", "-1.5")
POSITIVE = ("1.0", "2.0", "0.5", "0.25", "3.0", "1.5")
SPECIAL = ("float('nan')", "float('inf')", "-float('inf')", "1e30", "-1e-30", "65504.0")
WHOLE = ("0", "1", "2", "-1", "3", "-2", "1", "5")
UNSIGNED = ("0", "1", "2", "3", "255", "4")
BOOLS = ("True", "False", "True")
COMPLEX = ("1+2j", "-1j", "0.5", "2-1j", "0j", "-1.5+0.5j")

DTYPES = {
    "float32": 30.0, "float64": 22.0, "int64": 10.0, "bool": 6.0, "complex64": 6.0,
    "complex128": 4.0, "float16": 5.0, "bfloat16": 6.0, "int32": 4.0, "uint8": 4.0,
    "int8": 2.0, "int16": 2.0,
}  # fmt: skip
INFERRED = ("float32", "int64", "bool", "complex64")
RANKS = {0: 18.0, 1: 30.0, 2: 28.0, 3: 12.0, 4: 9.0, 5: 3.0}
LAYOUTS = {
    "plain": 55.0, "turned": 9.0, "stepped": 8.0, "offset": 7.0, "expanded": 7.0, "flipped": 1.0,
    "channels_last": 6.0, "overlapping": 3.0, "numpy": 4.0,
}  # fmt: skip

LARGEST = 64
"""Elements of a tensor that is drawn."""

WRONG = (
    "None", "'a'", "[]", "()", "{}", "object()", "torch.float32", "1.5", "2", "True", "1j", "-1",
    "[1, 2]", "(0, 0)", "torch", "torch.ones(2)", "torch.tensor(1)", "[torch.ones(2)]", "2**63",
    "float('nan')", "float('inf')", "b'a'", "[1.5]", "slice(1)", "...", "lambda: 0", "range(2)",
    "[None]", "['a']", "-7", "100", "torch.Size([2])", "torch.int64", "float", "int",
)  # fmt: skip
NUMPY = (
    "np.float32(1.5)", "np.float64(-2.0)", "np.int64(2)", "np.bool_(True)", "np.array(1.5)",
    "np.array([1.0, 2.0])", "np.ones(2, dtype=np.float32)", "np.uint8(3)", "np.complex64(1j)",
)  # fmt: skip


def drawn_shape(draft: Draft) -> tuple[int, ...]:
    """A shape: often that of a live tensor, or one that broadcasts with it."""
    choices, live = draft.choices, draft.tensors()
    if live and choices.chance(0.55):
        shape = draft.shape(choices.pick(live))
        if choices.chance(0.25) and shape:
            return shape[1:] if choices.chance(0.5) else (1, *shape[1:])
        return shape
    return fitted(tuple(drawn_size(draft) for _ in range(choices.weighted(RANKS))))


def fitted(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape, or a smaller one: the values of a tensor stand in the program's text."""
    while math.prod(shape) > LARGEST:
        largest = max(shape)
        shape = tuple(n - (n == largest) for n in shape)
    return shape


def drawn_size(draft: Draft) -> int:
    """The size of a dimension: mostly one that this program prefers."""
    choices = draft.choices
    if choices.chance(0.75):
        return draft.sizes[0] if choices.chance(0.7) else draft.sizes[1]
    return choices.pick((1, 1, 2, 3, 4, 0, 5, 6))


def drawn_dtype(draft: Draft) -> str:
    """The name of a dtype: mostly the floating one that this program prefers."""
    return draft.floating if draft.choices.chance(0.55) else draft.choices.weighted(DTYPES)


def drawn_elements(draft: Draft, dtype: str) -> list[str]:
    """A few elements of that dtype, as source: ties, zeros and special values are common."""
    choices = draft.choices
    count = choices.integer(1, 6)
    if dtype == "bool":
        return [choices.pick(BOOLS) for _ in range(count)]
    if dtype == "uint8":
        return [choices.pick(UNSIGNED) for _ in range(count)]
    if "int" in dtype:
        whole: tuple[str, ...] = UNSIGNED[:3] if choices.chance(0.3) else WHOLE
        return [choices.pick(whole) for _ in range(count)]
    if "complex" in dtype:
        return [choices.pick(COMPLEX) for _ in range(count)]
    positive = choices.chance(0.3)
    found = [choices.pick(POSITIVE if positive else SIMPLE) for _ in range(count)]
    if choices.chance(0.1):
        found[choices.integer(0, count - 1)] = choices.pick(SPECIAL)
    return found


def new_tensor(
    draft: Draft,
    *,
    shape: tuple[int, ...] | None = None,
    dtype: str | None = None,
    elements: list[str] | None = None,
    requires_grad: bool | None = None,
) -> str:
    """Bind a new tensor of any layout; returns its name."""
    choices = draft.choices
    shape = drawn_shape(draft) if shape is None else shape
    dtype = drawn_dtype(draft) if dtype is None else dtype
    elements = drawn_elements(draft, dtype) if elements is None else elements
    source, plain = laid_out(draft, shape, dtype, elements)
    differentiable = "float" in dtype or "complex" in dtype
    if requires_grad is None:
        requires_grad = choices.chance(0.65)
    if differentiable and requires_grad:
        if plain and source.endswith(")"):
            source = f"{source[:-1]}, requires_grad=True)"
        else:
            source += ".requires_grad_()" if plain else ".detach().requires_grad_()"
    elif not plain and choices.chance(0.5):
        source += ".detach()"
    name = draft.fresh()
    if not draft.attempt(f"{name} = {source}"):
        draft.attempt(f"{name} = torch.ones(2)")
    return name


def laid_out(
    draft: Draft, shape: tuple[int, ...], dtype: str, elements: list[str]
) -> tuple[str, bool]:
    """A tensor of that shape in any layout, as source; and whether it is no view."""
    layout = draft.choices.weighted(LAYOUTS)
    empty = 0 in shape
    typed = "" if dtype in INFERRED and not empty else f", dtype=torch.{dtype}"

    def made(sizes: tuple[int, ...]) -> str:
        if not math.prod(sizes):
            return f"torch.zeros({sizes}{typed})"
        return f"torch.tensor({cycled(elements, sizes)}{typed})"

    match layout:
        case "turned" if len(shape) > 1:
            return f"{made((*shape[1:-1], shape[-1], shape[0])[::1])}.movedim(-1, 0)", False
        case "stepped" if shape and shape[0]:
            return f"{made((2 * shape[0], *shape[1:]))}[::2]", False
        case "offset" if shape:
            return f"{made((shape[0] + 1, *shape[1:]))}[1:]", False
        case "offset":
            return f"{made((2,))}[1]", False
        case "expanded" if shape:
            return f"{made((1, *shape[1:]))}.expand({', '.join(map(str, shape))})", False
        case "expanded":
            return f"{made((1,))}.expand(2)[1]", False
        case "flipped" if shape:
            return f"{made(shape)}.flip(0)", True
        case "channels_last" if len(shape) == 4:
            return f"{made(shape)}.to(memory_format=torch.channels_last)", True
        case "overlapping" if len(shape) == 2 and shape[0] and shape[1]:
            return f"{made((sum(shape),))}.as_strided({shape}, (1, 1))", False
        case "numpy" if dtype in ("float32", "float64", "int64") and not empty:
            return f"torch.from_numpy({made(shape)}.numpy())", True
    return made(shape), True


def live_tensor(draft: Draft) -> str:
    """A tensor: mostly one that the program has, the last ones first."""
    live = draft.tensors()
    if not live or draft.choices.chance(0.25 if len(live) < 4 else 0.08):
        return new_tensor(draft)
    if draft.choices.chance(0.55):
        return live[-1]
    return draft.choices.pick(live)


def number(draft: Draft, *, whole: bool = False, floating: bool = False) -> str:
    """A Python number."""
    choices = draft.choices
    if whole or (not floating and choices.chance(0.4)):
        return choices.pick(("1", "2", "0", "-1", "3", str(draft.sizes[0]), str(draft.sizes[1])))
    if not floating and choices.chance(0.12):
        return choices.pick(("True", "False", "1j", "1+2j", "1e39", "-1e39", "300"))
    return choices.pick((*SIMPLE, "0.1", "1.5", "1e-3", "float('inf')", "float('nan')"))


def dimension(draft: Draft, of: str | None) -> str:
    """A dimension of the tensor, counted from either end; sometimes out of range."""
    rank = len(draft.shape(of)) if of in draft.tensors() and of else 2
    if draft.choices.chance(0.06) or not rank:
        return str(draft.choices.integer(-rank - 2, rank + 1))
    return str(draft.choices.integer(-rank, rank - 1))


def dimensions(draft: Draft, of: str | None) -> str:
    """Several dimensions of the tensor, or one; sometimes repeated, sometimes none."""
    count = draft.choices.integer(1, 3)
    found = [dimension(draft, of) for _ in range(count)]
    if draft.choices.chance(0.9):
        found = list(dict.fromkeys(found))
    if len(found) == 1 and draft.choices.chance(0.5):
        return found[0]
    if draft.choices.chance(0.05):
        return "()"
    return f"({', '.join(found)},)" if draft.choices.chance(0.7) else f"[{', '.join(found)}]"


def sizes(draft: Draft, of: str | None) -> str:
    """Sizes: of the tensor, or a few small numbers, or one."""
    choices = draft.choices
    if draft.spatial and choices.chance(0.85):
        few = [choices.pick(("1", "1", "2", "2", "3", "0")) for _ in range(draft.spatial)]
        return f"({', '.join(few)},)" if choices.chance(0.5) else few[0]
    if of in draft.tensors() and of and choices.chance(0.3):
        shape = draft.shape(of)
        if choices.chance(0.3):
            return f"{of}.shape"
        return str(tuple(choices.sample(shape, len(shape))))
    if choices.chance(0.3):
        return number(draft, whole=True)
    pool = (1, 1, 2, draft.sizes[0], draft.sizes[1], 0, -1)
    return str(tuple(choices.pick(pool) for _ in range(choices.integer(1, 4))))
