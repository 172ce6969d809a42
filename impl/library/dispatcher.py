"""Operators of programs, and the choice of a kernel for a call (aten/src/ATen/core/dispatch).

A kernel is registered for a key. A call passes autocast, `vmap`, autograd, modes and the backend,
in this order; each may have a kernel, which takes the call over. For autograd that is the first of

    - one for its key, `AutogradCPU`
    - `CompositeImplicitAutograd`, if the backend has no kernel: operators in it are recorded
    - one for `Autograd`
    - the fallback, which runs the backend's kernel and warns in backward (`autograd_fallback`)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.core.below_autograd import BelowAutograd
from impl.core.state import STATE
from impl.core.warning import warn
from impl.dispatch.op_overload import OpOverload, namespace
from impl.library import autograd_fallback, batching
from impl.library import dispatch_keys as keys
from impl.library.schema import FunctionSchema
from impl.tape.versions import increment_version
from impl.tensor.nested import tensors_of
from impl.tensor.tensor import Tensor
from impl.tensor.torch_dispatch import asks, dispatched

_NO_BACKEND = (
    "Could not run '{}' with arguments from the '{}' backend. This could be because the operator "
    "doesn't exist for this backend, or was omitted during the selective/custom build process (if "
    "using custom build)."
)
_NO_META = (
    "{}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta "
    "kernel registered. You may have run into this message while using an operator with PT2 "
    "compilation APIs (torch.compile/torch.export); in order to use this operator with those APIs "
    "you'll need to add a fake impl. Please see the following for next steps:  "
    "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
)
_NO_TENSORS = (
    "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), "
    "but no fallback function is registered for schema {}.  This usually means that this function "
    "requires a non-empty list of Tensors, or that you (the operator writer) forgot to register a "
    "fallback function."
)


_OVERRIDDEN = (
    "Warning only once for all operators,  other operators may also be overridden.\n"
    "  Overriding a previously registered kernel for the same operator and the same dispatch key\n"
    "  operator: {}\n    {}\n"
    "  dispatch key: {}\n"
    "  previous kernel: no debug info\n"
    "       new kernel: registered at {}"
)


def fallthrough_kernel() -> None:
    """A kernel that stands for none: the call goes on to the next key."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class OperatorEntry:
    """An operator by its name: a schema once it is defined, and kernels, which may be there before
    (c10::impl::OperatorEntry)."""

    overload: OpOverload
    schema: FunctionSchema

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname
        self.defined_at: str | None = None
        self.counts_writes = False  # whether writes that the schema declares count by themselves
        self.returns_as_given = False  # whether a kernel may return no tensor in place of one
        self.torch_dispatch_rules: dict[type, Callable] = {}
        self._kernels: dict[str, list[Callable]] = {}

    def define(self, schema: FunctionSchema, place: str) -> Callable[[], None]:
        """Give it a schema and its place in `torch.ops`; returns a function that takes them back.

        Raises RuntimeError where there is a schema.
        """
        if self.defined_at is not None:
            raise RuntimeError(
                f"Tried to register an operator ({schema}) with the same name and overload name "
                "multiple times. Each overload's schema should only be registered with a single "
                f"call to def(). Duplicate registration: registered at {place}. Original "
                f"registration: registered at {self.defined_at}"
            )
        space, name = schema.name.split("::")
        overload = schema.overload_name or "default"
        self.schema, self.defined_at = schema, place
        self.overload = namespace(space).packet(name).define(overload, self, schema)
        self.overload.is_view = any(r.alias and not r.is_write for r in schema.returns)
        self.overload.torch_dispatch_rules = self.torch_dispatch_rules

        def undefine() -> None:
            self.defined_at = None
            namespace(space).remove(name, overload)

        return undefine

    def register(self, key: str, kernel: Callable, place: str) -> Callable[[], None]:
        """Register a kernel, which hides an earlier one; returns a function that takes it back.

        Warns of a kernel that is hidden, but for the meta device.
        """
        kernels = self._kernels.setdefault(key, [])
        if kernels and key != keys.META:
            shown = (self.qualname, "no debug info")
            if self.defined_at is not None:
                shown = (str(self.schema), f"registered at {self.defined_at}")
            warn(_OVERRIDDEN.format(*shown, key, place))
        kernels.append(kernel)

        def remove() -> None:
            kernels.remove(kernel)

        return remove

    def kernel(self, key: str) -> Callable | None:
        """The kernel that was registered last for a key."""
        kernels = self._kernels.get(key)
        return kernels[-1] if kernels else None

    # -- the call --------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.defined_at is None:
            raise RuntimeError(
                f"Tried to access the schema for {self.qualname} which doesn't have a schema "
                "registered yet"
            )
        return self.call(*self.schema.matched(args, kwargs))

    def call(self, args: tuple, named: dict) -> Any:
        """The results for arguments that fit the schema."""
        if STATE.autocast is not None and (cast := self.kernel(keys.AUTOCAST)) is not None:
            return self._run(cast, args, named)
        if (level := batching.level_of(args)) is not None:
            return batching.mapped(self, args, named, level)
        tensors = list(tensors_of((*args, *named.values())))
        if _reaches_autograd(tensors):
            kernel = self._autograd_kernel(_backend(tensors))
            if kernel is None:
                return autograd_fallback.called(self, args, named, tensors)
            if kernel is not fallthrough_kernel:
                return self._run(kernel, args, named)
        return self.past_autograd(args, named, tensors)

    def past_autograd(self, args: tuple, named: dict, tensors: list[Tensor]) -> Any:
        """The results without a kernel for autograd: below the innermost transform, whose wrappers
        no other kernel gets, and else as the kernel records them."""
        if batching.has_tangents():
            return batching.without_tangents(self, args, named)
        if STATE.transforms:
            with BelowAutograd():
                return self.below_autograd(args, named, tensors)
        return self.below_autograd(args, named, tensors)

    def below_autograd(self, args: tuple, named: dict, tensors: list[Tensor]) -> Any:
        """The results of the innermost mode, or of the backend's kernel, for arguments with these
        tensors."""
        if self.counts_writes:
            self._count_writes(args, named)
        if asks((*args, *named.values())):
            result = dispatched(self.overload, args, named)
            return self.schema.returned(result) if self.returns_as_given else result
        return self._run(self._backend_kernel(_backend(tensors)), args, named)

    def _run(self, kernel: Callable, args: tuple, named: dict) -> Any:
        result = kernel(*args, **named)
        if self.returns_as_given and [each.type for each in self.schema.returns] in (
            [],
            ["Tensor"],
        ):
            return result
        return self.schema.returned(result)

    def _count_writes(self, args: tuple, named: dict) -> None:
        given = {a.name: value for a, value in zip(self.schema.positional, args, strict=False)}
        given.update(named)
        for tensor in tensors_of(given.get(name) for name in self.schema.mutated):
            increment_version(tensor)

    # -- the choice ------------------------------------------------------------------------------

    def _autograd_kernel(self, backend: str) -> Callable | None:
        """The kernel of autograd; None for the fallback."""
        of_device = keys.CPU if backend == keys.SPARSE else backend
        found = self.kernel(f"{keys.AUTOGRAD}{of_device}")
        if found is None and not (self.kernel(backend) or self.kernel(keys.EXPLICIT)):
            found = self.kernel(keys.COMPOSITE)
        return found or self.kernel(keys.AUTOGRAD)

    def _backend_kernel(self, backend: str) -> Callable:
        for key in (backend, keys.EXPLICIT, keys.COMPOSITE):
            kernel = self.kernel(key)
            if kernel is not None and kernel is not fallthrough_kernel:
                return kernel
        if backend == keys.UNDEFINED:
            raise NotImplementedError(_NO_TENSORS.format(self.qualname))
        if backend == keys.META:
            raise NotImplementedError(_NO_META.format(self.qualname))
        raise NotImplementedError(_NO_BACKEND.format(self.qualname, backend))


ENTRIES: dict[str, OperatorEntry] = {}
"""The operators that have a schema or a kernel, by "namespace::name.overload"."""


def entry_of(qualname: str) -> OperatorEntry:
    """The operator of a name, which need not be defined yet."""
    return ENTRIES.setdefault(qualname, OperatorEntry(qualname))


def _reaches_autograd(tensors: list[Tensor]) -> bool:
    """Whether a tensor has the key of autograd: not in inference mode, and not one made there."""
    if STATE.below_autograd or STATE.inference:
        return False
    return any(not tensor._inference for tensor in tensors)


def _backend(tensors: list[Tensor]) -> str:
    if not tensors:
        return keys.UNDEFINED
    if any(tensor.is_meta for tensor in tensors):
        return keys.META
    return keys.SPARSE if any(tensor.is_sparse for tensor in tensors) else keys.CPU
