"""Operators called outside inference mode on tensors that were made in it, in torch and in impl.

ATen's kernels then run with the dispatch keys that record and that count writes, so that the
operators they call show: in the version, the history and the layout of the result, in whether it is
a view, and in the error.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from made_calls import given_to, one_assignment

import impl
from conformance import samples

LIBRARIES: tuple[Any, Any] = (torch, impl)


def _history(node: Any) -> Any:
    """The name of a node, and those of the nodes behind it."""
    if node is None:
        return None
    behind = [following for following, _ in node.next_functions]
    return type(node).__name__, [following and type(following).__name__ for following in behind]


def _traces(lib: Any, result: Any) -> list:
    """The traces that a kernel leaves in the results that it made."""
    shown: list = []
    for value in result if isinstance(result, (tuple, list)) else [result]:
        if not isinstance(value, lib.Tensor):
            shown.append(value)
        elif value.is_inference():
            shown.append("inference tensor")
        else:
            strides = value.stride() if value.layout is lib.strided else None
            shown.append((value._version, value._is_view(), strides, _history(value.grad_fn)))
    return shown


def _called(lib: Any, function: Any, values: list) -> Any:
    """The traces in the results of a call, or its error."""
    try:
        return _traces(lib, function(*values))
    except Exception as error:
        return type(error).__name__, str(error)


def _in_the_mode(lib: Any, values: list, flagged: bool) -> list:
    """Copies of the values as inference tensors, which require grad where they can if `flagged`."""
    with lib.inference_mode():
        copies = [value.clone() for value in values]
        for copy in copies:
            if flagged and (copy.is_floating_point() or copy.is_complex()):
                copy.requires_grad_()
    return copies


# -- the samples of operators --------------------------------------------------------------------


def _calls() -> dict[str, dict[str, Any]]:
    """The calls of the samples in one dtype, by operator: a program by its expression."""
    calls: dict[str, dict[str, Any]] = {}
    for program in samples.programs():
        if program.id.endswith(("/float32", "/complex64")) and (call := one_assignment(program)):
            calls.setdefault(program.id.split("/")[1], {}).setdefault(call, program)
    return calls


CALLS = _calls()


@pytest.mark.parametrize("flagged", [False, True], ids=["plain", "requiring-grad"])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_a_sample_of_inference_tensors_shows_its_kernel(name, flagged):
    for expression, program in CALLS[name].items():
        seen = []
        for lib in LIBRARIES:
            function, values = given_to(lib, program, expression)
            seen.append(_called(lib, function, _in_the_mode(lib, values, flagged)))
        assert seen[0] == seen[1], expression


# -- calls that the samples lack -----------------------------------------------------------------


def _names(lib: Any, flagged: bool) -> dict[str, Any]:
    """The names in the expressions below: inference tensors of several shapes, and namespaces."""
    shapes: dict[str, tuple[int, ...]] = {
        "number": (),
        "one": (1, 1),
        "vector": (2,),
        "matrix": (2, 3),
        "square": (3, 3),
        "cube": (2, 3, 3),
        "nothing": (0, 2),
        **{f"image{n}": (1, 4, *(4,) * n) for n in (1, 2, 3)},
        **{f"kernel{n}": (4, 4, *(2,) * n) for n in (1, 2, 3)},
        **{f"narrow{n}": (4, 2, *(2,) * n) for n in (1, 2, 3)},
        "bias": (4,),
    }
    generator = torch.Generator().manual_seed(0)
    values: dict[str, Any] = {
        name: torch.rand(shape, generator=generator).numpy() for name, shape in shapes.items()
    }
    made = {name: lib.tensor(value.tolist()).reshape(value.shape) for name, value in values.items()}
    made |= {"places": lib.tensor([1, 0]), "mask": lib.tensor([[True, False, True]] * 2)}
    kept = dict(zip(made, _in_the_mode(lib, list(made.values()), flagged), strict=True))
    return {"torch": lib, "F": lib.nn.functional, "L": lib.linalg, **kept}


_IMAGES = (
    *(f"F.adaptive_avg_pool{n}d(image{n}, {m})" for n in (1, 2, 3) for m in (1, 2)),
    *(f"F.max_pool{n}d(image{n}, 2)" for n in (1, 2, 3)),
    *(
        f"F.pad(image{n}, (1, 1) * {n}, mode='{mode}')"
        for n in (1, 2, 3)
        for mode in ("reflect", "replicate", "constant")
    ),
    *(f"F.pad(matrix, {pad})" for pad in ((-1, 0), (-1, 1), (0, 0), (1, 1, -1, 0))),
    *(
        f"F.conv{kind}{n}d(image{n}, {weight}, {bias}, {settings})"
        for kind in ("", "_transpose")
        for n in (1, 2, 3)
        for weight, groups in ((f"kernel{n}", 1), (f"narrow{n}", 2))
        for bias in ("None", "bias" if kind == "" or groups == 1 else "None")
        for settings in (f"groups={groups}", f"stride=2, groups={groups}")
    ),
    *(f"F.conv{n}d(image{n}[:0], kernel{n}, bias)" for n in (1, 2, 3)),
    *(f"F.conv{n}d(image{n}.double(), kernel{n}.double(), bias.double())" for n in (1, 2, 3)),
    "torch.nn.PixelShuffle(2)(image2)",
    "torch.nn.PixelUnshuffle(2)(image2)",
    "F.pixel_unshuffle(image2[:0], 2)",
    "torch.channel_shuffle(image2, 2)",
    "torch.native_channel_shuffle(image2, 2)",
)
_LOSSES = (
    *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss"),
    *("binary_cross_entropy", "binary_cross_entropy_with_logits"),
)
_OF_DIMENSIONS = (
    *("max", "min", "mode", "median", "nanmedian", "sort", "msort", "argsort", "cummax", "cummin"),
    *("var", "std", "sum", "mean", "prod", "amax", "amin", "logsumexp", "flip", "all", "any"),
)
_WRITES = (
    *("scatter(0, places[None], matrix)", "scatter(0, places[None], 1.0)"),
    *("scatter(0, places[None], matrix, reduce='add')", "scatter_add(0, places[None], matrix)"),
    *("index_add(0, places, matrix)", "index_add(0, places, matrix, alpha=2)"),
    *("index_copy(0, places, matrix)", "index_fill(0, places, 1.0)"),
    *("index_fill(0, places, number)", "index_put((places,), matrix)"),
    *("index_reduce(0, places, matrix, 'amax')", "put(places, vector)"),
    *("masked_fill(mask, 1.0)", "masked_fill(mask, number)", "masked_scatter(mask, matrix)"),
    *("repeat(2, 1)", "repeat(0, 1)", "tile(2)", "roll(1)", "roll(1, 0)", "roll((1, 2), (0, 1))"),
    *(f"rot90({k})" for k in range(4)),
    *("flip(0)", "flip(())", "sort(stable=True)", "argsort(stable=True)", "topk(1)", "aminmax()"),
    *("aminmax(dim=0)", "aminmax(dim=0, keepdim=True)", "fmod(2)", "remainder(2)", "xlogy(2)"),
    *("rsub(1)", "nan_to_num()", "copysign(-1)", "floor_divide(2)"),
)
EXPRESSIONS = (
    *_IMAGES,
    *(
        f"F.{name}({x}, {x}, reduction='{reduction}')"
        for name in _LOSSES
        for x in ("image1", "number")
        for reduction in ("none", "mean", "sum")
    ),
    *(f"torch.{name}(matrix)" for name in _OF_DIMENSIONS if name not in ("logsumexp", "flip")),
    *(
        f"torch.{name}({x}, 0)"
        for name in _OF_DIMENSIONS
        for x in ("number", "vector", "matrix", "nothing", "nothing.t()")
        if name not in ("msort", "flip")
    ),
    *("matrix.kthvalue(1, 0)", "number.kthvalue(1)", "number.topk(1)", "matrix.var((0, 1))"),
    *(f"matrix.{call}" for call in _WRITES),
    *("number.flip(())", "one.flip(0)", "nothing.roll(1, 0)", "nothing.roll(1)", "number.roll(1)"),
    *("nothing.rot90(1)", "nothing.roll((1, 1), (0, 1))", "vector.index_add(0, places, vector)"),
    *("cube.index_add(1, places, cube[:, :2])", "number.aminmax(dim=0)", "number.aminmax()"),
    *("2 - matrix", "2 ** matrix", "torch.pow(1, matrix)", "torch.xlogy(2, matrix)"),
    *("torch.stack([matrix, matrix], d)".replace("d)", f"{d})") for d in (0, 1, 2)),
    *(
        f"torch.addmm({base}, square, square, beta={b})"
        for base in ("square", "square[0]")
        for b in (0, 1)
    ),
    *(
        "torch.baddbmm(cube, cube, cube)",
        "square @ square[0]",
        "square @ vector",
        "square @ square",
    ),
    *("L.solve(square, square)", "L.solve(square, square[0])", "L.solve(square.t(), square)"),
    *("L.solve_ex(square, square)", "L.inv_ex(square)", "L.inv(square.t())", "L.eig(square)"),
    *("torch.frobenius_norm(matrix, (0, 1))", "torch.norm_except_dim(cube)", "matrix.norm()"),
    *("F.embedding(places, matrix)", "F.embedding(places[None], matrix)", "square.abs()"),
    *("F.scaled_dot_product_attention(cube[None], cube[None], cube[None])", "F.hardtanh(matrix)"),
    *("F.batch_norm(image1, bias, bias)", "F.batch_norm(image1, None, None, training=True)"),
    *("F.batch_norm(image1, bias, bias, bias, bias)", "F.group_norm(image1, 2)"),
    *(
        f"torch.addmm({b}, one[:, :0], one[:0], beta={n})"
        for b in ("one", "one[0]")
        for n in (0, 1)
    ),
    *("one[:, :0] @ one[:0]", "torch.baddbmm(cube, cube[:, :, :0], cube[:, :0])"),
    *("torch.diag_embed(matrix)", "torch.block_diag(matrix, vector, number)"),
    *("matrix.select_scatter(vector, 1, 0)", "matrix.slice_scatter(matrix, 0, 0, 2)"),
    *("matrix.diagonal_scatter(vector)", "matrix.as_strided_scatter(vector, (2,), (1,))"),
    *(f"{x}.{name}(0)" for x in ("number", "nothing") for name in ("cumsum", "cumprod", "argmax")),
    *("number.logcumsumexp(0)", "one.argmin(1)", "cube.mode()", "torch.var_mean(nothing, 0)"),
    *("torch.deg2rad(matrix)", "torch.rad2deg(matrix)", "torch.frexp(matrix)"),
    *("torch.complex(matrix, matrix)", "torch.polar(matrix, matrix)", "matrix.isfinite()"),
    *("torch.ldexp(matrix, matrix)", "torch.geqrf(square)", "L.qr(square)", "L.lu(square)"),
    *("L.lu_factor_ex(square)", "L.lu_factor_ex(nothing[:, :0])", "L.cholesky_ex(nothing[:, :0])"),
    *("L.lstsq(square, square)", "L.householder_product(square, square[0])"),
    *("torch.cholesky_inverse(square)", "F.max_unpool2d(image2, image2.long(), 2)"),
    *(f"F.interpolate(image{n}, size={n} * (3,))" for n in (1, 2, 3)),
    *(
        "F.interpolate(image2, size=(3, 3), mode='bilinear')",
        "matrix.angle()",
        "matrix.masked_fill(mask[0], 1)",
    ),
    *("F.group_norm(image1, 2, bias, bias)", "F.layer_norm(matrix, (3,))"),
)


def _seen(expression: str, flagged: bool) -> list:
    """The traces of an expression of inference tensors in both libraries."""
    seen = []
    for lib in LIBRARIES:
        names = _names(lib, flagged)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen.append(_called(lib, lambda scope=names: eval(expression, scope), []))
    return seen


@pytest.mark.parametrize("flagged", [False, True], ids=["plain", "requiring-grad"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_call_with_inference_tensors_shows_its_kernel(expression, flagged):
    expected, got = _seen(expression, flagged)
    assert got == expected


# Calls that leave other traces in impl: their kernels call many operators, which depend on shapes,
# on memory and on missing elements.
DIFFERENT = (
    *("matrix.scatter_reduce(0, places[None], matrix, 'mean')", "matrix.renorm(2, 0, 0.5)"),
    *("matrix.index_reduce(0, places, matrix, 'mean')", "torch.addbmm(square, cube, cube)"),
    *("L.qr(matrix)", "torch.pinverse(square)", "L.ldl_factor(square)", "L.matrix_exp(square)"),
    *("L.solve_triangular(square, square, upper=True)", "L.polar(square)"),
    *("torch.cholesky_solve(square, square)", "torch.ormqr(square, square[0], square)"),
    *(
        "F.bilinear(matrix, matrix, cube)",
        "torch.native_layer_norm(matrix, (3,), None, None, 1e-5)",
    ),
    *("torch.cdist(matrix, matrix, compute_mode='use_mm_for_euclid_dist')", "matrix.isreal()"),
    *("torch.fft.fft(matrix, norm='ortho')", "torch.histc(matrix)", "torch.isin(matrix, vector)"),
    *("torch.diff(matrix, n=0)", "torch.nonzero_static(matrix, size=1)", "matrix.to_sparse()"),
)


@pytest.mark.parametrize("expression", DIFFERENT)
def test_an_exception_still_differs(expression):
    expected, got = _seen(expression, True)
    assert got != expected
