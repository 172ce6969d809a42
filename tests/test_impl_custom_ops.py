"""Custom operators, `torch.ops`, and modes below autograd."""

import functools
import gc
import weakref

import numpy as np
import pytest

import impl as torch
from impl.core.state import STATE
from impl.library import CustomOpDef, infer_schema
from impl.library.schema_text import parse_schema
from impl.utils._python_dispatch import TorchDispatchMode
from impl.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts


class Log(TorchDispatchMode):
    """A mode that notes the operators that it sees."""

    def __init__(self):
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func).removeprefix("aten."))
        return func(*args, **kwargs)


def seen_in(function):
    """The operators that a function calls, but for detach."""
    with Log() as mode:
        function()
    return [name for name in mode.seen if name != "detach.default"]


X = torch.ones(2, 2, requires_grad=True)
Y = torch.zeros(2, 2)


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda: X @ X, ["mm.default"]),
        (lambda: X * 2 + Y - 1, ["mul.Tensor", "add.Tensor", "sub.Tensor"]),
        (lambda: (X / 2, X**2, X > 0, X == Y), "div.Tensor pow.Tensor_Scalar gt.Scalar eq.Tensor"),
        (lambda: (X.sum(), X.sum(0), X.mean(1)), "sum.default sum.dim_IntList mean.dim"),
        (lambda: (X.max(), X.max(0), X.var(0)), "max.default max.dim var.correction"),
        (
            lambda: (X.t(), X.view(4), X[0], X.unbind()),
            "t.default view.default select.int unbind.int",
        ),
        (lambda: (X * 1).add_(1), ["mul.Tensor", "add_.Tensor"]),
        (lambda: torch.cat([X, Y]), ["cat.default"]),
        (lambda: torch.nn.functional.linear(X, X, X[0]), "select.int t.default addmm.default"),
        (lambda: torch.nn.functional.softmax(X, 0), ["_softmax.default"]),
        (lambda: torch.addcmul(X, Y, Y, value=2), ["addcmul.default"]),
    ],
)
def test_operators_are_seen_by_their_names_in_aten(function, names):
    """As torch shows them to its dispatch modes."""
    assert seen_in(function) == (names.split() if isinstance(names, str) else names)


