"""Backward hooks of one call: full hooks, and non-full hooks, which PyTorch deprecates."""

from __future__ import annotations

import warnings

from impl.core.state import STATE
from impl.core.warning import warn
from impl.tape.custom_function import Function
from impl.tensor.tensor import Tensor


class BackwardHookFunction(Function):
    """The identity whose node captures gradients of a module's inputs or outputs."""

    @staticmethod
    def forward(ctx, *args):
        """The arguments; those that do not require grad are not differentiable."""
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx, *args):
        """The gradients."""
        return args


class BackwardHook:
    """The full backward hooks of one call; identity nodes around the module capture gradients.

    The backward pass reaches the node after the outputs first and keeps their gradients; at the
    node before the inputs it calls the hooks with both.
    """

    def __init__(self, module, hooks, pre_hooks) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.gradients: tuple | None = None
        self.inputs: list[int] | None = None
        self.input_count = 0

    def wrap_inputs(self, args: tuple) -> tuple:
        """The arguments, passed through an identity node if one requires grad."""
        node, self.inputs, args = _identities(args)
        self.input_count = len(args)
        if node is not None:
            node.register_hook(self._input_gradients_ready)
        return args

    def wrap_outputs(self, result):
        """The result, passed through an identity node if a part of it requires grad."""
        single = not isinstance(result, tuple)
        node, outputs, results = _identities((result,) if single else result)
        if node is not None:
            ready, count = self._output_gradients_ready, len(results)
            node.register_hook(lambda _, gradients: ready(gradients, outputs, count))
        return results[0] if single else results

    def _output_gradients_ready(self, gradients, outputs, count: int):
        packed = _packed(outputs, gradients, count)
        for hook in self.pre_hooks:
            changed = hook(self.module, packed)
            if changed is None:
                continue
            if len(changed) != count:
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, got "
                    f"{len(changed)}, but expected {count}"
                )
            packed = changed
        self.gradients = packed
        if self.inputs is None:
            self._call_without_inputs(packed)
        return tuple(packed[i] for i in outputs)

    def _call_without_inputs(self, gradients) -> None:
        """Call the hooks without input gradients: no input requires grad."""
        self.gradients = None
        if not self.hooks:
            return
        warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients. See https://docs.pytorch.org/docs/main/"
            "generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook for more "
            "details.",
        )
        for hook in self.hooks:
            result = hook(self.module, (None,) * self.input_count, gradients)
            nothing = isinstance(result, tuple) and all(r is None for r in result)
            if result is not None and not nothing:
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )

    def _input_gradients_ready(self, gradients, _):
        if self.gradients is None:
            # The gradient does not come through the module's output.
            return None
        assert self.inputs is not None
        packed = _packed(self.inputs, gradients, self.input_count)
        for hook in self.hooks:
            changed = hook(self.module, packed, self.gradients)
            if changed is None:
                continue
            if len(changed) != len(packed):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, got "
                    f"{len(changed)}, but expected {len(packed)}"
                )
            packed = changed
        self.gradients = None
        return tuple(packed[i] for i in self.inputs)


def _packed(positions, values, count: int) -> tuple:
    result = [None] * count
    for position, value in zip(positions, values, strict=True):
        result[position] = value
    return tuple(result)


def _identities(values: tuple):
    """An identity node on the tensors, their positions, and the values with the node's outputs.

    Node and positions are None if nothing is recorded.
    """
    positions = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not (STATE.enabled and any(values[i].requires_grad for i in positions)):
        return None, None, values
    made = BackwardHookFunction.apply(*(values[i] for i in positions))
    node = next(t.grad_fn for t in made if t.grad_fn is not None)
    changed = list(values)
    for position, value in zip(positions, made, strict=True):
        changed[position] = value
    rest = tuple(changed) if type(values) is tuple else type(values)(*changed)
    return node, positions, rest


# -- non-full hooks -----------------------------------------------------------------------------

_NOT_TENSORS = (
    "Using non-full backward hooks on a Module that does not {} a single Tensor or a tuple of "
    "Tensors is deprecated and will be removed in future versions. This hook will be missing some "
    "of the {}. Please use register_full_backward_hook to get the documented behavior."
)
_SEVERAL_NODES = (
    "Using a non-full backward hook when {} is deprecated and will be removed in future versions. "
    "This hook will be missing some {}."
)
_INSTEAD = " Please use register_full_backward_hook to get the documented behavior."


def hook_last_node(module, hooks: list, inputs, result) -> None:
    """Register the hooks on the node that computed the first tensor of a result.

    Warns if that node's gradients are not the module's.
    """
    first = result
    while not isinstance(first, Tensor):
        if isinstance(first, dict):
            first = next(value for value in first.values() if isinstance(value, Tensor))
        else:
            first = first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(lambda into, out, hook=hook: hook(module, into, out))
    text = _warning(inputs, result, node)
    if text:
        warnings.warn(text, FutureWarning, stacklevel=2)


def _tensors(value) -> tuple | None:
    values = (value,) if isinstance(value, Tensor) else value
    fits = isinstance(values, tuple) and all(isinstance(v, Tensor) for v in values)
    return values if fits else None


def _warning(inputs, result, node) -> str | None:
    results, given = _tensors(result), _tensors(inputs)
    if results is None:
        return _NOT_TENSORS.format("return", "grad_output")
    if given is None:
        return _NOT_TENSORS.format("take as input", "grad_input")
    nodes = {r.grad_fn for r in results if r.grad_fn is not None}
    if not nodes or (len(nodes) == 1 and node not in nodes):
        nested = "outputs are nested in python data structure"
        return _SEVERAL_NODES.format(nested, "grad_output")
    if len(nodes) > 1:
        apart = "outputs are generated by different autograd Nodes"
        return _SEVERAL_NODES.format(apart, "grad_output") + _INSTEAD
    before = {t.grad_fn for t in given if t.grad_fn is not None}
    if before != {following for following, _ in node.next_functions}:
        inside = "the forward contains multiple autograd Nodes"
        return _SEVERAL_NODES.format(inside, "grad_input") + _INSTEAD
    return None
