"""The suite's version, from a source checkout and from an installed distribution."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from command import conform

from conformance.base import release

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def stands_in(tmp_path, monkeypatch):
    """Makes the package appear to be in a folder with this text as its pyproject.toml."""

    def place(text: str | None) -> Path:
        monkeypatch.setattr(
            release, "__file__", str(tmp_path / "conformance" / "base" / "release.py")
        )
        if text is not None:
            (tmp_path / "pyproject.toml").write_text(text, "utf-8")
        return tmp_path

    return place


def not_installed(name: str) -> str:
    raise metadata.PackageNotFoundError(name)


def test_a_checkout_has_the_version_of_its_own_project_file(stands_in, monkeypatch):
    root = stands_in('[project]\nname = "autograd-conformance"\nversion = "9.8.7"\n')
    monkeypatch.setattr(metadata, "version", not_installed)
    assert release.checkout() == root
    assert release.version() == "9.8.7"


@pytest.mark.parametrize("text", [None, "not TOML [", "[tool.x]\n", '[project]\nname = "other"\n'])
def test_what_is_no_checkout_has_the_version_that_is_installed(stands_in, monkeypatch, text):
    stands_in(text)
    monkeypatch.setattr(metadata, "version", lambda name: f"{name} 1.2.3")
    assert release.checkout() is None
    assert release.version() == "autograd-conformance 1.2.3"
    monkeypatch.setattr(metadata, "version", not_installed)
    assert release.version() == "0+unknown"


def test_the_command_says_the_version(tmp_path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    done = conform("--version", cwd=tmp_path)
    assert done.stdout == f"conform {project['version']}\n"
