"""Programs written for torch, run on `impl`: `python -m impl.run script.py`, or `-m module`.

`bind` makes `import torch` mean `impl` in this process, with every public submodule of it.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing.spawn
import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType, ModuleType

import impl
from impl import version
from impl.arg_parser.builtin_function import BuiltinFunction
from impl.torch_version import TorchVersion

# The layers below the public names: torch has no modules of these names.
_INNER = frozenset(
    ("core", "graph", "kernels", "tensor", "tape", "engine", "dispatch", "factories", "operators")
)
# The version of impl, while it is replaced by that of torch.
_own: dict[str, str] = {}
_USAGE = """\
usage: python -m impl.run SCRIPT [ARGUMENT ...]
       python -m impl.run -m MODULE [ARGUMENT ...]

Run a program with `import torch` meaning impl, the pure-Python autograd on NumPy.
"""


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The importer of `torch` and its submodules, which are those of `impl`."""

    def find_spec(self, fullname, path=None, target=None):
        """The spec of a module of torch; raises ModuleNotFoundError for one that impl lacks."""
        root, _, rest = fullname.partition(".")
        if root != "torch":
            return None
        if not _is_public(rest) or _found(f"impl.{rest}") is None:
            raise ModuleNotFoundError(f"impl has no module {fullname!r}", name=fullname)
        return importlib.machinery.ModuleSpec(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of impl in the place of the new, empty one."""
        name = module.__name__
        own = importlib.import_module("impl" + name.removeprefix("torch"))
        _rename_members(own, "impl", "torch")
        sys.modules[name] = own


_FINDER = _Finder()


def _is_public(name: str) -> bool:
    """Whether a submodule, by its name below `impl`, is one of torch's rather than a layer."""
    first = name.partition(".")[0]
    return first not in _INNER and first != "run"


def _found(name: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError:  # its parent is no package
        return None


def _rename_members(module: ModuleType, old: str, new: str) -> None:
    """Let a module and its classes and functions bear torch's names, or impl's own again.

    Programs tell the library of a module, of a tensor, of a parameter or of a layer by them.
    """
    module.__name__ = _renamed(module.__name__, old, new)
    for value in list(vars(module).values()):
        if isinstance(value, (type, FunctionType, BuiltinFunction)) and str(
            value.__module__
        ).startswith(old):
            value.__module__ = _renamed(value.__module__, old, new)


def _renamed(name: str, old: str, new: str) -> str:
    root, dot, rest = name.partition(".")
    return f"{new}{dot}{rest}" if root == old and _is_public(rest) else name


def bind() -> None:
    """Make `import torch`, and that of each of its submodules, mean `impl` from now on.

    `torch.__version__` becomes the version of torch that impl behaves as, and the names of modules,
    and the modules of classes and functions, are torch's. A second call has no effect. Raises
    RuntimeError where the real torch was imported before.
    """
    bound = sys.modules.get("torch")
    if bound is impl:
        return
    if bound is not None:
        raise RuntimeError(
            f"torch {getattr(bound, '__version__', '')} was imported before "
            f"({getattr(bound, '__file__', None)}): impl can take its place only in a process that "
            "has not imported it. Call bind() first, or use python -m impl.run."
        )
    # Those imported already stand under both names: an import would make the module `gradcheck`
    # an attribute of `torch.autograd`, where the function of that name stands.
    for name, module in list(sys.modules.items()):
        if name == "impl" or (name.startswith("impl.") and _is_public(name[5:])):
            sys.modules["torch" + name[4:]] = module
            _rename_members(module, "impl", "torch")
    sys.meta_path.insert(0, _FINDER)
    _own.update(version=impl.__version__)
    impl.__version__ = TorchVersion(version.__version__)


def unbind() -> None:
    """Undo `bind`. Modules imported in between keep the `torch` that they have."""
    if sys.modules.get("torch") is not impl:
        return
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not _FINDER]
    for name in [name for name in sys.modules if name == "torch" or name.startswith("torch.")]:
        _rename_members(sys.modules.pop(name), "torch", "impl")
    impl.__version__ = _own["version"]


@contextmanager
def bound() -> Iterator[ModuleType]:
    """`bind` for the duration of a block; yields `impl`."""
    bind()
    try:
        yield impl
    finally:
        unbind()


def main(arguments: Sequence[str]) -> int:
    """Run the program that a command line names, as its `__main__`; 2 for a wrong command line."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, end="", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    bind()
    _bind_in_fresh_processes()
    if arguments[0] == "-m":
        return _run_module(arguments[1:])
    script = arguments[0]
    if not os.path.exists(script):
        print(f"impl.run: there is no file {script!r}", file=sys.stderr)
        return 2
    sys.argv[:] = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(os.path.abspath(script), run_name="__main__")
    return 0


class _Bound:
    """The first of the instructions of a fresh process: reading it binds impl there."""

    def __reduce__(self) -> tuple:
        return _bind_in_process, ()


def _bind_in_process() -> None:
    importlib.import_module("impl.run").bind()


def _bind_in_fresh_processes() -> None:
    """Let processes that multiprocessing starts afresh, which import the script, bind impl too."""
    instructions = multiprocessing.spawn.get_preparation_data

    def bound_instructions(name: str) -> dict:
        return {"impl": _Bound(), **instructions(name)}

    multiprocessing.spawn.get_preparation_data = bound_instructions


def _run_module(arguments: Sequence[str]) -> int:
    if not arguments:
        print("impl.run: -m needs the name of a module", file=sys.stderr)
        return 2
    sys.argv[:] = arguments
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    # This file runs as `__main__`: what programs import is the module of its own name.
    sys.exit(importlib.import_module("impl.run").main(sys.argv[1:]))
