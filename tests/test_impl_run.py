"""Programs written for torch, run on impl by `python -m impl.run` and `impl.run.bind`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from command import ended as ended_copy
from command import fresh_python, python

import impl.run

SCRIPTS = Path(__file__).parent / "scripts"

TRAINING = """\
import sys

import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor, optim
from torch.autograd import Function, gradcheck
from torch.utils.checkpoint import checkpoint


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


cudnn.benchmark = True
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
optimizer = optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(4, 2)
for _ in range(3):
    optimizer.zero_grad()
    loss = F.mse_loss(checkpoint(model, x, use_reentrant=False), Double.apply(x[:, :1]))
    loss.backward()
    optimizer.step()
print(f"{loss.item():.6f}", isinstance(loss, Tensor), callable(gradcheck), sys.argv[1:])
"""


def test_a_script_computes_what_it_does_on_torch(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)
    on_impl = fresh_python("-m", "impl.run", "train.py", "--lr", "1", cwd=tmp_path)
    assert on_impl.stderr == ""
    assert on_impl.stdout.endswith("True True ['--lr', '1']\n")
    pytest.importorskip("torch")
    assert python("train.py", "--lr", "1", cwd=tmp_path).stdout == on_impl.stdout


def test_a_module_is_run_with_its_siblings(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "layers.py").write_text("from torch.nn import Linear\n")
    (package / "train.py").write_text(
        "import sys\nfrom package.layers import Linear\n"
        "print(Linear.__module__, __name__, sys.argv[1:])\n"
    )
    ended = python("-m", "impl.run", "-m", "package.train", "-x", cwd=tmp_path)
    assert ended.stdout == "torch.nn.modules.linear __main__ ['-x']\n", ended.stderr


def test_the_version_is_that_of_the_torch_it_behaves_as(tmp_path):
    (tmp_path / "version.py").write_text(
        "import torch\n"
        "version = torch.__version__\n"
        "print(version, version >= '2.2', version < (2, 15), version == '2.15', version > '1.13')\n"
    )
    ended = python("-m", "impl.run", "version.py", cwd=tmp_path)
    assert ended.stdout == "2.15.0+impl True False False True\n", ended.stderr


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.stem)
def test_a_script_prints_what_it_does_on_torch(script, tmp_path):
    on_impl = python("-m", "impl.run", str(script), cwd=tmp_path)
    assert on_impl.returncode == 0, on_impl.stderr
    pytest.importorskip("torch")
    assert python(str(script), cwd=tmp_path).stdout == on_impl.stdout


@pytest.mark.parametrize(
    "statement, said",
    [
        ("import torch.absent", "ModuleNotFoundError: impl has no module 'torch.absent'"),
        (
            "import torch.nn.absent.deep",
            "ModuleNotFoundError: impl has no module 'torch.nn.absent'",
        ),
        ("import torch.engine", "ModuleNotFoundError: impl has no module 'torch.engine'"),
        ("from torch import absent", "ImportError: cannot import name 'absent' from 'torch'"),
        ("import torch; torch.absent", "AttributeError: module 'torch' has no attribute 'absent'"),
    ],
)
def test_what_is_missing_is_named(tmp_path, statement, said):
    (tmp_path / "script.py").write_text(statement + "\n")
    ended = python("-m", "impl.run", "script.py", cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith(said)


def test_it_refuses_where_torch_was_imported(tmp_path):
    (tmp_path / "torch.py").write_text("__version__ = '2.13.0'\n")
    program = "import torch, impl.run; impl.run.bind()"
    ended = ended_copy("-c", program, cwd=tmp_path, module="__main__", torch=False)
    assert ended.stderr.splitlines()[-1].startswith(
        "RuntimeError: torch 2.13.0 was imported before"
    )


@pytest.mark.parametrize(
    "arguments, said",
    [
        ((), "usage: python -m impl.run SCRIPT"),
        (("absent.py",), "impl.run: there is no file 'absent.py'"),
        (("-m",), "impl.run: -m needs the name of a module"),
    ],
)
def test_a_wrong_command_line_is_explained(tmp_path, arguments, said):
    ended = python("-m", "impl.run", *arguments, cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.startswith(said)


def test_a_block_binds_torch_and_unbinds_it(monkeypatch):
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "torch"}
    for name in kept:
        monkeypatch.delitem(sys.modules, name)
    with impl.run.bound() as torch:
        import torch.autograd.gradcheck
        import torch.nn.functional as functional

        assert torch is impl and functional is impl.nn.functional
        assert functional.__name__ == functional.relu.__module__ == "torch.nn.functional"
        assert impl.autograd.gradcheck is not sys.modules["torch.autograd.gradcheck"]
        impl.run.bind()  # a second call has no effect
    assert not [name for name in sys.modules if name.split(".")[0] == "torch"]
    assert impl.__version__ == "0.1.0"
    assert impl.Tensor.__module__ == impl.__name__ == "impl"
    assert impl.nn.Linear.__module__ == "impl.nn.modules.linear"
