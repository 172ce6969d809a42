"""NAdam: Adam with the momentum of Nesterov (T. Dozat, 2016)."""

from __future__ import annotations

from impl.optim.optimizer import (
    Optimizer,
    as_real,
    check_betas,
    check_least,
    decayed,
    differentiated,
)


class NAdam(Optimizer):
    """See torch.optim.NAdam. Raises ValueError for negative numbers and betas outside [0, 1)."""

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_least("momentum_decay value", momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group) -> None:
        lr, eps = float(group["lr"]), group["eps"]
        beta1, beta2 = group["betas"]

        def momentum(step):
            return beta1 * (1.0 - 0.5 * (0.96 ** (step * group["momentum_decay"])))

        for param, gradient in differentiated(group):
            state = self._counted(param, "exp_avg", "exp_avg_sq", mu_product=1.0)
            product = state["mu_product"]
            param, gradient, mean, square = as_real(
                param, gradient, state["exp_avg"], state["exp_avg_sq"]
            )
            step = state["step"].item()
            gradient = decayed(group, param, gradient, lr)
            now, following = momentum(step), momentum(step + 1)
            product *= now
            mean.lerp_(gradient, 1 - beta1)
            square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            root = square.div(1 - beta2**step).sqrt()
            if group["differentiable"]:
                root = root.add(eps)
                later = product * following
                param.addcdiv_(gradient * (-lr * (1.0 - now) / (1.0 - product)), root)
                param.addcdiv_(mean * (-lr * following / (1.0 - later)), root)
            else:
                root.add_(eps)
                passed = product.item()
                param.addcdiv_(gradient, root, value=-lr * (1.0 - now) / (1.0 - passed))
                param.addcdiv_(mean, root, value=-lr * following / (1.0 - passed * following))
