"""Execution and observation: the contents of torch's traces, and that state does not leak."""

import gc
import json
import linecache
import sys
import types
import warnings
import weakref

import numpy as np
import pytest
import torch

from conformance.backends import TorchShaped, find
from conformance.execution.execute import trace
from conformance.observe.trace import Step, Trace
from conformance.program.givens import Given
from conformance.program.program import Program

TORCH = find("torch")


def program(source: str, **fields) -> Program:
    return Program("T-01.1", "leaves", "import torch\n" + source, "", **fields)


def steps(source: str, backend=TORCH, **fields) -> list[Step]:
    """The steps of `source` without that of `import torch`."""
    made = trace(program(source, **fields), backend)
    again = Trace.from_json(json.loads(json.dumps(made.to_json(), allow_nan=False)))
    assert again == made
    return made.steps[1:]


def test_a_leaf():
    (step,) = steps("x = torch.tensor([[1., 2.]], requires_grad=True)")
    assert step.changed == {
        "x": {
            "kind": "tensor",
            "shape": [1, 2],
            "dtype": "float32",
            "values": [1.0, 2.0],
            "grad": None,
            "requires_grad": True,
            "is_leaf": True,
            "has_grad_fn": False,
            "retains_grad": False,
            "output_nr": 0,
            "strides": [2, 1],
            "offset": 0,
            "version": 0,
            "is_view": False,
            "storage": "x",
            "grad_fn": None,
            "graph": [],
        }
    }
    assert (step.deleted, step.result, step.error, step.warnings) == ([], None, None, [])


def test_a_result_of_the_graph():
    *_, step = steps(
        "x = torch.ones(2, requires_grad=True)\n"
        "v, i = (x * x + torch.ones(2)).max(0)\n"
        "a, b = torch.stack([x * 2, x * 3]).unbind(0)\n"
        "z = a * b + v"
    )
    assert list(step.changed) == ["z"]
    z = step.changed["z"]
    assert (z["grad_fn"], z["has_grad_fn"], z["is_leaf"]) == ("AddBackward0", True, False)
    assert z["graph"] == [
        "AddBackward0(#1, #7)",
        "MulBackward0(#2, #2:1)",
        "UnbindBackward0(#3)",
        "StackBackward0(#4, #6)",
        "MulBackward0(#5, -)",
        "AccumulateGrad x",
        "MulBackward0(#5, -)",
        "MaxBackward0(#8)",
        "AddBackward0(#9, -)",
        "MulBackward0(#5, #5)",
    ]


def test_a_leaf_of_the_graph_without_a_name():
    (step,) = steps("y = torch.ones(1, requires_grad=True) * 2")
    assert step.changed["y"]["graph"] == ["MulBackward0(#1, -)", "AccumulateGrad"]


def test_a_long_graph_is_cut():
    source = "x = torch.ones(1, requires_grad=True)\nfor n in range({n}): x = x + 1\nx = x * x\n"
    graph = steps(source.format(n=62))[-1].changed["x"]["graph"]
    assert len(graph) == 64 and graph[-1] == "AccumulateGrad"
    graph = steps(source.format(n=63))[-1].changed["x"]["graph"]
    assert len(graph) == 65
    assert graph[-2:] == ["AddBackward0(..., -)", "..."]


def test_only_what_changed_is_recorded():
    one, two, three, four, five = steps(
        "x = torch.ones(2, requires_grad=True)\ny = x.detach()\nz = 3\ny.add_(1)\ndel z\n"
    )
    assert [list(s.changed) for s in (one, two, three)] == [["x"], ["y"], ["z"]]
    assert list(four.changed) == ["x", "y"]
    assert [four.changed[n]["version"] for n in "xy"] == [1, 1]
    assert (five.changed, five.deleted) == ({}, ["z"])


def test_storages_are_known_by_the_first_name_that_they_had():
    made = steps(
        "x = torch.ones(4)\n"
        "v = x[1:3]\n"
        "x = torch.zeros(4)\n"
        "w = x.view(2, 2)\n"
        "pair = [torch.ones(1), x]\n"
        "del x, w, pair\n"
        "again = torch.zeros(4)\n"
        "v\n"
    )
    assert made[1].changed["v"]["storage"] == "x"
    assert made[1].changed["v"]["offset"] == 1
    assert made[2].changed["x"]["storage"] == "x#2"
    assert made[3].changed["w"]["storage"] == "x#2"
    assert [o["storage"] for o in made[4].changed["pair"]["items"]] == ["pair[0]", "x#2"]
    assert made[6].changed["again"]["storage"] == "again"  # no address is reused
    assert made[7].result["storage"] == "x"


