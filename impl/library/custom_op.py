"""Custom operators: functions that autograd sees as one operator (torch.library.custom_op)."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from impl.autograd.graph import increment_version
from impl.core.below_autograd import BelowAutograd
from impl.core.dtypes import dtype, float64
from impl.core.state import STATE
from impl.dispatch.autocast import autocast
from impl.dispatch.op_overload import OpOverload, namespace
from impl.library import batching
from impl.library.generated_backward import flattened, function_of, recorded
from impl.library.schema import FunctionSchema, parsed_schema, schema_of
from impl.tensor.tensor import Tensor, requires_grad
from impl.tensor.torch_dispatch import asks, dispatched

_ALIASES = (
    "The output of this custom operator (1) must not also be an input to this custom operator and "
    "(2) may not alias any inputs to this custom operator or other returns. The most common way to "
    "trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. Please "
    "instead return a clone of the offending output tensor(s) (e.g. return x.clone()) or refactor "
    "the custom operator to not return y."
)
_HOME = "<module 'torch._library.custom_ops' from 'torch/_library/custom_ops.py'>"
OPERATORS: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """A custom operator with its kernels and its formula; calling it runs it
    (torch._library.custom_ops.CustomOpDef)."""

    def __init__(self, qualname: str, schema: FunctionSchema, function: Callable) -> None:
        self.qualname = qualname
        self.schema = schema
        self.backward: Callable | None = None
        self.setup_context: Callable | None = None
        self.vmap_rule: Callable | None = None
        self._function = function
        self._kernels: dict[str | None, Callable] = {}
        self._disabled: set[str] = set()
        self._fake: Callable | None = None
        self._autocast: dict[str, dtype] = {}
        space, name = qualname.split("::")
        self._name = name
        self.overload: OpOverload = (
            namespace(space).packet(name).define("default", self._called, schema)
        )
        self._opoverload = self.overload
        self.function = function_of(self)
        OPERATORS[qualname] = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self.qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.overload(*args, **kwargs)

    # -- the call --------------------------------------------------------------------------------

    def _called(self, *args: Any, **kwargs: Any) -> Any:
        positional, named = self.schema.matched(args, kwargs)
        if STATE.autocast is not None and "cpu" in self._autocast:
            return self._called_cast("cpu", *positional, **named)
        if STATE.transforms and STATE.transforms[-1].forward:
            return batching.without_tangents(self, positional, named)
        if (level := batching.level_of(positional)) is not None:
            return batching.mapped(self, positional, named, level)
        tensors = [value for value in flattened(positional) if isinstance(value, Tensor)]
        if STATE.enabled and any(map(requires_grad, tensors)):
            return recorded(self, positional, named)
        return self.below_autograd(positional, named)

    def _called_cast(self, device_type: str, /, *args: Any, **named: Any) -> Any:
        cast = [_cast(value, self._autocast[device_type]) for value in args]
        with autocast(device_type, enabled=False):
            return self._called(*cast, **named)

    def below_autograd(self, args: tuple, named: dict) -> Any:
        """The result without a history, of a mode or of the kernel; counts declared writes."""
        if asks((*args, *named.values())):
            return dispatched(self.overload, args, named)
        given = {a.name: value for a, value in zip(self.schema.positional, args, strict=False)}
        for name in self.schema.mutated:
            value = given.get(name)
            for tensor in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(tensor, Tensor):
                    increment_version(tensor)
        with BelowAutograd():
            result = self._kernel(args)(*args, **named)
        self._check_aliases((*args, *named.values()), result)
        return result

    def _kernel(self, args: tuple) -> Callable:
        if any(isinstance(t, Tensor) and t.is_meta for t in flattened(args)):
            return self._fake or self._no_fake
        if "cpu" in self._kernels:
            return self._function if "cpu" in self._disabled else self._kernels["cpu"]
        if None in self._kernels:
            return self._kernels[None]
        raise NotImplementedError(
            f"Could not run '{self.qualname}' with arguments from the 'CPU' backend. This could be "
            "because the operator doesn't exist for this backend, or was omitted during the "
            "selective/custom build process (if using custom build)."
        )

    def _no_fake(self, *args: Any, **named: Any) -> None:
        if self.schema.returns != "()":
            raise RuntimeError(
                f"There was no fake impl registered for {self}. This is necessary for "
                "torch.compile/export/fx tracing to work. Please use "
                f"`{self._function.__name__}.register_fake` to add an fake impl."
            )

    def _check_aliases(self, given: tuple, result: Any) -> None:
        """Raise RuntimeError for a result that shares memory with an argument or another result."""
        seen = {id(t._storage) for t in flattened(given) if isinstance(t, Tensor)}
        values = result if isinstance(result, tuple) else (result,)
        for tensor in flattened(values):
            if isinstance(tensor, Tensor):
                if id(tensor._storage) in seen:
                    raise RuntimeError(f"{self._name} (with implementation in {_HOME}): {_ALIASES}")
                seen.add(id(tensor._storage))

    # -- registration ----------------------------------------------------------------------------

    def register_kernel(
        self, device_types: str | Iterable[str] | None, fn: Callable | None = None, /
    ) -> Callable:
        """Register the function for devices; without it, a decorator."""
        kinds = [device_types] if device_types is None or isinstance(device_types, str) else None

        def register(function: Callable) -> Callable:
            for kind in kinds or device_types or ():
                self._kernels[kind] = function
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn: Callable, /) -> Callable:
        """Register a function that makes results of the right metadata, without values."""
        self._fake = fn
        return fn

    def register_autograd(
        self, backward: Callable, /, *, setup_context: Callable | None = None
    ) -> None:
        """Register the formula, `backward(ctx, *grads)`, and `setup_context(ctx, inputs, output)`,
        which keeps on `ctx` the values that the formula needs.

        Raises RuntimeError for an operator that changes its arguments.
        """
        if self.schema.mutated:
            raise RuntimeError(
                "Cannot register autograd formula for non-functional operator "
                f"{self} with schema {self.schema}. Please create a functional operator and "
                "register an autograd formula for that."
            )
        self.backward, self.setup_context = backward, setup_context

    def register_vmap(self, func: Callable | None = None) -> Callable | None:
        """Register the rule of `vmap`, `func(info, in_dims, *args)`, which returns the results for
        the whole batch and their dimensions; without it, a decorator."""

        def register(function: Callable) -> None:
            self.vmap_rule = function

        if func is None:
            return register
        register(func)
        return None

    def register_autocast(self, device_type: str, cast_inputs: dtype) -> Callable:
        """Register the dtype to which floating-point arguments are cast under autocast; returns the
        call that casts.

        Raises ValueError for a device that is none.
        """
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self._autocast.setdefault(device_type, cast_inputs)
        return functools.partial(self._called_cast, device_type)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """While it is entered, a disabled kernel is replaced by the function of the definition."""
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            self._disabled = before


def _cast(value: Any, wanted: dtype) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(v, wanted) for v in value)
    is_eligible = isinstance(value, Tensor) and value.is_floating_point()
    return value.to(wanted) if is_eligible and value.dtype is not float64 else value


def custom_op(
    name: str,
    fn: Callable | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
) -> Any:
    """Make an operator of a function; without it, a decorator (torch.library.custom_op).

    Args:
        name: the qualified name, "namespace::name", by which `torch.ops` has it.
        fn: the function, whose annotations are its schema.
        mutates_args: the names of the arguments that it changes in place, or "unknown" for all.
        device_types: the devices whose tensors it takes; None for all.
        schema: the schema, in the place of annotations.

    Raises ValueError for annotations that a schema has no words for, and for a `schema` that does
    not agree with `mutates_args`; NotImplementedError for tensors that are keyword-only.
    """

    def define(function: Callable) -> CustomOpDef:
        made = parsed_schema(name, schema) if schema else schema_of(name, function, mutates_args)
        if schema and set(made.mutated) != set(mutates_args):
            raise ValueError(
                f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema="
                f"{schema}. The schema suggests that the op mutates {set(made.mutated)}which is "
                "different from what was provided to us in `mutates_args`. Please make these "
                "consistent."
            )
        if any(a.kwarg_only and "Tensor" in a.type for a in made.arguments):
            raise NotImplementedError(
                "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. "
                f"Got: {str(made).split('::')[-1]}"
            )
        op = CustomOpDef(name, made, function)
        op.register_kernel(device_types, function)
        return op

    return define if fn is None else define(fn)
