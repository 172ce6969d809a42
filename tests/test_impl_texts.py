"""The texts of tensors and of small types against torch: every dtype, shape, option and format."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import re

import pytest

import impl

torch = pytest.importorskip("torch")

REAL = ("float32", "float64", "float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "bool")
DTYPES = (*REAL, *COMPLEX, *INTEGERS)
# Numbers of every order of magnitude at which the format changes, and those without one.
NUMBERS = (
    *("0.0", "-0.0", "1.0", "-7.0", "3.5", "0.1", "1e-3", "1e-4", "9e-5", "1e-40", "255.0"),
    *("999.0", "1000.0", "1001.0", "65504.0", "1e8", "1.1e8", "math.nan", "math.inf", "-math.inf"),
)
PAIRS = [f"[{a}, {b}]" for a, b in itertools.combinations(NUMBERS, 2)]
SHAPES = (
    *("(0,)", "(0, 3)", "(3, 0, 2)", "()", "(1,)", "(30,)", "(2, 3, 4)", "(1, 1, 1, 1)"),
    *("(1000,)", "(1001,)", "(7, 143)", "(6, 200)", "(20, 20, 20)", "(2, 2, 2, 200)", "(501, 2)"),
)
OPTIONS = {
    "precision": (2, 0, 10),
    "threshold": (5, 0, math.inf),
    "edgeitems": (1, 0, 10),
    "linewidth": (20, 200, 5),
    "sci_mode": (True, False),
    "profile": ("short", "full", "default", "other"),
}
FORMATS = ("", ".2f", "5d", ".3e", ">12", "g", "x", "%", "08.3f", "q")


@pytest.fixture(autouse=True)
def default_options():
    yield
    for library in (impl, torch):
        library.set_printoptions(profile="default")
        library.set_default_dtype(library.float32)


def shown(library, expression: str) -> str:
    """The text of an expression's value, or its error."""
    scope = {"torch": library, "math": math, "copy": copy, "pickle": pickle}
    try:
        return repr(eval(expression, scope))
    except Exception as error:  # whatever torch raises
        return f"{type(error).__name__}: {error}"


def check(*expressions: str) -> None:
    for expression in expressions:
        ours = re.sub(r"\bimpl\b", "torch", shown(impl, expression))
        assert ours == shown(torch, expression), expression


@pytest.mark.parametrize("dtype", REAL)
def test_pairs_of_numbers(dtype):
    check(*(f"torch.tensor({n}, dtype=torch.{dtype})" for n in (*NUMBERS, *PAIRS)))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_pairs_of_parts(dtype):
    pairs = [f"complex({a}, {b})" for a, b in itertools.permutations(NUMBERS, 2)]
    for pair in pairs:
        text = f"torch.tensor({pair}, dtype=torch.{dtype})"
        check(text, f"{text}.conj()", f"torch.stack([{text}, {text} * 3])")


@pytest.mark.parametrize("dtype", DTYPES)
def test_shapes_and_flags(dtype):
    flag = dtype not in INTEGERS
    for shape in SHAPES:
        count = math.prod(eval(shape))
        text = f"(torch.arange({count}) * 3).reshape({shape}).to(torch.{dtype})"
        check(text, f"({text} / 7)", f"str({text})", f"{text}.__repr__(tensor_contents='...')")
        if flag:
            check(f"{text}.requires_grad_()", f"{text}.requires_grad_() * 2")
            check(f"torch.nn.Parameter({text})")


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_of_printing(option):
    values = (
        *("torch.arange(10.0) / 3", "torch.arange(24.0).reshape(2, 3, 4) / 7", "torch.tensor(0.1)"),
        *("torch.arange(2000.0)", "torch.tensor([1 + 2j, 3.5j])", "torch.empty(0, 3)"),
        *("torch.arange(8) > 3", "torch.tensor([1e-10, 1.0])", "torch.zeros(30, 40)"),
        *("torch.arange(2000).reshape(20, 100)", "torch.ones(3, requires_grad=True) * 2"),
    )
    others = [("threshold", 5), ("edgeitems", 2), ("precision", 3)]
    for value, (other, setting) in itertools.product(OPTIONS[option], others):
        for settings in ({option: value}, {other: setting, option: value}):
            for library in (impl, torch):
                library.set_printoptions(profile="default")
                library.set_printoptions(**settings)
            check(*values)