def test_whether_a_gradient_is_the_same_tensor():
    made = steps(
        "x = torch.ones(2, requires_grad=True)\n"
        "(x * 2).sum().backward()\n"
        "pass\n"
        "(x * 2).sum().backward()\n"
        "x.grad = x.grad * 2\n"
        "x.grad = None\n"
        "(x * 2).sum().backward()\n"
    )
    grads = [s.changed.get("x", {}).get("grad") for s in made]
    assert [g and g["same"] for g in grads] == [None, False, None, True, False, None, False]
    assert made[2].changed == {}
    assert [g and g["values"] for g in grads[3:5]] == [[4.0, 4.0], [8.0, 8.0]]


def test_a_new_gradient_is_new_though_another_field_cannot_be_read(monkeypatch):
    def lacking(tensor):
        raise AttributeError("no storages here")

    monkeypatch.setattr(torch.Tensor, "untyped_storage", lacking)
    found = steps("x = torch.tensor(1.0, requires_grad=True)\n(x * 2).backward()")
    assert "storage" not in found[-1].changed["x"]
    assert found[-1].changed["x"]["grad"]["same"] is False


def test_other_values():
    (step,) = steps(
        "import numpy as np, math\n"
        "from torch import nn\n"
        "def f(): pass\n"
        "values = dict(a=None, b=True, c=3, d=0.1, e=float('-inf'), f=1+2j, g='text', h=(1, [2]),\n"
        "    i=torch.float16, j=torch.Size([2]), k=f, l=nn, m=np.array([1.5, np.nan]),\n"
        "    n=(torch.ones(1, requires_grad=True) * 2).grad_fn, o={3: 4}, p=slice(1))\n"
    )[3:]
    assert list(step.changed) == ["values"]
    assert step.changed["values"]["items"] == {
        "a": {"kind": "none"},
        "b": {"kind": "bool", "value": True},
        "c": {"kind": "int", "value": 3},
        "d": {"kind": "float", "value": 0.1},
        "e": {"kind": "float", "value": "-inf"},
        "f": {"kind": "complex", "value": [1.0, 2.0]},
        "g": {"kind": "str", "value": "text"},
        "h": {
            "kind": "tuple",
            "items": [
                {"kind": "int", "value": 1},
                {"kind": "list", "items": [{"kind": "int", "value": 2}]},
            ],
        },
        "i": {"kind": "dtype", "value": "float16"},
        "j": {"kind": "size", "value": [2]},
        "k": {"kind": "object", "type": "function"},
        "l": {"kind": "object", "type": "module"},
        "m": {"kind": "array", "shape": [2], "dtype": "float64", "values": [1.5, "nan"]},
        "n": {"kind": "node", "name": "MulBackward0"},
        "o": {"kind": "dict", "items": {"3": {"kind": "int", "value": 4}}},
        "p": {"kind": "object", "type": "slice"},
    }


def test_a_list_that_holds_itself_is_observed():
    steps("a = []\na.append(a)")


def test_an_expression_has_a_result_and_a_named_tuple_is_a_tuple():
    (step,) = steps("torch.tensor([1., 3.]).max(0)")
    assert step.result["kind"] == "tuple"
    assert [o["values"] for o in step.result["items"]] == [[3.0], [1]]
    assert "same" not in json.dumps(step.result)


def test_values_of_every_dtype_and_layout():
    *_, step = steps(
        "b = torch.tensor([1.5, float('nan')], dtype=torch.bfloat16)\n"
        "c = torch.tensor([1+2j]).conj()\n"
        "n = c.imag\n"
        "t = torch.arange(6).view(2, 3).t()\n"
        "e = torch.zeros(2, 0, 3)\n"
        "s = torch.tensor(3, dtype=torch.uint8)\n"
        "[b, c, n, t, e, s]"
    )
    assert [o["values"] for o in step.result["items"]] == [
        [1.5, "nan"],
        [[1.0, -2.0]],
        [-2.0],
        [0, 3, 1, 4, 2, 5],
        [],
        [3],
    ]


def test_what_cannot_be_read_is_an_error_of_that_field():
    made = steps(
        "m = torch.ones(2, device='meta')\n"
        "i = torch.ones(2, 2).to_sparse_csr()\n"
        "with torch.inference_mode(): q = torch.ones(1)\n"
    )
    assert made[0].changed["m"]["values"]["error"]["type"] == "NotImplementedError"
    assert made[0].changed["m"]["shape"] == [2]
    sparse = made[1].changed["i"]
    assert "error" in sparse["values"] and "storage" not in sparse and sparse["is_leaf"] is True
    assert made[2].changed["q"]["version"]["error"]["type"] == "RuntimeError"
    assert made[2].changed["q"]["values"] == [1.0]


