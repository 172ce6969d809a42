"""Refusals of calls with `out=`: the error that comes first, and the tensor left behind.

A structured kernel looks at the operands, then at the dtype of `out=`, which it resizes, and only
then computes. So `out=` has another shape when the kernel refuses an operand. The errors and the
tensors are compared with PyTorch's, for every kind of operand and of `out=`.
"""

from __future__ import annotations

import warnings

import pytest
import torch

import impl

pytestmark = pytest.mark.filterwarnings("ignore")


def ramp(t, *shape):
    """A tensor of different numbers, square matrices of which are invertible and positive."""
    values = t.arange(1, 1 + t.empty(shape).numel(), dtype=t.float32).reshape(shape) / 4
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return values
    return (values + values.mT) / 2 + 4 * t.eye(shape[-1])


def tensors(*shapes):
    return lambda t: tuple(ramp(t, *shape) for shape in shapes)


def index(t):
    return t.tensor([[1], [0]])


def vector(t):
    return t.tensor([1, 2])


MATRICES = {
    "mm": tensors((2, 3), (3, 4)),
    "bmm": tensors((2, 2, 3), (2, 3, 4)),
    "mv": tensors((2, 3), (3,)),
    "dot": tensors((3,), (3,)),
    "vdot": tensors((3,), (3,)),
    "addmm": tensors((2, 4), (2, 3), (3, 4)),
    "addmv": tensors((2,), (2, 3), (3,)),
    "addbmm": tensors((2, 4), (2, 2, 3), (2, 3, 4)),
    "baddbmm": tensors((2, 2, 4), (2, 2, 3), (2, 3, 4)),
    "matmul": tensors((2, 2, 3), (3, 4)),
    "linalg.matmul": tensors((2, 2, 3), (2, 3, 4)),
    "linalg.cross": tensors((2, 3), (2, 3)),
    "linalg.vecdot": tensors((2, 3), (2, 3)),
    "linalg.multi_dot": lambda t: ([ramp(t, 2, 3), ramp(t, 3, 4)],),
    "nn.functional.linear": tensors((2, 3), (4, 3), (4,)),
    "outer": tensors((2,), (3,)),
    "linalg.matrix_power": lambda t: (ramp(t, 3, 3), 2),
}
INDEXING = {
    "gather": lambda t: (ramp(t, 2, 3), 1, index(t)),
    "take": lambda t: (ramp(t, 2, 3), vector(t)),
    "index_select": lambda t: (ramp(t, 2, 3), 1, vector(t)),
    "index_add": lambda t: (ramp(t, 2, 3), 1, vector(t), ramp(t, 2, 2)),
    "index_copy": lambda t: (ramp(t, 2, 3), 1, vector(t), ramp(t, 2, 2)),
    "index_reduce": lambda t: (ramp(t, 2, 3), 1, vector(t), ramp(t, 2, 2), "prod"),
    "scatter": lambda t: (ramp(t, 2, 3), 1, index(t), ramp(t, 2, 2)),
    "scatter_add": lambda t: (ramp(t, 2, 3), 1, index(t), ramp(t, 2, 2)),
    "scatter_reduce": lambda t: (ramp(t, 2, 3), 1, index(t), ramp(t, 2, 2), "sum"),
    "searchsorted": tensors((3,), (2, 3)),
    "slice_scatter": lambda t: (ramp(t, 2, 3), ramp(t, 2, 2), 1, 0, 2),
    "narrow_copy": lambda t: (ramp(t, 2, 3), 1, 0, 2),
    "diag": tensors((3,)),
}
ELEMENTWISE = {
    "div": tensors((2, 3), (3,)),
    "floor_divide": tensors((2, 3), (3,)),
    "fmod": lambda t: (ramp(t, 2, 3), t.zeros(3)),
    "bitwise_and": tensors((2, 3), (3,)),
    "clamp": tensors((2, 3), (3,), (3,)),
    "where": lambda t: (ramp(t, 2, 3) > 1, ramp(t, 2, 3), ramp(t, 3)),
    "heaviside": tensors((2, 3), (3,)),
    "lerp": tensors((2, 3), (3,), (2, 3)),
    "pow": lambda t: (2, ramp(t, 2, 3)),
    "threshold": lambda t: (ramp(t, 2, 3), 0.5, 1.0),
    "nn.functional.logsigmoid": tensors((2, 3)),
}
REDUCTIONS = {
    "sum": lambda t: (ramp(t, 2, 3), 1),
    "prod": lambda t: (ramp(t, 2, 3), 1),
    "mean": lambda t: (ramp(t, 2, 3), 1),
    "nansum": lambda t: (ramp(t, 2, 3), 1),
    "amax": lambda t: (ramp(t, 2, 3), 1),
    "max": tensors((2, 3)),
    "std": lambda t: (ramp(t, 2, 3), 1),
    "cumsum": lambda t: (ramp(t, 2, 3), 1),
    "softmax": lambda t: (ramp(t, 2, 3), 1),
    "log_softmax": lambda t: (ramp(t, 2, 3), 1),
    "logsumexp": lambda t: (ramp(t, 2, 3), 1),
    "quantile": lambda t: (ramp(t, 2, 3), t.tensor([0.25, 0.5]), 1),
    "renorm": lambda t: (ramp(t, 2, 3), 2, 0, 1.0),
    "histc": lambda t: (ramp(t, 2, 3), 4),
    "diff": tensors((2, 3)),
    "frobenius_norm": lambda t: (ramp(t, 2, 3), 1),
    "nuclear_norm": lambda t: (ramp(t, 2, 3), (0, 1)),
    "nn.functional.avg_pool2d": lambda t: (ramp(t, 1, 1, 4, 4), 2),
}
SYSTEMS = {
    "linalg.matrix_rank": tensors((3, 3)),
    "linalg.cond": lambda t: (ramp(t, 3, 3), 1),
    "linalg.eigvalsh": tensors((3, 3)),
    "linalg.householder_product": tensors((3, 3), (3,)),
    "ormqr": tensors((3, 3), (3,), (3, 2)),
    "cholesky_inverse": tensors((3, 3)),
}
FACTORIES = {
    "full": lambda t: ((2, 3), 1j),
    "linspace": lambda t: (0.0, 1j, 3),
    "logspace": lambda t: (0.0, 1j, 3),
    "randperm": lambda t: (3,),
}
SEVERAL = {  # with the number of results
    "aminmax": (tensors((2, 3)), 2),
    "median": (lambda t: (ramp(t, 2, 3), 1), 2),
    "kthvalue": (lambda t: (ramp(t, 2, 3), 1), 2),
    "histogram": (lambda t: (ramp(t, 2, 3), 3), 2),
    "svd": (tensors((2, 3)), 3),
    "geqrf": (tensors((3, 3)), 2),
    "triangular_solve": (tensors((3, 2), (3, 3)), 2),
    "linalg.svd": (tensors((2, 3)), 3),
    "linalg.eigh": (tensors((3, 3)), 2),
    "linalg.lu": (tensors((3, 3)), 3),
    "linalg.lu_factor_ex": (tensors((3, 3)), 3),
    "linalg.ldl_factor": (tensors((3, 3)), 2),
}
CALLS = {
    name: (make, 1)
    for family in (MATRICES, INDEXING, ELEMENTWISE, REDUCTIONS, SYSTEMS, FACTORIES)
    for name, make in family.items()
} | SEVERAL


