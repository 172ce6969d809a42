"""RMSprop: gradients divided by the root of their running mean square (T. Tieleman, G. Hinton)."""

from __future__ import annotations

from impl.optim.optimizer import Optimizer, as_real, check_least, decayed, differentiated


class RMSprop(Optimizer):
    """See torch.optim.RMSprop. Raises ValueError for negative numbers."""

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_least("learning rate", lr)
        check_least("epsilon value", eps)
        check_least("momentum value", momentum)
        check_least("weight_decay value", weight_decay)
        check_least("alpha value", alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group) -> None:
        lr, alpha, momentum = group["lr"], group["alpha"], group["momentum"]
        moments = ["square_avg"]
        if momentum > 0:
            moments.append("momentum_buffer")
        if group["centered"]:
            moments.append("grad_avg")
        for param, gradient in differentiated(group):
            state = self._counted(param, *moments)
            gradient = decayed(group, param, gradient)
            param, gradient, square, mean, running = as_real(
                param,
                gradient,
                state["square_avg"],
                state.get("grad_avg"),
                state.get("momentum_buffer"),
            )
            square.mul_(alpha).addcmul_(gradient, gradient, value=1 - alpha)
            if group["centered"]:
                mean.lerp_(gradient, 1 - alpha)
                deviation = square.addcmul(mean, mean, value=-1).sqrt_()
            else:
                deviation = square.sqrt()
            deviation.add_(group["eps"])
            if momentum > 0:
                running.mul_(momentum).addcdiv_(gradient, deviation)
                param.add_(running, alpha=-lr)
            else:
                param.addcdiv_(gradient, deviation, value=-lr)
