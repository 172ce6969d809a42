"""Transforms of functions: grad, vjp and jvp (torch.func).

`jvp` calls the function with dual tensors, of a dual level for each call. The others are backward
passes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from impl.core.inference_mode import as_normal
from impl.core.state import STATE
from impl.engine.backward import gradients, is_recorded
from impl.factories.creation import zeros_like
from impl.func.arguments import Arguments, memories
from impl.func.dual_levels import DualLevel
from impl.func.levels import Level, recorded
from impl.operators.views.as_strided import alias_view
from impl.tape.batched_tangents import tangent_of
from impl.tensor import forward_grad
from impl.tensor.batched_tensor import hidden, physical
from impl.tensor.tensor import Tensor
from impl.utils._pytree import tree_flatten, tree_unflatten

_SAME = (
    "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. "
    "For example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
    "structure {} and tangents with structure {}"
)

_INDEPENDENT = (
    "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is "
    "not allowed with strict=True."
)


def grad(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """The function that returns the gradient of a scalar function (torch.func.grad).

    With respect to the arguments of these numbers; `has_aux`: the function returns a pair, of which
    the second entry is passed on.
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def call(*args, **kwargs):
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return call


def grad_and_value(
    func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable:
    """The function that returns gradient and value of a scalar function
    (torch.func.grad_and_value)."""

    @functools.wraps(func)
    def call(*args, **kwargs):
        level = Level()
        with level.run():
            raised, given = _raised(level, args, argnums, kwargs)
            value = func(*raised, **kwargs)
            value, aux = _split(value, has_aux, "grad_and_value(f)(*args)")
            _check_scalar(value)
            leaves, spec = tree_flatten(given)
            found = tree_unflatten(pulled(level, [value], leaves, [None]), spec)
        lowered = level.lowered(value)
        return level.lowered(found), (
            lowered,
            _lowered_aux(level, aux),
        ) if has_aux else lowered

    return call


def _raised(
    level: Level, args: tuple, argnums: int | tuple[int, ...], kwargs: Any = None
) -> tuple[list, Any]:
    """The arguments, with those to differentiate raised, and the latter alone."""
    check_argnums(argnums)
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    raised = list(args)
    for number in numbers:
        check_argnum(args, number)
    others = [*remaining(args, numbers), kwargs]
    level.given.update(map(id, memories(tree_flatten(others)[0])))
    level.arguments = Arguments(tree_flatten(others)[0])
    for number in numbers:
        raised[number] = level.raised(args[number])
    return raised, chosen(raised, argnums)


def remaining(args: tuple, numbers: tuple[int, ...]) -> list:
    """The arguments but those of some numbers."""
    return [arg for i, arg in enumerate(args) if i not in {n % len(args) for n in numbers}]


def check_argnums(argnums: Any) -> None:
    """Raise RuntimeError for anything but an integer or a tuple of distinct ones."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if isinstance(argnums, tuple):
        if not argnums:
            raise RuntimeError("argnums must be non-empty")
        if len(set(argnums)) != len(argnums):
            raise RuntimeError(f"argnums elements must be unique, got {argnums}")


def check_argnum(args: tuple, number: int) -> None:
    """Raise RuntimeError for a number that is no integer, or not one of an argument."""
    if not isinstance(number, int):
        raise RuntimeError(f"argnum must be int, got: {type(number)}")
    if not -len(args) <= number < len(args):
        raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")


def chosen(args, argnums: int | tuple[int, ...]) -> Any:
    """The argument of that number, or a tuple of those of several."""
    if isinstance(argnums, int):
        return args[argnums]
    return tuple(args[number] for number in argnums)


def _split(value: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return value, None
    if not (isinstance(value, tuple) and len(value) == 2):
        raise RuntimeError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return value


def _check_scalar(value: Any) -> None:
    begin = "grad_and_value(f)(*args): Expected f(*args) to return a"
    if not isinstance(value, Tensor):
        raise RuntimeError(f"{begin} Tensor, got {type(value)}")
    if value.dim() != 0:
        raise RuntimeError(
            f"{begin} scalar Tensor, got tensor with {value.dim()} dims. Maybe you wanted to use "
            "the vjp or jacrev APIs instead?"
        )


def pulled(
    level: Level,
    outputs: list,
    inputs: list,
    cotangents: list,
    retain_graph: bool = True,
    create_graph: bool = True,
) -> list[Tensor]:
    """The gradients of some outputs; zeros where there is none."""
    with level.passing():
        pairs = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if is_recorded(o)]
        if not pairs:
            return [zeros_like(x) for x in inputs]
        ends = [end for end, _ in pairs]
        seeds = [None if seed is None else _normal(seed) for _, seed in pairs]
        with recorded():
            found = gradients(ends, inputs, seeds, create_graph, retain_graph)
    if STATE.transforms:
        _forget_writes(found, (*inputs, *seeds))
    return [zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


def _normal(seed: Tensor) -> Tensor:
    """A cotangent that may be saved: of an inference tensor, a normal one over its memory.

    Anything but a tensor is left to the engine, which raises TypeError.
    """
    if not isinstance(seed, Tensor):
        return seed
    value = physical(seed)
    return hidden(as_normal(value.detach()), seed) if value.is_inference() else seed


def _forget_writes(made, given) -> None:
    """Reset the versions of new tensors: within a transform torch's formulas do not write in place
    (areAnyTensorSubclassLike), or to wrappers, which it takes off."""
    kept = {id(physical(t)._storage) for t in given if isinstance(t, Tensor)}
    for one in made:
        tensor = None if one is None else physical(one)
        if tensor is not None and id(tensor._storage) not in kept and not tensor._uncounted:
            tensor._storage.version = 0


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """The value of a function, and the function from cotangents to gradients (torch.func.vjp)."""
    return vjp_of(func, primals, None, has_aux)


def vjp_of(func: Callable, args: tuple, argnums: int | tuple[int, ...] | None, has_aux: bool):
    """`vjp` with respect to the arguments of these numbers; None for all."""
    level = Level()
    with level.run():
        if argnums is None:
            raised = given = level.raised(args)
        else:
            raised, given = _raised(level, args, argnums)
        value, aux = _split(func(*raised), has_aux, "vjp(f, *primals)")
        outputs, shape = _only_tensors(value, "vjp(f, *primals)")
        outputs = [level.kept(output) for output in outputs]
    inputs, spec = tree_flatten(given)
    _check_differentiable("vjp(f, ...)", outputs)

    def wrapper(cotangents, retain_graph=True, create_graph=None):
        seeds, given_shape = tree_flatten(cotangents)
        if given_shape != shape:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {_written(given_shape)}, "
                f"primal output: {_written(shape)}"
            )
        level.caller_records = STATE.enabled if create_graph is None else create_graph
        found = pulled(level, outputs, inputs, seeds, retain_graph, level.caller_records)
        return level.lowered(tree_unflatten(found, spec))

    wrapper.__qualname__ = "_vjp_with_argnums.<locals>.wrapper"
    results = level.lowered(value), wrapper
    return (*results, _lowered_aux(level, aux)) if has_aux else results


def _lowered_aux(level: Any, aux: Any) -> Any:
    """The auxiliary results for the caller. Raises RuntimeError for other leaves than tensors."""
    _check_aux(aux)
    return level.lowered(aux)


def _check_aux(aux: Any) -> None:
    for leaf in tree_flatten(aux)[0]:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")


def _only_tensors(value: Any, name: str) -> tuple[list[Tensor], Any]:
    leaves, spec = tree_flatten(value)
    if not leaves or leaves == [None]:
        raise RuntimeError(
            f"{name}: Expected f to be a function that has non-empty output (got output = {leaves})"
        )
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(leaf)}"
            )
    return leaves, spec


def _check_differentiable(name: str, outputs: list[Tensor]) -> None:
    for output in outputs:
        if not (output.is_floating_point() or output.is_complex()):
            raise RuntimeError(
                f"{name}: All outputs of f must be floating-point or complex Tensors, got Tensor "
                f"with dtype {output.dtype}"
            )


def _written(spec: Any) -> str:
    """A structure as torch prints it: stars in brackets."""
    return str(tree_unflatten([_Star()] * spec.num_leaves, spec))


class _Star:
    def __repr__(self) -> str:
        return "*"


def jvp(
    func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False
) -> tuple:
    """The value of a function, and its derivative along tangents (torch.func.jvp)."""
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. "
            "E.g. it should be valid to call f(*primals)."
        )
    return jvp_of(func, primals, tangents, has_aux, strict)


def jvp_of(
    func: Callable,
    primals: tuple,
    tangents: tuple,
    has_aux: bool,
    strict: bool = False,
    others: tuple = (),
) -> tuple:
    """`jvp`; `others` are arguments that the function has besides, and may write."""
    (given, spec), (directions, other) = tree_flatten(primals), tree_flatten(tangents)
    if spec != other:
        raise RuntimeError(_SAME.format(spec, other))
    for role, tensors in (("primal", given), ("tangent", directions)):
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise RuntimeError(
                    f"jvp(f, primals, tangents): Expected {role}s to only contain Tensors, got "
                    f"{type(tensor)}"
                )
    if not given:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to contain at least one Tensor."
        )
    forward_grad.refuse_nested()
    for primal, tangent in zip(given, directions, strict=True):
        for role, tensor in (("primal", primal), ("tangent", tangent)):
            check_pushed(role, tensor)
        if primal.shape != tangent.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the "
                "original Tensor, this is not supported. Tensor is of size "
                f"{[*primal.shape]} while the given forward gradient is of size "
                f"{[*tangent.shape]}."
            )
    level = DualLevel(tree_flatten(others)[0])
    with level.run():
        duals = [level.dual(p, t) for p, t in zip(given, directions, strict=True)]
        made = func(*tree_unflatten(duals, spec))
        value, aux = _split(made, has_aux, "jvp(f, primals, tangents)")
        outputs, shape = _only_tensors(value, "jvp(f, primals, tangents)")
        along = [tangent_of(output) for output in outputs]
        reached = [alias_view(output) for output in outputs]
    if strict and None in along:
        raise RuntimeError(_INDEPENDENT)
    pushed = [zeros_like(o) if t is None else t for o, t in zip(reached, along, strict=True)]
    results = tree_unflatten(reached, shape), tree_unflatten(pushed, shape)
    if has_aux:
        _check_aux(aux)
    return (*results, aux) if has_aux else results


def check_pushed(role: str, tensor: Tensor) -> None:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(
            f"Expected {role} to be floating point or complex, but got: {tensor.dtype}"
        )
