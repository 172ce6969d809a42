"""`torch.save` and `torch.load`: archives of a pickle and the storages beside it.

The form is torch's own (`torch/serialization.py`, `caffe2/serialize`): a ZIP archive without
compression, in which `data.pkl` has a reference for each storage and `data/KEY` its bytes. The
pickle names classes and functions by torch's modules, so that either side reads the other's files.
"""

from __future__ import annotations

import io
import os
import pickle
import warnings
import zipfile
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from impl.core.devices import check_device, device
from impl.core.meta_arrays import MetaArray
from impl.core.storage import Storage
from impl.factories.copy_and_pickle import _get_layout
from impl.factories.legacy_storages import LEGACY_STORAGES
from impl.factories.storages import TypedStorage, UntypedStorage
from impl.weights_only import (
    WeightsUnpickler,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    renamed,
    safe_globals,
    weights_error,
)

__all__ = [
    "_get_layout",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]

_CORRUPTED = (
    "PytorchStreamReader failed reading zip archive: failed finding central directory. This is an "
    "internal miniz error. If you are seeing this error, there is a high likelihood that your "
    "checkpoint file is corrupted. This can happen if the checkpoint was not saved properly, was "
    "transferred incorrectly, or the file was modified after saving."
)
_ALIGNMENT = 64  # of the bytes of a storage in the archive
_LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # how files before torch 1.6 begin

File = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION = (
    Callable[[UntypedStorage, str], UntypedStorage] | device | str | dict[str, str] | None
)
"""The type of `load`'s argument `map_location`, which packages import."""


