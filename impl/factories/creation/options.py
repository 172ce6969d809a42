"""The options that every factory takes: layout, device, pin_memory, requires_grad; and sizes."""

from __future__ import annotations

import functools
import inspect

import numpy as np

from impl.core import context, dtypes, messages
from impl.core.allocator import MANY, check_storage
from impl.core.devices import CPU, check_device, is_meta_device
from impl.core.dtypes import BY_NUMPY
from impl.core.named_types import type_name
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.core.sizes import check_resized, negative_size, sizes_of
from impl.core.state import STATE
from impl.core.strides import unboxed
from impl.dispatch.forward_rules import note_computed
from impl.dispatch.out import fill_out
from impl.dispatch.record import underived_write
from impl.factories.creation.layouts import is_sparse_layout, made_sparse
from impl.factories.creation.placement import made_on_meta, place_of
from impl.tensor.allocation import empty_like
from impl.tensor.sparse_tensor import EXIST
from impl.tensor.tensor import DISPATCHING, Tensor, is_asked, new
from impl.tensor.tensor import requires_grad as requires_grad_of
from impl.tensor.write import announce


def publish(function):
    """Decorate a function of the torch namespace."""
    FUNCTIONS[function.__name__] = function
    return function


def factory(make=None, *, name: str | None = None, sized=None, method=False, out=None):
    """Decorate the maker of a factory's value, an array or a tensor; returns the factory.

    The factory takes the options that all factories have besides the maker's own arguments (among
    which are `dtype`, `memory_format` and `generator`). It checks them as torch does, and in
    torch's order, before it calls the maker, and then sets `requires_grad`.

    Args:
        name: the factory's name in error texts, by default the maker's.
        sized: what reads the sizes: from the caller's arguments it makes the maker's, positional
            ones (the sizes, a tuple, first) and keywords.
        method: publish the factory as a method of tensors; the maker's first argument is `self`.
        out: the factory also takes `out=`, in which this function stores the maker's result, or
            `fill_out` for True.
    """
    if make is None:
        return functools.partial(factory, name=name, sized=sized, method=method, out=out)
    name = name or make.__name__
    is_like = method or name.endswith("_like")
    is_uninitialised, is_random = "empty" in name, name.startswith("rand")
    store = fill_out if out is True else out
    signature = inspect.signature(make)
    counts_bytes = sized is not None and "fill_value" not in signature.parameters

    @functools.wraps(make)
    def call(*args, layout=None, device=None, pin_memory=False, requires_grad=False, **named):
        target = named.pop("out", None) if out else named.get("out")
        record = None if target is None else _write_to(name, target, args, named)
        if target is not None and out:
            named["dtype"] = target.dtype
        if sized is not None:
            sizes_first, named = sized(*args[method:], **named)
            size = sizes_first[0]
            args = (*args[:method], *sizes_first)
        if requires_grad is not False:
            check_flag(name, requires_grad)
        source = args[0] if is_like and args else None
        if target is None and (STATE.dispatch_modes or DISPATCHING) and is_asked(source):
            options = {"layout": layout, "device": device, "pin_memory": pin_memory}
            given = signature.bind(*args, **named)
            made = tensor_ops.dispatched_factory(name, call, is_like, given, options)
            return required(made, requires_grad)
        if (layout is not None or EXIST) and is_sparse_layout(layout, source) and target is None:
            shape = None if sized is None else size
            kind = named.get("dtype")
            return required(made_sparse(name, shape, source, kind), requires_grad)
        if source is not None and source.is_sparse:  # strided, like it in all but the layout
            source = new(np.empty(source.shape, source._raw.dtype))
            args = (source, *args[1:])
        placed = device is not None or source is not None or STATE.default_devices
        on_meta = placed and is_meta_device(place_of(device, source))
        if sized is not None and size and min(size) < 0:
            raise _negative(name, size, target is not None)
        if counts_bytes and size and max(size) >= MANY:
            check_storage(size, type_of(named.get("dtype")).itemsize)
        if pin_memory:
            refuse_pinned()
        if target is None and on_meta:
            result = made_on_meta(make, source, sized is not None, args, named)
        elif source is not None and source.is_meta and not on_meta:
            result = make(empty_like(source, place=CPU), *args[1:], **named)
        else:
            result = make(*args, **named)
        if not isinstance(result, Tensor):
            result = new(unboxed(result))
        if is_uninitialised and context.fills_uninitialised():
            context.fill_uninitialised(result._array())
        if target is not None and result is not target:
            store(target, result._raw)
            result = target
        if record is not None:
            record()
        if source is not None and STATE.transforms and not is_random:
            note_computed((source,), (result,))
        return required(result, requires_grad)

    call.__signature__ = _signature(make, bool(out))  # type: ignore[attr-defined]
    if method:
        setattr(Tensor, make.__name__, call)
    return call


