"""The tape of `frameworks`, over a library defined here; and each installed real library."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import frameworks
from conformance.backends import BackendError, find
from conformance.execution.execute import trace
from conformance.program.program import Program
from conformance.run_files.run import Run
from conformance.suite.conventions import convention_of, programs
from frameworks.tape import Library
from frameworks.torch_shaped import Ported
from reports.frameworks import LACKS, markdown, page, table
from reports.run import ReportError

LIBRARIES = ("autograd_hips", "jax", "mlx", "paddle", "tensorflow", "tinygrad", "torch_func")
PACKAGES = {"autograd_hips": "autograd", "mlx": "mlx.core", "torch_func": "torch"}


class Products(Library):
    """A library of sums and products; its derivatives are finite differences, which are exact."""

    name, version = "products", "1"

    def __init__(self):
        self.operators = {
            "add": lambda a, b: a + b,
            "mul": lambda a, b: a * b,
            "halves": lambda a: (a * 0.5, a * 0.5),
            "sum": lambda a: np.sum(a),
        }
        self.calls = 0

    def array(self, values):
        return values

    def numpy(self, array):
        return np.asarray(array)

    def cotangent(self, output):
        if np.ndim(output):
            raise TypeError("only of a number")
        return np.ones_like(output)

    def vjp(self, function, inputs, cotangents):
        self.calls += 1
        return [self._slope(function, list(inputs), i, cotangents) for i in range(len(inputs))]

    def _slope(self, function, inputs, place, cotangents):
        slope = np.zeros_like(np.asarray(inputs[place]))
        for index in np.ndindex(slope.shape):
            ends = []
            for step in (0.5, -0.5):  # exact for polynomials of degree two
                moved = [np.array(value, copy=True) for value in inputs]
                moved[place][index] += step
                pairs = zip(function(*moved), cotangents, strict=True)
                ends.append(sum(np.sum(value * seed) for value, seed in pairs))
            slope[index] = ends[0] - ends[1]
        return slope


@pytest.fixture
def port():
    return Ported("products", Products())


def run(port, source):
    return trace(Program("test/port", "test", source, "a test"), port)


def final(port, source):
    """The value of the last expression of a program, which must not raise."""
    last = run(port, source).steps[-1]
    assert last.error is None, last.error
    return last.result


def error(port, source):
    return run(port, source).steps[-1].error


def test_a_gradient_is_the_librarys_and_is_accumulated(port):
    source = """
x = torch.tensor([1.0, 2.0], requires_grad=True)
(x * x + x).sum().backward()
(x * 10).sum().backward()
x.grad
"""
    assert final(port, source)["values"] == [13.0, 15.0]
    assert port.namespace._tape.library.calls == 2


def test_a_graph_that_forks_and_joins_is_replayed_once_per_call(port):
    source = """
x = torch.tensor(3.0, requires_grad=True)
a, b = torch.halves(x)
y = a * b
y.backward()
x.grad
"""
    assert final(port, source)["values"] == [1.5]


def test_a_target_within_the_graph_has_the_gradient_there_and_its_source_the_whole(port):
    source = """
x = torch.tensor(3.0, requires_grad=True)
y = x * 2
z = y * x
gy, gx = torch.autograd.grad(z, (y, x))
[gy.item(), gx.item()]
"""
    items = final(port, source)["items"]
    assert [item["value"] for item in items] == [3.0, 12.0]


def test_a_gradient_can_be_differentiated_again(port):
    source = """
x = torch.tensor(3.0, requires_grad=True)
g, = torch.autograd.grad(x * x, x, create_graph=True)
g.backward()
x.grad
"""
    assert final(port, source)["values"] == [2.0]


def test_what_does_not_depend_on_a_leaf_has_no_gradient(port):
    begin = "x = torch.tensor(1.0, requires_grad=True)\nz = torch.tensor(1.0, requires_grad=True)\n"
    unused = begin + "torch.autograd.grad(x * x, z{})\n"
    assert error(port, unused.format(""))["type"] == "RuntimeError"
    result = final(port, unused.format(", allow_unused=True"))
    assert result["items"] == [{"kind": "none"}]


@pytest.mark.parametrize(
    ("lines", "lacks"),
    [
        ("x += 1", "writing in place"),
        ("x[0] = 1", "writing in place"),
        ("x.mul_(2)", "Tensor.mul_"),
        ("x.is_leaf", "Tensor.is_leaf"),
        ("torch.amax(x, 0)", "torch.amax"),
        ("torch.sum(x, 0)", "torch.sum so called: too many positional arguments"),
        ("y = x.sum()\ny.backward()\ny.backward()", "a graph that a backward frees"),
    ],
)
def test_what_a_library_has_no_notion_of_is_lacking_not_wrong(port, lines, lacks):
    source = f"x = torch.tensor([1.0, 2.0], requires_grad=True)\n{lines}\n"
    assert error(port, source)["lacks"] == lacks


def test_the_seed_of_a_root_without_one_is_the_librarys_affair(port):
    source = "x = torch.tensor([1.0, 2.0], requires_grad=True)\n(x * x).backward()\n"
    assert error(port, source) == {"type": "TypeError", "message": "only of a number"}


def test_no_grad_and_detach_leave_no_record_and_do_not_outlast_a_session(port):
    source = """