def test_options_are_set_for_a_time():
    check("torch._tensor_str.get_printoptions()")
    for library in (impl, torch):
        with library._tensor_str.printoptions(precision=2):
            assert str(library.tensor(1 / 3)) == "tensor(0.33)"
        assert str(library.tensor(1 / 3)) == "tensor(0.3333)"


@pytest.mark.parametrize("default", ["float64", "float16", "bfloat16"])
def test_the_default_dtype_is_left_out(default):
    for library in (impl, torch):
        library.set_default_dtype(getattr(library, default))
    kinds = [d for d in DTYPES if default != "float16" or d not in COMPLEX]
    check(*(f"torch.ones(2).to(torch.{d})" for d in kinds), "torch.empty(0)", "torch.ones(2) > 0")


@pytest.mark.parametrize("value", ["3.14159", "3", "True", "1 + 2j", "[1.0, 2.0]", "math.nan"])
def test_formats(value):
    tensor = f"torch.tensor({value})"
    check(*(f"format({tensor}, {spec!r})" for spec in FORMATS), f"f'{{{tensor}!r:>40}}'")
    check(f"f'{{torch.nn.Parameter({tensor} * 1.0)}}'", f"'%s' % {tensor}", f"[{tensor}]")


class Derived(impl.nn.Parameter):
    """A parameter of a program's own class."""


def test_a_subclass_is_named():
    expected = "Parameter containing:\nParameter(Derived([1., 1.], requires_grad=True))"
    assert repr(Derived(impl.ones(2))) == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_their_limits(dtype):
    d = f"torch.{dtype}"
    check(d, f"{d}.itemsize", f"{d}.is_signed", f"{d}.is_complex", f"{d}.to_real()")
    check(f"copy.deepcopy({d}) is {d}", f"pickle.loads(pickle.dumps({d})) is {d}")
    if dtype not in ("float16", "bfloat16"):  # whose complex dtypes NumPy lacks
        check(f"{d}.to_complex()")
    for limits in ("finfo", "iinfo"):
        made = f"torch.{limits}({d})"
        fields = ("bits", "dtype", "min", "max")
        more = ("eps", "tiny", "smallest_normal", "resolution") if limits == "finfo" else ()
        check(made, f"{made} == {made}", *(f"{made}.{field}" for field in (*fields, *more)))


def test_sizes():
    size = "torch.Size([1, 2, 3])"
    others = ("(4,)", "[4]", size, "3", "('a',)", "(1.5,)")
    check(size, f"{size}[1:]", f"{size}[::2]", f"{size}[-1]", f"{size} * 2", f"2 * {size}")
    check(*(f"{size} + {other}" for other in others), f"(1,) + {size}", f"type((1,) + {size})")
    given = ("[]", "(4,)", "torch.tensor([1, 2])", "[torch.tensor(2), 3]", "[1.5]", "['a']")
    check(*(f"torch.Size({g})" for g in (*given, "[True]", "range(3)", "3")))
    check(f"{size}.__reduce__()", f"pickle.loads(pickle.dumps({size}))", f"copy.copy({size})")


def test_types_are_named_by_the_modules_where_users_find_them():
    objects = (
        *("1", "'a'", "None", "int", "len", "math", "math.pi", "[]", "object()", "Exception()"),
        *("torch", "torch.float32", "torch.Tensor", "torch.ones(1)", "torch.nn.Parameter"),
        *("torch.nn.Linear", "torch.nn.Linear(1, 1)", "torch.no_grad", "torch.Size([1])"),
        *("torch.device('cpu')", "torch.strided", "torch.optim.SGD", "torch.autograd.Function"),
        *("torch.autograd.graph.Node", "torch.utils.hooks.RemovableHandle", "torch.autocast"),
        *("torch.contiguous_format", "torch.optim.lr_scheduler.OneCycleLR", "torch.finfo"),
        "torch.nn.utils.rnn.PackedSequence",
    )
    check(*(f"torch.typename({o})" for o in objects))
    check("type((torch.ones(1, requires_grad=True) * 2).grad_fn)")
