"""Execution and observation: the contents of torch's traces."""

import json

import pytest
import torch
from made_steps import TORCH, program, steps

from conformance.backends import find
from conformance.execution.execute import trace
from conformance.program.givens import Given


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


def test_givens_are_statements():
    p = program("y = x * 2", givens=(Given("x", "float64", (1,), (2.0,), requires_grad=True),))
    made = trace(p, TORCH)
    assert [s.line for s in made.steps] == [2, 3, 4]
    assert made.steps[0].changed["x"]["requires_grad"] is True
    assert made.steps[2].changed["y"]["values"] == [4.0]
