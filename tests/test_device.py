"""The device of examples/device: its memory, its streams, and the faults that the suite notices.

Without the extension, which the environment `device` of tox builds, most of these are skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command import conform, ended

from conformance.run_files.reading import read_run
from conformance.suite.suite import read_suite

ROOT = Path(__file__).parents[1]
DEVICE = ROOT / "examples/device"
LIBRARY = DEVICE / "build/pretend_device.so"
TABLE = (ROOT / "docs/devices.md").read_text("utf-8")
ROWS = re.findall(r"^\| `(\w+)` \| .* \| (\w+-\d+) \| (\w+) \| (\w+-\d+) \|$", TABLE, re.MULTILINE)
built = pytest.mark.skipif(
    not LIBRARY.exists(), reason="the extension is not built: tox run -e device"
)
RUN = ("-m", "conformance.cli", "run", "--backend", "torch:pretend", "--oracle", "torch")
ON_DEVICE = (*RUN, "--import", "pretend_device")
KNOWN = ("--known", str(DEVICE / "known.toml"))


def python(*arguments, folder=DEVICE, **changes):
    """A finished interpreter that can import the suite and the package in this folder."""
    path = os.pathsep.join((str(ROOT), str(folder)))
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, **changes},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def printed(code):
    """The output of a program on the device.

    It ends without finalising the interpreter: the engine's thread of another device may begin only
    then, cannot get the interpreter's lock any more, and aborts the process.
    """
    ends = "import os, sys\nsys.stdout.flush()\nos._exit(0)\n"
    done = python("-c", f"import torch, pretend_device\n{code}\n{ends}")
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@built
def test_the_host_can_neither_read_nor_write_the_memory_of_the_device():
    code = "import ctypes, torch, pretend_device\nx = torch.ones(2, device='pretend')\n"
    for touch in ("ctypes.string_at(x.data_ptr(), 4)", "ctypes.memset(x.data_ptr(), 0, 4)"):
        assert python("-c", code + touch).returncode == -signal.SIGSEGV


@built
def test_work_on_a_stream_is_late_until_it_is_waited_for():
    code = (
        "side = torch.Stream(device='pretend')\n"
        "x = torch.ones(1, device='pretend')\n"
        "with side:\n"
        "    y = x.clone()\n"
        "print(y.item())\n"
        "torch.accelerator.current_stream().wait_stream(side)\n"
        "print(y.item())\n"
    )
    assert printed(code) == ["nan", "1.0"]


@built
def test_a_forked_process_has_memory_and_threads_of_its_own():
    code = (
        "import os\n"
        "x = torch.ones(2, device='pretend')\n"
        "if (child := os.fork()) == 0:\n"
        "    x.add_(1)\n"
        "    os._exit(int(x.clone().sum().item()))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), x.sum().item())\n"
    )
    assert printed(code) == ["4", "2.0"]


@built
def test_each_device_has_memory_and_a_place_in_messages():
    code = (
        "a, b = torch.ones(1, device='pretend:0'), torch.ones(1, device='pretend:1')\n"
        "print(a.to(b.device).add(b).item(), torch.accelerator.device_count())\n"
        "try: torch.mm(a[None], b[None])\n"
        "except RuntimeError as error: print('same device' in str(error))\n"
    )
    assert printed(code) == ["2.0", "2", "True"]


@built
def test_a_tensor_that_is_given_twice_is_one_for_the_kernels_of_the_cpu():
    code = (
        "x, y = torch.ones(2, 1, device='pretend'), torch.ones(2, 3, device='pretend')\n"
        "try: torch.mul(x, y, out=x)\n"
        "except RuntimeError as error: print('broadcast' in str(error))\n"
        "print(tuple(x.shape) == (2, 1))\n"
    )
    assert printed(code) == ["True", "True"]


@built
def test_of_freed_memory_a_gigabyte_is_kept_and_the_rest_given_back():
    code = (
        "def resident():\n"
        "    pages = open('/proc/self/statm').read().split()[2]\n"
        "    return int(pages) * 4096\n"
        "small = torch.ones(1, device='pretend')\n"
        "before = resident()\n"
        "large = [torch.ones(1 << 24, device='pretend') for _ in range(18)]\n"
        "torch.pretend.synchronize()\n"
        "print(resident() - before >= 18 << 26)\n"
        "large.clear()\n"
        "print(16 << 26 <= resident() - before < 17 << 26)\n"
    )
    assert printed(code) == ["True", "True"]


@built
def test_a_result_has_as_much_memory_as_the_kernel_of_the_cpu_gave_it():
    code = (
        "for device in ('cpu', 'pretend'):\n"
        "    x = torch.full((6,), 0.5, device=device)\n"
        "    loss = torch.nn.functional.binary_cross_entropy(x, x)\n"
        "    print(loss.untyped_storage().nbytes())\n"
    )
    of_cpu, of_device = printed(code)
    assert of_cpu == of_device == "24"


@built
def test_attention_takes_the_kernel_that_it_takes_on_the_cpu():
    code = (
        "for device in ('cpu', 'pretend'):\n"
        "    x = torch.ones(1, 2, 3, 4, device=device, requires_grad=True)\n"
        "    mask = torch.zeros(3, 3, device=device)\n"
        "    attention = torch.nn.functional.scaled_dot_product_attention\n"
        "    print(attention(x, x, x).grad_fn.name(), attention(x, x, x, mask).grad_fn.name(),\n"
        "          attention(x, x, x, mask.requires_grad_()).grad_fn.name())\n"
    )
    names = printed(code)
    assert names[:3] == names[3:]
    assert names[0] == names[1] != names[2]


@built
def test_the_cell_of_a_gru_computes_what_it_does_on_the_cpu():
    code = (
        "torch.manual_seed(0)\n"
        "cell, x, h = torch.nn.GRUCell(3, 2), torch.randn(4, 3), torch.randn(4, 2)\n"
        "found = []\n"
        "for device in ('cpu', 'pretend'):\n"
        "    cell, leaves = cell.to(device), [t.to(device).requires_grad_() for t in (x, h)]\n"
        "    y = cell(*leaves)\n"
        "    grads = torch.autograd.grad((y * y).sum(), [*leaves, *cell.parameters()])\n"
        "    found.append([t.cpu() for t in (y.detach(), *grads)])\n"
        "print(all(map(torch.allclose, *found)))\n"
    )
    assert printed(code) == ["True"]


@built
def test_without_a_fault_the_rules_of_the_table_hold():
    rules = {rule for _, first, _, about in ROWS for rule in (first, about)}
    selected = [word for rule in sorted(rules) for word in ("--rule", rule)]
    assert len(ROWS) == 9
    assert python(*ON_DEVICE, *KNOWN, *selected).returncode == 0


@built
@pytest.mark.parametrize(("fault", "first", "level", "_"), ROWS)
def test_the_rule_of_the_table_is_the_first_of_its_chapter_to_notice_the_fault(
    fault, first, level, _, tmp_path
):
    area = next(program.area for program in read_suite().programs if program.rule == first)
    run = ("-x", "--area", area, "--timeout", "10", "--run-file", str(tmp_path / "run"))
    assert python(*ON_DEVICE, *KNOWN, *run, PRETEND_FAULT=fault).returncode in (1, 3)
    lines = read_run(tmp_path / "run", torn=True).programs
    noticed = next(
        one for one in lines if one["outcome"] in ("diverges", "error") and not one["known"]
    )
    assert noticed["rule"] == first
    assert next(iter(noticed["divergences"]), "error") == level


@built
@pytest.mark.parametrize(("fault", "rule"), [(row[0], row[3]) for row in ROWS if row[1] != row[3]])
def test_the_rule_about_a_fault_notices_it(fault, rule):
    done = python(*ON_DEVICE, *KNOWN, "--rule", rule, PRETEND_FAULT=fault)
    assert done.returncode in (1, 3)


@built
def test_a_device_that_hangs_is_given_up():
    selected = ("--area", "operators", "--operator", "cumsum", "--timeout", "2", "--give-up", "2")
    done = python(*ON_DEVICE, *selected, PRETEND_FAULT="hang")
    assert done.returncode == 3
    assert "2 error" in done.stdout and "given up: 2 programs in a row" in done.stdout


def test_without_a_compiler_the_device_is_not_available(tmp_path):
    shutil.copytree(DEVICE, tmp_path / "device", ignore=shutil.ignore_patterns("build"))
    selected = ("--import", "pretend_device", "--rule", "LEAF-01", "--if-available")
    around = {"PYTHONPATH": str(tmp_path / "device"), "CXX": "no-such-compiler"}
    done = conform(*RUN[2:], *selected, cwd=tmp_path, **around)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "has no device pretend here" in done.stdout
    assert "not compiled, for want of a C++ compiler" in done.stdout


def test_a_device_that_torch_loads_by_itself_is_imported_after_torch(tmp_path):
    (tmp_path / "loaded.py").write_text("import torch\n\ndef autoload():\n    pass\n", "utf-8")
    about = tmp_path / "loaded-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: loaded\nVersion: 1\n", "utf-8")
    (about / "entry_points.txt").write_text("[torch.backends]\nx = loaded:autoload\n", "utf-8")
    alone = python("-c", "import loaded", folder=tmp_path)
    assert "Failed to load the backend extension" in alone.stderr
    run = ("run", "--backend", "torch:cpu", "--oracle", "torch", "--rule", "LEAF-01")
    # Of a process without torch: its backends import torch, which imports the device.
    around = {"PYTHONPATH": str(tmp_path)}
    done = ended(*run, "--import", "loaded", cwd=tmp_path, torch=False, changes=around)
    assert done.returncode == 0, done.stdout + done.stderr


def test_programs_that_need_an_accelerator_are_not_run_on_the_cpu(tmp_path):
    run = ("run", "--backend", "impl", "--oracle", "torch")
    alone = conform(*run, "--rule", "ACCEL-01", cwd=tmp_path)
    assert alone.returncode == 3
    assert "it is about an accelerator, and the backend's device is cpu" in alone.stdout
    beside = conform(*run, "--rule", "ACCEL-01", "--rule", "LEAF-01", cwd=tmp_path)
    assert beside.returncode == 0
    assert "not run: 2 more, which are about other devices than that of impl (cpu)" in beside.stdout
