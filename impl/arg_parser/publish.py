"""Parsers before the public functions and methods: what `torch.sum` and `Tensor.sum` are."""

from __future__ import annotations

import functools
import operator

from impl.arg_parser.builtin_function import BuiltinFunction
from impl.arg_parser.conversions import GREATEST, LEAST
from impl.arg_parser.parameter import MISSING
from impl.arg_parser.parser import ArgParser, has_long, signatures
from impl.core import messages
from impl.core.allocator import out_of_memory
from impl.core.devices import device
from impl.core.meta_arrays import NeedsElements
from impl.core.registry import FUNCTIONS, NATIVE, C
from impl.core.state import STATE
from impl.dispatch.math_bits import call_with_copy, resolves
from impl.dispatch.meta_kernels import on_examples
from impl.dispatch.out import refusing_gradients
from impl.dispatch.record import refuse_write
from impl.factories.generator import Generator, get_rng_state, set_rng_state
from impl.factories.type_info import finfo, iinfo
from impl.tensor.tensor import Tensor, requires_grad
from impl.tensor.torch_function import asking

_READS_NOTHING = (
    *("autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache"),
    *("get_default_dtype", "get_num_interop_threads", "get_num_threads", "is_anomaly_enabled"),
    *("is_anomaly_check_nan_enabled", "is_autocast_cache_enabled", "is_inference_mode_enabled"),
)
"""Functions of torch without parameters, which the table does not list."""

_SPARSE = (
    "*, dtype? dtype=None, device? device=None, {}bool requires_grad=False, "
    "bool? check_invariants=None{}"
)
_WITH_PARTS = _SPARSE.format("bool pin_memory=False, ", ", bool? is_coalesced=None")

_SOFTMAX = ["Tensor input, int dim, dtype? dtype=None", "Tensor input, int dim, bool half_to_float"]

# Parsed functions that the table does not list.
_UNLISTED = {
    "fake_quantize_per_tensor_affine": [
        "Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max",
        "Tensor input, float scale, int zero_point, int quant_min, int quant_max",
    ],
    "frombuffer": [
        "object buffer, *, dtype dtype, int count=-1, int offset=0, bool requires_grad=False"
    ],
    "get_autocast_dtype": ["str device_type"],
    "is_autocast_enabled": ["str device_type", ""],
    "set_anomaly_enabled": ["bool enabled, bool check_nan=True"],
    "set_autocast_dtype": ["str device_type, dtype dtype"],
    "set_autocast_enabled": ["str device_type, bool enabled", "bool enabled"],
    "sparse_coo_tensor": [
        f"object indices, object values, {_WITH_PARTS}",
        f"object indices, object values, int[] size, {_WITH_PARTS}",
        f"int[] size, {_SPARSE.format('', '')}",
    ],
    "_sparse_sum": [
        "Tensor input",
        "Tensor input, *, dtype dtype",
        "Tensor input, int[1] dim",
        "Tensor input, int[1] dim, *, dtype dtype",
    ],
    "sparse.addmm": ["Tensor input, Tensor mat1, Tensor mat2, *, Number beta=1, Number alpha=1"],
    "sparse.log_softmax": _SOFTMAX,
    "sparse.mm": ["Tensor sparse, Tensor dense", "Tensor sparse, Tensor dense, str reduce"],
    "sparse.softmax": _SOFTMAX,
    **{name: [""] for name in _READS_NOTHING},
}

HIDDEN = ("_VF", "_nn")
"""Prefixes of functions that torch documents under no name of their own."""

METHODS = ("Tensor", "_Tensor")
"""Prefixes of methods; the second is that of methods whose calls the suite does not draw."""

TITLE_PREFIXES = {
    "fft": "fft_",
    "linalg": "linalg_",
    "sparse": "_sparse_",
    "special": "special_",
}
"""How the names of the functions of a namespace begin in torch's messages."""

TITLES = {"logsigmoid": "log_sigmoid", "_parse_to": "to"}
"""The names in torch's messages of functions that are called otherwise."""
LATE_WRITES = (
    *("detach_", "fill_diagonal_", "float_power_", "requires_grad_", "resize_", "resize_as_"),
    *("logical_and_", "logical_not_", "logical_or_", "logical_xor_", "set_", "rrelu_"),
    *("map_", "map2_", "dropout_", "alpha_dropout_", "feature_dropout_", "feature_alpha_dropout_"),
)
"""Functions in place that look at their arguments before they look whether they may write."""


_CONSTRUCTORS: dict[type, list[str]] = {
    device: ["device device", "str type, int index=-1"],
    Generator: ["device? device=None"],
    finfo: ["dtype type", ""],
    iinfo: ["dtype type"],
}
"""Signatures of classes."""


