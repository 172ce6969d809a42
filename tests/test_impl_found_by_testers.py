"""Causes found by an independent tester, without sight of the code, and their relatives."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from made_programs import outcome

import impl

pytestmark = pytest.mark.filterwarnings("ignore")


def check(source: str) -> None:
    """An expression that names `t` has torch's outcome, warnings included."""

    def program(t):
        return eval(source, {"t": t, "np": np, "io": io, "fixed": fixed})

    assert outcome(impl, program) == outcome(torch, program)


def fixed(array):
    """The array, which may no longer be written."""
    array.flags.writeable = False
    return array


# -- torch.func ----------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", ["x.tanh()", "x.sigmoid()", "t.nn.functional.logsigmoid(x)"])
@pytest.mark.parametrize("outer", ["jacfwd", "jacrev"])
@pytest.mark.parametrize("shape", ["(2,)", "(2, 2)"])
def test_zeros_of_second_derivatives_have_no_sign(inner, outer, shape):
    program = f"t.func.{outer}(t.func.jacrev(lambda x: ({inner}).roll(1).sum()))(t.ones{shape})"
    found, expected = (eval(program, {"t": t}) for t in (impl, torch))
    assert impl.signbit(found).tolist() == torch.signbit(expected).tolist()


PRODUCTS = ["dot", "vdot", "mv", "mm", "bmm", "outer", "inner"]


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("left", ["(2,)", "(2, 2)", "(2, 2, 2)", "(2, 2, 2, 2)"])
@pytest.mark.parametrize("right", ["x", "t.ones(2)", "t.ones(2, 2)"])
def test_products_under_vmap_look_at_the_dimensions_of_an_example(product, left, right):
    check(f"t.func.vmap(lambda x: t.{product}(x, {right}))(t.ones{left})")


@pytest.mark.parametrize("product", ["addmm", "addmv", "baddbmm"])
def test_added_products_under_vmap(product):
    check(f"t.func.vmap(lambda x: t.{product}(x, x, x))(t.ones(2))")
    check(f"t.func.vmap(lambda x: t.{product}(x, x, x))(t.ones(2, 3))")


@pytest.mark.parametrize("layer", ["LSTM(2, 2)", "GRU(2, 2)", "RNN(2, 2, nonlinearity='relu')"])
def test_recurrent_layers_have_no_batching_rule(layer):
    check(f"t.func.vmap(t.nn.{layer})(t.ones(3, 2, 2))")
    packed = "t.nn.utils.rnn.pack_padded_sequence(x, [2, 1])"
    check(f"t.func.vmap(lambda x: t.nn.{layer}({packed}))(t.ones(2, 2, 2, 2))")


@pytest.mark.parametrize("target", ["{}", "{}.view(2)", "({} * 1)", "{}.detach()"])
@pytest.mark.parametrize("transform", ["grad", "vmap"])
def test_a_captured_tensor_is_refused_before_a_leaf_is(target, transform):
    captured = target.format("t.ones(2, requires_grad=True)")
    check(f"(lambda v: t.func.{transform}(lambda y: v.mul_(y).sum())(t.ones(2)))({captured})")
    argument = target.format("y")
    check(f"t.func.{transform}(lambda y: {argument}.mul_(2).sum())(t.ones(2, 2))")


# -- indices -------------------------------------------------------------------------------------

ITEMS = ["0", "1", "t.tensor([0])", "t.tensor(1)"]  # torch reads beyond the sizes for others


@pytest.mark.parametrize("first", [*ITEMS, "slice(1)"])
@pytest.mark.parametrize("second", ITEMS)
def test_several_ellipses(first, second):
    check(f"t.ones(2, 3, 2)[..., {first}, ..., {second}]")


MASKS = ["[True, False]", "t.tensor([True, False])", "t.tensor([1, 0], dtype=t.uint8)", "[0]"]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("more", ["", ", t.ones(2)", ", t.tensor([0])", ", slice(None, None, 2)"])
@pytest.mark.parametrize("value", ["1.5", "t.ones(1)", "t.ones(3)"])
@pytest.mark.parametrize("target", ["t.ones(1, 1, requires_grad=True)", "t.ones(2, 2)"])
def test_masks_are_looked_at_before_a_leaf(mask, more, value, target):
    check(f"{target}.__setitem__(({mask}{more},), {value})")


# -- other refusals ------------------------------------------------------------------------------

