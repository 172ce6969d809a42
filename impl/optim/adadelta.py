"""Adadelta: steps as long as the steps before (M. D. Zeiler, 2012)."""

from __future__ import annotations

from impl.optim.optimizer import Optimizer, as_real, check_least, decayed, differentiated


class Adadelta(Optimizer):
    """See torch.optim.Adadelta. Raises ValueError for negative numbers, and rho above 1."""

    def __init__(
        self,
        params,
        lr=1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_least("learning rate", lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_least("epsilon value", eps)
        check_least("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group) -> None:
        rho, eps = group["rho"], group["eps"]
        for param, gradient in differentiated(group):
            state = self._counted(param, "square_avg", "acc_delta")
            gradient = decayed(group, param, gradient)
            param, gradient, squares, steps = as_real(
                param, gradient, state["square_avg"], state["acc_delta"]
            )
            squares.mul_(rho).addcmul_(gradient, gradient, value=1 - rho)
            root = squares.add(eps).sqrt_()
            delta = steps.add(eps).sqrt_()
            if group["differentiable"]:
                delta = delta.clone()
            delta.div_(root).mul_(gradient)
            steps.mul_(rho).addcmul_(delta, delta, value=1 - rho)
            param.add_(delta, alpha=-group["lr"])
