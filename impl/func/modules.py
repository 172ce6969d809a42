"""Functional calls of modules, and stacked parameters of several modules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from impl.core.registry import C
from impl.nn.modules.batchnorm import _BatchNorm
from impl.nn.modules.module import Module
from impl.nn.utils.stateless import called
from impl.tensor.tensor import Tensor


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
):
    """Call a module with other tensors, by name, in place of its parameters and buffers.

    Assignments to them during the call go to the dictionary. A parameter with several names is
    replaced under all of them if `tie_weights`.

    Raises ValueError for arguments other than dictionaries, for a name in two of them, and for two
    values of one tied parameter; RuntimeError if `strict` for missing or unknown names
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
    """The parameters and the buffers of modules of one class, each stacked into one leaf.

    Raises RuntimeError for no modules, and for modules of different classes or training modes
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
        stacked = C.stack(tensors)
        result[name] = stacked.detach()._requiring_grad() if flags == {True} else stacked
    return result


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Make every batch norm of a module forget its running statistics, so that calls write nothing
    (torch.func.replace_all_batch_norm_modules_)."""
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
