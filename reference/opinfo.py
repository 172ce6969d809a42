"""Samples from torch's operator database (OpInfo) that any backend can run.

Source: `torch.testing._internal.common_methods_invocations.op_db`, which ships inside torch.
"""

from __future__ import annotations

import inspect
import random
import warnings
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch

from conformance.sweep.sample import KINDS, Argument, NoEntry, Sample

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_utils import SEED

DTYPES = {"float64": torch.float64, "float32": torch.float32, "complex128": torch.complex128}

# Names of a sample's tensors after the first, which is x; y, v, w, f, g and h are reserved.
_NAMES = "abcdeijklmnopqrstuz"

# Call patterns of entries whose name and positional arguments do not give the call.
_CALLS = {
    "einsum": "torch.einsum({1}, {0})",
    "polygamma": "torch.polygamma({1}, {0})",
    "special.polygamma": "torch.special.polygamma({1}, {0})",
    "where": "torch.where({1}, {0}, {2})",
    "zero_": "torch.zero_({0}.clone())",
    "slice": "torch.ops.aten.slice({*})",
    "T": "{0}.T",
    "H": "{0}.H",
    "mT": "{0}.mT",
    "mH": "{0}.mH",
    "nn.functional.embedding": "torch.nn.functional.embedding({1}, {0}{, **})",
    "nn.functional.embedding_bag": "torch.nn.functional.embedding_bag({1}, {0}{, **})",
    "linalg.pinv/singular": "torch.linalg.pinv({0} @ {1}.mT)",
    "svd_lowrank": "torch.svd_lowrank({0} @ {1}.mT{, **})",
    "pca_lowrank": "torch.pca_lowrank({0} @ {1}.mT{, **})",
    "linalg.lstsq/grad_oriented": "torch.linalg.lstsq({0}, {1}{, **})[:2]",
    "native_dropout_backward": "torch.ops.aten.native_dropout_backward({*})",
    "normal/number_mean": "torch.normal({1}, {0}{, *2}{, **})",
    "max_pool2d_with_indices_backward": (
        "(lambda out, places: torch.ops.aten.max_pool2d_with_indices_backward("
        "torch.ones_like(out), {0}, {kernel_size}, {stride} or [], {padding}, {dilation}, "
        "{ceil_mode}, places))(*torch.nn.functional.max_pool2d({0}, {kernel_size}, {stride}, "
        "{padding}, {dilation}, {ceil_mode}, True))"
    ),
}
# The comparable part of a result that is determined up to a sign or a phase, by the entry and the
# name of the database's own function for it.
_SETTLED = {
    "fn_S": "y[1]",
    "fn_U": "y[0][..., :y[1].shape[-1]].abs()",
    "linalg.svd/fn_Vh": "(y[1], y[2][..., :y[1].shape[-1], :].abs())",
    "linalg.svd/fn_UVh": "(y[0][..., :y[1].shape[-1]] @ y[2][..., :y[1].shape[-1], :], y[1])",
    "svd/fn_Vh": "(y[1], y[2][..., :y[1].shape[-1]].abs())",
    "svd/fn_UVh": "(y[0][..., :y[1].shape[-1]] @ y[2][..., :y[1].shape[-1]].mH, y[1])",
    "svd_lowrank": "(y[0] @ y[2].mH, y[1])",
    "pca_lowrank": "(y[0] @ y[2].mH, y[1])",
    "linalg.eig": "(y[0], abs(y[1]))",
    "linalg.eigh": "(y[0], abs(y[1]))",
    "lu_unpack": "(y[1], y[2])",
    "linalg.lu": "(y[1], y[2])",
}


# Attributes of which only shape and dtype are compared: uninitialised memory, and factors
# determined up to a sign or a phase.
_FACTORS = ("_saved_U", "_saved_Vh", "_saved_eigenvectors", "_saved_self", "_saved_mat2")
_UNSPECIFIED = {
    "nn.functional.rrelu": ("_saved_noise",),
    "nn.functional.ctc_loss": ("_saved_result1",),
    "linalg.eig": _FACTORS,
    "linalg.eigvals": _FACTORS,
    "linalg.eigh": _FACTORS,
    "linalg.eigvalsh": _FACTORS,
    "linalg.svdvals": _FACTORS,
    "linalg.svd": _FACTORS,
    "svd": _FACTORS,
    "svd_lowrank": _FACTORS,
    "pca_lowrank": _FACTORS,
}


def entries() -> dict[str, tuple[str, ...]]:
    """Every differentiable entry on dense tensors with a public name, and its dtypes."""
    found = {}
    for info in op_db:
        name = _name(info)
        if info.supports_autograd and (names := _dtypes(info)) and _is_public(name):
            found[name] = names
    return found