def test_a_view_that_autograd_refuses_is_observed_all_the_same():
    *_, step = steps(
        "x = torch.ones(4, requires_grad=True).clone()\na, b = x.split(2)\nx.mul_(2)\n"
    )
    a = step.changed["a"]
    assert a["values"] == [2.0, 2.0] and a["requires_grad"] is True
    assert a["grad_fn"]["error"]["type"] == a["has_grad_fn"]["error"]["type"] == "RuntimeError"
    assert "view" in a["grad_fn"]["error"]["message"]


def test_a_statement_that_raises_is_recorded_and_the_program_goes_on():
    made = steps("x = torch.ones(2)\nx.backward()\nmissing\ny = 1\nimport sys\nexit(3)\n")
    assert [s.error and s.error["type"] for s in made] == [
        None,
        "RuntimeError",
        "NameError",
        None,
        "ImportError",
        "SystemExit",
    ]
    assert made[1].error["message"].startswith("element 0 of tensors does not require grad")
    assert made[3].changed == {"y": {"kind": "int", "value": 1}}


@pytest.mark.parametrize("backend", [TORCH, find("impl")], ids=["torch", "impl"])
def test_an_observation_asks_no_class_and_no_mode(backend):
    """So that the log of a `__torch_function__` shows the program's calls, and nothing else."""
    made = trace(
        program(
            """
from torch.overrides import TorchFunctionMode
class Noted(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        log.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)
class Mode(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        log.append(func.__name__)
        return func(*args, **(kwargs or {}))
log = []
x = torch.ones(2).as_subclass(Noted)
y = x * 2
mode = Mode().__enter__()
z = torch.ones(2)
z
_ = mode.__exit__(None, None, None)
[*log]
"""
        ),
        backend,
    )
    assert [item["value"] for item in made.steps[-1].result["items"]] == ["mul", "ones"]


def test_warnings_are_recorded_every_time_and_observation_makes_none():
    made = steps(
        "y = torch.ones(1, requires_grad=True) * 2\n"
        "y.grad\n"
        "for n in range(2): y.grad\n"
        "import warnings\n"
        "warnings.simplefilter('ignore')\n"
        "y.grad\n"
    )
    assert [len(s.warnings) for s in made] == [0, 1, 2, 0, 0, 0]
    (warning,) = made[1].warnings
    assert warning["category"] == "UserWarning"
    assert warning["message"].startswith("The .grad attribute")
    assert "Triggered internally" not in warning["message"]


def test_addresses_and_the_harness_own_frames_are_not_recorded():
    made = steps(
        "s = repr((torch.ones(1, requires_grad=True) * 2).grad_fn)\n"
        "x = torch.ones(1, requires_grad=True)\n"
        "with torch.autograd.detect_anomaly(): (x.log() * 0).sqrt().sum().backward()\n"
    )
    assert made[0].changed["s"]["value"] == "<MulBackward0 object at 0x...>"
    assert made[2].error["type"] == "RuntimeError"
    assert any("Traceback of forward call" in w["message"] for w in made[2].warnings)
    assert __file__ not in str(made[2]) and "execute.py" not in str(made[2])


def test_a_program_sees_no_name_but_torch_and_may_import_few():
    made = steps(
        "n = sorted(k for k in globals() if not k.startswith('__'))\n"
        "import torch.nn.functional as F, numpy as np, math\n"
        "from torch.autograd import Function\n"
        "r = F.relu(torch.tensor(-1.))\n"
        "import os\n"
        "from torch import no_such_thing\n"
        "import torch.no_such_module\n"
    )
    assert [o["value"] for o in made[0].changed["n"]["items"]] == ["torch"]
    assert [s.changed for s in made[1:3]] == [{}, {}]
    assert made[3].changed["r"]["values"] == [0.0]
    assert [s.error and s.error["message"] for s in made[4:]] == [
        "a program cannot import 'os'",
        "cannot import name 'no_such_thing' from 'torch'",
        "No module named 'torch.no_such_module'",
    ]


