"""Reading without trust: what `torch.load(weights_only=True)` allows
(torch/_weights_only_unpickler.py)."""

from __future__ import annotations

import codecs
import pickle
import pickletools
import warnings
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from functools import cache
from typing import IO, Any

from impl._utils import (
    _rebuild_meta_tensor_no_storage,
    _rebuild_parameter,
    _rebuild_parameter_with_state,
    _rebuild_sparse_tensor,
    _rebuild_tensor_v2,
)
from impl.core import dtypes
from impl.core.devices import device
from impl.core.sizes import Size
from impl.factories.copy_and_pickle import _get_layout, _rebuild_from_type_v2
from impl.factories.legacy_storages import LEGACY_STORAGES
from impl.factories.storages import TypedStorage, UntypedStorage
from impl.nn.parameter import Parameter
from impl.operators.sparse.construction import check_parts
from impl.tensor.tensor import Tensor

_DEFAULT = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` "
    "from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will "
    "likely succeed, but it can result in arbitrary code execution. Do it only if you got the file "
    "from a trusted source."
)
_REFUSED = (
    "Weights only load failed. This file can still be loaded, to do so you have two options, "
    "\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. \n\t(1) "
    f"{_DEFAULT}\n\t(2) Alternatively, to load with `weights_only=True` please check the "
    "recommended steps in the following error message.\n\tWeightsUnpickler error: "
)
_FAILED = (
    f"Weights only load failed. {_DEFAULT}\nPlease file an issue with the following so that we can "
    "make `weights_only=True` compatible with your use case: WeightsUnpickler error: \n\n"
)
_BLOCKED = f"Weights only load failed. {_DEFAULT}\n\n\n"
_DOCS = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with "
    "weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
)
_VALIDATING = (
    "Validating sparse tensor invariants because weights_only=True; this is an O(nnz) scan per "
    "sparse tensor and may be slow for large checkpoints."
)
_NEVER = ("sys", "os", "posix", "nt")  # modules of which nothing can be allowed
_marked: list[Any] = []


@cache
def _allowed() -> dict[str, Any]:
    """The classes and functions that are always allowed, by their full names."""
    functions = (
        *(_rebuild_parameter, _rebuild_parameter_with_state, _rebuild_sparse_tensor),
        *(_rebuild_tensor_v2, _rebuild_meta_tensor_no_storage),
    )
    return {
        "collections.OrderedDict": OrderedDict,
        "collections.Counter": Counter,
        "torch.nn.parameter.Parameter": Parameter,
        "torch.serialization._get_layout": _get_layout,
        "torch.Size": Size,
        "torch.Tensor": Tensor,
        "torch.device": device,
        "_codecs.encode": codecs.encode,
        "builtins.bytearray": bytearray,
        "builtins.set": set,
        "builtins.complex": complex,
        "torch.storage.TypedStorage": TypedStorage,
        "torch.storage.UntypedStorage": UntypedStorage,
        "torch._tensor._rebuild_from_type_v2": _rebuild_from_type_v2,
        **{f"torch.{kind.name}": kind for kind in dtypes.ALL},
        **{f"torch.{name}": kind for name, kind in LEGACY_STORAGES.items()},
        **{f"torch._utils.{function.__name__}": function for function in functions},
    }


def _marked_by_name() -> dict[str, Any]:
    """The classes and functions that a program has allowed, by their full names."""
    pairs = (value if isinstance(value, tuple) else (value, _full_name(value)) for value in _marked)
    return {name: value for value, name in pairs}


def _full_name(value: Any) -> str:
    module = value.__module__
    if module.partition(".")[0] == "impl":
        module = "torch" + module.removeprefix("impl")
    return f"{module}.{value.__qualname__}"


class WeightsUnpickler(pickle.Unpickler):
    """An unpickler that finds the classes and functions above alone, and looks at the indices of
    sparse tensors, which may lie outside their size."""

    def __init__(self, file: IO[bytes], *, encoding: str = "bytes") -> None:
        super().__init__(file)
        self.sparse: list[Tensor] = []

    def load(self) -> Any:
        """The object in the file. Raises RuntimeError for sparse tensors with wrong indices."""
        result = super().load()
        if self.sparse:
            warnings.warn(_VALIDATING, UserWarning, stacklevel=2)
        for tensor in self.sparse:
            raw = tensor._raw
            check_parts(raw.indices, raw.values, raw.shape, True)
        return result

    def _rebuild_sparse(self, layout, data) -> Tensor:
        tensor = _rebuild_sparse_tensor(layout, data)
        self.sparse.append(tensor)
        return tensor

    def find_class(self, module: str, name: str) -> Any:
        """The class or function of that name. Raises UnpicklingError if it is not allowed."""
        # The second protocol has the names of Python 2.
        module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
        full = f"{module}.{name}"
        if module.partition(".")[0] in _NEVER:
            raise pickle.UnpicklingError(
                _BLOCKED
                + f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked."
                + _DOCS
            )
        known = {**_allowed(), **_marked_by_name()}
        if full not in known:
            shown = full.removeprefix("builtins.")
            raise pickle.UnpicklingError(
                f"{_REFUSED}Unsupported global: GLOBAL {shown} was not an allowed global by "
                f"default. Please use `torch.serialization.add_safe_globals([{shown}])` or the "
                f"`torch.serialization.safe_globals([{shown}])` context manager to allowlist this "
                f"global if you trust this class/function.{_DOCS}"
            )
        found = known[full]
        return self._rebuild_sparse if found is _rebuild_sparse_tensor else found


def weights_error(message: str) -> str:
    """torch's text for a file that it cannot read."""
    return f"{_FAILED}{message}{_DOCS}"


def renamed(pickled: bytes, of: str, to: str) -> bytes:
    """A pickle of the second protocol in which globals of one package are those of another."""
    parts, done = [], 0
    for opcode, argument, position in pickletools.genops(pickled):
        if opcode.name == "GLOBAL" and str(argument).split(" ")[0].partition(".")[0] == of:
            assert position is not None
            parts += [pickled[done : position + 1], to.encode()]
            done = position + 1 + len(of.encode())
    return b"".join([*parts, pickled[done:]])


# -- what programs allow ------------------------------------------------------------------------


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow classes and functions, or pairs of one and its full name
    (torch.serialization.add_safe_globals)."""
    _marked.extend(value for value in safe_globals if value not in _marked)


def get_safe_globals() -> list[Any]:
    """Those that a program has allowed (torch.serialization.get_safe_globals)."""
    return list(_marked)


def clear_safe_globals() -> None:
    """Allow nothing more than always (torch.serialization.clear_safe_globals)."""
    _marked.clear()


class _safe_globals:
    """Classes and functions that are allowed for a block; afterwards none of them is."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc: Any) -> None:
        _marked[:] = [value for value in _marked if value not in self.safe_globals]


class safe_globals(_safe_globals):
    """Allow classes and functions for a block (torch.serialization.safe_globals)."""

    __module__ = "impl.serialization"
