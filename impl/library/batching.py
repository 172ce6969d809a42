"""Custom operators within torch.func.vmap (torch.library.register_vmap).

An operator with a rule of its own is computed for the whole batch by that; any other is called for
each example, if it returns new tensors only.
"""

from __future__ import annotations

from typing import Any

from impl.core.state import STATE
from impl.dispatch import vmap_rules
from impl.library.generated_backward import flattened
from impl.tape.custom_function_vmap import called, transforms, wrapped
from impl.tensor.batched_tensor import innermost, is_at
from impl.tensor.tensor import Tensor

_NO_RULE = "Batching rule not implemented for {}"


def level_of(args: tuple) -> Any:
    """The level of `vmap` at which an operator is applied to these arguments; None if a transform
    of differentiation runs within it, or no argument is batched."""
    if not STATE.batched or not STATE.transforms or STATE.transforms[-1].randomness is None:
        return None
    batch = innermost(tuple(flattened(args)))
    return None if batch is None else batch._level


def without_tangents(op, args: tuple, named: dict) -> Any:
    """The results of an operator within `jvp`, which have no tangents: it has a formula for the
    backward pass at most."""
    *outside, forward = STATE.transforms
    primals = [_primal(value, forward) for value in args]
    with transforms(tuple(outside)):
        return op(*primals, **named)


def _primal(value: Any, forward) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)([_primal(entry, forward) for entry in value])
    return forward.primal(value) if isinstance(value, Tensor) else value


def mapped(op, args: tuple, named: dict, level) -> Any:
    """The results of an operator for a batch of arguments.

    Raises RuntimeError for one without a rule that changes its arguments, or takes or returns lists
    of tensors.
    """
    outside = STATE.transforms[: STATE.transforms.index(level)]
    if op.vmap_rule is not None:
        with transforms(outside):
            dims = tuple(_dims(value, level) for value in args)
            values = tuple(_values(value, level) for value in args)
            outputs, out_dims = called(
                lambda *given: op.vmap_rule(*given, **named), level, dims, values
            )
        return wrapped(outputs, out_dims, level)
    _check_fallback(op)

    def once(*example: Any) -> Any:
        with transforms(outside):
            return op(*example, **named)

    return vmap_rules.fallback(op.qualname, once, args, level)


def _dims(value: Any, level) -> Any:
    """The mapped dimension of an argument, or those of the entries of a list."""
    if isinstance(value, (list, tuple)):
        return type(value)([_dims(entry, level) for entry in value])
    return value._dim if is_at(value, level) else None


def _values(value: Any, level) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)([_values(entry, level) for entry in value])
    return value._value if is_at(value, level) else value


def _check_fallback(op) -> None:
    """Raise RuntimeError for an operator that cannot be called for each example."""
    name, schema = _NO_RULE.format(op.qualname), op.schema
    if schema.mutated or schema.returns == "()":
        raise RuntimeError(f"{name}; the fallback path doesn't work on out= or view ops.")
    kinds = (schema.returns, *(argument.type for argument in schema.arguments))
    if any("Tensor[" in kind or "Tensor?[" in kind for kind in kinds):
        raise RuntimeError(f"{name}. We could not generate a fallback.")