def test_nothing_survives_a_program():
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), list(warnings.filters)
    errors = np.geterr()
    streams = sys.stdout, sys.stderr, sys.stdin
    trace(
        program(
            "import numpy as np, warnings\n"
            "torch.set_grad_enabled(False)\n"
            "torch.set_default_dtype(torch.float64)\n"
            "torch.autograd.set_detect_anomaly(True)\n"
            "torch.use_deterministic_algorithms(True)\n"
            "torch.set_warn_always(False)\n"
            "torch.rand(3), np.random.rand(3), np.seterr(all='raise')\n"
            "warnings.simplefilter('error')\n"
            "print('not to be seen')\n"
            "input()\n"
        ),
        TORCH,
    )
    assert torch.is_grad_enabled() and torch.get_default_dtype() is torch.float32
    assert not torch.is_anomaly_enabled() and not torch.are_deterministic_algorithms_enabled()
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == np.random.get_state()[1].tolist()
    assert np.geterr() == errors != dict.fromkeys(errors, "raise")
    assert before[2] == warnings.filters
    assert streams == (sys.stdout, sys.stderr, sys.stdin)
    assert not [name for name in linecache.cache if name.startswith("<program")]


def test_state_is_restored_when_the_harness_itself_fails(monkeypatch):
    monkeypatch.setattr(TORCH, "observer", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        trace(program("torch.set_grad_enabled(False)"), TORCH)
    assert torch.is_grad_enabled() and sys.stdout is not None


def test_a_program_prints_to_nobody(capfd):
    steps("print('hidden')\nimport warnings\nwarnings.warn('also hidden')")
    assert capfd.readouterr() == ("", "")


def test_a_program_starts_from_the_same_state_whatever_was_before():
    torch.manual_seed(5)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            (first,) = steps("x = torch.rand(2, requires_grad=True) * 1")
    finally:
        torch.set_default_dtype(torch.float32)
    (second,) = steps("x = torch.rand(2, requires_grad=True) * 1")
    assert first == second
    assert first.changed["x"]["dtype"] == "float32" and first.changed["x"]["has_grad_fn"]


def test_observation_keeps_no_tensor_alive():
    made = steps(
        "import weakref, gc\n"
        "x = torch.ones(1, requires_grad=True)\n"
        "(x * 2).backward()\n"
        "g = weakref.ref(x.grad)\n"
        "x.grad = None; a = g() is None\n"
        "r = weakref.ref(x)\n"
        "x.backward(torch.ones(7))\n"
        "del x; b = r() is None\n"
    )
    assert made[5].changed["a"]["value"] is True
    assert made[9].changed["b"]["value"] is True


def test_no_tensor_survives_its_program():
    gc.collect()
    before = sum(issubclass(type(o), torch.Tensor) for o in gc.get_objects())
    made = trace(
        program(
            "x = torch.ones(1, requires_grad=True)\n"
            "def f(): return x\n"
            "y = x * 2\n"
            "y.backward(torch.ones(3))\n"
            "def g(t): raise ValueError(t)\n"
            "g(y)\n"
        ),
        TORCH,
    )
    assert made.steps[-1].error
    assert sum(issubclass(type(o), torch.Tensor) for o in gc.get_objects()) == before


def test_observation_does_not_change_what_a_program_does():
    source = (
        "x = torch.ones(3, requires_grad=True)\n"
        "y = x * 2\n"
        "v = y[:2]\n"
        "v.mul_(3)\n"
        "w = y * v.sum()\n"
        "w.sum().backward()\n"
        "g = x.grad\n"
        "(x * x).sum().backward()\n"
        "s = g is x.grad\n"
    )
    names: dict = {}
    exec("import torch\n" + source, names)
    last = trace(program(source), TORCH).state()
    assert last["g"]["values"] == names["g"].tolist()
    assert last["s"]["value"] is names["s"]
    assert last["y"]["version"] == names["y"]._version
    assert last["y"]["grad_fn"] == type(names["y"].grad_fn).__name__


def test_givens_are_statements():
    p = program("y = x * 2", givens=(Given("x", "float64", (1,), (2.0,), requires_grad=True),))
    made = trace(p, TORCH)
    assert [s.line for s in made.steps] == [2, 3, 4]
    assert made.steps[0].changed["x"]["requires_grad"] is True
    assert made.steps[2].changed["y"]["values"] == [4.0]


# A user's port ----------------------------------------------------------------------------------


class OddTensor:
    """A tensor with the essentials, many missing attributes, and others that raise."""

    requires_grad = False
    is_leaf = True
    grad = None
    dtype = "torch.float32"

    def __init__(self, values):
        self.values = values
        self.shape = (len(values),)

    def backward(self):
        raise NotImplementedError("backward is not there yet")

    def tolist(self):
        return list(self.values)

    @property
    def _version(self):
        raise ValueError("no version today")

    def stride(self):
        raise NotImplementedError

    def __repr__(self):
        raise RuntimeError("no repr")

    __slots__ = ("shape", "values")


class OddError(Exception):
    def __str__(self):
        raise RuntimeError("not even a message")


def odd_port() -> TorchShaped:
    namespace = types.ModuleType("odd")
    namespace.Tensor = OddTensor
    namespace.tensor = OddTensor

    def slip(x):
        return x.no_such_attribute

    def weird():
        raise OddError

    namespace.slip, namespace.weird = slip, weird
    namespace.nn = types.ModuleType("odd.nn")
    return TorchShaped("odd", namespace)


def test_a_port_lacks_fields_without_breaking_the_harness():
    (step,) = steps("x = torch.tensor([1.0, 2.0])", odd_port())
    assert step.changed["x"] == {
        "kind": "tensor",
        "shape": [2],
        "dtype": "float32",
        "values": [1.0, 2.0],
        "grad": None,
        "requires_grad": False,
        "is_leaf": True,
        "version": {"error": {"type": "ValueError", "message": "no version today"}},
    }


def test_what_a_port_lacks_is_named():
    made = steps(
        "x = torch.tensor([1.0])\n"
        "torch.amax(x)\n"
        "x.exp()\n"
        "x.backward()\n"
        "torch.nn.functional\n"
        "import torch.nn.functional as F\n"
        "torch.slip(x)\n"
        "torch.weird()\n"
        "None.exp()\n",
        odd_port(),
    )
    assert [(s.error or {}).get("lacks") for s in made] == [
        None,
        "torch.amax",
        "Tensor.exp",
        "backward is not there yet",
        "torch.functional",
        "torch.nn.functional",
        None,
        None,
        None,
    ]
    assert made[7].error["type"] == "OddError" and "RuntimeError" in made[7].error["message"]


def test_a_ports_own_numbers_are_read_as_pythons():
    class Port(OddTensor):
        requires_grad = np.bool_(True)
        is_leaf = np.bool_(False)
        grad_fn = None
        retains_grad = np.bool_(False)
        output_nr = np.int64(1)
        _version = np.int32(2)

        def stride(self):
            return (np.int64(1),)

        def storage_offset(self):
            return np.int64(0)

    namespace = types.ModuleType("port")
    namespace.Tensor = OddTensor
    namespace.tensor = lambda values: Port([np.float32(v) for v in values])
    namespace.wrong = lambda: Port(["a"])

    def short():
        made = Port([1.0])
        made.shape = (2,)
        return made

    namespace.short = short
    source = "x = torch.tensor([0.5, 2.0])\ny = torch.wrong()\nz = torch.short()"
    one, two, three = steps(source, TorchShaped("port", namespace))
    x = one.changed["x"]
    assert (x["values"], x["strides"], x["version"]) == ([0.5, 2.0], [1], 2)
    assert (x["requires_grad"], x["is_leaf"], x["output_nr"]) == (True, False, 1)
    assert "no numbers" in two.changed["y"]["values"]["error"]["message"]
    assert "1 values for the shape (2,)" in three.changed["z"]["values"]["error"]["message"]


def test_what_a_namespace_of_classes_lacks_is_named():
    class Namespace:
        tensor = OddTensor
        Tensor = OddTensor

        class nn:
            class functional:
                pass

    made = steps(
        "torch.amax\ntorch.nn.functional.relu\nimport torch.nn.functional as F\nF.relu\n"
        "class Mine: pass\nMine.relu\n",
        TorchShaped("classes", Namespace),
    )
    assert [(s.error or {}).get("lacks") for s in made] == [
        "torch.amax",
        "torch.relu",
        None,
        "torch.relu",
        None,
        None,
    ]


def test_a_gradient_that_allows_no_weak_reference_is_known_again():
    class Port(OddTensor):
        __slots__ = ("grad",)

        def __init__(self, values):
            super().__init__(values)
            self.grad = None

        def backward(self):
            self.grad = self.grad or OddTensor([1.0])

    namespace = types.ModuleType("port")
    namespace.Tensor = OddTensor
    namespace.tensor = Port
    made = steps(
        "x = torch.tensor([1.0])\nx.backward()\nx.grad.values[0] = 2.0\nx.grad = None",
        TorchShaped("port", namespace),
    )
    with pytest.raises(TypeError):
        weakref.ref(OddTensor([1.0]))
    assert [s.changed["x"]["grad"] and s.changed["x"]["grad"]["same"] for s in made] == [
        None,
        False,
        True,
        None,
    ]