def samples(entry: str, dtype: str, kinds: Collection[str] = KINDS) -> Iterator[Sample]:
    """The samples of an entry, of each of `kinds`; error and out= samples exist for float64 only.

    Raises NoEntry for an entry that this version of torch does not have, KeyError for a dtype.
    """
    info, element = described(entry), DTYPES[dtype]
    differentiates = element in info.supported_backward_dtypes("cpu")
    written = _inplace(info)
    for number, found in enumerate(_drawn(info, element, differentiates, entry)):
        for kind in kinds:
            if kind == "error" or (kind == "inplace" and written is None):
                continue
            if kind == "out" and (dtype != "float64" or not info.supports_out):
                continue
            drawn = found.noncontiguous() if kind == "noncontiguous" else found
            with suppress(_Unwritable):
                if kind == "out":
                    yield _OutWriter(entry, info, drawn).sample(dtype, kind, number, False)
                else:
                    writer = _Writer(entry, info, drawn, written if kind == "inplace" else None)
                    yield writer.sample(dtype, kind, number, differentiates)
    if "error" in kinds and dtype == "float64" and info.error_inputs_func is not None:
        yield from _errors(entry, info)


def described(entry: str) -> Any:
    """The OpInfo of an entry. Raises NoEntry for one that this version of torch does not have."""
    try:
        return _by_name()[entry]
    except KeyError:
        raise NoEntry(f"the database of torch {torch.__version__} has no entry {entry}") from None


def _errors(entry: str, info: Any) -> Iterator[Sample]:
    for number, found in enumerate(_seeded(info.error_inputs_func(info, "cpu"))):
        with suppress(_Unwritable):
            yield _Writer(entry, info, found.sample_input).sample("float64", "error", number, False)


def _drawn(info: Any, dtype: torch.dtype, requires_grad: bool, entry: str) -> Iterator[Any]:
    seed(zlib.crc32(entry.encode()))
    return _seeded(info.sample_inputs_func(info, "cpu", dtype, requires_grad))


def _seeded(found: Iterable[Any]) -> Iterator[Any]:
    """The samples, each drawn after reseeding with the seed of torch's own tests.

    The database's `sample_inputs` and `error_inputs` do the same, but search the stack and the
    sources of imported modules for a test that calls them, which is half of a sweep's time.
    """
    drawn = iter(found)
    while True:
        seed(SEED)
        try:
            yield next(drawn)
        except StopIteration:
            return


def seed(number: int) -> None:
    """Seed the generators of torch, Python and NumPy. `torch.manual_seed` is not used: it records a
    traceback for each kind of device that is absent."""
    torch.default_generator.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


@cache
def _by_name() -> dict[str, Any]:
    return {_name(info): info for info in op_db}


def _name(info: Any) -> str:
    return f"{info.name}/{info.variant_test_name}" if info.variant_test_name else info.name


def _is_public(name: str) -> bool:
    """Whether an entry takes dense tensors and is not private to ATen."""
    private = name.startswith("_") and not name.startswith("__")
    return not private and not name.startswith(("sparse.", "torch.ops.")) and name not in _LEFT_OUT


_LEFT_OUT = (
    # Their results are sparse, or half-precision complex.
    *("to_sparse", "chalf"),
    # Variants whose forward pass computes the gradients, which the backward pass consumes: torch
    # documents this as outside of autograd's guarantees.
    "nn.functional.linear_cross_entropy/chunked",
    "nn.functional.linear_cross_entropy/chunked_none",
)


def _dtypes(info: Any) -> tuple[str, ...]:
    supported = info.supported_dtypes("cpu")
    return tuple(name for name, dtype in DTYPES.items() if dtype in supported)


_UNWRITTEN = (torch.bfloat16, torch.float16, torch.complex32)


class _Unwritable(Exception):
    """A sample has an argument that a program cannot express."""


