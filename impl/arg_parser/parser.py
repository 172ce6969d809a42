"""The choice among the signatures of a function, and the call with the arguments read."""

from __future__ import annotations

import functools
import inspect
from importlib import resources
from typing import Any

from impl.arg_parser.batched_out import refuse_out
from impl.arg_parser.conversions import GREATEST, LEAST
from impl.arg_parser.messages import invalid_combination, unbound_method
from impl.arg_parser.parameter import MISSING, NUMPY_NAMES, Parameter
from impl.arg_parser.signature import Mismatch, Signature
from impl.core import messages
from impl.core.sizes import Size
from impl.core.state import STATE
from impl.core.warning import warn_once
from impl.tensor import function_modes
from impl.tensor.sparse_tensor import EXIST, SPARSE, SparseTensor
from impl.tensor.tensor import Tensor
from impl.tensor.torch_function import ask, insert, overriding

_CONTAINERS = (tuple, list, Size)
_NUMPY_KEYWORDS = {other for names in NUMPY_NAMES.values() for other in names}


@functools.cache
def signatures() -> dict[str, list[str]]:
    """The texts of torch's signatures, by public name: `sum`, `Tensor.sum`, `linalg.norm`."""
    table: dict[str, list[str]] = {}
    text = resources.files(__package__).joinpath("signatures.txt").read_text()
    for line in text.splitlines():
        name, _, rest = line.partition("(")
        table.setdefault(name, []).append(rest.replace(")|", "|") if "|dep" in rest else rest[:-1])
    return table


