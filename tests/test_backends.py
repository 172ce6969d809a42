"""Backends by name: lookup, refusals with their reasons, and the state a session restores."""

import sys
import types

import pytest
import torch

from conformance.backends import Backend, BackendError, TorchShaped, find
from conformance.execution.execute import trace
from conformance.program.program import Program
from reference.devices import _drawing, _on_cpu, as_on_cpu


@pytest.fixture
def ports(tmp_path, monkeypatch):
    """Backend modules of a user, by name and source; removed afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def write(name: str, source: str) -> None:
        (tmp_path / f"{name}.py").write_text(source)

    yield write
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", "") and str(tmp_path) in str(
            sys.modules[name].__file__
        ):
            del sys.modules[name]


def test_torch_is_the_oracle():
    backend = find("torch")
    assert (backend.name, backend.version, backend.device) == ("torch", torch.__version__, "cpu")
    assert backend.namespace is torch and backend.available() is None
    assert find("torch:cpu").name == "torch:cpu"


def test_impl_is_a_namespace():
    backend = find("impl")
    assert backend.name == "impl" and backend.namespace is sys.modules["impl"]


def test_a_module_attribute_may_be_many_things(ports):
    ports(
        "port_one",
        "from conformance.backends import Backend, TorchShaped\n"
        "class Names:\n"
        "    __version__ = '1.2'\n"
        "    @staticmethod\n"
        "    def tensor(data): return data\n"
        "class Inner: names = Names\n"
        "class Mine(Backend):\n"
        "    def __init__(self): super().__init__('mine', Names, '3')\n"
        "instance = Mine()\n"
        "def factory(): return Mine()\n"
        "def namespace(): return Names()\n"
        "tensor = Names.tensor\n",
    )
    for path in ("Names", "Inner.names", "namespace"):
        backend = find(f"port_one:{path}")
        assert isinstance(backend, TorchShaped)
        assert (backend.name, backend.version) == (f"port_one:{path}", "1.2")
    for path in ("Mine", "instance", "factory"):
        backend = find(f"port_one:{path}")
        assert type(backend).__name__ == "Mine" and backend.version == "3"
    assert find("port_one").namespace.__name__ == "port_one"


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("", None, "'' is not the name of a backend; those are: impl, torch"),
        (":x", None, "not the name of a backend"),
        ("no such", None, "not the name of a backend"),
        ("no_such_port:x", None, "no_such_port cannot be imported: ModuleNotFoundError"),
        ("bad_port:x", "raise RuntimeError('no driver\\nsecond line')", "RuntimeError: no driver"),
        ("bad_port:x", "x = (", "cannot be imported: SyntaxError"),
        ("bad_port:x", "import sys; sys.exit(7)", "cannot be imported: SystemExit: 7"),
        ("bad_port:x", "y = 1", "bad_port has no 'x'"),
        ("bad_port:x", "x = 1", "is not torch-shaped: it has no 'tensor'"),
        ("bad_port:x", "def x(): return 1", "is not torch-shaped"),
        ("bad_port:x", "def x(): raise OSError('no licence')", "made: OSError: no licence"),
        ("bad_port", "y = 1", "is not torch-shaped"),
        ("torch:nonsense", None, "torch knows no device 'nonsense'"),
        ("torch:", None, None),
    ],
)
def test_what_is_no_backend_is_refused_with_a_reason(ports, name, source, message):
    if source is not None:
        ports("bad_port", source)
    if message is None:
        assert find(name).device == "cpu"
        return
    with pytest.raises(BackendError) as caught:
        find(name)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_modules_named_with_import_come_first(ports):
    ports("registers", "import builtins; builtins.registered_here = True")
    find("torch", ["registers"])
    import builtins

    assert builtins.registered_here
    del builtins.registered_here
    with pytest.raises(BackendError, match=r"--import no_such_extension: .* cannot be imported"):
        find("torch", ["no_such_extension"])


def test_a_missing_device_is_a_reason_and_not_an_error():
    backend = find("torch:cuda")
    if torch.cuda.is_available():
        assert backend.available() is None
    else:
        reason = backend.available()
        assert "has no device cuda here" in reason and "\n" not in reason


def run(source: str, backend: Backend):
    program = Program("T-01.1", "leaves", source, "")
    return trace(program, backend)


def test_programs_make_their_tensors_on_the_device():
    """`meta` is the only other device in every build of torch."""
    made = run(
        "a = torch.ones(2).device.type\n"
        "b = torch.FloatTensor([1., 2.]).device.type\n"
        "c = torch.rand(2, requires_grad=True)\n"
        "d = c.device.type, c.is_leaf, c.requires_grad\n"
        "import torch as t\n"
        "e = t.tensor(1.).device.type, t.float32, t.nn.functional.relu(c).device.type\n"
        "f = torch.ones(1, device='cpu').device.type, torch.rand(1, device='cpu').device.type\n"
        "g = torch.LongTensor([1]).dtype\n",
        find("torch:meta"),
    )
    assert [s.error for s in made.steps] == [None] * 8
    state = made.state()
    assert state["a"]["value"] == state["b"]["value"] == "meta"
    assert [item["value"] for item in state["d"]["items"]] == ["meta", True, True]
    assert [item["value"] for item in state["e"]["items"]] == ["meta", "float32", "meta"]
    assert [item["value"] for item in state["f"]["items"]] == ["cpu", "cpu"]
    assert state["g"]["value"] == "int64"
    assert torch.ones(1).device.type == "cpu" and torch.get_default_device().type == "cpu"


@pytest.mark.parametrize(
    ("text", "on_cpu"),
    [
        ("[torch.cuda.FloatTensor [2]]", "[torch.FloatTensor [2]]"),
        ("[mineFloatType [2]]", "[torch.FloatTensor [2]]"),
        ("[mineComplexDoubleType [2]]", "[CPUComplexDoubleType [2]]"),
        ("tensor([1.], device='mine:0', dtype=torch.float64)", "tensor([1.], dtype=torch.float64)"),
        ("tensor([1.],\n       device='cuda:1')", "tensor([1.])"),
        ("'device': device(type='mine', index=0)}", "'device': device(type='cpu')}"),
        ("a tensor on mine:0, device='other'", "a tensor on mine:0, device='other'"),
    ],
)
def test_texts_of_a_device_are_worded_as_on_the_cpu(text, on_cpu):
    assert as_on_cpu("cuda" if "cuda" in text else "mine")(text) == on_cpu


def test_every_operator_that_draws_is_known_by_its_tag():
    drawing = {str(one) for one in _drawing()}
    assert {"aten.normal_.default", "aten.native_dropout.default"} <= drawing
    assert not any("dot_product" in one for one in drawing)


@pytest.mark.parametrize("shape", [(0, 3), (2, 3), (1,)])
@pytest.mark.parametrize("stride", [(0, 1), (3, 1), (1, 2), (1, 1)])
def test_what_is_drawn_into_lies_in_memory_as_on_the_device(shape, stride):
    there = torch.arange(8.0).as_strided(shape, stride[-len(shape) :], 1)
    here = _on_cpu(there)
    assert torch.equal(here, there) and here.stride() == there.stride()


def test_a_torch_that_cannot_tell_its_default_device_is_not_asked(monkeypatch):
    """Torch 2.6 fails once a default device was set and removed; torch 2.2 has no such function."""

    def fails():
        raise AttributeError("'NoneType' object has no attribute 'device'")

    monkeypatch.setattr(torch, "get_default_device", fails)
    backend = find("torch:meta")
    for _ in range(2):
        with backend.session():
            assert torch.ones(1).device.type == "meta"
    assert torch.ones(1).device.type == "cpu"


def test_torch_keeps_its_default_device_and_flags():
    torch.set_default_device("meta")
    try:
        made = run("x = torch.ones(1).device.type", find("torch"))
        assert torch.get_default_device().type == "meta"
    finally:
        torch.set_default_device(None)
    assert made.state()["x"]["value"] == "cpu"


def test_the_session_sets_and_restores_torchs_state():
    before = torch.get_num_threads(), torch.is_warn_always_enabled(), torch.get_rng_state()
    with torch.no_grad(), find("torch").session():
        assert torch.is_grad_enabled() and torch.is_warn_always_enabled()
        assert torch.get_num_threads() == 1
        first = torch.rand(1)
        torch.set_num_threads(2)
    torch.manual_seed(0)
    assert torch.equal(first, torch.rand(1))
    torch.set_rng_state(before[2])
    with pytest.raises(KeyError), find("torch").session():
        torch.set_grad_enabled(False)
        raise KeyError
    assert torch.is_grad_enabled()
    assert before[:2] == (torch.get_num_threads(), torch.is_warn_always_enabled())


def test_autocast_that_a_program_left_on_does_not_reach_the_next_one():
    """AUTOCAST-10 ends with a function that torch before 2.4 lacks, so that it stays on there."""
    product = "x = torch.ones(1, 1)\ny = (x @ x).dtype"
    for _ in range(2):
        left_on = f"torch.autocast('cpu', torch.float16).__enter__()\n{product}"
        assert run(left_on, find("torch")).state()["y"]["value"] == "float16"
        assert run(product, find("torch")).state()["y"]["value"] == "float32"
    assert not torch.is_autocast_enabled("cpu")
    assert torch.get_autocast_dtype("cpu") == torch.bfloat16


def test_a_torch_shaped_session_restores_what_there_is():
    calls = []
    namespace = types.SimpleNamespace(
        tensor=list,
        is_grad_enabled=lambda: False,
        set_grad_enabled=calls.append,
        get_default_dtype=lambda: "double",
        set_default_dtype=calls.append,
        float32="single",
        manual_seed=lambda seed: calls.append(("seed", seed)),
    )
    with TorchShaped("port", namespace).session():
        assert calls == [True, "single", ("seed", 0)]
    assert calls[3:] == ["double", False]
    with TorchShaped("bare", types.SimpleNamespace(tensor=list)).session():
        pass


def test_torch_itself_can_be_a_torch_shaped_namespace():
    """A port is observed as torch is: the same program, the same trace."""
    source = (
        "x = torch.rand(3, requires_grad=True)\ny = x * x\ny.sum().backward()\nx.grad\nx.shape\n"
    )
    assert run(source, TorchShaped("again", torch)) == run(source, find("torch"))