x = torch.tensor(2.0, requires_grad=True)
torch.no_grad().__enter__()
[(x * x).requires_grad, x.detach().requires_grad]
"""
    assert [item["value"] for item in final(port, source)["items"]] == [False, False]
    source = "x = torch.tensor(2.0, requires_grad=True)\n(x * x).requires_grad\n"
    assert final(port, source)["value"] is True


def test_a_port_claims_values_only():
    assert Ported("products", Products()).levels == ("values",)


def test_frameworks_use_of_the_project_only_what_a_backend_is():
    """Each module imports its library, NumPy, `conformance.backends` and its neighbours."""
    for file in sorted(Path(next(iter(frameworks.__path__))).glob("*.py")):
        nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        named = {n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module}
        own = {n for n in named if n.partition(".")[0] in ("conformance", "reference", "impl")}
        assert own <= {"conformance.backends"}, file.name


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_real_library_differentiates_and_shows_conventions(name):
    package = PACKAGES.get(name, name)
    # Imported after its adapter, which may have to configure it (tinygrad's device).
    if importlib.util.find_spec(package.split(".")[0]) is None:
        pytest.skip(f"{package} is not installed: see tox -e frameworks")
    importlib.import_module(f"frameworks.{name}")
    backend = find(f"frameworks.{name}:backend")
    source = "x = torch.tensor([1.0, 2.0], requires_grad=True)\n(x * x).sum().backward()\nx.grad\n"
    assert final(backend, source)["values"] == [2.0, 4.0]
    amax = next(p for p in programs() if p.operator == "amax")
    shown = trace(amax, backend)
    assert convention_of(amax.id, shown, shown)["backend"] == "even split"


def shown(name, conventions, oracle="torch"):
    """A run of a backend with these conventions, by operator; None for a missing operator."""
    lines = [
        {
            "id": f"convention/{operator}",
            "operator": operator,
            "outcome": "unsupported" if found is None else "conforms",
            "convention": {"situation": "a tie", "oracle": "even split", "backend": found},
        }
        for operator, found in conventions.items()
    ]
    header = {"oracle": {"name": oracle}, "backend": {"name": name, "version": "1"}}
    return Run(header, lines, None)


def test_a_table_marks_what_differs_and_what_is_lacking():
    runs = [
        shown("frameworks.a:backend", {"amax": "first", "max": None}),
        shown("b<", {"amax": "even split"}),
    ]
    made = table(runs)
    assert [(row.operator, row.backends, row.differs) for row in made.rows] == [
        ("amax", ("first", "even split"), True),
        ("max", (LACKS, LACKS), False),
    ]
    assert "| amax | a tie | even split | **first** | even split |" in markdown(made)
    assert made.backends == ("a 1", "b< 1")
    assert "b&lt; <small>1</small>" in page(made) and "✗" in page(made)


def test_a_table_names_the_version_of_torch_that_a_library_follows():
    run = shown("torch:cuda", {"amax": "first", "max": "even split"})
    run.programs[0] |= {"outcome": "other_version", "versions": ["2.13", "2.12"]}
    made = table([run])
    assert not any(row.differs for row in made.rows)
    assert "| even split | first (torch 2.12 to 2.13) |" in markdown(made)
    shown_page = page(made)
    assert "<small>as torch 2.12 to 2.13</small>" in shown_page and 'class="bad"' not in shown_page


def test_a_table_needs_conventions_and_one_oracle():
    with pytest.raises(ReportError, match="different oracles"):
        table([shown("a", {"amax": "first"}), shown("b", {"amax": "first"}, oracle="other")])
    with pytest.raises(ReportError, match="none of the runs has a convention"):
        table([shown("a", {})])


def test_torch_compiles_each_operator_under_the_compiler_that_is_named():
    pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(BackendError, match="no backend 'nonsense'"):
        find("torch:compile=nonsense")
    source = "x = torch.tensor(2.0, requires_grad=True)\ny = x * x\n"
    seen = run(find("torch:compile=aot_eager"), source).steps[-1].changed["y"]
    assert seen["grad_fn"] == "CompiledFunctionBackward"
    assert seen["values"] == [4.0]


def test_what_torch_gives_up_compiling_in_one_program_is_compiled_in_the_next():
    pytest.importorskip("torch", reason="torch is not installed")
    compiled = find("torch:compile=aot_eager")
    dual = """\
import torch.autograd.forward_ad as fwAD
with fwAD.dual_level():
    x = fwAD.make_dual(torch.tensor(0.0), torch.tensor(1.0))
    y = torch.exp(x)
"""
    plain = "x = torch.tensor(0.0, requires_grad=True)\ny = torch.exp(x)\n"
    run(compiled, dual)
    assert run(compiled, plain).steps[-1].changed["y"]["grad_fn"] == "CompiledFunctionBackward"
    dual_after_plain = run(compiled, dual)
    assert dual_after_plain.steps[-1].error is None


def test_a_compiled_program_reads_nothing_that_was_compiled_for_another():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from torch._functorch import config

    before = config.enable_autograd_cache
    with find("torch:compile=aot_eager").session():
        assert not config.enable_autograd_cache
    assert config.enable_autograd_cache is before
    assert torch.is_grad_enabled()
