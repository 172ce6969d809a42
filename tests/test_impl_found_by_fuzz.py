"""Findings of random programs, and their relatives, compared with PyTorch.

The tests are of the relatives of those findings: gradients of leaves whose `data` was set,
nodes that only raise, operands of two dtypes in backward kernels, layouts of cast gradients, the
versions of gradients that transforms return, and geometry that changes under
`allow_mutation_on_saved_tensors`.
"""

from __future__ import annotations

import itertools

import pytest
import torch
from made_programs import outcome

import impl

pytestmark = pytest.mark.filterwarnings("ignore")


def check(program):
    """Assert that a function of a library gives the same on both, to five digits."""
    assert outcome(impl, program, 5)[0] == outcome(torch, program, 5)[0]


# -- leaves whose data was set ------------------------------------------------------------------

SHAPES = [
    *(((2,), (1, 2)), ((2,), (2, 1)), ((1, 2), (2,)), ((2,), (3,)), ((2,), (2, 2)), ((2, 2), (2,))),
    *(((), (1,)), ((1,), ()), ((2, 3), (3, 2)), ((2, 3), (6,)), ((1,), (3,)), ((2, 3), (1, 2, 3))),
]
USES = {"mul": lambda x: x * 2, "clone": lambda x: x.clone(), "expand": lambda x: x.sum()}


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("recorded", [False, True])
def test_a_leaf_whose_data_was_set(shapes, use, recorded):
    def program(t):
        x = t.ones(shapes[0], requires_grad=True)
        y = USES[use](x)
        x.data = t.ones(shapes[1])
        y.sum().backward(create_graph=recorded)
        return x.grad

    check(program)


# -- nodes that only raise ----------------------------------------------------------------------

RAISES = {
    "floor_divide": lambda t, x: x // x,
    "floor_divide_": lambda t, x: x.clone().floor_divide_(2.0),
    "heaviside": lambda t, x: t.heaviside(x, x),
    "igamma": lambda t, x: t.igamma(x, x),
}
JOINS = {
    "before": lambda b, h: b * h,
    "behind": lambda b, h: h * b,
    "in place": lambda b, h: b.fmod_(h),
    "deeper": lambda b, h: b * h.exp(),
    "longer": lambda b, h: b.sin() + h,
}


@pytest.mark.parametrize("raises", RAISES)
@pytest.mark.parametrize("join", JOINS)
def test_a_node_that_only_raises_keeps_leaves_behind_it_waiting(raises, join):
    def program(t):
        x, h = (t.ones(2, requires_grad=True) for _ in range(2))
        try:
            JOINS[join](RAISES[raises](t, x), h).sum().backward()
        except RuntimeError as error:
            return str(error), h.grad, x.grad

    check(program)


# -- dtypes of saved tensors ---------------------------------------------------------------------

LAYERS = {
    "Bilinear": (lambda t: t.nn.Bilinear(1, 1, 3), (1, 1), 2),
    "Linear": (lambda t: t.nn.Linear(2, 2), (2, 2), 1),
    "PReLU": (lambda t: t.nn.PReLU(), (2,), 1),
    "LayerNorm": (lambda t: t.nn.LayerNorm(2), (2, 2), 1),
    "BatchNorm": (lambda t: t.nn.BatchNorm1d(2), (2, 2), 1),
    "GroupNorm": (lambda t: t.nn.GroupNorm(1, 2), (2, 2), 1),
    "RMSNorm": (lambda t: t.nn.RMSNorm(2), (2, 2), 1),
    "Conv": (lambda t: t.nn.Conv1d(1, 1, 1), (1, 1, 2), 1),
}
NORMS = {
    "LayerNorm": lambda t, **how: t.nn.LayerNorm(2, elementwise_affine=how["affine"]),
    "RMSNorm": lambda t, **how: t.nn.RMSNorm(2, elementwise_affine=how["affine"]),
    "BatchNorm": lambda t, **how: t.nn.BatchNorm1d(2, **how),
    "GroupNorm": lambda t, **how: t.nn.GroupNorm(1, 2, **how),
}


def filled(t, layer):
    with t.no_grad():
        for parameter in layer.parameters():
            parameter.fill_(0.5)
    return layer


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_a_module_converted_between_forward_and_backward(layer, dtype):
    make, shape, count = LAYERS[layer]

    def program(t):
        m = filled(t, make(t))
        inputs = [t.ones(shape, requires_grad=True) for _ in range(count)]
        y = m(*inputs)
        m.to(getattr(t, dtype))
        y.sum().backward()
        return [value.grad for value in (*inputs, *m.parameters())]

    check(program)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_normalisations_of_one_dtype_with_parameters_of_another(norm, affine, training, dtype):
    def program(t):
        m = NORMS[norm](t, affine=affine).train(training)
        x = t.tensor([[0.0, 2.0], [4.0, 8.0]], dtype=getattr(t, dtype), requires_grad=True)
        y = m(x)
        y.backward(t.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=y.dtype))
        return [value.grad for value in (x, *m.parameters())]

    check(program)


