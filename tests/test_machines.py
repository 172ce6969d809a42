"""Runs and searches distributed over other interpreters, on this machine or over a socket."""

from __future__ import annotations

import re
import signal
import socket
import sys
import time

import pytest
from command import conform, environment, judge, started
from test_cli import outcomes

from conformance.base.release import versions
from conformance.fuzz.crew import Crew
from conformance.fuzz.machines import Equipment, Machine
from conformance.fuzz.share import Share
from conformance.fuzz.workers import Zygote
from conformance.fuzz.zygote import settings_to
from conformance.settings.settings import Settings

pytestmark = pytest.mark.usefixtures("copied")

FUZZ = (
    *("fuzz", "--backend", "miniature.kinks:relu", "--oracle", "impl", "--level", "values"),
    *("--theme", "pointwise", "--no-keep"),
)


class Server:
    """An interpreter that runs programs sent to it, in a folder of its own."""

    def __init__(self, folder, path=""):
        with socket.socket() as free:
            free.bind(("localhost", 0))
            self.address = f"localhost:{free.getsockname()[1]}"
        folder.mkdir()
        given = environment()
        self.output = (folder / "output").open("w+")
        self.process = started(
            *("execnet.script.socketserver", self.address),
            module="-m",
            cwd=folder,
            streams=(None, self.output, self.output),
            changes={"PYTHONPATH": f"{path}:{given['PYTHONPATH']}"},
            torch=False,
        )
        until = time.monotonic() + 60
        while "Accept loop" not in (folder / "output").read_text():
            assert time.monotonic() < until and self.process.poll() is None
            time.sleep(0.02)

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        self.output.close()


@pytest.fixture
def serve(tmp_path):
    """Starts servers, which end with the test."""
    servers = []

    def started(path="") -> Server:
        servers.append(Server(tmp_path / f"elsewhere{len(servers)}", path))
        return servers[-1]

    yield started
    for server in servers:
        server.end()


def test_run_over_a_socket_and_another_interpreter(serve, tmp_path):
    machines = ("--tx", f"socket={serve().address}", "--tx", f"popen//python={sys.executable}")
    done = judge("wrong:values", *machines, "--run-file", tmp_path / "r", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    found = outcomes(tmp_path / "r")
    assert len(found) == 5
    assert [name for name, outcome in found.items() if outcome == "diverges"] == ["LEAF-02.1"]


@pytest.fixture
def port(tmp_path):
    """A folder with a port that no other place has: right, but for `relu` at zero."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "sent.py").write_text("from miniature.kinks import relu as namespace\n")
    return folder


def test_a_folder_is_sent_to_the_machines_of_a_run(serve, port):
    sent = ("--backend", "sent:namespace", "--oracle", "impl", "--rule", "SEED-03")
    sent = (*sent, "--no-isolation")
    machine = ("--tx", f"socket={serve().address}")
    without = conform("run", *sent, *machine, cwd=port)
    assert without.returncode == 3, without.stdout + without.stderr
    assert "sent cannot be imported: ModuleNotFoundError" in without.stdout
    done = conform("run", *sent, *machine, "--rsyncdir", ".", cwd=port)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_search_finds_the_same_on_machines_that_its_folder_is_sent_to(serve, port):
    sent = ("fuzz", "--backend", "sent:namespace", *FUZZ[3:], "--examples", "601")
    here = conform(*sent, cwd=port)
    assert here.returncode == 1, here.stdout + here.stderr
    machines = ("--tx", f"socket={serve().address}", "--tx", "popen", "--rsyncdir", ".")
    there = conform(*sent, *machines, cwd=port)
    assert there.returncode == 1, there.stdout + there.stderr
    assert findings(there.stdout) == findings(here.stdout)


def findings(output: str) -> list[str]:
    """The output of a search without its progress and times."""
    passing = re.compile(r"\d+ of \d+: |seconds of work: |socket=|2\*popen|popen")
    lines = (line for line in output.splitlines() if not passing.match(line))
    return [line.partition("; ")[0] if " a second" in line else line for line in lines]


def test_the_loss_of_a_machine_changes_no_report(serve):
    asked = Settings(backend="miniature.kinks:relu", oracle="impl")
    shares = [Share("pointwise", number, 80, 480) for number in range(6)]

    def drawn(workers, at_first=lambda: None) -> tuple[dict, list[str]]:
        reports, told = {}, []
        crew = Crew(workers)
        crew.start()
        first = [at_first]

        def ended(share, report):
            reports[share] = {**report.to_json(), "seconds": 0}
            while first:
                first.pop()()

        try:
            crew.each(iter(shares), lambda mine, share: mine.share(share), ended, told.append)
        finally:
            crew.close()
        return reports, told

    undisturbed, _ = drawn([Zygote(asked)])
    assert sum(len(report["found"]) for report in undisturbed.values()) > 1
    servers = [serve(), serve()]
    equipment = Equipment(settings_to(asked, (), {}), {**versions(), asked.backend: "1.0"})
    machines = [Machine(f"socket={one.address}", equipment) for one in servers]
    reports, told = drawn(machines, servers[0].end)
    assert reports == undisturbed
    assert len(told) == 1
    assert f"socket={servers[0].address} is lost: the connection broke; pointwise-" in told[0]


def test_a_machine_that_is_not_there_ends_a_run_at_once(tmp_path):
    begin = time.monotonic()
    done = judge("right:namespace", "--tx", "socket=localhost:1", cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "conform: a worker cannot be started:" in done.stdout
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert time.monotonic() - begin < 60


def test_a_machine_with_another_torch_is_refused(serve, tmp_path):
    other = tmp_path / "other" / "torch-9.9.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n")
    machine = ("--tx", f"socket={serve(other.parent).address}")
    for done in (
        judge("right:namespace", *machine, cwd=tmp_path),
        conform(*FUZZ, *machine, cwd=tmp_path),
    ):
        assert done.returncode == 2, done.stdout + done.stderr
        assert re.search(r"it has torch 9\.9 instead of \S+", done.stdout + done.stderr)


@pytest.mark.parametrize("command", [("run",), FUZZ])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-n", "2", "--tx", "popen"), "-n and --tx exclude each other"),
        (("--tx", "nowhere"), "--tx nowhere: it names no interpreter"),
        (("--tx", "popen", "--rsyncdir", "nowhere"), "--rsyncdir nowhere: there is no such folder"),
        (("--rsyncdir", "."), "--rsyncdir sends a folder to the machines of --tx"),
    ],
)
def test_wrong_machines(tmp_path, command, arguments, message):
    done = conform(*command, *arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--tx", "socket=localhost:1"), "the worker socket=localhost:1 cannot be started: "),
        (("--tx", "popen//python=nowhere"), "popen//python=nowhere cannot be started: "),
        (("--tx", "popen", "--no-isolation"), "--no-isolation draws in this process alone"),
        (("-n", "2", "--no-isolation"), "--no-isolation draws in this process alone"),
    ],
)
def test_machines_that_a_search_cannot_use(tmp_path, arguments, message):
    done = conform(*FUZZ, *arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
