"""Findings of random programs with inference tensors, and relatives, compared with PyTorch."""

from __future__ import annotations

import pytest
import torch
from made_programs import outcome

import impl

pytestmark = pytest.mark.filterwarnings("ignore")


def check(program):
    assert outcome(impl, program) == outcome(torch, program)


def version(tensor):
    """The version of a tensor, which one with an inference tensor's data may have."""
    try:
        return tensor.is_inference(), tensor._version
    except RuntimeError as error:
        return tensor.is_inference(), str(error)


def inference(t, values, requires_grad=False):
    with t.inference_mode():
        return t.tensor(values, requires_grad=requires_grad)


# -- kernels that show ---------------------------------------------------------------------------

VALUES = {
    "float": [0.5, -2.0, 1.0, 1.0],
    "distinct": [0.5, -2.0, 1.0],
    "integers": [[1, 2], [3, 3]],
    "bool": [True, False],
    "one": [2.0],
    "scalar": 2.0,
    "nothing": [],
}
DISTINCT = {
    "unique": lambda t, x, asked: t.unique(x, True, *asked),
    "unique slices": lambda t, x, asked: t.unique(x, True, *asked, dim=0),
    "consecutive": lambda t, x, asked: t.unique_consecutive(x, *asked),
    "consecutive slices": lambda t, x, asked: t.unique_consecutive(x, *asked, dim=0),
}


@pytest.mark.parametrize("name", DISTINCT)
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("asked", [(False, False), (True, False), (False, True), (True, True)])
def test_distinct_elements(name, values, asked):
    def program(t):
        found = DISTINCT[name](t, inference(t, VALUES[values]), asked)
        found = found if isinstance(found, tuple) else (found,)
        return [(one.tolist(), version(one)) for one in found]

    check(program)


SHAPES = [
    ((1, 1, 2), None),
    ((2, 1), None),
    ((2, 3), None),
    ((3,), (0,)),
    ((2, 3), (1, 0)),
    ((0,), None),
    ((), None),
]


@pytest.mark.parametrize("shape, stride", SHAPES)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_reversed(shape, stride, requires_grad):
    def program(t):
        with t.inference_mode():
            x = t.arange(6.0)[: torch.Size(shape).numel()].reshape(shape)
            x = x if stride is None else t.arange(6.0).as_strided(shape, stride)
            x.requires_grad_(requires_grad)
        return [x.flip(d) for d in range(x.dim())], x.flip(()), reversed(x)

    check(program)


PARAMETERS = [
    [0.5, 2.0],
    [[0.5], [2.0]],
    1.0,
]


@pytest.mark.parametrize("mean", [*PARAMETERS, None])
@pytest.mark.parametrize("std", [*PARAMETERS, None])
@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("enabled", [False, True])
def test_normal_samples(mean, std, flags, enabled):
    def program(t):
        parameters = [
            1.5 if values is None else inference(t, values, flag)
            for values, flag in zip((mean, std), flags, strict=True)
        ]
        with t.set_grad_enabled(enabled):
            result = t.normal(*parameters)
        leaves = [p for p in parameters if isinstance(p, t.Tensor) and p.requires_grad]
        return result, t.autograd.grad(result.sum(), leaves) if result.requires_grad else None

    if mean is not None or std is not None:
        check(program)


MADE = {
    "any": lambda t, x: t.any(x),
    "abs": lambda t, x: t.abs(x),
    "flip": lambda t, x: x.flip(()),
    "clone": lambda t, x: x.clone(),
    "sum": lambda t, x: t.sum(x),
    "to": lambda t, x: x.double(),
    "std": lambda t, x: t.std(x),
    "softsign": lambda t, x: t.nn.functional.softsign(x),
    "normal": lambda t, x: t.normal(x.detach().abs()),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_below_the_mode_of_mutation_on_saved_tensors(name, requires_grad):
    def program(t):
        x = inference(t, [0.5, -1.0], requires_grad)
        with t.autograd.graph.allow_mutation_on_saved_tensors():
            return MADE[name](t, x)

    check(program)


@pytest.mark.parametrize("hook", ["full_backward_pre_hook", "full_backward_hook", "forward_hook"])
@pytest.mark.parametrize("layer", ["Softsign", "Hardswish", "LogSigmoid", "ReLU"])
def test_a_module_with_hooks(hook, layer):
    def program(t):
        module = getattr(t.nn, layer)()
        getattr(module, f"register_{hook}")(lambda *args: None)
        return module(inference(t, [0.5, -2.0], True))

    check(program)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("enabled", [False, True])
def test_an_inference_tensor_marked_dirty(requires_grad, count, enabled):
    def program(t):
        class Dirty(t.autograd.Function):
            @staticmethod
            def forward(ctx, *values):
                ctx.mark_dirty(*values)
                return values

            @staticmethod
            def backward(ctx, *gradients):
                return gradients

        values = [inference(t, [1.0, 2.0], requires_grad) for _ in range(count)]
        with t.set_grad_enabled(enabled):
            return Dirty.apply(*values)

    check(program)


# -- data of inference tensors ---------------------------------------------------------------------

WRITES = {
    "zero_": lambda t, x: x.zero_(),
    "out": lambda t, x: t.add(x, x, out=x),
    "of a part": lambda t, x: x[:1].zero_(),
    "of an alias": lambda t, x: t.ops.aten.alias(x).zero_(),
    "of a detached alias": lambda t, x: x.detach().zero_(),
    "of data": lambda t, x: x.data.zero_(),
    "index": lambda t, x: x.__setitem__(0, 1),
    "copy_": lambda t, x: x.copy_(t.ones(2)),
    "normal_": lambda t, x: x.normal_(),
    "t_": lambda t, x: x.t_(),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("inside", [False, True])
def test_writes_to_a_tensor_that_got_an_inference_tensors_data(name, inside):
    def program(t):
        x = t.ones(2)
        with t.inference_mode():
            x.data = t.zeros(2)
        with t.inference_mode(inside):
            WRITES[name](t, x)
        return version(x), version(x.detach()), (x * t.ones(2, requires_grad=True)).requires_grad

    check(program)


LAZY = [
    ("LazyInstanceNorm2d", {}, (2, 3, 4, 4)),
    ("LazyInstanceNorm2d", {"momentum": 2.0, "affine": False}, (1, 0, 4, 2)),
    ("LazyBatchNorm1d", {}, (2, 3)),
    ("LazyBatchNorm1d", {}, (0, 3)),
    ("LazyLinear", {"out_features": 2}, (2, 3)),
    ("LazyConv1d", {"out_channels": 2, "kernel_size": 1}, (2, 3, 4)),
]


@pytest.mark.parametrize("name, options, shape", LAZY)
@pytest.mark.parametrize("loaded", [0, 1, 2])
@pytest.mark.parametrize("inside", [(False, False), (False, True), (True, True)])
def test_lazy_modules_keep_version_counters(name, options, shape, loaded, inside):
    def program(t):
        found = []
        with t.inference_mode(inside[0]):
            module = getattr(t.nn, name)(**options)
        with t.inference_mode(inside[1]):
            for _ in range(loaded):
                module.load_state_dict(module.state_dict())
            module(t.zeros(shape))
        found.append([version(v) for v in (*module.parameters(), *module.buffers())])
        try:
            module(t.zeros(shape))
        except (RuntimeError, IndexError) as error:
            found.append(str(error))
        return found, [version(v) for v in (*module.parameters(), *module.buffers())]

    check(program)