def _write_to(name: str, out: Tensor, args: tuple, named: dict):
    """Check the `out=` of a factory; returns the function that records the write after it."""
    _check_dtype(out, named.get("dtype"))
    if name in _RESIZED["generator" in named] and requires_grad_of(out):
        raise RuntimeError("cannot resize variables that require grad")
    given = (v for v in (*args, *named.values()) if isinstance(v, Tensor))
    return underived_write(f"aten::{name}", [t for t in given if t is not out], (out,))


def _signature(make, out: bool) -> inspect.Signature:
    """The maker's signature with the options that the factory takes besides."""
    own = inspect.signature(make)
    options = {"layout": None, "device": None, "pin_memory": False, "requires_grad": False}
    if out:
        options["out"] = None
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in options.items()
        if name not in own.parameters
    ]
    known = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    return own.replace(parameters=[*known, *more])


# Factories that resize their `out=` first, which must not require grad then: without a generator,
# and with one.
_RESIZED = (("empty", "randn"), ("rand", "randn"))


def _check_dtype(out: Tensor, dtype) -> None:
    """Raise RuntimeError for an `out=` of another dtype than asked for."""
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(
            f"dtype {dtype.legacy} does not match dtype of out parameter ({out.dtype.legacy})"
        )


def one_by_one(*sizes, size=None, **named):
    """Read sizes that are given one by one, as a sequence, or by keyword."""
    return (sizes_of(sizes if size is None else (size,)),), named


def listed(size, *rest, **named):
    """Read sizes that are given as a sequence."""
    return (sizes_of((size,)), *rest), named


def _negative(name: str, size: tuple[int, ...], written: bool) -> RuntimeError:
    """The error for a negative size; where `out=` is written, that for the count comes before."""
    if written and name != "empty":
        check_resized(size)
    if name == "zeros":
        return RuntimeError("zeros: Dimension size must be non-negative.")
    return negative_size(size)


def check_flag(name: str, requires_grad) -> None:
    """Raise TypeError for a `requires_grad` that is no bool; None stands for False."""
    if requires_grad is not None and not isinstance(requires_grad, bool):
        raise TypeError(
            f"{name}(): argument 'requires_grad' must be bool, not {type_name(requires_grad)}"
        )


def check_place(device, pin_memory=False) -> None:
    """Raise RuntimeError for pinned memory, and AssertionError or RuntimeError for a device that is
    not there, as torch without an accelerator does."""
    if device is not None:
        check_device(device)
    if pin_memory:
        refuse_pinned()


def refuse_pinned() -> None:
    """Raise RuntimeError for `pin_memory=True`, as torch without an accelerator does."""
    raise RuntimeError(
        "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator "
        "is available on this system."
    )


def flagged(name: str, tensor: Tensor, requires_grad) -> Tensor:
    """The tensor with the `requires_grad` that the factory of this name was given.

    Raises TypeError for no bool, RuntimeError for an integer tensor that would require grad.
    """
    check_flag(name, requires_grad)
    if name in ("tensor", "new_tensor"):  # which torch detaches in place
        announce(tensor)
    return _require(tensor) if requires_grad else tensor


def required(tensor: Tensor, requires_grad) -> Tensor:
    """The tensor that a factory made or wrote, which as a leaf requires grad if asked for alone."""
    if requires_grad:
        return _require(tensor)
    if tensor._requires_grad and not STATE.enabled:
        tensor._requires_grad = False
    return tensor


def _require(tensor: Tensor) -> Tensor:
    if BY_NUMPY[tensor._raw.dtype].category < dtypes.FLOATING:
        raise RuntimeError(messages.ONLY_FLOATING)
    tensor._requires_grad = True
    return tensor


def type_of(dtype) -> np.dtype:
    """The NumPy dtype of a factory's `dtype`, the default one for None."""
    if isinstance(dtype, type):
        return np.dtype(dtype)  # Python's own types
    return (dtypes.get_default_dtype() if dtype is None else dtype).numpy
