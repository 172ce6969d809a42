"""Import rules: the packages against the design's table, with and without torch."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

ROOMS = ("impl", "reference", "conformance", "reports", "frameworks", "mutants")

# Dependencies beyond the standard library and the package itself. torch has its own table below.
MAY_IMPORT = {
    "impl": {"numpy", "scipy", "ml_dtypes"},
    "reference": {"conformance", "numpy"},
    "conformance": {
        "execnet",
        "hypothesis",
        "jsonschema",
        "markdown_it",
        "msgspec",
        "numpy",
        "pytest",
        "rich",
    },
    "reports": {"conformance", "jinja2", "markupsafe", "msgspec", "pygments", "markdown_it"},
    "frameworks": {"conformance", "numpy", "ml_dtypes"},
    "mutants": {"conformance", "markdown_it"},
}
# The module of `frameworks` for each library, which no other module imports.
LIBRARIES = {
    "frameworks.autograd_hips": "autograd",
    "frameworks.jax": "jax",
    "frameworks.mlx": "mlx",
    "frameworks.paddle": "paddle",
    "frameworks.tensorflow": "tensorflow",
    "frameworks.tinygrad": "tinygrad",
    "frameworks.torch_func": "torch",
}
# Modules that need a tool of an extra, which the tests do not install.
TOOLS = {"mutants.generated": "cosmic_ray"}
MAY_IMPORT_TORCH = {
    f"reference.{name}"
    for name in ("compiled", "devices", "docstrings", "names", "opinfo", "oracle", "subjects")
}

# Packages whose distribution has another name; markupsafe is a part of jinja2 in all but name.
DISTRIBUTIONS = {
    "markdown_it": "markdown-it-py",
    "markupsafe": "jinja2",
    "paddle": "paddlepaddle",
}


def directory(room: str) -> Path:
    found = importlib.util.find_spec(room)
    assert found is not None and found.submodule_search_locations
    return Path(next(iter(found.submodule_search_locations)))


@cache
def modules() -> dict[str, Path]:
    """Every module of the packages, by its full name; reference/programs are data of the suite."""
    found = {}
    for room in ROOMS:
        base = directory(room)
        for file in sorted(base.rglob("*.py")):
            if file.parent.name == "programs":
                continue
            parts = (room, *file.relative_to(base).with_suffix("").parts)
            found[".".join(parts).removesuffix(".__init__")] = file
    return found


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def named(module: str, statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The full names of the modules that a statement in `module` imports."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
        return
    base = statement.module or ""
    if statement.level:
        package = module.split(".")
        if modules()[module].name != "__init__.py":
            package.pop()
        package = package[: len(package) - statement.level + 1]
        base = ".".join([*package, base] if base else package)
    for alias in statement.names:
        inner = f"{base}.{alias.name}"
        yield inner if inner in modules() else base


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that may hold statements: all but expressions, which are most of it."""
    return (n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr))


def imports_in(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements anywhere in a node."""
    for part in parts(node):
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            yield part
        else:
            yield from imports_in(part)


def imported(module: str) -> set[str]:
    """All imports of a module, including those within functions and for type checkers."""
    return {name for s in imports_in(tree(module)) for name in named(module, s)}


def at_run_time(nodes) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements that run, when the module does or in a function; those that are for
    type checkers do not."""
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, ast.If) and _is_for_others(node.test):
            yield from at_run_time(node.orelse)
        else:
            yield from at_run_time(parts(node))


def _is_for_others(test: ast.expr) -> bool:
    text = ast.unparse(test)
    return text.endswith("TYPE_CHECKING") or text.startswith("__name__ ==")


def test_the_scan_sees_what_there_is():
    """Guards the tests below against passing on an empty scan."""
    assert {m.partition(".")[0] for m in modules()} == set(ROOMS)
    assert len(modules()) > 100
    assert "numpy" in imported("impl.core.storage")
    assert "impl.core.messages" in imported("impl.tensor.tensor")
    assert "torch" in imported("reference.oracle")
    node = "impl.dispatch.operator_node"  # imports the following for type checkers only
    assert "impl.dispatch.derivatives" in imported(node)
    assert "impl.dispatch.derivatives" not in {
        name for s in at_run_time(tree(node).body) for name in named(node, s)
    }


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_the_design_allows(room):
    allowed = MAY_IMPORT[room] | {room} | sys.stdlib_module_names
    forbidden = {
        f"{module} imports {name}"
        for module in modules()
        if module.partition(".")[0] == room
        for name in imported(module)
        if (top := name.partition(".")[0]) not in allowed
        and not (top == "torch" and module in MAY_IMPORT_TORCH)
        and top != (LIBRARIES | TOOLS).get(module)
    }
    assert not forbidden


def test_every_dependency_is_declared():
    """Every imported distribution is in the requirements; torch is in an extra of its own."""
    project = Path(__file__).parent.parent / "pyproject.toml"
    declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    required = {_distribution(d) for d in declared["dependencies"]}
    for room in ROOMS:
        foreign = MAY_IMPORT[room] - set(ROOMS)
        assert {DISTRIBUTIONS.get(name, name) for name in foreign} <= required, room
    assert "torch" not in required
    extras = declared["optional-dependencies"]
    assert [_distribution(d) for d in extras["torch"]] == ["torch", "expecttest"]
    libraries = {DISTRIBUTIONS.get(name, name) for name in LIBRARIES.values()} - {"torch"}
    assert {_distribution(d) for d in extras["frameworks"]} == libraries


def _distribution(requirement: str) -> str:
    return requirement.partition(">")[0].partition("=")[0].partition("[")[0].strip()