def floats(value, change):
    """A value in which every tensor of floats is changed; so are those of a list."""
    if isinstance(value, list):
        return [floats(part, change) for part in value]
    return (
        change(value)
        if hasattr(value, "is_floating_point") and value.is_floating_point()
        else value
    )


def at(place: int, change):
    """A change of one of the tensors of floats, the first (0) or the last (-1)."""

    def changed(t, args):
        flat = [v for a in args for v in (a if isinstance(a, list) else [a])]
        found = [v for v in flat if hasattr(v, "is_floating_point") and v.is_floating_point()]
        if not found:
            return args
        return tuple(floats(a, lambda v: change(t, v) if v is found[place] else v) for a in args)

    return changed


def every(change):
    return lambda t, args: tuple(floats(a, lambda v: change(t, v)) for a in args)


OPERANDS = {
    "as they are": lambda t, args: args,
    "all int64": every(lambda t, v: v.to(t.int64)),
    "all bool": every(lambda t, v: v.to(t.bool)),
    "the first float64": at(0, lambda t, v: v.to(t.float64)),
    "the last float64": at(-1, lambda t, v: v.to(t.float64)),
    "the first with a dimension more": at(0, lambda t, v: v.unsqueeze(0)),
    "the last longer": at(-1, lambda t, v: t.cat([v, v[..., :1]], -1)),
}
OUTS = {
    "empty": lambda t: t.empty(0),
    "of int64": lambda t: t.empty(0, dtype=t.int64),
    "of float64": lambda t: t.empty(0, dtype=t.float64),
    "of complex numbers": lambda t: t.empty(0, dtype=t.complex64),
    "with elements": lambda t: t.zeros(5),
}