@pytest.mark.parametrize("threshold", [-1, 0, 1, 300, -300, 1.5, -0.5])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "float32"])
def test_a_threshold_is_converted_to_the_dtype(threshold, dtype):
    def program(t):
        x = t.tensor([0, 1, 5, 100]).to(getattr(t, dtype))
        return t.threshold(x, threshold, 7)

    check(program)


# -- layouts and versions -----------------------------------------------------------------------

COTANGENTS = {
    "expanded rows": lambda t, d: t.ones(1, 3, dtype=d).expand(2, 3),
    "expanded columns": lambda t, d: t.ones(2, 1, dtype=d).expand(2, 3),
    "transposed": lambda t, d: t.ones(3, 2, dtype=d).t(),
    "stepped": lambda t, d: t.ones(2, 6, dtype=d)[:, ::2],
}


@pytest.mark.parametrize("cotangent", COTANGENTS)
@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128", "float16"])
def test_the_layout_of_a_gradient_that_is_cast(cotangent, dtype):
    def program(t):
        x = t.ones(2, 3, dtype=t.float64, requires_grad=True)
        y = x.to(getattr(t, dtype))
        return t.autograd.grad(y, x, COTANGENTS[cotangent](t, y.dtype))

    check(program)


READS = {
    "index_select": lambda t, x: x.index_select(0, t.tensor([1])),
    "gather": lambda t, x: x.gather(0, t.tensor([1])),
    "index": lambda t, x: x[t.tensor([1])],
    "take": lambda t, x: x.take(t.tensor([1])),
    "masked_select": lambda t, x: x.masked_select(x > 0.5),
    "max": lambda t, x: x.max(0)[0],
    "all max": lambda t, x: x.max(),
    "sort": lambda t, x: x.sort()[0],
    "median": lambda t, x: x.median(),
    "cummax": lambda t, x: x.cummax(0)[0],
}


@pytest.mark.parametrize("read", READS)
def test_the_version_of_a_gradient_that_a_transform_returns(read):
    def program(t):
        x = t.tensor([0.25, 1.0])
        function = lambda a: READS[read](t, a)  # noqa: E731
        value, pull = t.func.vjp(function, x)
        within = t.func.grad(lambda a: (function(a) ** 2).sum())(x)
        return pull(t.ones_like(value)), within

    check(program)


@pytest.mark.parametrize("read", ["take", "masked_select", "index", "gather"])
def test_jacobians_of_reads_are_mapped(read):
    def program(t):
        return t.func.jacrev(lambda a: READS[read](t, a))(t.tensor([0.25, 1.0])).tolist()

    check(program)


def test_a_gradient_of_zeros_saves_nothing():
    def program(t):
        x = t.ones(2, requires_grad=True)
        y = t.zeros(2).nextafter(x)
        for _ in range(2):
            y.sum().backward(retain_graph=False) if _ == 0 else y.backward(t.ones(2))
        return x.grad

    check(program)


# -- a dispatch mode that sees writes -----------------------------------------------------------

SEEN = {
    "tensor": lambda t, x: t.tensor([1.0]),
    "new_tensor": lambda t, x: x.new_tensor([1.0]),
    "as_tensor": lambda t, x: t.as_tensor([1.0]),
    "zeros": lambda t, x: t.zeros(2),
    "detach_": lambda t, x: x.clone().detach_(),
    "t_": lambda t, x: x.clone().t_(),
    "squeeze_": lambda t, x: x.clone().squeeze_(),
    "resize_": lambda t, x: x.clone().resize_(3),
    "set_": lambda t, x: x.clone().set_(),
    "add_": lambda t, x: x.clone().add_(1),
    "deepcopy": lambda t, x: __import__("copy").deepcopy(x),
    "view": lambda t, x: x.view(4),
}


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("made_in_mode", [False, True])
def test_geometry_changed_in_place_is_seen_as_a_write(seen, made_in_mode):
    def program(t):
        with t.inference_mode(made_in_mode):
            x = t.ones(2, 2)
        with t.autograd.graph.allow_mutation_on_saved_tensors(), t.inference_mode():
            SEEN[seen](t, x)

    check(program)


# -- names --------------------------------------------------------------------------------------


def test_operators_in_place_are_functions_only_where_torch_has_them():
    assert (
        sorted(
            name
            for name in dir(impl)
            if name.endswith("_") and not name.startswith("_") and not hasattr(torch, name)
        )
        == []
    )


def test_tensors_have_no_methods_that_torch_lacks():
    public = [name for name in dir(impl.Tensor) if not name.startswith("_")]
    assert [name for name in public if not hasattr(torch.Tensor, name)] == []


VALUES = {"class": float, "number": 3, "array type": int, "text": "s", "function": len}


@pytest.mark.parametrize(
    ("place", "value"), list(itertools.product(["weight", "parameter", "module", "buffer"], VALUES))
)
def test_the_name_of_a_value_that_a_module_refuses(place, value):
    given = VALUES[value]

    def program(t):
        m = t.nn.Sequential(t.nn.Linear(1, 1))
        if place == "weight":
            t.nn.BCEWithLogitsLoss(given)
        elif place == "parameter":
            m[0].weight = given
        elif place == "module":
            m[0] = given
        else:
            m.register_buffer("b", given)

    check(program)


