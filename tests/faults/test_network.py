"""A port that uses the network, and a port in a container."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest
from command import MINIATURE, conform

from conformance.isolation import container
from conformance.isolation.confine import network_refusal
from conformance.isolation.port import Port
from conformance.isolation.process import TimedOut
from conformance.program.program import Program
from conformance.run.sides import isolation
from conformance.settings.settings import Settings

PORTS = Path(__file__).resolve().parents[1] / "ports.py"
PLAIN = Program("T-01.1", "leaves", "x = torch.tensor([1., 2.])", "")

CALLING = """
import json, socket, sys
sys.stdin.readline()
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5)
    told = "reached"
except OSError as error:
    told = "not reached"
with socket.create_server(("127.0.0.1", 0)) as own:
    socket.create_connection(own.getsockname(), timeout=5)
print(json.dumps({"type": "ready", "protocol": 1, "name": told}), flush=True)
sys.stdin.readline()
"""


@pytest.mark.fault("a port that opens a connection", "it was let")
@pytest.mark.parametrize("network", [False, True])
def test_network(tmp_path, network):
    if refusal := network_refusal():
        pytest.skip(f"the kernel here refuses: {refusal}")
    (tmp_path / "port.py").write_text(CALLING)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = Port(f"cmd: {sys.executable} {tmp_path / 'port.py'} {server.getsockname()[1]}")
        port.network = network
        with port:
            assert port.identity().name == ("reached" if network else "not reached")


def test_a_kernel_that_refuses_is_told(monkeypatch):
    monkeypatch.setattr("conformance.run.sides.network_refusal", lambda: "not permitted")
    told = isolation(Settings(backend="cmd: x"))
    assert told == "processes; the port has the network, since the kernel refuses: not permitted"


ENGINE = """\
#!/bin/sh
# A stand-in for Docker: it notes its arguments, and runs a container's command here.
echo "$@" >> "$ENGINE_LOG"
[ "$1" = run ] || exit 0
while [ "$1" != image ]; do shift; done
shift
exec "$@"
"""


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """A stand-in for Docker, and the file that has its arguments."""
    place = tmp_path / "bin" / "docker"
    place.parent.mkdir()
    place.write_text(ENGINE)
    place.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ENGINE_LOG", str(tmp_path / "log"))
    container.engine.cache_clear()
    yield tmp_path / "log"
    container.engine.cache_clear()


def test_container(engine):
    with Port(f"cmd: {sys.executable} {PORTS} right", timeout=20, memory=1 << 30) as port:
        port.image = "image"
        assert port.trace(PLAIN).steps
    info, run, remove = engine.read_text().splitlines()
    assert info == "info" and remove.startswith("rm --force conform-")
    assert f"--name={remove.split()[-1]}" in run and "--network=none" in run
    assert f"--memory={1 << 30}" in run


@pytest.mark.fault("a port in a container that hangs", "there were no containers")
def test_container_that_hangs(engine):
    with Port(f"cmd: {sys.executable} {PORTS} slow", timeout=3) as port:
        port.image = "image"
        with pytest.raises(TimedOut):
            port.trace(Program("T-01.1", "leaves", "x = torch.sin(y)", ""))
    assert engine.read_text().splitlines()[-1].startswith("rm --force conform-")


@pytest.mark.fault("a machine without Docker and Podman", "there were no containers")
def test_no_engine(tmp_path):
    options = ("--backend", "cmd: ./port", "--isolate", "container", "--image", "image")
    run = ("run", *options, "--oracle", "none", *MINIATURE, "-n", "0")
    done = conform(*run, cwd=tmp_path, PATH=str(tmp_path))
    assert done.returncode == 3 and "no Docker or Podman" in done.stdout
    allowed = conform(*run, "--if-available", cwd=tmp_path, PATH=str(tmp_path))
    assert allowed.returncode == 0
    assert "not run: the backend is not available here: no Docker or Podman" in allowed.stdout
