"""The functions of `torch.library`: definitions and registrations by qualified name."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from impl.core.devices import device
from impl.core.warning import warn
from impl.dispatch.op_overload import OpOverload, namespace
from impl.library import autocast_kernel, fake
from impl.library import dispatch_keys as keys
from impl.library.custom_op import OPERATORS, CustomOpDef
from impl.library.dispatcher import OperatorEntry, entry_of
from impl.library.generated_backward import Formula, check_differentiable
from impl.library.library import Library

_NAMELESS = re.compile(r"\(.*\) -> .*")
_RENAMED = (
    "`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use that "
    "instead; we will remove `torch.library.impl_abstract` in a future version of PyTorch."
)
_kept: list[Library] = []
"""Libraries of registrations without a `lib`, which stay."""


def _parts(qualname: str) -> tuple[str, str]:
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The '
            "qualname passed to the torch.library APIs must consist of a namespace and a name, "
            "e.g. aten::sin"
        )
    return parts[0], parts[1]


def _library(space: str, lib: Library | None) -> Library:
    if lib is None:
        lib = Library(space, "FRAGMENT")
        _kept.append(lib)
    return lib


def _resolved(op: Any, registration: str) -> str | CustomOpDef:
    """The definition of a custom operator, or the name of any other.

    Raises ValueError for something else.
    """
    if not isinstance(op, (str, OpOverload, CustomOpDef)):
        raise ValueError(f"{registration}({op}): got unexpected type for op: {type(op)}")
    name = op.name() if isinstance(op, OpOverload) else op
    return OPERATORS.get(name, name) if isinstance(name, str) else name


def _defined(qualname: str) -> OperatorEntry:
    """An operator that is defined. Raises AttributeError for one that is not."""
    space, name = _parts(qualname)
    name, _, overload = name.partition(".")
    getattr(getattr(namespace(space), name), overload or "default")
    return entry_of(qualname)


# -- definitions ----------------------------------------------------------------------------------


@functools.singledispatch
def define(qualname: Any, schema: str, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Define an operator: `define("ns::name", "(Tensor x) -> Tensor")` (torch.library.define).

    `define(lib, schema, alias_analysis="")` is a decorator that also registers a composite kernel.
    Raises ValueError for a name or a schema of another form.
    """
    if not isinstance(qualname, str):
        raise ValueError(
            "define(qualname, schema): expected qualname to be instance of str, got "
            f"{type(qualname)}"
        )
    space, name = _parts(qualname)
    if not _NAMELESS.fullmatch(schema):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> '
            f'Tensor" but got "{schema}"'
        )
    _library(space, lib).define(name + schema, tags=tags)


@define.register
def _(lib: Library, schema: str, alias_analysis: str = "") -> Callable:
    def register(function: Callable) -> Callable:
        lib.impl(lib.define(schema, alias_analysis), function)
        return function

    return register


@functools.singledispatch
def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """Register a kernel: `impl("ns::name", types, func)`; without `func`, a decorator.

    `types` names device types, "default" for all of them, or dispatch keys. `impl(lib, name,
    dispatch_key="")` is a decorator that registers with a library.
    """
    found = dict.fromkeys(keys.key_of(t) for t in ([types] if isinstance(types, str) else types))

    def register(function: Callable) -> None:
        space, _ = _parts(qualname)
        owner = _library(space, lib)
        for key in found:
            owner.impl(qualname, function, key)

    return register if func is None else register(func)


@impl.register
def _(lib: Library, name: str, dispatch_key: str = "") -> Callable:
    def register(function: Callable) -> Callable:
        lib.impl(name, function, dispatch_key)
        return function

    return register


# -- registrations --------------------------------------------------------------------------------