@pytest.mark.parametrize("index", [-1, 2**63, -(2**64)])
def test_an_index_in_the_place_of_a_device(index):
    def program(t):
        t.ones(1).to(index)

    check(program)


# -- what hooks on nodes see --------------------------------------------------------------------

JOINED = {
    "cat": lambda t, a, b: t.cat([b, a]),
    "stack": lambda t, a, b: t.stack([a, b]),
    "hstack": lambda t, a, b: t.hstack([b, a]),
    "block_diag": lambda t, a, b: t.block_diag(b, a),
    "mul": lambda t, a, b: b * a,
    "where": lambda t, a, b: t.where(b > 0, b, a),
    "lerp": lambda t, a, b: t.lerp(b, a, b),
    "prelu": lambda t, a, b: t.nn.functional.prelu(b[None], a),
    "layer_norm": lambda t, a, b: t.nn.functional.layer_norm(b, (2,), a, b),
}
WRITTEN = {
    "set": lambda c, a: c.__setitem__(slice(1, None), a[:1]),
    "mul_": lambda c, a: c[:1].mul_(a[:1]),
    "add_": lambda c, a: c[1:].add_(a[:1]),
    "number": lambda c, a: c[:1].mul_(2),
}


def seen(y):
    log = []
    y.grad_fn.register_hook(lambda gi, go: log.append([g if g is None else g.shape for g in gi]))
    y.backward(y.new_ones(y.shape))
    return log


@pytest.mark.parametrize("join", JOINED)
def test_gradients_that_a_hook_on_a_node_sees(join):
    def program(t):
        return seen(JOINED[join](t, t.ones(2, requires_grad=True), t.ones(2)))

    check(program)


@pytest.mark.parametrize("write", WRITTEN)
@pytest.mark.parametrize("recorded", [False, True])
def test_gradients_that_a_hook_on_a_written_base_sees(write, recorded):
    if write == "number" and not recorded:
        recorded = True

    def program(t):
        c = t.ones(2, requires_grad=True).clone() if recorded else t.ones(2)
        WRITTEN[write](c, t.ones(2, requires_grad=True))
        return seen(c)

    check(program)


# -- single causes ------------------------------------------------------------------------------

CAUSES = {
    "anomaly mode and examples": lambda t: _with_anomaly(t, lambda a: a.sqrt()),
    "anomaly mode, no NaN": lambda t: _with_anomaly(t, lambda a: (a * a).sum()),
    "no columns": lambda t: _sparse_gradient(t, (1, 3), 0),
    "no rows": lambda t: _sparse_gradient(t, (0,), 2),
    "set_ without elements": lambda t: t.ones(2).set_(t.ones(2), 3, (0,)).set_(t.ones(2), 3, (0,)),
    "counts of bytes": lambda t: t.bincount(*[t.tensor([4], dtype=t.uint8)] * 2),
    "a window larger than the input": lambda t: t.nn.AvgPool3d(3, padding=1)(t.ones(1, 1, 1, 1, 1)),
    "scatter_ with reduce": lambda t: _scattered(t),
    "running statistics in a transform": lambda t: _instance_norm(t),
    "broadcast of batches": lambda t: t.linalg.solve(t.ones(5, 2, 2), t.ones(2, 2, 3)),
    "norm of nothing": lambda t: t.norm(t.zeros(0, 2), 1e39),
    "bytes and a negative tolerance": lambda t: t.linalg.matrix_rank(
        t.zeros(0, 1, dtype=t.uint8), rtol=-1.0
    ),
    "complex classes": lambda t: t.nn.CrossEntropyLoss()(t.ones(2, 2), t.ones(2, 2) * 1j),
    "a weight of bools": lambda t: t.nn.BCEWithLogitsLoss(pos_weight=t.ones(2) > 0)(
        t.ones(2), t.ones(2)
    ),
}


def _with_anomaly(t, function):
    with t.autograd.set_detect_anomaly(True):
        return t.func.jacrev(function)(t.tensor([0.0, 1.0]))


def _sparse_gradient(t, shape, columns):
    w = t.zeros(2, columns, requires_grad=True)
    i = t.zeros(shape, dtype=t.int64)
    t.nn.functional.embedding(i, w, sparse=True).sum().backward()
    g = w.grad
    return [*g._indices().shape], [*g._values().shape], g.is_coalesced()


def _scattered(t):
    m = t.ones(2, 2, requires_grad=True)
    c = t.ones(2, 2).scatter_(-1, t.tensor([[0, 1], [1, 0]]), m, reduce="multiply")
    return t.autograd.grad(c.sum(), m)


def _instance_norm(t):
    m = t.nn.InstanceNorm1d(2, track_running_stats=True)
    made = t.func.grad(lambda a: (m(a) ** 3).sum())(t.arange(8.0).view(1, 2, 4))
    return made, m.running_mean, m.num_batches_tracked


@pytest.mark.parametrize("cause", CAUSES)
def test_single_causes(cause):
    check(CAUSES[cause])
