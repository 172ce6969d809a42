"""Isolation: a backend that prints, hangs, dies or writes rubbish harms its own program only."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from made_backends import Spendable

from conformance.backends import BackendError
from conformance.isolation.child import Child, Failed
from conformance.isolation.process import Died, Garbled, IsolationError, TimedOut
from conformance.program.program import Program
from conformance.run.sides import Here

pytestmark = pytest.mark.usefixtures("copied")

PORT = """
import ctypes, os, signal, subprocess, sys, threading, time

__version__ = "0.9"
print("printed while it was imported")


class Tensor:
    requires_grad = False
    grad = None
    dtype = "torch.float32"

    def __init__(self, values):
        self.values, self.shape = values, (len(values),)

    def tolist(self):
        return list(self.values)


def tensor(values):
    return Tensor(values)


def pid():
    return os.getpid()


def loud():
    print("Python's print")
    os.write(1, b"descriptor 1\\n")
    os.write(2, b"descriptor 2\\n")
    subprocess.run(["echo", "a child's print"])


def flood(megabytes):
    for _ in range(megabytes):
        os.write(1, b"x" * (1 << 20))
        time.sleep(0.1)
    os.write(1, b"the last words\\n")
    os._exit(3)


def hang():
    time.sleep(3600)


def stubborn():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["sleep", "3600"])
    while True:
        pass


def die(code):
    os.write(2, b"goodbye\\n")
    os._exit(code)


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def rubbish(text):
    for name in os.listdir("/proc/self/fd"):
        try:
            if "pipe" in os.readlink("/proc/self/fd/" + name):
                os.write(int(name), text.encode())
        except OSError:
            pass


def close_all():
    os.closerange(3, 100)
    time.sleep(3600)
