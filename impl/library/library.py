"""`torch.library.Library`: operators of a namespace, and kernels, while the object lives."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

from impl.dispatch.op_overload import NAMESPACES, OpOverload
from impl.library import dispatch_keys as keys
from impl.library.dispatcher import OperatorEntry, entry_of
from impl.library.schema import FunctionSchema
from impl.library.schema_text import parse_schema

_BLOCKS = {
    "DEF": "TORCH_LIBRARY",
    "FRAGMENT": "TORCH_LIBRARY_FRAGMENT",
    "IMPL": "TORCH_LIBRARY_IMPL",
}
_ONLY_ONE = (
    "Only a single TORCH_LIBRARY can be used to register the namespace {0}; please put all of "
    "your definitions in a single TORCH_LIBRARY block.  If you were trying to specify "
    "implementations, consider using TORCH_LIBRARY_IMPL (which can be duplicated).  If you "
    "really intended to define operators for a single namespace in a distributed way, you can "
    "use TORCH_LIBRARY_FRAGMENT to explicitly indicate this.  Previous registration of "
    "TORCH_LIBRARY was registered at {1}; latest registration was registered at {2}"
)
_COMPOSITE_META = (
    "We should not register a meta kernel directly to the operator '{}', because it has a "
    "CompositeImplicitAutograd kernel in core. Instead we should let the operator decompose, and "
    "ensure that we have meta kernels for the base ops that it decomposes into."
)
_definers: dict[str, str] = {}  # by namespace, where its library of kind "DEF" was made
_registered: set[tuple[str, str]] = set()  # names and keys for which a library has a kernel


class Library:
    """A library of operators in a namespace (torch.library.Library).

    Args:
        ns: the namespace.
        kind: "DEF" for the one library that owns the namespace, "FRAGMENT" for any other that
            defines operators, "IMPL" for one that only has kernels.
        dispatch_key: the only key for which it has kernels.

    Operators and kernels are taken back when the object is deleted. Raises ValueError for another
    kind, RuntimeError for a second "DEF" of a namespace.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _BLOCKS:
            raise ValueError(f"Unsupported kind: {kind}")
        if ns == "prim" and kind != "IMPL":
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        frame = sys._getframe(1)
        self._place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if dispatch_key:
            keys.checked_key(dispatch_key)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._undo: list[Callable[[], Any]] = []
        if kind == "DEF":
            if ns in _definers:
                raise RuntimeError(_ONLY_ONE.format(ns, _definers[ns], self._place))
            _definers[ns] = self._place
            self._undo.append(lambda: _definers.pop(ns))
        self._is_destroyed = False
        weakref.finalize(self, _take_back, self._undo).atexit = False

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def _destroy(self) -> None:
        self._is_destroyed = True
        _take_back(self._undo)

    def _check_alive(self) -> None:
        if self._is_destroyed:
            raise AssertionError("Library object has been destroyed")

    def _refuse(self, problem: str) -> None:
        block = _BLOCKS[self.kind]
        raise RuntimeError(
            f"{problem}  (Error occurred while processing {block} block at {self._place})"
        )

    # -- operators -------------------------------------------------------------------------------

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator by a schema with its name, and an overload's after a dot; returns the
        name.

        Raises RuntimeError for a text that is no schema, an operator that exists, a library of kind
        "IMPL", and another namespace.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        self._check_alive()
        parsed = parse_schema(schema)
        if self.kind == "IMPL":
            self._refuse(
                f'def("{parsed.name}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL '
                "block.  All def()s should be placed in the (unique) TORCH_LIBRARY block for their "
                "namespace."
            )
        space, _, name = parsed.name.rpartition("::")
        if space and space != self.ns:
            self._refuse(
                f"Explicitly provided namespace ({space}) in schema string does not match "
                f"namespace of enclosing {_BLOCKS[self.kind]} block ({self.ns}).  Move this "
                "definition to the (unique) TORCH_LIBRARY block corresponding to this namespace "
                "(and consider deleting the namespace from your schema string.)"
            )
        given = parsed.name
        parsed.name = f"{self.ns}::{name}"
        entry = self.define_operator(parsed)
        entry.overload.tags = list(tags) if isinstance(tags, (list, tuple)) else [tags]
        return given

    def define_operator(self, schema: FunctionSchema) -> OperatorEntry:
        """Define an operator of this namespace by a schema with its qualified name."""
        overload = f".{schema.overload_name}" if schema.overload_name else ""
        entry = entry_of(schema.name + overload)
        self._undo.append(entry.define(schema, self._place))
        return entry

    # -- kernels ---------------------------------------------------------------------------------

    def impl(
        self,
        op_name: str | OpOverload,
        fn: Callable,
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Register a kernel of an operator for a key; without a key it is composite.

        Raises RuntimeError for a key that is none, another namespace, and, if it is not allowed to
        override one, a kernel that exists; TypeError for a kernel that is not callable;
        NotImplementedError for operators of ATen and `with_keyset`.
        """
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        name = self._own_name(op_name)
        key = dispatch_key or self.dispatch_key
        if not allow_override and (f"{self.ns}::{name}", key) in _registered:
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python "
                f"overriding {name}'s behavior for {key} dispatch key and {self.ns} namespace."
            )
        if key == keys.META and entry_of(f"{self.ns}::{name}").kernel(keys.COMPOSITE) is not None:
            raise RuntimeError(
                _COMPOSITE_META.format(op_name if isinstance(op_name, str) else name)
            )
        self._check_alive()
        if with_keyset:
            raise NotImplementedError("with_keyset: a call has no set of dispatch keys to pass on")
        key = keys.checked_key(key or keys.COMPOSITE)
        if self.dispatch_key and key != self.dispatch_key:
            self._refuse(
                f'impl("{name}", ...): Explicitly provided dispatch key ({key}) is inconsistent '
                f"with the dispatch key of the enclosing {_BLOCKS[self.kind]} block "
                f"({self.dispatch_key}).  Please declare a separate TORCH_LIBRARY_IMPL block for "
                "this dispatch key and move your impl() there."
            )
        self.register_inner(name, fn, key)

    def register_inner(self, name: str, fn: Callable, key: str) -> None:
        """Register a kernel for any key, also one that no program names."""
        qualname = f"{self.ns}::{name}"
        if self.ns == "aten" and name.partition(".")[0] in NAMESPACES["aten"].__dir__():
            raise NotImplementedError(
                f"a kernel for {qualname}: operators of ATen have the kernels that they are "
                "defined with"
            )
        self._undo.append(entry_of(qualname).register(key, fn, self._place))
        _registered.add((qualname, key))
        self._undo.append(lambda: _registered.discard((qualname, key)))

    def _own_name(self, op: Any) -> str:
        """The name of an operator in this namespace, with that of its overload."""
        if isinstance(op, OpOverload):
            op = op.name()
        if not isinstance(op, str):
            raise RuntimeError(
                "impl should be passed either a name or an OpOverload object as the first "
                f"argument, got {type(op)}"
            )
        space, _, name = op.rpartition("::")
        if space and space != self.ns:
            block = _BLOCKS[self.kind]
            self._refuse(
                f'impl("{op}", ...): Explicitly provided namespace ({space}) in operator name does '
                f"not match namespace of enclosing {block} block ({self.ns}).  Move this "
                f"definition to the {block} block corresponding to this namespace (and consider "
                "deleting the namespace from your schema string.)"
            )
        return name

    def fallback(self, fn: Callable, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Raises RuntimeError for a namespace other than "_", in which a fallback is for every
        operator, and NotImplementedError for that."""
        if self.ns != "_":
            raise RuntimeError(
                "Fallback can only be registered using library fragment on the global namespace "
                f'"_" but it is {self.ns}'
            )
        raise NotImplementedError(
            "a fallback for all operators: those of ATen are not called by dispatch keys"
        )


def _take_back(undo: list[Callable[[], Any]]) -> None:
    """Take registrations back, the last one first."""
    while undo:
        undo.pop()()
