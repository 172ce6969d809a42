"""Update rules of Adam and its relatives, which keep moving averages of the first two moments.

Notation and order of operations as in `update_rules`.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, ClassVar

from impl.core.registry import C
from impl.optim.update_rule import Kept, UpdateRule, one
from impl.tensor.tensor import Tensor

_TENSOR = "{} as a Tensor is not supported for capturable=False and foreach=True"


class Adam(UpdateRule):
    """Adam (D. P. Kingma and J. Ba, ICLR 2015, algorithm 1); AMSGrad (S. Reddi et al., ICLR 2018).

    m ← β₁ m + (1 - β₁) g;  v ← β₂ v + (1 - β₂) g²;  θ ← θ - γ m̂ / (√v̂ + ε), where
    m̂ = m / (1 - β₁ᵗ), v̂ = v / (1 - β₂ᵗ); with `amsgrad` the largest v so far instead of v.
    """

    _impl_options = (
        "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused "
        "decoupled_weight_decay"
    )
    _impl_checked = "lr eps betas weight_decay"
    _impl_computed_in_tensors = ("lr",)
    _impl_state = (
        Kept("exp_avg"),
        Kept("exp_avg_sq"),
        Kept("max_exp_avg_sq", only_if=itemgetter("amsgrad")),
    )
    _impl_read_before = "betas"
    _impl_read_at_begin = "fused capturable"
    _impl_read_after = (
        "amsgrad lr weight_decay eps maximize foreach capturable differentiable fused "
        "decoupled_weight_decay"
    )
    _impl_added_options: ClassVar[dict[str, Any]] = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 amsgrad=False, *, foreach=None, maximize=False, capturable=False,
                 differentiable=False, fused=None, decoupled_weight_decay=False):  # fmt: skip
        super().__init__(params, self._impl_defaults(locals()))

    def _impl_defaults(self, options):
        lr, betas = options["lr"], options["betas"]

        def refused(value) -> bool:
            return isinstance(value, Tensor) and options["foreach"] and not options["capturable"]

        if refused(lr):
            raise ValueError(_TENSOR.format("lr"))
        settings = super()._impl_defaults(options)
        if {type(beta) for beta in betas} not in ({float}, {Tensor}):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if refused(beta):
                raise ValueError(_TENSOR.format(f"betas[{i}]"))
            if isinstance(beta, Tensor) and beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")
        return settings | {"betas": tuple(map(_without_dims, betas))}

    def _impl_check_begun(self, group, state) -> None:
        if group["differentiable"] and state["step"].requires_grad:
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        if group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
            raise RuntimeError(_TENSOR.format("lr"))

    def _impl_update(self, group) -> None:
        lr, eps = group["lr"], group["eps"]
        beta1, beta2 = group["betas"]
        for step, param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq in self._impl_each(group, lr):
            exp_avg.lerp_(grad, 1 - beta1)
            exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            if group["differentiable"]:
                factor = -lr / (1 - beta1**step)
                scale = (1 - beta2**step).sqrt() * factor
                if group["amsgrad"]:
                    largest = C.maximum(max_exp_avg_sq.clone(), exp_avg_sq)
                    exp_avg_sq = max_exp_avg_sq.copy_(largest)
                denom = (exp_avg_sq.sqrt() / scale).add_(eps / factor)
                param.addcdiv_(exp_avg.clone(), denom)
                continue
            t = step.item()
            step_size = lr / (1 - beta1**t)
            correction = (1 - beta2**t) ** 0.5
            if group["amsgrad"]:
                C.maximum(max_exp_avg_sq, exp_avg_sq, out=max_exp_avg_sq)
                exp_avg_sq = max_exp_avg_sq
            param.addcdiv_(exp_avg, (exp_avg_sq.sqrt() / correction).add_(eps), value=-step_size)


def _without_dims(beta):
    """A tensor of one element without its dimensions; a number as it is."""
    return beta.squeeze() if isinstance(beta, Tensor) else beta


class AdamW(Adam):
    """Adam with decoupled weight decay λ (I. Loshchilov and F. Hutter, ICLR 2019, algorithm 2).

    θ ← (1 - γ λ) θ, then the step of Adam, whose g has no decay in it.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2,
                 amsgrad=False, *, maximize=False, foreach=None, capturable=False,
                 differentiable=False, fused=None):  # fmt: skip
        options = self._impl_defaults(locals() | {"decoupled_weight_decay": True})
        UpdateRule.__init__(self, params, options)

    def __setstate__(self, state) -> None:
        """Take over the state of any optimizer; its weight decay is decoupled from then on.

        Raises KeyError for the state of a parameter without a step count.
        """
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


