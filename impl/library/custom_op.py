"""Custom operators: functions that autograd sees as one operator (torch.library.custom_op)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from impl.core.dtypes import dtype
from impl.library import autocast_kernel, fake
from impl.library import dispatch_keys as keys
from impl.library.generated_backward import Formula, check_differentiable
from impl.library.library import Library
from impl.library.schema import FunctionSchema
from impl.library.schema_annotations import schema_of
from impl.library.schema_text import schema_for
from impl.tensor.nested import tensors_of

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
        before = OPERATORS.get(qualname)
        if before is not None:
            before._library._destroy()
        self.qualname = qualname
        self._function = function
        self._kernels: dict[str | None, Callable] = {}
        self._disabled: set[str] = set()
        self._fake: Callable | None = None
        self._vmap_rule: Callable | None = None
        self._autocast: dict[str, dtype] = {}
        space, self._name = qualname.split("::")
        self._library: Library = Library(space, "FRAGMENT")
        self._entry = self._library.define_operator(schema)
        self._entry.counts_writes = schema.is_mutable
        self._entry.returns_as_given = True
        self._opoverload = self._entry.overload
        self._formula = Formula(self._entry)
        self._library.impl(self._name, self._formula, keys.AUTOGRAD)
        self._library.impl(self._name, fake.Kernel(qualname, self._faked, at=function), keys.META)
        OPERATORS[qualname] = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self.qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def _run(self, kind: str | None, args: tuple, named: dict) -> Any:
        """The result of the kernel for a device, or of the definition's if that is disabled."""
        kernel = self._function if kind in self._disabled else self._kernels[kind]
        result = kernel(*args, **named)
        self._check_aliases((*args, *named.values()), result)
        return result

    def _faked(self, *args: Any, **named: Any) -> Any:
        if self._fake is not None:
            return self._fake(*args, **named)
        if self._opoverload._schema.returns:
            raise RuntimeError(
                f"There was no fake impl registered for {self}. This is necessary for "
                "torch.compile/export/fx tracing to work. Please use "
                f"`{self._function.__name__}.register_fake` to add an fake impl."
            )
        return None

    def _check_aliases(self, given: tuple, result: Any) -> None:
        """Raise RuntimeError for a result that shares memory with an argument or another result."""
        seen = {id(tensor._storage) for tensor in tensors_of(given)}
        for tensor in tensors_of((result,)):
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
                if kind not in self._kernels:
                    self._library.impl(
                        self._name,
                        lambda *args, _kind=kind, **named: self._run(_kind, args, named),
                        keys.EXPLICIT if kind is None else keys.key_of(kind),
                    )
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
        check_differentiable(self, self._opoverload._schema)
        self._formula.backward, self._formula.setup_context = backward, setup_context

    def register_vmap(self, func: Callable | None = None) -> Callable | None:
        """Register the rule of `vmap`, `func(info, in_dims, *args)`, which returns the results for
        the whole batch and their dimensions; without it, a decorator."""

        def register(function: Callable) -> None:
            if self._vmap_rule is None:
                self._library.register_inner(
                    self._name,
                    lambda *given, **named: self._vmap_rule(*given, **named),  # type: ignore[misc]
                    keys.BATCHED,
                )
            self._vmap_rule = function

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
        if device_type not in self._autocast:
            self._autocast[device_type] = cast_inputs
            self._library.impl(
                self._name,
                lambda *args, **named: self._cast(device_type, args, named),
                f"Autocast{keys.key_of(device_type)}",
            )
        return lambda *args, **named: self._cast(device_type, args, named)

    def _cast(self, device_type: str, args: tuple, named: dict) -> Any:
        kind = self._autocast[device_type]
        return autocast_kernel.called(self._entry, device_type, kind, args, named)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """While it is entered, a disabled kernel is replaced by the function of the definition."""
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            self._disabled = before


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
        made = schema_for(name, schema) if schema else schema_of(name, function, mutates_args)
        if schema and set(made.mutated) != set(mutates_args):
            raise ValueError(
                f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema="
                f"{schema}. The schema suggests that the op mutates {set(made.mutated)}which is "
                "different from what was provided to us in `mutates_args`. Please make these "
                "consistent."
            )
        if made.has_keyword_only_tensors:
            raise NotImplementedError(
                "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. "
                f"Got: {str(made).split('::')[-1]}"
            )
        op = CustomOpDef(name, made, function)
        op.register_kernel(device_types, function)
        return op

    return define if fn is None else define(fn)
