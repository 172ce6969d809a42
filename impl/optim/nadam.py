"""NAdam: Adam with the momentum of Nesterov (T. Dozat, 2016)."""

from __future__ import annotations

from impl.creation import tensor as tensor_of
from impl.operator import FUNCTIONS
from impl.optim.optimizer import Optimizer, as_real, check_least, differentiated, step_count


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
        for i, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
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

    def _state(self, param) -> dict:
        state = self.state[param]
        if not state:
            state["step"] = step_count()
            state["mu_product"] = tensor_of(1.0)
            for name in ("exp_avg", "exp_avg_sq"):
                state[name] = FUNCTIONS["zeros_like"](param)
        return state

    def _update(self, group) -> None:
        lr, decay, eps = float(group["lr"]), group["weight_decay"], group["eps"]
        beta1, beta2 = group["betas"]

        def momentum(step):
            return beta1 * (1.0 - 0.5 * (0.96 ** (step * group["momentum_decay"])))

        for param, gradient in differentiated(group):
            state = self._state(param)
            product = state["mu_product"]
            param, gradient, mean, square = as_real(
                param, gradient, state["exp_avg"], state["exp_avg_sq"]
            )
            state["step"] += 1
            step = state["step"].item()
            if decay != 0:
                if group["decoupled_weight_decay"]:
                    param.mul_(1 - lr * decay)
                else:
                    gradient = gradient.add(param, alpha=decay)
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
