"""`torch.save` and `torch.load`, by Python's pickle, in a format of impl's own."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Iterator
from typing import IO, Any

from impl.core.devices import check_device
from impl.core.dtypes import BY_NUMPY
from impl.core.storage import Storage

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]

_MAGIC = b"impl-torch-1\n"
_REFUSED = (
    "Weights only load failed. Unsupported global: GLOBAL {} was not an allowed global by default. "
    "Please use `torch.serialization.add_safe_globals([{}])` or load with `weights_only=False` if "
    "you trust the source of the file."
)
# What `weights_only` allows beside classes and functions of impl that rebuild tensors.
_SAFE = {
    "builtins": {"bool", "bytearray", "complex", "float", "int", "set", "slice"},
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
    "impl.nn.modules.state": {"_State"},
    "torch": {"Tensor"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
}
_SAFE_NAMES = {"Tensor", "Size", "device", *(d.name for d in BY_NUMPY.values())}  # of `impl`
_SAFE_PARTS = ("impl.core.", "impl.factories.", "impl.nn.parameter", "impl.tensor.")
_safe_globals: list[Any] = []


def save(
    obj: Any,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write an object with its tensors to a file (torch.save).

    Only `load` of impl reads it; torch's own files are archives of another form.
    """
    with _opened(f, "wb") as file:
        file.write(_MAGIC)
        _Writer(file, max(pickle_protocol, 4)).dump(obj)


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **options: Any,
) -> Any:
    """Read what `save` wrote (torch.load).

    With `weights_only`, the default, it holds tensors, numbers, texts and containers, or classes
    that `add_safe_globals` allows; others raise pickle.UnpicklingError. Raises RuntimeError for
    another file, one of torch included, and for another device than the CPU.
    """
    if isinstance(map_location, str):
        check_device(map_location)
    with _opened(f, "rb") as file:
        begin = file.read(len(_MAGIC))
        if begin != _MAGIC:
            kind = "an archive of torch" if begin[:2] == b"PK" else "no file of torch.save"
            raise RuntimeError(f"impl reads what impl's torch.save wrote; this is {kind}")
        if weights_only is None:
            weights_only = pickle_module is None
        return (_Weights if weights_only else _Reader)(file, **options).load()


class _Writer(pickle.Pickler):
    """A writer to which tensors over one storage have one in the file, too."""

    def __init__(self, file: IO[bytes], protocol: int) -> None:
        super().__init__(file, protocol)
        self._known: dict[int, tuple[Storage, tuple]] = {}

    def persistent_id(self, obj: Any) -> tuple | None:
        """Number and memory of a storage, once; None for anything else."""
        if not isinstance(obj, Storage):
            return None
        if obj._cdata not in self._known:
            self._known[obj._cdata] = obj, (len(self._known), obj.flat)
        return self._known[obj._cdata][1]


class _Reader(pickle.Unpickler):
    """A reader of the files of a `_Writer`."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(file, **options)
        self._known: dict[int, Storage] = {}

    def persistent_load(self, pid: Any) -> Storage:
        """The storage of that number, for one more tensor."""
        number, memory = pid
        if number not in self._known:
            self._known[number] = Storage(memory)
        return self._known[number].sharing()


class _Weights(_Reader):
    """A reader that makes tensors and plain data only."""

    def find_class(self, module: str, name: str) -> Any:
        """The class or function of that name, if it is allowed."""
        allowed = name in _SAFE.get(module, ()) or module.startswith(_SAFE_PARTS)
        allowed = allowed or (module == "impl" and name in _SAFE_NAMES)
        if not allowed and (module, name) not in map(_place, _safe_globals):
            where = f"{module}.{name}"
            raise pickle.UnpicklingError(_REFUSED.format(where, where))
        return super().find_class(module, name)


def _place(value: Any) -> tuple[str, str]:
    return value.__module__, value.__qualname__


@contextlib.contextmanager
def _opened(f: str | os.PathLike[str] | IO[bytes], mode: str) -> Iterator[IO[bytes]]:
    if isinstance(f, (str, os.PathLike)):
        with open(f, mode) as file:
            yield file
    else:
        yield f


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow classes and functions in files that are read with `weights_only`
    (torch.serialization.add_safe_globals)."""
    _safe_globals.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """Those allowed so far (torch.serialization.get_safe_globals)."""
    return list(_safe_globals)


def clear_safe_globals() -> None:
    """Allow none (torch.serialization.clear_safe_globals)."""
    _safe_globals.clear()


@contextlib.contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """Allow classes and functions for a block (torch.serialization.safe_globals)."""
    before = get_safe_globals()
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _safe_globals[:] = before
