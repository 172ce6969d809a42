"""The sweep: torch's own samples as programs, their comparison, and the report's summary."""

import json
from dataclasses import replace
from importlib import import_module, resources
from itertools import islice

import numpy as np
import pytest
import torch
from command import conform
from made_backends import Spendable, changed

import impl
from conformance.backends import Backend, find
from conformance.compare.compare import compare
from conformance.compare.known import KnownDivergences
from conformance.execution.execute import trace
from conformance.isolation.child import Failed
from conformance.run.judge import Judge
from conformance.run_files.reading import read_run
from conformance.settings.settings import Settings
from conformance.suite.suite import Selection, read_suite
from conformance.sweep.entries import programs
from conformance.sweep.execute import Side
from conformance.sweep.sample import Argument, NoEntry, address
from conformance.sweep.sweep import Sweep
from conformance.sweep.tensor_comparison import AS_GOOD, TensorComparison
from conformance.sweep.verdict import settle
from reports.sweep import sweep_summary

pytestmark = pytest.mark.usefixtures("copied")

TORCH, IMPL = find("torch"), find("impl")


@pytest.fixture(scope="module")
def opinfo():
    """torch's samples, whose import takes two seconds: each process would collect tests so long."""
    return import_module("reference.opinfo")


def swept(entry: str, dtype: str = "float64", backend: Backend = IMPL):
    return Sweep(TORCH, backend).entry(entry, dtype).to_json()


def test_the_list_of_entries_is_that_of_torch_2_15(opinfo):
    text = resources.files("conformance").joinpath("sweep/entries.json").read_text("utf-8")
    listed = {name: tuple(dtypes) for name, dtypes in json.loads(text)["entries"].items()}
    if torch.__version__.startswith(json.loads(text)["torch"]):
        assert listed == opinfo.entries()
    assert len(listed) > 500


def test_a_sample_is_a_program_that_runs_as_it_stands():
    program = Sweep(TORCH, IMPL).program("sweep/addmm/float64/noncontiguous/1")
    assert "torch.addmm(x, a, b" in program.source
    assert [line.split(" = ")[0] for line in program.source.splitlines()] == ["y", "g", "h"]
    expected, got = trace(program, TORCH), trace(program, IMPL)
    assert all(step.error is None for step in expected.steps)
    assert compare(expected, got, program).outcome == "conforms"
    exec(program.paste(), {})


def test_every_column_is_filled():
    tally = swept("mul")
    assert list(tally["cells"]) == ["forward", "backward", "double", "inplace", "out", "saved"]
    assert all(not cell["diverging"] and cell["samples"] for cell in tally["cells"].values())
    assert swept("cat")["cells"]["errors"]["samples"] > 0