REFUSED = [
    "t.einsum('...,...->...', t.ones(2), t.ones(3))",
    "t.einsum('i...,i...->', t.ones(2, 2), t.ones(2, 3))",
    "t.einsum('...i,...->', t.ones(2, 3), t.ones(3, 4))",
    "t.ones(2).clamp(0.0, 1j)",
    "t.ones(2).clamp_(max=1j)",
    "t.stack([t.ones(3), t.tensor(1.0)], 2)",
    "t.nn.Embedding(object(), 3, 3)",
    "t.gru_cell(t.ones(1, 1, 1), t.ones(1, 1), t.ones(1), t.ones(1))",
    "t.linalg.pinv(t.ones(2, 2, dtype=t.half), atol=0.1)",
    "t.linalg.pinv(t.ones(2, 2, dtype=t.int), atol=0.0)",
    "t.nn.functional.soft_margin_loss(t.ones(2, requires_grad=True), t.ones(2).bool()).backward()",
]


@pytest.mark.parametrize("source", REFUSED)
def test_refusals(source):
    check(source)


STEPS = ["1", "None", "(1, 2, 3)", "'ab'"]


@pytest.mark.parametrize("sizes", STEPS)
def test_sizes_of_steps_of_rprop(sizes):
    def program(t):
        x = t.ones(2, requires_grad=True)
        x.sum().backward()
        t.optim.Rprop([x], step_sizes=eval(sizes)).step()

    assert outcome(impl, program) == outcome(torch, program)


@pytest.mark.parametrize("conversion", ["double", "bfloat16", "half", "float"])
@pytest.mark.parametrize("size", [0, 2])
def test_group_norm_converted_before_the_backward(conversion, size):
    def program(t):
        layer = t.nn.GroupNorm(1, 3)
        y = layer(t.zeros(size, 3, 2))
        getattr(layer, conversion)()
        y.backward(t.ones_like(y))
        return layer.weight.grad, layer.bias.grad

    assert outcome(impl, program) == outcome(torch, program)


# -- arrays --------------------------------------------------------------------------------------

UNWRITABLE = [
    "t.from_numpy(fixed(np.ones(2))).add_(1)",
    "t.as_tensor(np.broadcast_to(np.ones(1), (2,)))",
    "t.asarray(fixed(np.ones(2)))",
    "t.asarray(fixed(np.ones(2)), copy=True)",
    "t.asarray(b'ab', dtype=t.uint8)",
    "t.asarray(b'ab', dtype=t.uint8, copy=True)",
    "t.frombuffer(b'abcd', dtype=t.uint8)",
    "t.frombuffer(bytearray(b'abcd'), dtype=t.uint8)",
    "t.tensor(fixed(np.ones(2)))",
    "t.from_numpy(fixed(np.ones((2, 2))[::2]))",
    "t.from_numpy(fixed(np.ones((0, 2))))",
    "t.ones(2)[np.broadcast_to(np.zeros(1, dtype=int), (2,))]",
]


@pytest.mark.parametrize("source", UNWRITABLE)
def test_arrays_that_may_not_be_written(source):
    check(source)


# -- inference tensors ---------------------------------------------------------------------------

DATA = [
    "b.is_inference()",
    "b._version",
    "b.add_(1)",
    "b.requires_grad_().mul(2).requires_grad",
    "(b * b)._version",
    "c.is_inference()",
    "c._version",
    "c.add_(1)._version",
    "c.view(2, 1).is_inference()",
    "c.detach().is_inference()",
    "c[0].add_(1)",
    "c.requires_grad_()",
    "p.is_inference()",
    "(p * p).requires_grad",
    "(p * t.ones(2)).requires_grad",
    "p * t.ones(2, requires_grad=True)",
    "layer.weight.is_inference()",
    "layer(t.ones(1, 2, dtype=t.double)).requires_grad",
    "layer(t.ones(1, 2, dtype=t.double, requires_grad=True))",
]


@pytest.mark.parametrize("source", DATA)
def test_data_takes_over_whether_a_tensor_is_an_inference_tensor(source):
    def program(t):
        layer = t.nn.Linear(2, 2)
        with t.inference_mode():
            a, b = t.ones(2), t.ones(2)
            layer.double()
        c, p = t.ones(2), t.ones(2, requires_grad=True)
        b.data, c.data, p.data = t.ones(2), a, a
        return eval(source, {"t": t, "b": b, "c": c, "p": p, "layer": layer})

    assert outcome(impl, program) == outcome(torch, program)


