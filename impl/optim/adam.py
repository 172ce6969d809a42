"""Adam, and its variant whose decay does not pass through the moments.

D. P. Kingma and J. Ba, ICLR 2015; I. Loshchilov and F. Hutter, ICLR 2019.
"""

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


class Adam(Optimizer):
    """Steps by running means of the gradient and of its square (torch.optim.Adam).

    Raises ValueError for negative numbers and for betas outside [0, 1).
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_least("learning rate", lr)
        check_least("epsilon value", eps)
        check_betas(betas)
        check_least("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "betas": tuple(betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _update(self, group) -> None:
        lr, eps = group["lr"], group["eps"]
        beta1, beta2 = group["betas"]
        moments = ["exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])]
        for param, gradient in differentiated(group):
            state = self._counted(param, *moments)
            gradient = decayed(group, param, gradient, lr)
            param, gradient, mean, square, largest = as_real(
                param, gradient, state["exp_avg"], state["exp_avg_sq"], state.get("max_exp_avg_sq")
            )
            mean.lerp_(gradient, 1 - beta1)
            square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            step = state["step"].item()
            size = lr / (1 - beta1**step)
            root = (1 - beta2**step) ** 0.5
            if group["amsgrad"]:
                FUNCTIONS["maximum"](largest, square, out=largest)
                square = largest
            param.addcdiv_(mean, (square.sqrt() / root).add_(eps), value=-size)


class AdamW(Adam):
    """Adam whose weights decay by themselves (torch.optim.AdamW). Errors as `Adam`."""

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