def test_a_run_with_every_column_can_be_read_again(tmp_path):
    chosen = ("run", "--oracle", "torch", "--id", "sweep/cat/float64", "--run-file", "run")
    done = conform(*chosen, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    columns = read_run(tmp_path / "run").program("sweep/cat/float64")["sweep"]
    assert {"out", "errors"} <= set(columns)


def test_each_side_makes_tensors_on_its_own_device_and_samples_are_drawn_on_the_cpu():
    sweep = Sweep(TORCH, find("torch:meta"))
    with sweep._session():
        assert torch.ones(1).device.type == "cpu"
        for side, device in ((sweep.oracle, "cpu"), (sweep.backend, "meta")):
            side.begin((Argument("x", np.ones((2, 3)), strides=(6, 2)),))
            assert side.run("y = x + torch.zeros(3)") is None
            x, y = side.names["x"], side.names["y"]
            assert (y.device.type, x.device.type, x.stride()) == (device, device, (6, 2))


def test_out_is_given_zeros_or_has_to_be_resized(opinfo):
    made = list(opinfo.samples("svd", "float64", ("out",)))
    assert all(sample.call.endswith(", out=(out0, out1, out2))") for sample in made)
    assert not any(argument.requires_grad for sample in made for argument in sample.arguments)
    sizes = {number: set() for number in (0, 1)}
    for sample in made:
        sizes[sample.number % 2] |= {a.array.size for a in sample.arguments if a.name == "out1"}
    assert sizes[1] == {0} and len(sizes[0]) > 1


def test_a_port_without_out_lacks_it():
    tally = swept("sinh", backend=changed(sinh=lambda x: torch.sinh(x)))
    assert tally["cells"]["out"]["lacking"] and not tally["first"]
    assert tally["lacks"] == "out= of sinh"


def test_samples_are_the_same_in_every_process(opinfo):
    def drawn():
        return [
            (sample.id, sample.call, [a.array.tolist() for a in sample.arguments])
            for sample in opinfo.samples("nn.functional.linear", "float32")
        ]

    assert drawn() == drawn()


def test_a_wrong_value_is_told_with_its_sample_and_place():
    tally = swept("sinh", backend=changed(sinh=lambda x: torch.sinh(x) * 2))
    first = tally["first"]["values"]
    assert (first["column"], first["sample"]) == ("forward", "sweep/sinh/float64/plain/0")
    assert first["field"].startswith("y[")
    # The in-place variant is the tensor's own, and right; backward is not reached.
    assert tally["cells"]["inplace"]["diverging"] == {}
    assert "backward" not in tally["cells"]


def test_a_wrong_dtype_shape_stride_node_and_error_are_told():
    def wrong(function):
        return swept("atan2", "float32", changed(atan2=function))["first"]

    plain = torch.atan2
    assert wrong(lambda x, a: plain(x, a).double())["values"]["field"] == "y.dtype"
    assert wrong(lambda x, a: plain(x, a)[None])["values"]["field"] == "y.shape"
    assert wrong(lambda x, a: plain(x, a) * 1)["diagnostics"]["got"] == "MulBackward0"
    assert wrong(lambda x, a: plain(x.detach(), a.detach()))["graph"]["field"] == "y.requires_grad"

    def fails(x, a):
        raise ValueError("no")

    told = wrong(fails)["values"]
    assert (told["field"], told["got"]) == ("error", "ValueError: no")


def test_what_a_backend_lacks_is_unsupported_and_never_a_divergence():
    def fails(*_):
        raise NotImplementedError("atan2 of a port")

    tally = swept("atan2", backend=changed(atan2=fails))
    assert tally["cells"]["forward"]["samples"] == 0 and not tally["first"]
    line = {"levels": {}, "divergences": {}}
    settle(line, tally, ("values",))
    assert line["outcome"] == "unsupported"
    assert line["reason"].startswith("the backend lacks atan2 of a port, which ")


def test_a_float32_result_may_be_as_far_from_the_truth_as_torchs_own():
    comparison = TensorComparison(TORCH, IMPL)
    expected, truth = torch.tensor([1.0, 1000.0]), torch.tensor([1.0001, 1000.0]).double()
    near = impl.tensor([1.0001 + AS_GOOD * 0.00009, 1000.0])
    far = impl.tensor([1.0001 + AS_GOOD * 0.00011, 1000.0])
    assert comparison.differences("y", expected, near)["values"].field == "y[0]"
    assert not comparison.differences("y", expected, near, lambda: iter((truth, truth)))
    assert "values" in comparison.differences("y", expected, far, lambda: iter((truth, truth)))


def test_a_result_may_be_as_far_from_torchs_as_one_rounding_of_the_inputs_moves_that():
    comparison = TensorComparison(TORCH, IMPL)
    expected = torch.tensor([1.0, 1000.0], dtype=torch.float64)
    nudged = expected + torch.tensor([1e-5, 0.0], dtype=torch.float64)
    near, far = (impl.tensor([1 + f * 1e-5, 1000], dtype=impl.float64) for f in (3.9, 4.1))
    assert not comparison.differences("y", expected, near, lambda: iter((None, nudged)))
    assert "values" in comparison.differences("y", expected, far, lambda: iter((None, nudged)))
    assert "values" in comparison.differences("y", expected, near, lambda: iter(()))


def test_nan_and_infinities_are_alike_where_both_have_them():
    comparison = TensorComparison(TORCH, IMPL)
    values = [np.nan, np.inf, -np.inf, 1.0]
    assert not comparison.differences("y", torch.tensor(values), impl.tensor(values))
    other = impl.tensor([np.nan, np.inf, np.inf, 1.0])
    assert comparison.differences("y", torch.tensor(values), other)["values"].field == "y[2]"


def test_an_entry_is_a_line_of_the_run_with_the_sample_that_diverges():
    suite = read_suite()
    chosen = suite.select(Selection(ids=("sweep/sinh/float64",)))
    judge = Judge(Settings(backend="made_backends:doubled_sinh"), KnownDivergences())
    try:
        line = judge.line(chosen[0])
        with pytest.raises(Failed, match="no sample sweep/sinh/float64/plain/999"):
            judge.sample("sweep/sinh/float64/plain/999")
    finally:
        judge.close()
    assert (line["outcome"], line["levels"]["values"]) == ("diverges", "diverges")
    assert "torch.sinh(x)" in line["source"] and line["expected"]["steps"]
    assert line["divergences"]["values"]["sample"] == "sweep/sinh/float64/plain/0"
    found = sweep_summary([line])
    assert found.table["forward"]["float64"].passing == 0
    assert [row.entry for row in found.failing] == ["sinh"]


def test_the_samples_after_one_whose_kernel_failed_are_not_compared():
    tally = swept("cosh", backend=Spendable())
    assert tally["cells"]["forward"]["samples"] == 1
    assert tally["cells"]["forward"]["lacking"] > 1 and "earlier sample" in tally["lacks"]


def test_an_entry_that_the_oracle_does_not_have_is_not_run():
    suite = read_suite()
    (program,) = suite.select(Selection(ids=("sweep/sinh/float64",)))
    judge = Judge(Settings(backend="impl"), KnownDivergences())
    try:
        line = judge.line(replace(program, id="sweep/nothing/float64"))
    finally:
        judge.close()
    assert line["outcome"] == "not_run"
    assert line["reason"] == f"the database of torch {torch.__version__} has no entry nothing"
    with pytest.raises(NoEntry):
        swept("no_such_operator")
    with pytest.raises(LookupError, match="no database"):
        Sweep(IMPL, TORCH).entry("mul", "float64")


@pytest.mark.parametrize("wrong", ["sweep/mul", "op/mul/plain/0", "sweep/mul/float64/odd/0"])
def test_what_is_no_sample_has_no_address(wrong):
    with pytest.raises(LookupError):
        address(wrong)
    assert address("sweep/split/list_args/float64/plain/3") == (
        "split/list_args",
        "float64",
        "plain",
        3,
    )


def test_every_entry_has_an_id_of_its_own():
    ids = [program.id for program in programs()]
    assert len(ids) == len(set(ids)) and all(i.startswith("sweep/") for i in ids)


def test_torch_takes_the_plain_samples_of_every_entry(opinfo):
    """A sample that torch refuses would compare two errors instead of the operator."""
    side, refused = Side(find("torch")), []
    for entry, dtypes in opinfo.entries().items():
        for sample in islice(opinfo.samples(entry, dtypes[0]), 4):
            side.begin(sample.arguments)
            error = side.run(sample.forward()) if sample.kind == "plain" else None
            if error is not None:
                refused.append((sample.id, str(error)))
    assert not refused
