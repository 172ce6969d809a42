"""Adamax: Adam by the largest gradient instead of the mean square (D. P. Kingma, J. Ba, 2015)."""

from __future__ import annotations

from impl.operator import FUNCTIONS
from impl.optim.optimizer import (
    Optimizer,
    as_real,
    check_betas,
    check_least,
    decayed,
    differentiated,
)


class Adamax(Optimizer):
    """See torch.optim.Adamax. Raises ValueError for negative numbers and betas outside [0, 1)."""

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_least("learning rate", lr)
        check_least("epsilon value", eps)
        check_betas(betas)
        check_least("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, group) -> None:
        beta1, beta2 = group["betas"]
        for param, gradient in differentiated(group):
            state = self._counted(param, "exp_avg", "exp_inf")
            gradient = decayed(group, param, gradient)
            param, gradient, mean, largest = as_real(
                param, gradient, state["exp_avg"], state["exp_inf"]
            )
            mean.lerp_(gradient, 1 - beta1)
            size = gradient.abs().add_(group["eps"])
            if group["differentiable"]:
                both = FUNCTIONS["stack"]([largest.mul_(beta2), size])
                largest.copy_(both.amax(0))
            else:
                FUNCTIONS["maximum"](largest.mul_(beta2), size, out=largest)
            rate = group["lr"] / (1 - beta1 ** state["step"].item())
            param.addcdiv_(mean, largest, value=-rate)
