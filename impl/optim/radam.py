"""RAdam: Adam that is adaptive once the variance is known (L. Liu et al., ICLR 2020)."""

from __future__ import annotations

from impl.optim.optimizer import (
    Optimizer,
    as_real,
    check_betas,
    check_least,
    decayed,
    differentiated,
)


class RAdam(Optimizer):
    """See torch.optim.RAdam. Raises ValueError for negative numbers and betas outside [0, 1)."""

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group) -> None:
        lr, eps = float(group["lr"]), group["eps"]
        beta1, beta2 = group["betas"]
        longest = 2 / (1 - beta2) - 1  # of the moving average, in steps
        for param, gradient in differentiated(group):
            state = self._counted(param, "exp_avg", "exp_avg_sq")
            param, gradient, mean, square = as_real(
                param, gradient, state["exp_avg"], state["exp_avg_sq"]
            )
            step = state["step"].item()
            gradient = decayed(group, param, gradient, lr)
            mean.lerp_(gradient, 1 - beta1)
            square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            update = mean / (1 - beta1**step) * lr
            rest = 1 - beta2**step
            length = longest - 2 * step * (beta2**step) / rest
            if length > 5.0:
                shares = (length - 4) * (length - 2) * longest
                rectified = (shares / ((longest - 4) * (longest - 2) * length)) ** 0.5
                root = square.sqrt()
                root = root.add(eps) if group["differentiable"] else root.add_(eps)
                update = update * (rest**0.5 / root) * rectified
            param.add_(update, alpha=-1.0)