"""


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ports")
    (folder / "isolated_port.py").write_text(PORT)
    (folder / "broken_port.py").write_text("raise OSError('the driver is missing')")
    (folder / "killing_port.py").write_text("import os\nprint('bye', flush=True)\nos._exit(9)")
    (folder / "hanging_port.py").write_text("import time\ntime.sleep(3600)")
    (folder / "session_port.py").write_text(
        textwrap.dedent(
            """
            import types
            from conformance.backends import Backend

            class Mine(Backend):
                def __init__(self):
                    super().__init__("mine", types.SimpleNamespace(tensor=list), "1", "shelf")

                def available(self):
                    return "it is on the shelf"

                def session(self):
                    raise LookupError("no session today")
            """
        )
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield folder


@pytest.fixture
def child(port):
    with Child("isolated_port", timeout=20) as made:
        yield made


def program(source: str) -> Program:
    return Program("T-01.1", "leaves", source, "")


def group(leader: int) -> list[str]:
    """The processes of a process group that run; zombies do not count."""
    running = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = entry.read_text().rpartition(")")
            state, _, process_group, *_ = rest.split()
            if int(process_group) == leader and state != "Z":
                running.append(name)
    return running


def value(child: Child, source: str):
    return child.trace(program(source)).steps[-1].result["value"]


def test_a_trace_comes_back_and_the_process_is_kept(child):
    made = child.trace(program("x = torch.tensor([1.0, float('nan')])\nx.exp()"))
    assert made.steps[0].changed["x"]["values"] == [1.0, "nan"]
    assert made.steps[1].error["lacks"] == "Tensor.exp"
    first = value(child, "torch.pid()")
    assert first != os.getpid() and value(child, "torch.pid()") == first


def test_the_backend_says_who_it_is(child, port):
    identity = child.identity()
    assert (identity.name, identity.version, identity.unavailable) == ("isolated_port", "0.9", None)
    with Child("session_port:Mine") as other:
        assert other.identity().device == "shelf"
        assert other.identity().unavailable == "it is on the shelf"


def test_a_backend_whose_device_has_failed_is_replaced_after_the_programs_trace():
    failing = "x = torch.zeros(1).cosh()\ny = torch.cosh(x)\nz = torch.ones(1)\n"
    with Child("made_backends:Spendable") as child:
        last = child.trace(program(failing)).steps[-1]
        assert last.error is not None and last.error["message"] == "a kernel has failed"
        assert child.trace(program("z = torch.ones(1)\n")).steps[-1].error is None
    here = Here(Spendable())
    assert here.begin(program(failing)).read().steps[-1].error is not None
    with pytest.raises(Failed, match="a kernel has failed"):
        here.begin(program("z = torch.ones(1)\n"))


def test_a_backend_that_cannot_say_whether_its_device_works_costs_no_trace():
    with Child("made_backends:Unsure") as child:
        assert child.trace(program("z = torch.ones(1)\n")).steps[-1].error is None


def test_what_the_backend_prints_reaches_nobody(child, capfd):
    made = child.trace(program("torch.loud()\nprint('and the program')\nx = torch.tensor([1.0])"))
    assert [step.error for step in made.steps] == [None] * 3
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ("torch.die(3)", Died, "ended with exit code 3; it printed:\ngoodbye"),
        ("torch.die(0)", Died, "ended with exit code 0"),
        ("torch.crash()", Died, r"killed by SIGSEGV \(11\)"),
        ("torch.rubbish('rubbish\\n')", Garbled, "answered rubbish: 'rubbish'"),
        # The real answer follows it, and may be read together with the first line.
        ("torch.rubbish('{}\\n')", Garbled, "answered (rubbish: '{}'|too much)"),
        ("torch.rubbish('[1')", Garbled, r"answered rubbish: '\[1\{"),
        ('torch.rubbish(\'{"id": 1, "trace": 3}\\n\')', Garbled, '"steps" is missing|too much'),
        ("torch.rubbish('1\\n2\\n')", Garbled, "answered too much"),
        ("torch.close_all()", Died, "closed its pipe and went on"),
    ],
)
def test_a_process_that_is_lost_costs_one_program(child, source, kind, message):
    with pytest.raises(kind) as caught:
        child.trace(program(source))
    assert isinstance(caught.value, IsolationError)
    assert re.search(message, caught.value.reason)
    assert value(child, "1 + 1") == 2


@pytest.mark.parametrize("function", ["hang", "stubborn"])
def test_a_program_that_does_not_end_is_killed(port, function):
    with Child("isolated_port", timeout=1.5) as child:
        before = value(child, "torch.pid()")
        begin = time.monotonic()
        with pytest.raises(TimedOut, match=r"1\.5 s"):
            child.trace(program(f"torch.{function}()"))
        assert time.monotonic() - begin < 10
        assert value(child, "torch.pid()") != before
        assert group(before) == []


def test_a_flood_of_output_is_bounded(port):
    with Child("isolated_port", timeout=60) as child:
        child.identity()
        largest = 0
        printed = child._process._printed
        bound = child._process._bound

        def watch():
            nonlocal largest
            bound()
            largest = max(largest, os.fstat(printed.fileno()).st_size)

        child._process._bound = watch
        with pytest.raises(Died) as caught:
            child.trace(program("torch.flood(20)"))
    assert "the last words" in caught.value.reason and len(caught.value.reason) < 3000
    assert largest <= 1 << 20


def test_a_large_program_and_a_large_trace_pass(child):
    row = "0.0, " * 100_000
    made = child.trace(program(f"x = torch.tensor([{row}])"))
    assert len(made.steps[0].changed["x"]["values"]) == 100_000


def test_a_session_that_fails_is_that_programs_trouble(port):
    with (
        Child("session_port:Mine") as child,
        pytest.raises(Failed, match="LookupError: no session"),
    ):
        child.trace(program("1"))


def test_a_trace_that_json_cannot_hold_is_that_programs_trouble(child):
    with pytest.raises(Failed, match="ValueError: Exceeds the limit"):
        child.trace(program("x = 10**5000"))
    assert value(child, "1 + 1") == 2


def test_source_that_does_not_parse_is_that_programs_trouble(child):
    with pytest.raises(Failed, match=r"ProgramError: .*does not parse"):
        child.trace(program("x = ("))
    assert value(child, "1 + 1") == 2


@pytest.mark.parametrize(
    ("name", "imports", "message"),
    [
        ("no_such_port:x", (), "no_such_port cannot be imported"),
        ("broken_port:x", (), "OSError: the driver is missing"),
        ("isolated_port", ("no_such_extension",), "--import no_such_extension"),
        ("isolated_port:nothing", (), "isolated_port has no 'nothing'"),
        (
            "killing_port",
            (),
            "could not be started: the process ended with exit code 9; it printed",
        ),
        ("hanging_port", (), "could not be started: no answer"),
    ],
)
def test_a_backend_that_cannot_be_started(port, name, imports, message):
    with Child(name, imports, start_timeout=3) as child:
        with pytest.raises(BackendError) as caught:
            child.trace(program("1"))
        assert message in str(caught.value)


def test_closing_ends_the_process_and_is_harmless_twice(child):
    pid = value(child, "torch.pid()")
    child.close()
    child.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert value(child, "1") == 1


def test_a_child_ends_with_its_parent(port, tmp_path):
    """A parent ended by SIGKILL cannot clean up."""
    script = (
        "from conformance.isolation.child import Child\n"
        "from conformance.program.program import Program\n"
        "import threading\n"
        "child = Child('isolated_port', timeout=60)\n"
        "made = child.trace(Program('a', 'b', 'torch.pid()', ''))\n"
        "print(made.steps[0].result['value'], flush=True)\n"
        "child.trace(Program('a', 'b', 'torch.hang()', ''))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(port), os.getcwd()])}
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
    )
    pid = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 10
    while group(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert group(pid) == []