@pytest.mark.parametrize("room", ["impl", "conformance"])
def test_no_import_stands_inside_a_function(room):
    """Layers are visible at the top of a file, and cannot be evaded."""
    within = [
        f"{module}:{statement.lineno}"
        for module in modules()
        if module.partition(".")[0] == room
        for function in ast.walk(tree(module))
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for statement in imports_in(function)
    ]
    assert within == []


def test_no_module_needs_itself_to_be_imported():
    """No circle of imports, those inside functions included."""
    graph = {
        module: {
            name
            for statement in at_run_time(tree(module).body)
            for name in named(module, statement)
            if name in modules() and name != module
        }
        for module in modules()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("modules import each other: " + " -> ".join(reversed(error.args[1])))


# Imports modules, each in a process that has imported nothing of the packages but its needs, and
# without torch. It reads a tree: below each module are those that import it, imported
# in copies of its process, and the last of them in that process itself, which nothing else needs
# any more: copies take most of the time. All modules are compiled before the first copy. The
# `__init__` of a package would determine the order of imports, so packages are replaced by empty
# ones.
ALONE = """
import gc, importlib, json, os, sys, types
from importlib.machinery import SourceFileLoader
import numpy, ml_dtypes, hypothesis, pytest, jinja2, rich, markdown_it, pygments
import scipy.fft, scipy.linalg, scipy.sparse, scipy.special

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("torch is out of reach")

sys.meta_path.insert(0, NoTorch())
rooms, files, tree = json.load(sys.stdin)
codes = {path: SourceFileLoader(name, path).get_code(name) for name, path in files.items()}
compiled = SourceFileLoader.get_code
SourceFileLoader.get_code = lambda self, name: codes.get(self.path) or compiled(self, name)

def first(name):
    room, *inner = name.split(".")
    bare = {}
    for depth in range(len(inner)):
        package = ".".join([room, *inner[:depth]])
        if package not in sys.modules:
            sys.modules[package] = bare[package] = types.ModuleType(package)
            bare[package].__path__ = [os.path.join(rooms[room], *inner[:depth])]
    try:
        importlib.import_module(name)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    finally:
        for package in bare:
            del sys.modules[package]

def grow(tree):
    for left, (name, above) in enumerate(reversed(tree.items())):
        pid = os.fork() if left < len(tree) - 1 else 0
        if pid:
            os.waitpid(pid, 0)
            continue
        error = first(name)
        company = sorted({m.partition(".")[0] for m in sys.modules})
        os.write(1, json.dumps([name, error, company]).encode() + b"\\n")
        grow(above)
        os._exit(0)

gc.disable()
grow(tree)
"""


def importers(names: list[str]) -> dict[str, Any]:
    """A tree of modules: each stands below the one of its imports that needs most others."""
    direct = {
        name: {other for s in at_run_time(tree(name).body) for other in named(name, s)}
        & set(names) - {name}
        for name in names
    }
    needed: dict[str, set[str]] = {}
    for name in TopologicalSorter(direct).static_order():
        needed[name] = direct[name].union(*(needed[other] for other in direct[name]))
    below: dict[str, dict[str, Any]] = {name: {} for name in names}
    roots = {}
    for name in names:
        largest = max(sorted(direct[name]), key=lambda other: len(needed[other]), default=None)
        (roots if largest is None else below[largest])[name] = below[name]
    return roots


@pytest.fixture(scope="module")
def alone() -> tuple[dict[str, str], dict[str, list[str]]]:
    """By module, the error of its import as the first one; by package, the modules it imported."""
    rooms = {room: str(directory(room)) for room in ROOMS}
    apart = LIBRARIES | TOOLS
    names = [m for m in modules() if m.partition(".")[0] != "reference" and m not in apart]
    files = {name: str(path) for name, path in modules().items()}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ALONE],
        input=json.dumps([rooms, files, importers(names)]),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(name for name, _, _ in answers) == sorted(names)
    company: dict[str, set[str]] = {}
    for name, _, brought in answers:
        company.setdefault(name.partition(".")[0], set()).update(brought)
    failures = {name: error for name, error, _ in answers if error}
    return failures, {room: sorted(brought) for room, brought in company.items()}


def test_every_module_can_be_imported_first_and_without_torch(alone):
    assert alone[0] == {}


def test_importing_a_room_brings_no_other_that_it_must_not_know(alone):
    _, company = alone
    for room, others in {
        "impl": {"conformance", "reports", "reference", "frameworks", "mutants", "torch"},
        "conformance": {"impl", "reports", "reference", "frameworks", "mutants", "torch"},
        "reports": {"impl", "reference", "frameworks", "mutants", "torch"},
        "frameworks": {"impl", "reports", "reference", "mutants", "torch"},
    }.items():
        assert room in company[room]
        assert not others & set(company[room]), room


def test_everything_is_imported_and_computes_without_torch():
    source = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("torch is out of reach")
sys.meta_path.insert(0, NoTorch())
import impl, conformance, reports
from conformance.backends import find
x = find("impl").namespace.tensor([1.0, 2.0], requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2.0, 4.0]
try:
    import torch
except ImportError:
    print("no torch")
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "no torch"), done.stderr


def test_every_public_function_says_what_it_does():
    from impl.core.registry import FUNCTIONS

    assert len(FUNCTIONS) > 300
    silent = [n for n, f in FUNCTIONS.items() if not (f.__doc__ or "").strip()]
    assert silent == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_module_begins_with_one_sentence(room):
    """Packages without contents of their own may lack a docstring."""
    without = []
    for module in modules():
        if module.partition(".")[0] == room and tree(module).body:
            first = (ast.get_docstring(tree(module)) or "").partition("\n\n")[0]
            if not first.endswith((".", "?", "`")):
                without.append(module)
    assert without == []
