"""Comparison of values: of every kind, by tolerances and in units in the last place."""

import numpy as np
import pytest
import torch
from made_comparisons import observed, program, verdict

from conformance.base.tolerances import PRECISIONS, TOLERANCES, unit_in_last_place
from conformance.compare.compare import compare
from conformance.compare.verdict import Verdict
from conformance.observe.trace import Step, Trace


@pytest.mark.parametrize(
    ("one", "other", "field"),
    [
        ("1", "True", "result.kind"),
        ("1", "2", "result.value"),
        ("'a'", "'b'", "result.value"),
        ("0.5", "0.6", "result.value"),
        ("1j", "2j", "result.value"),
        ("None", "1", "result.kind"),
        ("[1, 2]", "[1]", "result.length"),
        ("[1, 2]", "(1, 2)", "result.kind"),
        ("[1, [2]]", "[1, [3]]", "result[1][0].value"),
        ("{'a': 1}", "{'b': 1}", "result.keys"),
        ("{'a': 1}", "{'a': 2}", "result['a'].value"),
        ("torch.Size([1])", "torch.Size([2])", "result.value"),
        ("torch.float32", "torch.float64", "result.value"),
        ("torch.ones(2)", "torch.zeros(2)", "result.values"),
        ("torch.ones(2)", "torch.ones(1, 2)", "result.shape"),
        ("torch.ones(2)", "torch.ones(2).double()", "result.dtype"),
        ("torch.ones(2).numpy()", "torch.zeros(2).numpy()", "result.values"),
        ("torch.ones(2).numpy()", "torch.ones(2).double().numpy()", "result.dtype"),
    ],
)
def test_values_of_every_kind(one, other, field):
    divergence = verdict(one, other).divergences["values"]
    assert (divergence.name, divergence.field) == (None, field)
    assert verdict(one, one).outcome == "conforms"


def tensors(dtype: str, one: list, other: list) -> Verdict:
    base = observed("x = torch.ones(1)").steps[0].changed["x"]
    traces = [
        Trace([Step(0, 2, {"x": {**base, "dtype": dtype, "shape": [len(v)], "values": v}})])
        for v in (one, other)
    ]
    return compare(traces[0], traces[1], program("x = torch.ones(1)"))


@pytest.mark.parametrize("dtype", sorted(set(TOLERANCES) - {"complex32"}))
def test_tolerances_are_those_of_torch_testing(dtype):
    kind = getattr(torch, dtype)
    with pytest.raises(AssertionError) as caught:
        torch.testing.assert_close(torch.ones(1, dtype=kind) * 2, torch.ones(1, dtype=kind))
    rtol, atol = TOLERANCES[dtype]
    assert f"(up to {atol} allowed)" in str(caught.value)
    assert f"(up to {rtol} allowed)" in str(caught.value)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_values_within_the_tolerance_conform(dtype):
    rtol, atol = TOLERANCES[dtype]
    bound = atol + rtol * 100
    assert tensors(dtype, [100.0], [100.0 + bound * 0.99]).outcome == "conforms"
    assert tensors(dtype, [100.0], [100.0 - bound * 1.01]).outcome == "diverges"
    assert tensors(dtype, [0.0], [atol * 0.99]).outcome == "conforms"
    assert tensors(dtype, [0.0], [atol * 1.01]).outcome == "diverges"


@pytest.mark.parametrize(
    ("dtype", "one", "other", "conforms"),
    [
        ("float32", ["nan"], ["nan"], True),
        ("float32", ["nan"], [1.0], False),
        ("float32", [1.0], ["nan"], False),
        ("float32", ["inf"], ["inf"], True),
        ("float32", ["inf"], ["-inf"], False),
        ("float32", ["inf"], [3.4e38], False),
        ("float64", [1.7e308], [-1.7e308], False),
        ("float32", [0.0], [-0.0], True),
        ("int64", [2**53], [2**53 + 1], False),
        ("bool", [True], [False], False),
        ("float8_e4m3fn", [1.0], [1.125], False),
        ("complex64", [[1.0, 1.0]], [[1.0, 1.000001]], True),
        ("complex64", [[1.0, 1.0]], [[1.0, 1.001]], False),
        ("complex64", [["nan", 1.0]], [["nan", 1.0]], True),
        ("complex64", [["nan", 1.0]], [["nan", 2.0]], False),
        ("complex64", [["inf", 1.0]], [["-inf", 1.0]], False),
        ("complex64", [["inf", 0.0]], [[1.0, 0.0]], False),
    ],
)
def test_special_values(dtype, one, other, conforms):
    assert (tensors(dtype, one, other).outcome == "conforms") is conforms


def test_the_index_of_the_first_element_that_differs():
    divergence = tensors("float32", [1.0, 1.0, 1.0], [1.0, 1.0000001, 2.0]).divergences["values"]
    assert divergence.index == 2 and divergence.to_json()["index"] == 2


def test_the_largest_error_in_ulp_is_kept_for_each_dtype():
    step = float(np.spacing(np.float32(3.0)))
    assert tensors("float32", [3.0, 3.0], [3.0 + 2 * step, 3.0 - step]).ulp == {"float32": 2.0}
    assert tensors("float64", [3.0], [3.0]).ulp == {"float64": 0.0}
    assert tensors("int64", [3], [4]).ulp == {}


@pytest.mark.parametrize("value", [1.0, 3.0, 0.0, 1e-40, 1e-5, 65504.0, 1e30, -7.0])
def test_ulps_are_numpys(value):
    for dtype, kind in (("float32", np.float32), ("float64", np.float64)):
        rounded = float(kind(value))
        assert unit_in_last_place(rounded, dtype) == abs(float(np.spacing(kind(value))))
    if abs(value) < 65536:
        half = np.float16(value)
        if abs(value) < 65504:
            assert unit_in_last_place(float(half), "float16") == abs(float(np.spacing(half)))
    for dtype, (bits, smallest) in PRECISIONS.items():
        info = torch.finfo(getattr(torch, dtype))
        assert (info.eps, info.tiny) == (2.0**-bits, 2.0**smallest)


def test_numbers_read_from_a_float32_tensor_have_its_tolerance():
    source = "torch.tensor(1.) * {}"
    assert verdict(
        "v = torch.tensor(0.1).item()", "v = torch.tensor(0.1000003).item()"
    ).outcome == ("conforms")
    assert verdict("v = 0.1", "v = 0.1000003").outcome == "diverges"
    assert verdict("v = 1e300", "v = 1e300").outcome == "conforms"
    assert verdict(source.format(1), source.format(2)).outcome == "diverges"


def test_what_was_computed_in_float32_is_compared_in_float32():
    source = """\
a = torch.tensor([2.0, 3.0])
b = torch.tensor(1.5387744903564453, dtype=torch.float64)
"""
    near, far = (source.replace("1.5387744903564453", v) for v in ("1.538774967", "1.5388"))
    assert verdict(source, near).outcome == "conforms"
    assert verdict(source, far).outcome == "diverges"
    alone, alone_near = (s.split("\n", 1)[1] for s in (source, near))
    assert verdict(alone, alone_near).outcome == "diverges"
