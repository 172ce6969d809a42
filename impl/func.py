"""`torch.func`: calling a module with other parameters, and the parameters of several stacked.

Of torch's transformations, `torch.autograd.functional` has those that need no batching rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from impl.nn.modules.module import Module
from impl.nn.utils.stateless import called
from impl.operator import FUNCTIONS
from impl.tensor import Tensor

__all__ = ["functional_call", "stack_module_state"]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
):
    """Call the module with tensors, by name, in the places of its parameters and buffers; the
    dictionary receives what the call assigns to them. One tensor that has several names is
    replaced under all of them if `tie_weights`.

    Raises ValueError for other than dictionaries, for a name in two of them, and for two values of
    one tensor; RuntimeError if `strict` for names that are missing or unknown
    (torch.func.functional_call).
    """
    given = parameter_and_buffer_dicts
    if isinstance(given, Sequence):
        given = _merged(given)
    elif not isinstance(given, dict):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, "
            f"but got {type(given)}"
        )
    return called(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def _merged(parts: Sequence) -> dict[str, Tensor]:
    if not all(isinstance(part, dict) for part in parts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    counts = Counter(name for part in parts for name in part)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {name: tensor for part in parts for name, tensor in part.items()}


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of modules of one class, each stacked to one leaf.

    Raises RuntimeError for none, and for modules of different classes or modes
    (torch.func.stack_module_state).
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = _stacked([dict(model.named_parameters()) for model in models])
    return parameters, _stacked([dict(model.named_buffers()) for model in models])


def _stacked(states: list[dict[str, Any]]) -> dict[str, Tensor]:
    result = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        flags = {tensor.requires_grad for tensor in tensors}
        if len(flags) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        stacked = FUNCTIONS["stack"](tensors)
        result[name] = stacked.detach().requires_grad_() if flags == {True} else stacked
    return result