@pytest.mark.parametrize("arguments", ["", "t.ones(3)", "t.ones(2, requires_grad=True)"])
@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("mode", ["no_grad", "inference_mode", "enable_grad"])
def test_set_of_an_inference_tensor(arguments, requires_grad, mode):
    def program(t):
        with t.inference_mode():
            b = t.ones(2, requires_grad=requires_grad)
        with getattr(t, mode)():
            return b.set_(*eval(f"[{arguments}]", {"t": t}))

    assert outcome(impl, program) == outcome(torch, program)


# -- names ---------------------------------------------------------------------------------------

NAMED = "absolute vstack clip multiply greater arccos negative fix linalg.inv linalg.eigh fft.fft"


@pytest.mark.parametrize("name", [*NAMED.split(), "special.expit", "Tensor.absolute", "Tensor.add"])
def test_names_of_functions(name):
    check(f"t.{name}.__name__")


@pytest.mark.parametrize("call", ["long()", "bool()", "double()", "tolist()", "argmax()"])
def test_a_stale_view_of_several_is_read(call):
    def program(t):
        y = t.ones(2, 3, requires_grad=True) * 2
        view = y.unbind(0)[0]
        y[0] = 2
        return eval(f"view.{call}", {"view": view})

    assert outcome(impl, program) == outcome(torch, program)


# -- what beginners meet -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        "num_workers=-1",
        "timeout=-1",
        "prefetch_factor=2",
        "prefetch_factor=-1",
        "persistent_workers=True",
        "batch_size=3",
    ],
)
def test_options_of_loaders(options):
    check(f"list(t.utils.data.DataLoader(range(4), {options}))")


@pytest.mark.parametrize("name", ["batch_size", "sampler", "dataset", "drop_last", "num_workers"])
def test_attributes_of_a_loader_that_are_not_set(name):
    check(f"setattr(t.utils.data.DataLoader(range(4)), '{name}', 3)")


def test_a_pass_of_a_loader_knows_its_length():
    check("len(iter(t.utils.data.DataLoader(range(4), batch_size=3)))")
    check("list(t.utils.data.DataLoader(np.array(['a', 'b']), batch_size=2))")


@pytest.mark.parametrize("input", ["tensor(1.0)", "ones(3)", "ones(2, 3)"])
@pytest.mark.parametrize("weight", ["tensor(1.0)", "ones(3)", "ones(2, 3)", "ones(1, 2, 3)"])
@pytest.mark.parametrize("bias", ["tensor(1.0)", "ones(2)"])
def test_dimensions_of_a_linear_layer(input, weight, bias):
    check(f"t.nn.functional.linear(t.{input}, t.{weight}, t.{bias})")


USES = """
list(m.parameters()); list(m.buffers()); list(m.modules()); m.state_dict(); m.train(); m.zero_grad()
m.requires_grad_(); m(1); repr(m); m.load_state_dict({}); delattr(m,"a"); m.apply(print); m.half()
m.register_forward_hook(print); m.add_module("a",m); setattr(m,"b",t.nn.Linear(1,1)); m.training
""".replace("\n", ";").split(";")


@pytest.mark.parametrize("use", [use.strip() for use in USES if use.strip()])
def test_a_module_whose_init_was_not_called(use):
    def program(t):
        class Forgetful(t.nn.Module):
            def __init__(self):
                self.a = 3

        return eval(use, {"m": Forgetful(), "t": t}) and None

    assert outcome(impl, program) == outcome(torch, program)


def test_a_state_of_another_engine_is_refused():
    check("t.Generator().set_state(t.zeros(5056, dtype=t.uint8))")


@pytest.mark.parametrize("name", ["matrix_norm", "norm", "vector_norm"])
def test_an_order_of_norms_is_real(name):
    check(f"t.linalg.{name}(t.ones(2, 2), 1j)")


@pytest.mark.parametrize("arguments", ["[1], [1]", "t.ones(3, 2, 1), [3, 2], 1"])
def test_arguments_of_packed_sequences(arguments):
    check(f"t.nn.utils.rnn.pack_padded_sequence({arguments})")


@pytest.mark.parametrize("dtype", ["bfloat16", "float64", "float16", "complex64"])
def test_types_in_a_dictionary_of_parameters(dtype):
    check(f"repr(t.nn.ParameterDict({{'a': t.ones(2, dtype=t.{dtype})}}))")
