"""Rprop: steps by the signs of gradients alone (M. Riedmiller and H. Braun, 1993)."""

from __future__ import annotations

from impl.operator import FUNCTIONS
from impl.optim.optimizer import Optimizer, as_real, check_least, differentiated


class Rprop(Optimizer):
    """See torch.optim.Rprop. Raises ValueError for a negative rate and for factors that do not lie
    on both sides of 1."""

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_least("learning rate", lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, group) -> None:
        rate = float(group["lr"])
        shorter, longer = group["etas"]
        for param, gradient in differentiated(group):
            state = self._counted(param, "prev")
            if "step_size" not in state:
                first = complex(rate, rate) if param.is_complex() else rate
                state["step_size"] = FUNCTIONS["full_like"](param._grad, first)
            param, gradient, previous, size = as_real(
                param, gradient, state["prev"], state["step_size"]
            )
            before = previous.clone() if group["differentiable"] else previous
            factor = gradient.mul(before).sign()
            factor[factor.gt(0)] = longer
            factor[factor.lt(0)] = shorter
            factor[factor.eq(0)] = 1
            size.mul_(factor).clamp_(*group["step_sizes"])
            gradient = gradient.clone()
            gradient[factor.eq(shorter)] = 0  # where the sign changed, one step is left out
            param.addcmul_(gradient.sign(), size, value=-1)
            previous.copy_(gradient)
