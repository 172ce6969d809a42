"""Calls of a module with other tensors instead of its parameters and buffers."""

from __future__ import annotations

import contextlib
from typing import Any

from impl.core.warning import deprecated
from impl.nn.modules.module import Module
from impl.tensor.tensor import Tensor

_MISSING: Any = object()


@deprecated(
    "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
    "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
    "which is a drop-in replacement."
)
def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
):
    """`torch.func.functional_call` under its deprecated name; FutureWarning."""
    return called(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def called(
    module: Module,
    tensors: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool,
    strict: bool,
):
    """See `impl.func.functional_call`."""
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, tensors, tie_weights, strict):
        return module(*args, **(kwargs or {}))


@contextlib.contextmanager
def _replaced(module: Module, tensors: dict[str, Tensor], tie_weights: bool, strict: bool):
    given = _untied(module, tensors) if tie_weights else tensors
    if strict:
        _check_names(module, given)
    before: dict[str, Tensor] = {}
    try:
        for name, tensor in given.items():
            before[name] = _swap(module, name, tensor)
        yield
    finally:
        # The caller's dictionary gets the tensors that the call assigned.
        after = {name: _swap(module, name, tensor) for name, tensor in before.items()}
        tensors.update({name: after[name] for name in tensors if name in after})


def _swap(module: Module, path: str, tensor) -> Any:
    """Set a tensor by its dotted name, or delete it for `_MISSING`; returns the previous value."""
    owner, name = _owner(module, path)
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    for held in (owner._parameters, owner._buffers):
        if name in held:
            before = held[name]
            if tensor is _MISSING:
                del held[name]
            else:
                held[name] = tensor
            return before
    before = getattr(owner, name, _MISSING)
    if before is not _MISSING and before is not None and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(owner, name, tensor)
    elif before is not _MISSING:
        delattr(owner, name)
    return before


def _owner(module: Module, path: str) -> tuple[Module, str]:
    prefix, _, name = path.rpartition(".")
    done: list[str] = []
    for part in prefix.split(".") if prefix else ():
        done.append(part)
        if not hasattr(module, part):
            raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
        module = getattr(module, part)
        if not isinstance(module, Module):
            raise TypeError(
                f"submodule `{'.'.join(done)}`: {module} is not an instance of torch.nn.Module"
            )
    return module, name


def _named_tensors(module: Module) -> dict[str, Tensor]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _untied(module: Module, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under all names of the tied tensors that they replace.

    Raises ValueError for different values of tied tensors.
    """
    names_of: dict[int, set[str]] = {}
    for name, tensor in _named_tensors(module).items():
        names_of.setdefault(id(tensor), set()).add(name)
    result = dict(tensors)
    for names in names_of.values():
        given = names & tensors.keys()
        if len(names) == 1 or not given:
            continue
        if len(given) > 1 and len({id(tensors[name]) for name in names}) != 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, "
                "which are tied. Consider using tie_weights=False"
            )
        result.update(dict.fromkeys(names, tensors[next(iter(given))]))
    return result


def _check_names(module: Module, tensors: dict[str, Tensor]) -> None:
    known = _named_tensors(module).keys()
    errors = [
        f"{what} key(s): {', '.join(map(repr, sorted(names)))}."
        for what, names in (
            ("Unexpected", tensors.keys() - known),
            ("Missing", known - tensors.keys()),
        )
        if names
    ]
    if errors:
        raise RuntimeError(
            "Error(s) in reparametrizing for {}:\n\t{}".format(
                module._get_name(), "\n\t".join(errors)
            )
        )