def test_a_mode_changes_neither_the_result_nor_its_history():
    """The graph is that of the calls outside a mode, and the modes are gone afterwards."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with Log():
        y = (x.view(2, 1).exp() * 3).sum()
    y.backward()
    assert y.grad_fn.next_functions[0][0].name() == "MulBackward0"
    assert torch.allclose(x.grad, 3 * torch.exp(x.detach()))
    assert STATE.dispatch_modes == () and STATE.fast_path == 1 and not STATE.below_autograd


def test_a_mode_that_raises_leaves_nothing_behind():
    """Neither the mode nor the state below autograd."""

    class Failing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError(str(func))

    with pytest.raises(ValueError, match=r"aten\.exp\.default"), Failing():
        X.exp()
    assert STATE.dispatch_modes == () and STATE.fast_path == 1 and not STATE.below_autograd


def test_the_operators_of_aten_are_called_by_name():
    """With the arguments that have one only given by it; overloads are compared by identity."""
    aten = torch.ops.aten
    assert aten.mm.default is aten.mm.default
    assert torch.equal(aten.mm.default(X, X), X @ X)
    assert aten.add.Tensor(X, X, alpha=3).grad_fn.name() == "AddBackward0"
    assert torch.equal(aten.addmm.default(Y, X, X, beta=2, alpha=3), 3 * (X @ X))
    assert aten.sum.dim_IntList(X, [0]).tolist() == [2, 2]
    with pytest.raises(AttributeError, match="has no overload name 'nope'"):
        _ = aten.mm.nope


def test_samplers_are_not_seen_and_draw_as_before():
    """Their draws are arrays, of which a mode could make nothing."""
    torch.manual_seed(0)
    plain = torch.nn.functional.dropout(X, 0.5)
    torch.manual_seed(0)
    with Log():
        drawn = torch.nn.functional.dropout(X, 0.5)
    assert torch.equal(plain, drawn)


def test_schemas_from_texts():
    """Read back to the same text; anything else is refused."""
    text = "f::g(Tensor(a!) x, SymInt[] n, float? k=None, *, bool b=True) -> (Tensor, Tensor)"
    schema = parse_schema(text)
    assert str(schema) == text and schema.mutated == ["x"]
    with pytest.raises(RuntimeError, match="only the operator name was given"):
        parse_schema("f::g")
    with pytest.raises(RuntimeError, match="expected ident but found '\\)' here"):
        parse_schema("f::g(Tensor) -> Tensor")


def test_annotations_that_are_texts():
    """Are read in the module of the function."""

    def function(x: "torch.Tensor", n: "int" = 2) -> "torch.Tensor":
        return x * n

    assert infer_schema(function, mutates_args=()) == "(Tensor x, SymInt n=2) -> Tensor"


def test_a_schema_that_does_not_agree_with_mutates_args():
    """Is refused."""
    with pytest.raises(ValueError, match="The schema suggests that the op mutates"):
        torch.library.custom_op(
            "t::bad", lambda x: None, mutates_args=("x",), schema="(Tensor x) -> ()"
        )


def test_registrations_by_name():
    """The functions of torch.library find the definition by name, overload or itself."""

    @torch.library.custom_op("t::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    assert isinstance(double, CustomOpDef)
    for name in ("t::double", torch.ops.t.double.default, double):
        torch.library.register_autograd(name, lambda ctx, g: g * 2)
    torch.library.register_kernel("t::double", "cpu")(lambda x: x * 20)
    assert torch.autograd.grad(double(X).sum(), X)[0].tolist() == [[2, 2], [2, 2]]
    assert double(Y + 1).tolist() == [[20, 20], [20, 20]]
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        torch.library.register_autograd("t::nope", lambda ctx, g: g)


def test_autocast_of_lists():
    """Casts their tensors, and leaves numbers and integers as they are."""
    dtypes = []

    @torch.library.custom_op("t::lists", mutates_args=())
    def lists(xs: list[torch.Tensor], n: int) -> torch.Tensor:
        dtypes.append(([x.dtype for x in xs], n))
        return xs[0] * n

    lists.register_autocast("cpu", torch.bfloat16)
    with torch.autocast("cpu"):
        lists([torch.ones(1), torch.ones(1, dtype=torch.int64)], 3)
    assert dtypes == [([torch.bfloat16, torch.int64], 3)]
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        lists.register_autocast(3, torch.bfloat16)


def test_a_selective_checkpoint_of_a_module():
    """The gradients are those without one, whatever is kept."""
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.GELU(), torch.nn.LayerNorm(3))
    x = torch.rand(4, 3, requires_grad=True)
    layers(x).pow(2).sum().backward()
    expected = [p.grad for p in (x, *layers.parameters())]
    for saved in ([], [torch.ops.aten.addmm.default], [torch.ops.aten.gelu.default]):
        for p in (x, *layers.parameters()):
            p.grad = None
        y = checkpoint(
            layers,
            x,
            use_reentrant=False,
            context_fn=lambda saved=saved: create_selective_checkpoint_contexts(saved),
        )
        y.pow(2).sum().backward()
        for p, gradient in zip((x, *layers.parameters()), expected, strict=True):
            assert torch.equal(p.grad, gradient)


def test_a_node_does_not_keep_the_results_of_a_custom_operator():
    """Without a cycle they end with the last reference to them, not at the next collection."""

    @torch.library.custom_op("tests::halves", mutates_args=())
    def halves(xs: list[torch.Tensor]) -> list[torch.Tensor]:
        return [x / 2 for x in xs]

    halves.register_autograd(lambda ctx, grads: [grad / 2 for grad in grads])
    results = halves([torch.ones(2, requires_grad=True), torch.ones(3)])
    watched = weakref.ref(results[0])
    gc.disable()
    try:
        del results
        assert watched() is None
    finally:
        gc.enable()


TRANSFORMED = """
vmap(sine)(x)
vmap(sine, in_dims=1, out_dims=1)(x)
vmap(sine)(x.clone().requires_grad_()).grad_fn.name()
vmap(grad(lambda a: sine(a).sum()))(x)
vmap(lambda a: sine(x))(x)
jvp(sine, (x,), (x,))
jacfwd(sine)(x[0])
vmap(both, in_dims=(0, None, None))(x, 2, x)
vmap(ruled, in_dims=1)(x)
vmap(vmap(ruled))(x)
vmap(ruled)(x.clone().requires_grad_()).grad_fn.name()
vmap(lambda a: listed([a]))(x)
vmap(writing)(x.clone())
sine(x, torch.tensor(2.0))
sine(x, torch.tensor([2]))
sine(x, torch.tensor([2.0, 3.0]))
sine(x, np.float32(2))
sine(x, 1, np.int64(2))
sine(x, 1, torch.tensor(2.5))
sine(x, 1, 2.5)
sine(x, 1j)
"""


SCHEMAS = {
    "sine": "(Tensor x, float f=1.0, int i=1) -> Tensor",
    "both": "(Tensor x, int k, Tensor y) -> (Tensor, Tensor)",
    "ruled": "(Tensor x) -> Tensor",
    "listed": "(Tensor[] xs) -> Tensor",
    "writing": "(Tensor(a!) x) -> ()",
}


@functools.cache
def operators(library):
    """Operators of a library, and its transforms: of the former one has a rule of vmap, and one
    reads the memory of its argument."""
    kernels = {
        "sine": lambda x, f=1.0, i=1: library.from_numpy(np.array(np.sin(x.numpy()))) * (f * i),
        "both": lambda x, k, y: (x * k, y + 1),
        "ruled": lambda x: x * 3,
        "listed": lambda xs: xs[0] * 1,
        "writing": lambda x: x.add_(1) and None,
    }
    names = {}
    for name, schema in SCHEMAS.items():
        written = ("x",) if name == "writing" else ()
        define = library.library.custom_op(f"mapped::{name}", mutates_args=written, schema=schema)
        names[name] = define(kernels[name])
    names["sine"].register_autograd(lambda ctx, g: g)
    names["ruled"].register_autograd(lambda ctx, g: g)
    names["ruled"].register_vmap(lambda info, dims, x: (names["ruled"](x.movedim(dims[0], 0)), 0))
    for name in ("grad", "jvp", "vmap", "jacfwd"):
        names[name] = getattr(library.func, name)
    return {**names, "torch": library, "np": np}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", TRANSFORMED.strip().splitlines())
def test_custom_operators_in_transforms_are_torchs(text):
    found = []
    for library in (pytest.importorskip("torch"), torch):
        names = {**operators(library), "x": library.arange(6.0).reshape(3, 2)}
        try:
            found.append(repr(eval(text, names)))
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}".splitlines()[0])
    assert found[0] == found[1]


def test_vmap_warns_of_an_operator_without_a_rule():
    with pytest.warns(UserWarning, match="batching rule for mapped::sine"):
        torch.func.vmap(operators(torch)["sine"])(torch.ones(2, 2))
