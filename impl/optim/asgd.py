"""Averaged stochastic gradient descent (B. T. Polyak and A. B. Juditsky, 1992)."""

from __future__ import annotations

from impl.creation import tensor as tensor_of
from impl.optim.optimizer import Optimizer, as_real, check_least, decayed, differentiated


class ASGD(Optimizer):
    """See torch.optim.ASGD; the averages are kept in the state as "ax". Raises ValueError for
    negative numbers."""

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_least("learning rate", lr)
        check_least("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, group) -> None:
        lr, decay = float(group["lr"]), group["lambd"]
        for param, gradient in differentiated(group):
            state = self._counted(param, "ax", eta=lr, mu=1.0)
            eta, mu = state["eta"], state["mu"]
            param, gradient, average = as_real(param, gradient, state["ax"])
            gradient = decayed(group, param, gradient)
            rate = eta.item()
            param.mul_(1 - decay * rate)
            param.add_(gradient, alpha=-rate)
            if mu.item() == 1:
                average.copy_(param)
            else:
                average.add_(param.sub(average).mul_(mu))
            step = state["step"].item()
            eta.copy_(tensor_of(lr / ((1 + decay * lr * step) ** group["alpha"])))
            mu.copy_(tensor_of(1 / max(1, step - group["t0"])))