class ArgParser:
    """The parser of one public function or method, which calls its implementation.

    Follows `PythonArgParser` of PyTorch's `python_arg_parser.cpp`.
    """

    def __init__(self, name: str, call, texts: list[str], method: bool) -> None:
        self.name = name
        self.call = call
        self.texts = texts
        self.method = method
        self.public: Any = call  # the function that the parser stands before
        self.takes_nothing = texts == [""]  # METH_NOARGS, in C
        # A legacy constructor, for which a sequence may be data although it passes for sizes.
        self.converts = not getattr(call, "reads_sequences", False)
        # The types of arguments with which the implementation may be called as it was spelled.
        self.accepted: set = set()
        # Those with which it is called after sizes given one by one were put into a tuple.
        self.gathered: set = set()
        function_modes.shortcut(self._forget, _nothing)

    @functools.cached_property
    def signatures(self) -> list[Signature]:
        """The signatures in the order in which they are tried, deprecated ones last."""
        found = [Signature(self.name, text) for text in self.texts]
        return sorted(found, key=lambda signature: signature.deprecated)

    @functools.cached_property
    def spelled(self) -> inspect.Signature:
        """The implementation's own signature, without a `**named` that takes any keyword."""
        own = inspect.signature(self.call)
        known = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        return own.replace(parameters=known)

    @functools.cached_property
    def _keyword_only(self) -> set[str]:
        """The parameters that the implementation takes by keyword only."""
        return {p.name for p in self.spelled.parameters.values() if p.kind is p.KEYWORD_ONLY}

    def parse(self, args: tuple, named: dict):
        """Match the arguments with the signatures, and call the implementation.

        Raises TypeError, in torch's words, where none of the signatures fits.
        """
        if EXIST and args and not self.method and type(args[0]) in SPARSE:
            own = vars(SparseTensor).get(self.name)
            if own is not None:
                return own(*args, **named)
        key = _kinds(args, named)
        refused = STATE.batched and named.get("out") is not None  # if a value is batched
        if key in self.accepted and not (refused or has_long(*args, *named.values())):
            return self.call(*args, **named)
        if self.method and not (args and isinstance(args[0], Tensor)):
            raise TypeError(unbound_method(self.name, args))
        own, rest = (args[:1], args[1:]) if self.method else ((), args)
        if key in self.gathered and not has_long(*rest):
            return self.call(*own, rest, **named)
        return self._first_call(own, rest, named, key)

    def _first_call(self, own: tuple, rest: tuple, named: dict, key: tuple):
        """The call with arguments of kinds, `key`, of which no earlier call is remembered; `own`
        holds the tensor of a method."""
        if self.takes_nothing and (rest or named):
            raise self._takes_none(rest, named)
        signature, found = self.matched(rest, named)
        taking = _overriding(own, found)
        asked = taking if STATE.torch_function else []
        if asked or (STATE.function_modes and not self._takes_nothing_at_all):
            whole = (*own, *rest)
            return ask(self.public, self._title(), asked or self._alone(own), whole, named)
        values = self._converted(signature, found) if self.converts else found
        deprecated, signature = signature.deprecated, self._usual(signature)
        if STATE.batched and named.get("out") is not None:
            refuse_out(self, signature, found)
        if self._spelled_alike(named) and all(values[p] is found[p] for p in found):
            keys = None if taking or function_modes.are_active() or _depend(found) else key
            if not deprecated and self._binds((*own, *rest), named):
                self._accept(keys)
                return self.call(*own, *rest, **named)
            if any(v is rest for v in found.values()) and self._binds((*own, rest), named):
                self._gather(keys)
                return self.call(*own, rest, **named)
        return self._call(signature, own, values)

    def _converted(self, signature: Signature, found: dict) -> dict:
        """The values as the implementation takes them, by parameter.

        The last is converted first, as the C++ of the bindings evaluates the arguments of a call.
        """
        given = [p for p in reversed(signature.parameters) if p in found]
        return {p: p.converted(found[p], self.name) for p in given}

    def _takes_none(self, rest: tuple, named: dict) -> TypeError:
        """The error for arguments of a function without parameters."""
        what = "keyword arguments" if named else f"arguments ({len(rest)} given)"
        owner = "TensorBase" if self.method else "torch"
        return TypeError(f"{owner}.{self.name}() takes no {what}")

    @property
    def _takes_nothing_at_all(self) -> bool:
        """Whether it is a function without parameters, about which no mode is asked."""
        return self.takes_nothing and not self.method

    def _alone(self, own: tuple) -> list:
        """The tensor of a method without parameters, which a mode is told the class of."""
        return list(own) if self.takes_nothing else []

    def _title(self) -> str:
        return f"torch.{'Tensor.' if self.method else ''}{self.name}"

    def _forget(self) -> None:
        self.accepted.clear()
        self.gathered.clear()

    def _accept(self, key: tuple | None) -> None:
        """Call the implementation at once for arguments of these kinds, unless they are None."""
        if key is None:
            return
        self.accepted.add(key)
        if len(key) == 1 and isinstance(key[0], type):  # the fast path makes no tuple
            self.accepted.add(key[0])

    def _gather(self, key: tuple | None) -> None:
        """Put arguments of these kinds into a tuple at once, unless they are None."""
        if key is not None:
            self.gathered.add(key)

    def _spelled_alike(self, named: dict) -> bool:
        """Whether the keywords are torch's own names, not NumPy's."""
        return not named or not _NUMPY_KEYWORDS.intersection(named)

    def matched(self, args: tuple, named: dict) -> tuple[Signature, dict]:
        """The signature that fits, and the values by parameter.

        Raises TypeError, in torch's words, where none does.
        """
        try:
            return self._matched(args, named)
        except Mismatch as error:
            raise TypeError(*error.args) from None

    def _matched(self, args: tuple, named: dict) -> tuple[Signature, dict]:
        if len(self.signatures) == 1:
            (signature,) = self.signatures
            return signature, signature.match(args, named)
        for signature in self.signatures:
            try:
                return signature, signature.match(args, named)
            except Mismatch:
                continue
        count = len(args) + len(named)
        visible = [s for s in self.signatures if not s.deprecated]
        plausible = [s for s in visible if s.min_arguments <= count <= len(s.parameters)]
        if len(plausible) == 1:
            plausible[0].match(args, named)
        raise invalid_combination(self.name, visible, args, named)

    def _binds(self, args, named: dict) -> bool:
        try:
            self.spelled.bind(*args, **named)
        except TypeError:
            return False
        return True

    def _usual(self, signature: Signature) -> Signature:
        """The signature, or for a deprecated one the usual one, with a warning."""
        if signature.deprecated:
            warn_once(self._deprecation(signature), site="overload")
            signature = self.signatures[0]  # which has the same parameters in another order
        return signature

    def _call(self, signature: Signature, own: tuple, values: dict):
        """Call with the values, those of positional parameters by their places. Raises
        NotImplementedError for a product in another dtype, of which only CUDA has kernels."""
        given = {p.name: value for p, value in values.items()}
        if "out_dtype" in given:
            overload = "dtype_out" if "out" in given else "dtype"
            raise NotImplementedError(messages.NO_KERNEL.format(f"{self.name}.{overload}", "CPU"))
        positional = [p for p in signature.parameters if not p.keyword_only]
        named = {
            p.name: given[p.name]
            for p in signature.parameters[len(positional) :]
            if p.name in given
        }
        while positional and positional[-1].name not in given:
            positional.pop()
        args = [*own, *(given.get(p.name, p.default) for p in positional)]
        keyword_only = self._keyword_only
        while positional and positional[-1].name in keyword_only:
            named[positional.pop().name] = args.pop()
        if not self._binds(args, named):
            while positional and self._is_without_effect(positional[-1], args[-1]):
                positional.pop()
                args.pop()
            effect = [p for p in values if not self._is_without_effect(p, values[p])]
            named = {p.name: named[p.name] for p in effect if p.name in named}
        return self.call(*args, **named)

    def _is_without_effect(self, parameter: Parameter, value) -> bool:
        """Whether an argument may be left out: it is the default."""
        default = parameter.default
        return type(value) is type(default) and value == default

    def _deprecation(self, signature: Signature) -> str:
        lines = [f"This overload of {self.name} is deprecated:", f"\t{self.name}{signature}"]
        lines.append("Consider using one of the following signatures instead:")
        lines += [f"\t{self.name}{s}" for s in self.signatures if not s.deprecated]
        return "\n".join(lines)


def _nothing() -> None:
    pass


def _kinds(args: tuple, named: dict) -> tuple:
    """The kinds of arguments, by which calls are remembered."""
    if named:
        return (*map(kind_of, args), MISSING, *named, *map(kind_of, named.values()))
    return tuple(map(kind_of, args))


def _overriding(own: tuple, found: dict) -> list:
    """The arguments whose classes are asked (`__torch_function__`), subclasses first."""
    taking = overriding(own)
    for parameter, value in found.items():
        for element in parameter.overriding(value):
            insert(taking, element)
    return taking


def _depend(found: dict) -> bool:
    """Whether the same kinds of arguments may be refused with other values."""
    return any(parameter.depends_on_value(value) for parameter, value in found.items())


def kind_of(value):
    """The criterion by which a value fits: its type, for lists with the types of the elements."""
    kind = type(value)
    return (kind, *map(type, value)) if kind in _CONTAINERS else kind


def has_long(*values) -> bool:
    """Whether a value is an integer beyond 64 bits, or a sequence with one."""
    for value in values:
        if type(value) is int:
            if not LEAST <= value <= GREATEST:
                return True
        elif type(value) in _CONTAINERS and has_long(*value):
            return True
    return False