class NAdam(UpdateRule):
    """Adam with Nesterov momentum (T. Dozat, ICLR workshop 2016, algorithm 2).

    m and v as in Adam, μₜ = β₁ (1 - 0.96^(t ψ) / 2), ψ the `momentum_decay`, M = μ₁ ⋯ μₜ;
    θ ← θ - γ (μₜ₊₁ m / (1 - μₜ₊₁ M) + (1 - μₜ) g / (1 - M)) / (√v̂ + ε).
    """

    _impl_options = (
        "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach "
        "capturable differentiable"
    )
    _impl_checked = "lr eps betas weight_decay momentum_decay"
    _impl_computed_in_tensors = ("lr",)
    _impl_state = (Kept("mu_product", one), Kept("exp_avg"), Kept("exp_avg_sq"))
    _impl_captured = "params, mu_products and state_steps", "params, mu_products, and state_steps"
    _impl_read_before = "betas"
    _impl_read_after = (
        "lr weight_decay momentum_decay eps maximize decoupled_weight_decay foreach capturable "
        "differentiable"
    )
    _impl_added_options: ClassVar[dict[str, Any]] = {
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
    }
    _impl_numbers_in_tensors = ("step", "mu_product")
    _impl_read_of_state = "exp_avg exp_avg_sq mu_product"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 momentum_decay=4e-3, decoupled_weight_decay=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False):  # fmt: skip
        super().__init__(params, self._impl_defaults(locals()))

    def _impl_update(self, group) -> None:
        lr, eps = group["lr"], group["eps"]
        beta1, beta2 = group["betas"]

        def momentum(t):
            return beta1 * (1.0 - 0.5 * (0.96 ** (t * group["momentum_decay"])))

        for step, param, grad, mu_product, exp_avg, exp_avg_sq in self._impl_each(group, lr, True):
            t = step.item()
            mu, next_mu = momentum(t), momentum(t + 1)
            mu_product *= mu
            exp_avg.lerp_(grad, 1 - beta1)
            exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            denom = exp_avg_sq.div(1 - beta2**t).sqrt()
            if group["differentiable"]:
                denom = denom.add(eps)
                next_product = mu_product * next_mu
                param.addcdiv_(grad * (-lr * (1.0 - mu) / (1.0 - mu_product)), denom)
                param.addcdiv_(exp_avg * (-lr * next_mu / (1.0 - next_product)), denom)
            else:
                denom.add_(eps)
                product = mu_product.item()
                param.addcdiv_(grad, denom, value=-lr * (1.0 - mu) / (1.0 - product))
                param.addcdiv_(exp_avg, denom, value=-lr * next_mu / (1.0 - product * next_mu))


class RAdam(UpdateRule):
    """Rectified Adam (L. Liu et al., ICLR 2020, algorithm 2).

    m and v as in Adam, ρ∞ = 2 / (1 - β₂) - 1, ρ = ρ∞ - 2 t β₂ᵗ / (1 - β₂ᵗ). If ρ > 5,
    θ ← θ - γ r m̂ / (√v̂ + ε), r² = (ρ - 4) (ρ - 2) ρ∞ / ((ρ∞ - 4) (ρ∞ - 2) ρ); else θ - γ m̂.
    """

    _impl_options = (
        "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay "
        "differentiable"
    )
    _impl_checked = "lr eps betas weight_decay"
    _impl_state = (Kept("exp_avg"), Kept("exp_avg_sq"))
    _impl_read_before = "betas"
    _impl_read_after = (
        "lr weight_decay eps maximize foreach capturable differentiable decoupled_weight_decay"
    )
    _impl_added_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "capturable": False,
    }

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False,
                 differentiable=False):  # fmt: skip
        super().__init__(params, self._impl_defaults(locals()))

    def _impl_update(self, group) -> None:
        lr, eps = float(group["lr"]), group["eps"]
        beta1, beta2 = group["betas"]
        rho_inf = 2 / (1 - beta2) - 1
        for step, param, grad, exp_avg, exp_avg_sq in self._impl_each(group, lr, True):
            t = step.item()
            exp_avg.lerp_(grad, 1 - beta1)
            exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            update = exp_avg / (1 - beta1**t) * lr
            correction = 1 - beta2**t
            rho = rho_inf - 2 * t * (beta2**t) / correction
            if rho > 5.0:
                ratio = (rho - 4) * (rho - 2) * rho_inf
                rectified = (ratio / ((rho_inf - 4) * (rho_inf - 2) * rho)) ** 0.5
                update = update * (correction**0.5 / exp_avg_sq.sqrt().add(eps)) * rectified
            param.add_(update, alpha=-1.0)


class Adamax(UpdateRule):
    """Adam with the infinity norm (D. P. Kingma and J. Ba, ICLR 2015, algorithm 2).

    m ← β₁ m + (1 - β₁) g;  u ← max(β₂ u, |g| + ε);  θ ← θ - γ m / ((1 - β₁ᵗ) u).
    """

    _impl_options = "lr betas eps weight_decay foreach maximize differentiable capturable"
    _impl_checked = "lr eps betas weight_decay"
    _impl_computed_in_tensors = ("lr",)
    _impl_state = (Kept("exp_avg"), Kept("exp_inf"))
    _impl_read_before = "betas eps lr weight_decay foreach maximize differentiable capturable"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None,
                 *, maximize=False, differentiable=False, capturable=False):  # fmt: skip
        super().__init__(params, self._impl_defaults(locals()))

    def _impl_update(self, group) -> None:
        beta1, beta2 = group["betas"]
        for step, param, grad, exp_avg, exp_inf in self._impl_each(group):
            exp_avg.lerp_(grad, 1 - beta1)
            norm = grad.abs().add_(group["eps"])
            if group["differentiable"]:
                pair = [exp_inf.mul_(beta2).unsqueeze(0), norm.unsqueeze_(0)]
                exp_inf.copy_(C.cat(pair, 0).amax(0))
            else:
                C.maximum(exp_inf.mul_(beta2), norm, out=exp_inf)
            step_size = group["lr"] / (1 - beta1 ** step.item())
            param.addcdiv_(exp_avg, exp_inf, value=-step_size)