def publish(namespaces: dict) -> None:
    """Put a parser before each function of the modules, by the prefix of their names, that torch
    has signatures of, and before the methods of tensors; the functions are those of `C`, too.
    Operators in place that have no signature are no functions."""
    known = signatures()
    for name, texts in {**known, **_UNLISTED}.items():
        prefix, _, short = name.rpartition(".")
        if prefix == "nn.functional" and short in known:
            continue  # a second name of one function
        call = NATIVE.get(short) if prefix in HIDDEN else None
        owner = _owner(prefix, short, namespaces)
        call = call or getattr(owner, short, None)
        if call is None:
            continue
        title = TITLE_PREFIXES.get(prefix, "") + short
        title = TITLES.get(title, title)
        public = parsed(call, title, texts, method=owner is Tensor)
        public.__name__ = short if owner is Tensor else title
        if owner is not None:
            public.__module__ = Tensor.__module__ if owner is Tensor else owner.__name__
            public.__qualname__ = f"Tensor.{short}" if owner is Tensor else short
            setattr(owner, short, public)
        if owner is not Tensor:
            setattr(C, short if owner is None else title, public)

    for short in known:
        if f"nn.functional.{short}" in known:
            setattr(namespaces["nn.functional"], short, getattr(namespaces[""], short))
    for kind, texts in _CONSTRUCTORS.items():
        _read_in_constructor(kind, texts)
    for name in FUNCTIONS:
        if name.endswith("_") and not name.startswith("_") and name not in known:
            delattr(namespaces[""], name)  # torch has it only as a method: `add_`


def _read_in_constructor(kind: type, texts: list[str]) -> None:
    """Have a class refuse arguments as torch's parser does, where its constructor refuses them."""
    parser = ArgParser(kind.__qualname__, kind, texts, method=False)
    construct = vars(kind)["__init__"]

    @functools.wraps(construct)
    def __init__(self, *args, **named) -> None:
        try:
            construct(self, *args, **named)
        except TypeError:
            _, found = parser.matched(args, named)
            values = [p.converted(value, kind.__qualname__) for p, value in found.items()]
            if not named and all(map(operator.is_, values, args)):
                raise
            construct(self, *values)  # keywords of an overload, or an index that is a tensor

    kind.__init__ = __init__  # type: ignore[misc]


def _owner(prefix: str, name: str, namespaces: dict):
    """Where a function of the table is found and published; None for one of torch._C alone."""
    if prefix in METHODS:
        return Tensor
    if prefix in HIDDEN:  # `_foreach_add` is a name of the torch namespace all the same
        return namespaces[""] if name in FUNCTIONS and name[0] == "_" else None
    return namespaces.get(prefix)


def parsed(call, name: str, texts: list[str], method: bool):
    """A function that reads its arguments as torch does, and calls the implementation."""
    parser = ArgParser(name, refusing_gradients(call), texts, method)
    accepted, gathered, parse = parser.accepted, parser.gathered, parser.parse
    writes = name.endswith("_") and name not in LATE_WRITES

    @functools.wraps(call)
    def function(a=MISSING, b=MISSING, c=MISSING, /, *more, **named):
        try:
            # Fast path: arguments of types that were accepted before are passed on as they are.
            if not named:
                if b is MISSING:
                    if type(a) in accepted:
                        return call(a)
                elif c is MISSING:
                    if (type(a), type(b)) in accepted and (
                        type(b) is not int or LEAST <= b <= GREATEST
                    ):
                        return call(a, b)
                elif (types := (type(a), type(b), type(c), *map(type, more))) in accepted:
                    if (
                        (type(b) is not int or LEAST <= b <= GREATEST)
                        and (type(c) is not int or LEAST <= c <= GREATEST)
                        and not (more and has_long(*more))
                    ):
                        return call(a, b, c, *more)
                elif method and types in gathered and not has_long(b, c, *more):
                    return call(a, (b, c, *more))
            given = _given(a, b, c, more)
            if named and resolves(name, named.get("out")):
                return call_with_copy(name, parse, given, named)
            return parse(given, named)
        except NeedsElements:
            given = _given(a, b, c, more)
            if writes or named.get("out") is not None:
                raise
            return _without_elements(lambda *args, **more: parse(args, more), given, named)
        except Exception as error:
            if b is MISSING and type(a) is int and has_long(a):  # which the fast path passed on
                return parse((a,), named)
            if writes and not isinstance(error, TypeError):
                refuse_write((*_given(a, b, c, more), *named.values()))
            if isinstance(error, MemoryError):
                raise out_of_memory(error) from None
            raise

    parser.public = asking(function if method else BuiltinFunction(function))
    return parser.public


def _without_elements(call, args: tuple, named: dict):
    """The result on the meta device of a function that is no operator by itself, and looked at
    elements: it is called with examples, and draws nothing from the generator of the CPU.

    Raises NotImplementedError where a gradient would be wanted.
    """
    if STATE.enabled and any(isinstance(v, Tensor) and requires_grad(v) for v in args):
        raise NotImplementedError(messages.NO_DATA)
    before = get_rng_state()
    try:
        return on_examples(call, args, named)
    finally:
        set_rng_state(before)


def _given(a, b, c, more: tuple) -> tuple:
    if c is not MISSING:
        return (a, b, c, *more)
    return () if a is MISSING else (a,) if b is MISSING else (a, b)