def outcome(t, name: str, operands: str, out: str, make, results: int):
    """The error of a call, or None; the sizes, strides, dtype and version of `out=` afterwards; and
    the warnings that it was resized."""
    function = t
    for part in name.split("."):
        function = getattr(function, part)
    args = OPERANDS[operands](t, make(t))
    outs = tuple(OUTS[out](t) for _ in range(results))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            function(*args, out=outs if results > 1 else outs[0])
            error = None
        except (RuntimeError, IndexError, TypeError, ValueError) as caught:
            error = type(caught).__name__, str(caught).split("\nException raised")[0]
    texts = [str(w.message) for w in seen]
    resized = [text.split(". This")[0] for text in texts if text.startswith("An output with")]
    left = [(*one.shape, one.stride(), str(one.dtype).split(".")[1], one._version) for one in outs]
    return error, left, resized


@pytest.mark.parametrize("operands", OPERANDS)
@pytest.mark.parametrize("name", CALLS)
def test_an_output_is_left_as_in_torch(name, operands):
    make, results = CALLS[name]
    for out in OUTS:
        expected, got = (outcome(t, name, operands, out, make, results) for t in (torch, impl))
        assert got == expected, out


def written_by_inference(t):
    with t.inference_mode():
        value, out = t.ones(2), t.empty(0).requires_grad_()
    return value, out


@pytest.mark.parametrize("name", ["rsqrt", "exp", "neg"])
def test_inference_tensors_that_require_grad_are_refused_when_they_are_written(name):
    texts = []
    for t in (torch, impl):
        value, out = written_by_inference(t)
        with pytest.raises(RuntimeError) as caught:
            getattr(t, name)(value, out=out)
        texts.append((str(caught.value), tuple(out.shape)))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64"])
@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_complex_tensors_without_an_imaginary_part_are_ends_of_real_numbers(name, dtype):
    results = []
    for t in (torch, impl):
        out = t.empty(0, dtype=getattr(t, dtype))
        getattr(t, name)(t.tensor(0j), t.tensor(1 + 0j), 3, out=out)
        results.append(out.tolist())
    assert results[0] == pytest.approx(results[1])


@pytest.mark.parametrize("name", ["mm", "addmm", "gather", "svd"])
def test_an_output_without_a_refusal_has_the_shape_of_the_result(name):
    make, results = CALLS[name]
    expected, got = (outcome(t, name, "as they are", "empty", make, results) for t in (torch, impl))
    assert got == expected and got[0] is None