class _Writer:
    """Converter of one sample into the source of its call, and its tensors."""

    def __init__(self, entry: str, info: Any, found: Any, inplace: str | None = None) -> None:
        self.entry, self.info, self.found = entry, info, found
        self.inplace = inplace  # pattern of the in-place call
        self.arguments: list[Argument] = []
        self.names: dict[int, str] = {}

    def sample(self, dtype: str, kind: str, number: int, differentiates: bool) -> Sample:
        """The converted sample; raises _Unwritable."""
        call, settled = self._call(), self._settled()
        arguments = tuple(self.arguments)
        free = _UNSPECIFIED.get(self.entry, ())
        return Sample(
            self.entry, dtype, kind, number, call, arguments, settled, differentiates, free
        )

    def _call(self) -> str:
        found = self.found
        positional = [self._written(value) for value in (found.input, *found.args)]
        named = {name: self._written(value) for name, value in found.kwargs.items()}
        keywords = [f"{name}={value}" for name, value in named.items()]
        if self.inplace is not None:
            return self.inplace.format(
                positional[0], ", ".join((*positional[1:], *keywords)), ", ".join(positional[1:])
            )
        pattern = _CALLS.get(self.entry) or _CALLS.get(self.info.name)
        if pattern is not None:
            pattern = pattern.replace("{*}", ", ".join((*positional, *keywords)))
            pattern = pattern.replace("{, *2}", "".join(f", {value}" for value in positional[2:]))
            pattern = pattern.replace("{, **}", "".join(f", {k}" for k in keywords))
            return pattern.format(*positional, **named)
        every = ", ".join((*positional, *keywords))
        if callable(_resolved(self.info.name)):  # torch.float is not callable
            return f"torch.{self.info.name}({every})"
        return f"{positional[0]}.{self.info.name}({', '.join((*positional[1:], *keywords))})"

    def _written(self, value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            parts = [self._written(part) for part in value]
            if isinstance(value, list):
                return f"[{', '.join(parts)}]"
            return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
        if isinstance(value, slice):
            return f"slice({value.start}, {value.stop}, {value.step})"
        if value is Ellipsis:
            return "..."
        if isinstance(value, float) and (value != value or value in (np.inf, -np.inf)):
            return f"float('{value}')"
        if value is None or isinstance(value, (bool, int, float, complex, str)):
            return repr(value)
        if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
            return str(value)
        if isinstance(value, torch.device):
            return repr(str(value))
        if isinstance(value, torch.nn.PairwiseDistance):
            return f"torch.nn.PairwiseDistance({value.norm}, {value.eps}, {value.keepdim})"
        raise _Unwritable(type(value).__name__)

    def _tensor(self, value: torch.Tensor) -> str:
        known = self.names.get(id(value))
        if known is not None:
            return known
        if value.layout != torch.strided or value.device.type != "cpu" or value.dim() > 64:
            raise _Unwritable(str(value.layout))
        if value.dtype in _UNWRITTEN:
            raise _Unwritable(str(value.dtype))
        name = "x" if not self.arguments else _NAMES[len(self.arguments) - 1]
        if self.entry == "as_strided/partial_views":
            return self._part(name, value)
        self.names[id(value)] = name
        plain = value.detach().resolve_conj().resolve_neg()
        strides = None if value.is_contiguous() or not value.numel() else value.stride()
        self.arguments.append(
            Argument(name, np.array(plain.numpy(), order="C"), strides, value.requires_grad)
        )
        return name

    def _part(self, name: str, value: torch.Tensor) -> str:
        """A view on part of its storage, for an operator that reads all of it: the argument
        is the whole storage."""
        whole = value.detach().as_strided(
            (value.untyped_storage().nbytes() // value.itemsize,), (1,), 0
        )
        self.arguments.append(Argument(name, whole.numpy().copy(), None, value.requires_grad))
        layout = f"{tuple(value.shape)}, {value.stride()}, {value.storage_offset()}"
        return f"{name}.as_strided({layout})"

    def _settled(self) -> str | None:
        process = self.found.output_process_fn_grad
        if self.inplace is not None:
            return None
        for key in (self.entry, process.__name__, f"{self.entry}/{process.__name__}"):
            if key in _SETTLED:
                return _SETTLED[key]
        return None


class _OutWriter(_Writer):
    """Converter into a call with `out=`: zeros of the result's shape, or for every other sample
    without elements, so that they are resized."""

    def __init__(self, entry: str, info: Any, found: Any) -> None:
        super().__init__(entry, info, found.transform(_plain))

    def sample(self, dtype: str, kind: str, number: int, differentiates: bool) -> Sample:
        made = super().sample(dtype, kind, number, differentiates)
        if not (made.call.startswith("torch.") and made.call.endswith(")")):
            raise _Unwritable("a method")
        results = self._results()
        several = isinstance(results, (tuple, list))
        outs = []
        for i, result in enumerate(results if several else [results]):
            if not isinstance(result, torch.Tensor) or result.dtype in _UNWRITTEN:
                raise _Unwritable(type(result).__name__)
            empty = torch.zeros(0 if number % 2 else result.shape, dtype=result.dtype)
            outs.append(Argument(f"out{i}", empty.numpy()))
        names = ", ".join(argument.name for argument in outs)
        out = f"({names}{',' if len(outs) == 1 else ''})" if several else names
        call = f"{made.call[:-1]}, out={out})"
        return replace(made, call=call, arguments=(*made.arguments, *outs))

    def _results(self) -> Any:
        found = self.found.transform(_plain)  # some operators write to their inputs
        try:
            with torch.no_grad():
                return self.info.op(found.input, *found.args, **found.kwargs)
        except Exception as error:
            raise _Unwritable(str(error)) from None


def _plain(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _inplace(info: Any) -> str | None:
    """Pattern of the in-place call (first argument, all others, positional others), or None."""
    variant = info.inplace_variant
    if variant is None:
        return None
    name = getattr(variant, "__name__", "")
    if name != "<lambda>":
        return f"{{0}}.clone().{name}({{1}})"
    if "inplace=True" in inspect.getsource(variant):
        return f"torch.{info.name}({{0}}.clone(), {{1}}, inplace=True)".replace(", , ", ", ")
    return f"{{0}}.clone().{info.name}_({{1}})"


def _resolved(name: str) -> Any:
    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
