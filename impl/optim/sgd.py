"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from impl.optim.optimizer import Optimizer, decayed, differentiated


class SGD(Optimizer):
    """Steps along the gradient or its running sum (torch.optim.SGD).

    Raises ValueError for negative numbers, and for Nesterov's variant without momentum.
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)

    def _update(self, group) -> None:
        momentum = group["momentum"]
        for param, gradient in differentiated(group):
            gradient = decayed(group, param, gradient)
            if momentum != 0:
                state = self.state[param]
                running = state.get("momentum_buffer")
                if running is None:
                    running = state["momentum_buffer"] = gradient.detach().clone()
                else:
                    running.mul_(momentum).add_(gradient, alpha=1 - group["dampening"])
                gradient = gradient.add(running, alpha=momentum) if group["nesterov"] else running
            param.add_(gradient, alpha=-group["lr"])
