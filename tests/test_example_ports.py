"""The ports in examples/, in JavaScript and Rust, and the one that the tutorial makes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command import conform
from markdown_it import MarkdownIt

from conformance.isolation.port import Port
from conformance.program.program import Program
from conformance.run_files.reading import read_run

ROOT = Path(__file__).resolve().parents[1]
NODE = f"cmd: node {ROOT / 'examples' / 'node' / 'port.js'}"
RUST = (
    f"cmd: cargo run --offline --quiet --manifest-path {ROOT / 'examples' / 'rust' / 'Cargo.toml'}"
)


def run_of_rules(backend: str, rules: tuple[str, ...], *options: str, cwd):
    """A run of these rules on a port, into `r.jsonl`, which succeeds."""
    chosen = [word for rule in rules for word in ("--rule", rule)]
    done = conform(
        *("run", "--backend", backend, "--oracle", "impl", "--run-file", "r.jsonl"),
        *("--allow-unsupported", *options, *chosen),
        cwd=cwd,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_port_in_javascript(tmp_path):
    """One rule of each subject; the environment `node` runs all of them."""
    rules = ("SEED-03", "ACCUM-02", "ALIAS-02", "INPLACE-11", "LEAF-01")
    run_of_rules(NODE, rules, cwd=tmp_path)
    lines = read_run(tmp_path / "r.jsonl").programs
    conforming = {line["rule"] for line in lines if line["outcome"] == "conforms"}
    assert conforming == set(rules)
    assert all(line["levels"].get("diagnostics") != "conforms" for line in lines)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_laws_hold_on_a_port_without_an_oracle(tmp_path):
    laws = ("--oracle", "none", "--id", "law/mul/*", "--allow-unsupported")
    done = conform("run", "--backend", NODE, *laws, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    # It has neither forward mode nor batches of cotangents.
    assert "programs: 6 conforms, 0 diverges, 2 unsupported" in done.stdout


def test_the_port_in_rust(tmp_path):
    """One rule of each subject, or "not run" without a compiler; `rust` runs all of them."""
    rules = ("SEED-03", "ACCUM-02", "ALIAS-02", "INPLACE-11", "HOOKS-09")
    done = run_of_rules(RUST, rules, "--if-available", cwd=tmp_path)
    if shutil.which("cargo") is None:
        assert "not run: the backend is not available here: cargo is not installed" in done.stdout
        return
    lines = read_run(tmp_path / "r.jsonl").programs
    conforming = [line for line in lines if line["outcome"] == "conforms"]
    assert {line["rule"] for line in conforming} == set(rules)
    assert all(line["levels"]["diagnostics"] == "conforms" for line in conforming)


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_the_port_in_rust_tells_what_nodes_saved():
    source = "x = torch.ones(2, requires_grad=True)\ny = x.exp()\ny.detach().mul_(2)"
    asked = Program("T-01.1", "leaves", source, "A sentence")
    with Port(RUST, timeout=60.0) as made:
        found = made.saved(asked, made.trace(asked))
    assert found == [
        {},
        {"y": {"0": [["output 0", "y", 0, 0]]}},
        {"y": {"0": [["output 0", "y", 0, 1]]}},
    ]


def test_the_port_in_rust_without_a_compiler_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    options = ("--backend", RUST, "--oracle", "impl", "--rule", "SEED-03")
    done = conform("run", *options, "--if-available", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not run: the backend is not available here: cargo is not installed" in done.stdout
    assert conform("run", *options, cwd=tmp_path).returncode == 2


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_tutorial_leads_to_a_green_rule(tmp_path):
    text = (ROOT / "docs" / "porting.md").read_text()
    tokens = [t for t in MarkdownIt().parse(text) if t.type == "fence" and t.info == "js"]
    first, added = (token.content for token in tokens)
    (tmp_path / "first.mjs").write_text(first)
    words = ("run", "--backend", "cmd: node first.mjs", "--oracle", "impl", "--rule", "SEED-19")
    done = conform(*words, cwd=tmp_path)
    assert done.returncode == 3 and "1 conforms, 0 diverges, 1 unsupported" in done.stdout
    loop = first.index("for await")
    (tmp_path / "first.mjs").write_text(first[:loop] + added + first[loop:])
    done = conform(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "everything conforms" in done.stdout
