"""Update rules for sparse gradients, and their refusal.

The formulas are those of Adam and Adagrad, applied to the stored elements alone.
"""

from __future__ import annotations

import math
from typing import Any

from impl.core.registry import C
from impl.operators.sparse.construction import sparse_coo, sparse_coo_tensor
from impl.optim.optimizer import Optimizer, differentiated, require, with_gradient
from impl.optim.options import check_option
from impl.tensor.tensor import Tensor


def refuse_sparse(optimizer: str, param: Tensor) -> None:
    """Raise RuntimeError if a parameter has a sparse gradient, which the optimizer of this name
    does not take."""
    gradient: Any = param._own_grad
    if gradient.is_sparse:
        hint = ", please consider SparseAdam instead" if optimizer == "Adam" else ""
        raise RuntimeError(f"{optimizer} does not support sparse gradients{hint}")


def _like(grad: Tensor, values: Tensor) -> Tensor:
    return sparse_coo(grad._indices(), values, grad.shape, None)


def adagrad(param: Tensor, grad: Tensor, total: Tensor, rate, eps) -> None:
    """A step of Adagrad: the sums and the parameter change at the indices of the gradient."""
    grad = grad.coalesce()
    indices, values = grad._indices(), grad._values()
    total.add_(sparse_coo_tensor(indices, values.pow(2), grad.shape))
    root = total.sparse_mask(grad)._values().sqrt_().add_(eps)
    param.add_(sparse_coo_tensor(indices, values / root, grad.shape), alpha=-rate)


class SparseAdam(Optimizer):
    """Adam whose moving averages and parameters change at the indices of the gradient alone.

    A step raises RuntimeError for a dense gradient. Raises ValueError for options out of range, and
    for sparse and complex parameters.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        for name, value in (("lr", lr), ("eps", eps), ("betas", betas)):
            check_option(name, value, positive=True)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        self._refuse(lambda p: p.is_sparse, "Sparse", "requires dense parameter tensors")
        self._refuse(lambda p: p.is_complex(), "Complex", "does not support complex parameters")

    def _refuse(self, is_refused, kind: str, reason: str) -> None:
        places = [
            [i, j]
            for i, group in enumerate(self.param_groups)
            for j, param in enumerate(group["params"])
            if is_refused(param)
        ]
        if places:
            raise ValueError(f"{kind} params at indices {places}: SparseAdam {reason}")

    _impl_read_before = "betas"
    _impl_read_after = "eps lr"

    def _impl_prepare(self, group) -> None:
        for param in with_gradient(group):
            if not param._own_grad.is_sparse:
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam instead"
                )
            state = self.state[param]
            if not state:
                zeros_like = C.zeros_like
                state.update(step=0, exp_avg=zeros_like(param), exp_avg_sq=zeros_like(param))
            require(state, "exp_avg exp_avg_sq")
            state["step"] += 1

    def _impl_update(self, group) -> None:
        for param, grad in differentiated(group):
            grad = grad.coalesce()
            if grad._values().numel():
                self._step(group, param, grad, self.state[param])

    def _step(self, group, param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        values = grad._values()
        before = state["exp_avg"].sparse_mask(grad)._values()
        change = values.sub(before).mul_(1 - beta1)
        state["exp_avg"].add_(_like(grad, change.clone()))
        squares_before = state["exp_avg_sq"].sparse_mask(grad)._values()
        squares_change = values.pow(2).sub_(squares_before).mul_(1 - beta2)
        state["exp_avg_sq"].add_(_like(grad, squares_change.clone()))
        average = change.add_(before)
        denominator = squares_change.add_(squares_before).sqrt_().add_(group["eps"])
        correction = math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
        param.add_(_like(grad, average.div_(denominator) * -(group["lr"] * correction)))
