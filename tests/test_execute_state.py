"""State of programs: each starts from the same, and nothing that it sets or makes outlives it."""

import gc
import linecache
import sys
import warnings

import numpy as np
import pytest
import torch
from made_steps import TORCH, program, steps

from conformance.execution.execute import trace


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
