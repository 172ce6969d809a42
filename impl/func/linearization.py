"""`torch.func.linearize`: a function's derivative at a point, as a function of tangents.

torch traces a `jvp` with fake tangents, and runs the trace for each tangent that it is given. Here
the function runs with tangents that are recorded: they are linear in those of the inputs, so that
the derivative is the gradient of their vector-Jacobian product with respect to the cotangent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.core import messages
from impl.core.registry import C
from impl.factories.creation import zeros_like
from impl.factories.generator import Generator
from impl.func.dual_levels import TracedLevel
from impl.func.levels import Level, recorded
from impl.func.transforms import check_pushed, pulled
from impl.nn.parameter import Parameter
from impl.tape.batched_tangents import tangent_of
from impl.tensor import forward_grad
from impl.tensor.batched_tensor import BatchedTensor
from impl.tensor.tensor import Tensor
from impl.utils._pytree import TreeSpec, tree_flatten, tree_unflatten


class _Trace:
    """One run of a function with recorded tangents."""

    def __init__(self, func: Callable, inputs: list, spec: TreeSpec) -> None:
        self.level = level = Level()
        traced, draws = TracedLevel(level), Generator.draws
        with traced.run():
            with recorded():
                self.leaves = [level.raised(zeros_like(primal)) for primal in inputs]
                tangents = [leaf.clone() for leaf in self.leaves]
                duals = [traced.dual(p, t) for p, t in zip(inputs, tangents, strict=True)]
            self.outputs = tree_flatten(func(*tree_unflatten(duals, spec)))[0]
            tensors = [output for output in self.outputs if isinstance(output, Tensor)]
            along = [tangent_of(output) for output in tensors]
            values = [output.detach() for output in tensors]
        # Results that depend on no tangent are constants of torch's trace, which is a module.
        self.reached = [
            Parameter(zeros_like(v), requires_grad=False) if t is None else t
            for v, t in zip(values, along, strict=True)
        ]
        self.is_random = Generator.draws != draws

    def pushed(self, tangents: list) -> list:
        """The derivatives along some tangents; results that are no tensors are their own."""
        level = self.level
        smooth = [o for o in self.reached if not isinstance(o, Parameter)]
        seeds = [level.raised(zeros_like(output)) for output in smooth]
        pushed = iter(pulled(level, pulled(level, smooth, self.leaves, seeds), seeds, tangents))
        reached = (
            one if isinstance(one, Parameter) else _own(next(pushed), tangents)
            for one in self.reached
        )
        return [next(reached) if isinstance(o, Tensor) else o for o in self.outputs]


def _own(pushed: Tensor, tangents: list) -> Tensor:
    """A derivative: a copy of a tangent that is given, as torch traces the identity."""
    if any(pushed is tangent for tangent in tangents):
        return C.empty_like(pushed).copy_(pushed)
    return pushed


def linearize(func: Callable, *primals: Any) -> tuple:
    """The value of a function, and its derivative there as a function of tangents
    (torch.func.linearize). Results that are no tensors are their own derivatives.

    Raises RuntimeError in forward mode, and for examples of `vmap`.
    """
    result = func(*primals)
    shape = tree_flatten(result)[1]
    inputs, spec = tree_flatten(primals)
    forward_grad.refuse_level()
    for primal in inputs:
        check_pushed("primal", primal)
        if isinstance(primal, BatchedTensor):
            raise RuntimeError(messages.NO_VIEW_RULE.format("aten::_make_dual"))
    trace = _Trace(func, inputs, spec)

    def push(*tangents):
        directions, other = tree_flatten(tangents)
        _check(directions, other, inputs, spec)
        # The operators that draw are part of torch's trace: numbers are drawn for each call. Here
        # they are drawn by the function, which is called again.
        run = _Trace(func, inputs, spec) if trace.is_random else trace
        return run.level.lowered(tree_unflatten(run.pushed(directions), shape))

    return result, push


def _check(directions: list, other: TreeSpec, inputs: list, spec: TreeSpec) -> None:
    """Raise RuntimeError for tangents that do not fit the primals."""
    if other != spec:
        raise RuntimeError(
            f"Expected the tangents {other} to have the same argspec as the primals {spec}"
        )
    for i, (tangent, primal) in enumerate(zip(directions, inputs, strict=True)):
        for name in ("shape", "dtype"):
            given, wanted = getattr(tangent, name), getattr(primal, name)
            if given != wanted:
                raise RuntimeError(
                    f"tangent:{i} with {name} {given} in flattened pytree doesn't match the "
                    f"{name} {wanted} of the corresponding primal."
                )
