"""Statements beyond calls: Python's operators, indexing, writes, hooks, texts, functional calls."""

from __future__ import annotations

from collections.abc import Callable

from conformance.fuzz import operands
from conformance.fuzz.draft import Draft

BINARY = (
    *("+", "-", "*", "/", "**", "//", "%", "@", "<", "<=", "==", "!=", ">", ">="),
    *("&", "|", "^", "<<", ">>"),
)
INPLACE = ("+=", "-=", "*=", "/=", "**=", "//=", "%=", "&=", "|=", "^=", "<<=", ">>=", "@=")
UNARY = (
    *("-{x}", "+{x}", "~{x}", "abs({x})", "bool({x})", "int({x})", "float({x})", "complex({x})"),
    *("len({x})", "list({x})", "reversed({x})", "round({x})", "{x}.__index__()", "hash({x}) == 0"),
    *("math.floor({x})", "{x} in [{x}]", "2 in {x}", "divmod({x}, 2)", "operator.index({x})"),
    *("copy.copy({x})", "copy.deepcopy({x})", "pickle.loads(pickle.dumps({x}))", "not {x}"),
)
READ = (
    *("repr({x})", "str({x})", "f'{{{x}}}'", "{x}.tolist()", "{x}.item()", "{x}.numpy()"),
    *("{x}._version", "{x}.is_leaf", "{x}.requires_grad", "{x}.grad_fn", "{x}.output_nr"),
    *("{x}.stride()", "{x}.storage_offset()", "{x}.is_contiguous()", "{x}._is_view()"),
    *("{x}._base", "{x}.data_ptr() == {x}.data_ptr()", "{x}.size()", "{x}.shape", "{x}.grad"),
    *("{x}.is_contiguous(memory_format=torch.channels_last)", "{x}.dtype", "{x}.element_size()"),
    *("{x}.grad_fn.next_functions", "{x}.grad_fn.name()", "repr({x}.grad_fn)"),
    *("{x}.grad_fn.metadata", "{x}.grad_fn(torch.ones_like({x}))", "{x}.retains_grad"),
    *(
        "f'{{{x}:.3f}}'",
        "repr([{x}])",
        "{x}.untyped_storage().nbytes()",
        "{x}.type()",
        "{x}.nbytes",
    ),
    *("{x}.shape.numel()", "repr({x}.shape)", "{x}._backward_hooks", "{x}.name", "{x}.itemsize"),
    *("np.asarray({x})", "np.sum({x})", "np.add({x}, 1)", "{x}.__array__()", "repr({x}.dtype)"),
)
VIEWS = (
    *("{x}.detach()", "{x}.data", "{x}.view(-1)", "{x}.view_as({x})", "{x}.T", "{x}.mT"),
    *("{x}.unsqueeze(0)", "{x}.squeeze()", "{x}.flatten()", "{x}.reshape(-1)", "{x}[None]"),
    *("{x}.expand(2, *{x}.shape)", "{x}.unbind(0)[0]", "{x}.chunk(2)[0]", "{x}.split(1)[0]"),
    *("{x}.diagonal()", "{x}.real", "{x}.conj()", "{x}.imag", "torch.view_as_real({x})"),
    *("{x}.as_strided({x}.shape, {x}.stride())", "{x}.narrow(0, 0, 1)", "{x}.select(0, -1)"),
    *("{x}.swapaxes(0, -1)", "{x}.unfold(0, 1, 1)", "{x}.movedim(0, -1)", "{x}.contiguous()"),
    *("{x}.requires_grad_()", "{x}.detach_()", "{x}.alias()", "{x}.view({x}.dtype)", "{x}.to({x})"),
)
WRITES = (
    *("{x}.zero_()", "{x}.fill_(2)", "{x}.add_(1)", "{x}.mul_(2)", "{x}.neg_()", "{x}.sin_()"),
    *("{x}.copy_({y})", "{x}.add_({y})", "{x}.mul_({y})", "{x}.sub_({y}, alpha=2)", "{x}.relu_()"),
    *("{x}.data = {y}", "{x}.grad = {y}", "{x}.grad = None", "{x}.requires_grad = True"),
    *("{x}.set_({y})", "{x}.t_()", "{x}.squeeze_()", "{x}.unsqueeze_(0)", "{x}.transpose_(0, -1)"),
    *("{x}.masked_fill_({y} > 0, 2)", "{x}.clamp_(0, 1)", "{x}.real = 1", "{x}.data.zero_()"),
    *("{x}.as_strided_({x}.shape, {x}.stride())", "{x}.swap_dims_(0, -1)", "{x}.exp_()"),
)
HOOKS = (
    "{x}.register_hook(lambda g: g * 2)",
    "{x}.register_hook(lambda g: None)",
    "{x}.register_hook(lambda g: g.mul_(2))",
    "{x}.register_hook(lambda g: g[:1])",
    "{x}.register_hook(lambda g: log.append(g.clone()))",
    "{x}.register_hook(lambda g: log.append(g._version))",
    "{x}.retain_grad()",
    "{x}.register_post_accumulate_grad_hook(lambda p: log.append(p.grad))",
    "{x}.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2))",
    "{x}.grad_fn.register_hook(lambda gi, go: log.append((gi, go)))",
    "{x}.grad_fn.register_hook(lambda gi, go: tuple(g if g is None else g * 2 for g in gi))",
    "{x}.grad_fn.register_prehook(lambda go: log.append(go))",
    "{x}.grad_fn.register_prehook(lambda go: tuple(g if g is None else -g for g in go))",
    "{x}.register_hook(lambda g: g.to(torch.float64))",
    "torch.autograd.graph.register_multi_grad_hook(({x},), lambda gs: log.append(gs))",
    "{x}.register_hook(lambda g: g / 0)",
    "{x}.register_hook(lambda g: 1)",
)
FUNCTIONAL = (
    "torch.func.grad(lambda {x}: {body}.sum())({x})",
    "torch.func.vjp(lambda {x}: {body}, {x})[1](torch.ones_like({body}))",
    "torch.func.jvp(lambda {x}: {body}, ({x},), (torch.ones_like({x}),))",
    "torch.vmap(lambda {x}: {body})({x})",
    "torch.vmap(lambda {x}: {body}, in_dims=-1, out_dims=-1)({x})",
    "torch.func.jacrev(lambda {x}: {body})({x})",
    "torch.func.hessian(lambda {x}: {body}.sum())({x})",
    "torch.autograd.functional.jacobian(lambda {x}: {body}, {x})",
    "torch.autograd.functional.hessian(lambda {x}: {body}.sum(), {x})",
    "torch.autograd.functional.vjp(lambda {x}: {body}, {x}, torch.ones_like({body}))",
    "torch.autograd.functional.jvp(lambda {x}: {body}, {x}, torch.ones_like({x}))",
    "torch.utils.checkpoint.checkpoint(lambda {x}: {body}, {x}, use_reentrant=False)",
    "torch.utils.checkpoint.checkpoint(lambda {x}: {body}, {x}, use_reentrant=True)",
    "torch.autograd.gradcheck(lambda {x}: {body}, ({x},), raise_exception=False)",
)
INDICES = (
    *("0", "-1", "...", "None", ":", "1:", "::2", ":1", "[0, 1]", "[1, 0, 1]", "[]", "True"),
    *("torch.tensor([0, 1])", "torch.tensor(1)", "torch.tensor([True, False])", "-2:", "5", "1:1"),
    *("[[0], [1]]", "torch.tensor([[0, 1]])", "False", "::-1", "[True, False]", "1.0", "slice(0)"),
    *("torch.tensor([1], dtype=torch.uint8)", "torch.zeros(0, dtype=torch.int64)", "range(1)"),
)