def save(
    obj: Any,
    f: File,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object with its tensors to a file (torch.save).

    Tensors that share a storage share it after loading. Raises RuntimeError for a directory that is
    not there and for tensors of several dtypes over one storage, AttributeError for an object
    without `write`, NotImplementedError for the form before torch 1.6, and for another module or
    protocol than pickle's second.
    """
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    if not _use_new_zipfile_serialization:
        raise NotImplementedError("torch.save in the form before 1.6")
    if pickle_module is not pickle or pickle_protocol != 2:
        raise NotImplementedError("torch.save with another pickle module or protocol")
    data = io.BytesIO()
    writer = _Writer(data)
    writer.dump(obj)
    if not isinstance(f, (str, os.PathLike)):
        f.write(_archive("archive", data.getvalue(), writer.storages))
        return
    path = os.fspath(f)
    parent = os.path.dirname(path)
    if parent and not os.path.isdir(parent):
        raise RuntimeError(f"Parent directory {parent} does not exist.")
    name = os.path.splitext(os.path.basename(path))[0]
    with open(path, "wb") as file:
        file.write(_archive(name, data.getvalue(), writer.storages))


def load(
    f: File,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what `save` of impl or of torch wrote (torch.load).

    Args:
        map_location: the device of the storages, as a name or a device, by a dictionary from the
            device they were saved from, or by a function of the storage and that device, whose
            result, unless None, is the storage.
        weights_only: whether the file may hold tensors and plain data alone, or classes that
            `add_safe_globals` allows. It is the default; without it the file can run any code.
        mmap: whether storages are read from the file when they are used; here they are read at
            once, with the same elements.

    Raises pickle.UnpicklingError for what `weights_only` does not allow, RuntimeError for an
    archive that is cut off, ValueError for `mmap` of anything but a path, NotImplementedError for
    files before torch 1.6.
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warnings.warn(
            "pickle_load_args only works if `weights_only=False`.", UserWarning, stacklevel=1
        )
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _read(file, map_location, weights_only, pickle_load_args)
    _check_seekable(f)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    return _read(f, map_location, weights_only, pickle_load_args)


def _check_seekable(f: IO[bytes]) -> None:
    """Raise as the file does, with an advice, where it is none in which a place can be sought."""
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        raise type(error)(
            f"{str(error).replace('tell', 'seek')}. You can only torch.load from a file that is "
            "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from "
            "it instead."
        ) from None


# -- archives -----------------------------------------------------------------------------------


def _archive(name: str, pickled: bytes, storages: list[np.ndarray]) -> bytes:
    """The archive of a pickle and the storages it refers to."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:

        def add(record: str, data: bytes) -> None:
            info = zipfile.ZipInfo(f"{name}/{record}")
            header = 30 + len(info.filename.encode())  # of the record, without the padding
            gap = -(content.tell() + header + 4) % _ALIGNMENT
            info.extra = b"FB" + gap.to_bytes(2, "little") + b"Z" * gap
            archive.writestr(info, data)

        add("data.pkl", renamed(pickled, "impl", "torch"))
        add(".format_version", b"1")
        add(".storage_alignment", str(_ALIGNMENT).encode())
        add("byteorder", b"little")
        for key, memory in enumerate(storages):
            add(f"data/{key}", memory.tobytes())
        add("version", b"3\n")
    return content.getvalue()


class _Writer(pickle.Pickler):
    """A pickler that puts storages aside, each once: `storages` are their bytes by key."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, 2)
        self.storages: list[np.ndarray] = []
        self._keys: dict[int, tuple[int, Storage, Any]] = {}

    def persistent_id(self, obj: Any) -> tuple | None:
        """The reference to a storage: its class by dtype, key, device and number of elements."""
        if isinstance(obj, TypedStorage):
            kind: Any = LEGACY_STORAGES[f"{obj.dtype.legacy}Storage"]
            memory, size = obj.untyped(), obj.size()
        elif isinstance(obj, Storage):
            kind, memory, size = UntypedStorage, obj, obj.nbytes()
        else:
            return None
        if memory._cdata not in self._keys:
            self._keys[memory._cdata] = len(self.storages), memory, kind
            self.storages.append(memory.flat)
        key, _, known = self._keys[memory._cdata]
        if known is not kind and memory.nbytes():
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                "types"
            )
        return "storage", kind, str(key), "cpu", size


def _read(file: IO[bytes], map_location, weights_only: bool, options: dict[str, Any]) -> Any:
    start = file.read(len(_LEGACY))
    file.seek(-len(start), os.SEEK_CUR)
    if start == _LEGACY:
        raise NotImplementedError("torch.load of a file in the form before 1.6")
    if not start:
        raise EOFError
    if not start.startswith(b"PK\x03\x04"):
        raise pickle.UnpicklingError(weights_error(f"Unsupported operand {start[0]}"))
    with _opened(file) as archive:
        name = archive.namelist()[0].partition("/")[0]
        storages = _Storages(archive, name, map_location)
        pickled = io.BytesIO(archive.read(f"{name}/data.pkl"))
        unpickler = WeightsUnpickler if weights_only else _Unpickler
        reader = unpickler(pickled, **options)
        reader.persistent_load = storages.load  # type: ignore[method-assign, assignment]
        return reader.load()


def _opened(file: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except zipfile.BadZipFile:
        raise RuntimeError(_CORRUPTED) from None


class _Unpickler(pickle.Unpickler):
    """An unpickler of whatever a file holds."""

    def find_class(self, module: str, name: str) -> Any:
        """The class or function of that name, of torch's modules impl's own."""
        if module.partition(".")[0] == "torch":
            module = "impl" + module.removeprefix("torch")
        return super().find_class(module, name)


class _Storages:
    """The storages of an archive, each read once."""

    def __init__(self, archive: zipfile.ZipFile, name: str, map_location: Any) -> None:
        self.archive = archive
        self.name = name
        self.map_location = map_location
        self.known: dict[str, Storage] = {}

    def load(self, reference: Any) -> Any:
        """The storage of a reference."""
        label, kind, key, location, _ = reference
        if label != "storage":
            raise RuntimeError(
                f"Unknown typename for persistent_load, expected 'storage' but got '{label}'"
            )
        if key not in self.known:
            content = bytearray(self.archive.read(f"{self.name}/data/{key}"))
            memory = Storage(np.frombuffer(content, np.uint8))
            self.known[key] = _moved(memory, location, self.map_location)
        memory = self.known[key]
        if kind is UntypedStorage:
            return memory
        return TypedStorage._of(memory, kind.dtype)


def _moved(memory: Storage, location: str, map_location: Any) -> Storage:
    """The storage on the device that `map_location` wants."""
    if not (map_location is None or isinstance(map_location, (str, bytes, dict, device))):
        result = map_location(memory, location)
        if result is not None:
            return result
    elif isinstance(map_location, dict):
        location = map_location.get(location, location)
    elif map_location is not None:
        location = str(map_location)
    try:
        kind = device(location)
    except RuntimeError:
        raise RuntimeError(
            "don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
            f"{location})"
        ) from None
    if kind.type == "cuda":
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
            "False. If you are running on a CPU-only machine, please use torch.load with "
            "map_location=torch.device('cpu') to map your storages to the CPU."
        )
    if kind.type == "meta":
        return Storage(MetaArray((memory.nbytes(),), np.dtype(np.uint8)))
    check_device(kind)
    return memory