def register_kernel(
    op: Any,
    device_types: str | Iterable[str] | None,
    func: Callable | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register a kernel for device types, None for all (torch.library.register_kernel)."""
    found = _resolved(op, "register_kernel")
    if isinstance(found, CustomOpDef):
        return found.register_kernel(device_types, func)
    return impl(found, keys.EXPLICIT if device_types is None else device_types, func, lib=lib)


def register_fake(
    op: Any,
    func: Callable | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Callable:
    """Register the kernel for tensors without data (torch.library.register_fake).

    Raises RuntimeError for an operator that is composite, and, if it is not allowed to override
    one, for one that has such a kernel.
    """
    found = _resolved(op, "register_fake")

    def register(function: Callable) -> Callable:
        if isinstance(found, CustomOpDef):
            return found.register_fake(function)
        space, _ = _parts(found)
        if not allow_override:
            fake.check_none(entry_of(found))
        kernel = fake.Kernel(found, function)
        _library(space, lib).impl(found, kernel, keys.META)
        return function

    return register if func is None else register(func)


def impl_abstract(
    qualname: Any, func: Callable | None = None, *, lib: Library | None = None, _stacklevel: int = 1
) -> Callable:
    """The old name of `register_fake`."""
    warn(_RENAMED, FutureWarning)
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Any,
    backward: Callable,
    /,
    *,
    setup_context: Callable | None = None,
    lib: Library | None = None,
) -> None:
    """Register the formula (torch.library.register_autograd); see `CustomOpDef.register_autograd`.

    Raises RuntimeError for an operator that writes to arguments or returns memory of theirs,
    NotImplementedError for tensors that are keyword-only.
    """
    found = _resolved(op, "register_autograd")
    if isinstance(found, CustomOpDef):
        found.register_autograd(backward, setup_context=setup_context)
        return
    entry = _defined(found)
    check_differentiable(entry.overload, entry.schema)
    _check_keywords(entry, "register_autograd")
    formula = Formula(entry, backward, setup_context)
    _library(_parts(found)[0], lib).impl(found, formula, keys.AUTOGRAD)


def _check_keywords(entry: OperatorEntry, registration: str) -> None:
    if entry.schema.has_keyword_only_tensors:
        raise NotImplementedError(
            f"{registration} with kwarg-only Tensor args. In the original definition of the op, "
            f"please make your tensors not kwarg-only. Got: {entry.schema}"
        )


def register_vmap(op: Any, func: Callable | None = None, /, *, lib: Library | None = None) -> Any:
    """Register the rule of `vmap` (torch.library.register_vmap); see `CustomOpDef.register_vmap`.

    Raises NotImplementedError for tensors that are keyword-only.
    """
    found = _resolved(op, "register_vmap")
    if isinstance(found, CustomOpDef):
        return found.register_vmap(func)
    _check_keywords(_defined(found), "register_vmap")

    def register(function: Callable) -> None:
        space, name = _parts(found)
        _library(space, lib).register_inner(name, function, keys.BATCHED)

    return register if func is None else register(func)


def register_autocast(
    op: Any, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None
) -> Any:
    """Register the dtype to which floating-point arguments are cast under autocast
    (torch.library.register_autocast). Raises RuntimeError for a device that is none."""
    found = _resolved(op, "register_autocast")
    device(device_type)
    if isinstance(found, CustomOpDef):
        return found.register_autocast(device_type, cast_inputs)
    entry = _defined(found)

    def kernel(*args: Any, **named: Any) -> Any:
        return autocast_kernel.called(entry, device_type, cast_inputs, args, named)

    key = f"Autocast{keys.key_of(device_type)}"
    return _library(_parts(found)[0], lib).impl(found, kernel, key)


def register_torch_dispatch(
    op: Any,
    torch_dispatch_class: type,
    func: Callable | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Callable:
    """Register the handler of a TorchDispatchMode for an operator, `func(mode, op, types, args,
    kwargs)`, in the place of its `__torch_dispatch__` (torch.library.register_torch_dispatch).

    Raises RuntimeError for a class for which there is such a function.
    """
    found = _resolved(op, "register_torch_dispatch")
    if isinstance(found, CustomOpDef):
        found = found.qualname

    def register(function: Callable) -> Callable:
        owner = _library(_parts(found)[0], lib)
        rules = entry_of(found).torch_dispatch_rules
        if torch_dispatch_class in rules:
            raise RuntimeError(
                f"{torch_dispatch_class} already has a `__torch_dispatch__` rule registered for "
                f"{found}"
            )
        rules[torch_dispatch_class] = function
        owner._undo.append(functools.partial(rules.pop, torch_dispatch_class))
        return function

    return register if func is None else register(func)


# -- kernels of Triton ----------------------------------------------------------------------------


def triton_op(name: str, fn: Callable | None = None, /, **options: Any) -> NoReturn:
    """Raises NotImplementedError: kernels of Triton run on accelerators."""
    raise NotImplementedError("triton_op: kernels of Triton need an accelerator and its compiler")


def wrap_triton(triton_kernel: Callable, /) -> NoReturn:
    """Raises RuntimeError: no function is a kernel of Triton."""
    raise RuntimeError(
        "wrap_triton only works on functions annotated with triton.jit or triton.autotune"
    )