def binary(draft: Draft) -> str:
    """An operator of Python between a tensor and a tensor, a number or an array."""
    choices = draft.choices
    x = operands.live_tensor(draft)
    if choices.chance(0.55):
        other = operands.live_tensor(draft)
    elif choices.chance(0.8):
        other = f"({operands.number(draft)})"
    else:
        other = choices.pick((*operands.NUMPY, "[1, 2]", "None", "'a'"))
    if choices.chance(0.2):
        return f"{x} {choices.pick(INPLACE)} {other}"
    if choices.chance(0.25):
        x, other = other, x
    return f"{draft.fresh()} = {x} {choices.pick(BINARY)} {other}"


def templates(options: tuple[str, ...], bound: bool) -> Callable[[Draft], str]:
    """A drawer of statements from templates over a live tensor, and another one."""

    def statement(draft: Draft) -> str:
        x, y = operands.live_tensor(draft), operands.live_tensor(draft)
        text = draft.choices.pick(options).format(x=x, y=y)
        return f"{draft.fresh()} = {text}" if bound else text

    return statement


def subscript(draft: Draft) -> str:
    """The indices of an indexing, as source."""
    choices = draft.choices
    pool = [*INDICES, *(t for t in draft.tensors() if draft.dtype(t) in ("bool", "int64"))]
    return ", ".join(choices.pick(pool) for _ in range(choices.pick((1, 1, 1, 2, 2, 3))))


