"""Adagrad: gradients divided by the root of the sum of their squares (J. Duchi et al., 2011)."""

from __future__ import annotations

from impl.operator import FUNCTIONS
from impl.optim.optimizer import (
    Optimizer,
    as_real,
    check_least,
    decayed,
    differentiated,
    step_count,
)


class Adagrad(Optimizer):
    """See torch.optim.Adagrad. Raises ValueError for negative numbers."""

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_least("learning rate", lr)
        check_least("lr_decay value", lr_decay)
        check_least("weight_decay value", weight_decay)
        check_least("initial_accumulator_value value", initial_accumulator_value)
        check_least("epsilon value", eps)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                self._begin(param)

    def _begin(self, param) -> dict:
        state = self.state[param]
        state["step"] = step_count()
        value = self.defaults["initial_accumulator_value"]
        first = complex(value, value) if param.is_complex() else value
        state["sum"] = FUNCTIONS["full_like"](param, first)
        return state

    def _update(self, group) -> None:
        for param, gradient in differentiated(group):
            state = self.state[param] or self._begin(param)
            state["step"] += 1
            gradient = decayed(group, param, gradient)
            rate = group["lr"] / (1 + (state["step"].item() - 1) * group["lr_decay"])
            param, gradient, total = as_real(param, gradient, state["sum"])
            total.addcmul_(gradient, gradient, value=1)
            param.addcdiv_(gradient, total.sqrt().add_(group["eps"]), value=-rate)