def indexed(draft: Draft) -> str:
    """A read of some elements of a tensor."""
    return f"{draft.fresh()} = {operands.live_tensor(draft)}[{subscript(draft)}]"


def assigned(draft: Draft) -> str:
    """A write to some elements of a tensor."""
    choices = draft.choices
    target = f"{operands.live_tensor(draft)}[{subscript(draft)}]"
    other = operands.live_tensor(draft) if choices.chance(0.5) else operands.number(draft)
    return f"{target} {choices.pick(('=', '=', '=', '+=', '*='))} {other}"


def part(draft: Draft) -> str:
    """One of several results under a name of its own."""
    found = [
        f"{name}[{k}]"
        for name, value in draft.namespace.items()
        if isinstance(value, tuple | list)
        for k, one in enumerate(value[:3])
        if isinstance(one, draft.torch.Tensor)
    ]
    return f"{draft.fresh()} = {draft.choices.pick(found)}" if found else indexed(draft)


def hook(draft: Draft) -> str:
    """The registration of a hook on a tensor or on its node."""
    choices = draft.choices
    if "log" not in draft.namespace:
        draft.attempt("log = []")
    linked = draft.linked() or draft.leaves()
    x = choices.pick(linked) if linked and choices.chance(0.9) else operands.live_tensor(draft)
    text = choices.pick(HOOKS).format(x=x)
    return f"handle = {text}" if choices.chance(0.3) else text


def dual(draft: Draft) -> str:
    """A step of forward mode: a level, a dual tensor, or its parts."""
    ahead = "torch.autograd.forward_ad"
    if "level" not in draft.namespace:
        draft.attempt(f"level = {ahead}.enter_dual_level()")
    choices, name = draft.choices, draft.fresh()
    x = operands.live_tensor(draft)
    if choices.chance(0.5):
        tangent = f"torch.ones_like({x})" if choices.chance(0.7) else operands.live_tensor(draft)
        return f"{name} = {ahead}.make_dual({x}, {tangent})"
    return f"{name} = {ahead}.unpack_dual({x})"


def functional(draft: Draft) -> str:
    """A transform of the last statement that bound a result of a tensor."""
    for statement in reversed(draft.statements):
        name, equals, body = statement.partition(" = ")
        if equals and name.isidentifier() and "\n" not in statement and "=" not in name:
            inside = [t for t in draft.tensors() if f"{t}." in body or f"({t}" in body]
            if inside and body.count("(") < 8:
                x = draft.choices.pick(inside)
                text = draft.choices.pick(FUNCTIONAL).format(x=x, body=f"({body})")
                return f"{draft.fresh()} = {text}"
    return binary(draft)


KINDS: dict[str, Callable[[Draft], str]] = {
    "binary": binary,
    "unary": templates(UNARY, True),
    "read": templates(READ, True),
    "view": templates(VIEWS, True),
    "write": templates(WRITES, False),
    "indexed": indexed,
    "assigned": assigned,
    "part": part,
    "hook": hook,
    "dual": dual,
    "functional": functional,
}
