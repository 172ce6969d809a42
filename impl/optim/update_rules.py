"""Update rules of the optimizers: one class each, with its options, its state and its formula.

Notation of the docstrings: θ is the parameter, g its gradient, γ the learning rate `lr`, t the
step and ε `eps`. The code keeps PyTorch's order of floating-point operations. Python types of the
options are those of torch's signatures; `UpdateRule` documents the class attributes.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, ClassVar

from impl.core.registry import C
from impl.factories import creation
from impl.optim import sparse_rules
from impl.optim.kept_state import number_tensor
from impl.optim.optimizer import differentiated, require, with_gradient
from impl.optim.update_rule import (
    Kept,
    UpdateRule,
    check_fused,
    computed,
    decayed,
    filled,
    one,
)
from impl.tensor.tensor import Tensor


class SGD(UpdateRule):
    """Stochastic gradient descent with momentum (I. Sutskever et al., ICML 2013).

    b ← μ b + (1 - τ) g, at the first step b ← g;  θ ← θ - γ b, with `nesterov` θ - γ (g + μ b).
    """

    _impl_options = (
        "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"
    )
    _impl_checked = ""  # see __init__
    _impl_read_after = "weight_decay momentum lr dampening nesterov maximize foreach fused"
    _impl_added_options: ClassVar[dict[str, Any]] = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }
    _impl_numbers_in_tensors = ()

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *,
                 maximize=False, foreach=None, differentiable=False, fused=None):  # fmt: skip
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if lr < 0.0:  # unlike the other optimizers' checks, these let a NaN pass
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, self._impl_defaults(locals()))

    def _impl_prepare(self, group) -> None:
        for param in with_gradient(group):
            require(group, "fused")
            check_fused(group, param)
            if group["momentum"] != 0:
                self.state[param]  # begins empty

    def _impl_update(self, group) -> None:
        momentum, lr = group["momentum"], group["lr"]
        if isinstance(lr, Tensor) and lr.ndim:
            lr = lr.squeeze()
        states = [self.state[param] if momentum != 0 else {} for param in with_gradient(group)]
        begun = []
        # There is no step count, and complex numbers stay complex.
        for state, (param, grad) in zip(states, differentiated(group), strict=True):
            kind = param.dtype
            with computed(group, param, grad, [state.get("momentum_buffer")]) as terms:
                param, grad, (buffer,) = terms
                grad = decayed(group, param, grad)
                if momentum != 0:
                    if buffer is None:
                        buffer = grad.detach().clone()
                        begun.append((state, buffer if buffer.dtype is kind else buffer.to(kind)))
                    else:
                        buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
                    grad = self._direction(group, grad, buffer)
                if isinstance(lr, Tensor):  # to be differentiated
                    param.addcmul_(grad, lr, value=-1)
                else:
                    param.add_(grad, alpha=-lr)
        for state, buffer in begun:
            state["momentum_buffer"] = buffer

    def _direction(self, group, grad: Tensor, buffer: Tensor) -> Tensor:
        """The direction that a step with momentum subtracts, but for the rate."""
        if not group["nesterov"]:
            return buffer
        if group["foreach"]:  # in place, whether that is the parameter's `.grad` or not
            return grad.add_(buffer, alpha=group["momentum"])
        return grad.add(buffer, alpha=group["momentum"])


class Adagrad(UpdateRule):
    """Adagrad (J. Duchi et al., JMLR 12, 2011, with a diagonal matrix).

    s ← s + g²;  θ ← θ - γ / (1 + (t - 1) η) · g / (√s + ε), η the `lr_decay`.
    """

    _impl_options = (
        "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable "
        "fused"
    )
    _impl_checked = "lr lr_decay weight_decay initial_accumulator_value eps"
    _impl_takes_sparse = True
    _impl_state = (
        Kept("sum", lambda self, _, p: filled(p, self.defaults["initial_accumulator_value"])),
    )
    _impl_read_at_begin = "fused"
    _impl_read_after = "lr weight_decay lr_decay eps foreach maximize differentiable fused"
    _impl_added_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "fused": None,
    }

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0,
                 eps=1e-10, foreach=None, *, maximize=False, differentiable=False,
                 fused=None):  # fmt: skip
        super().__init__(params, self._impl_defaults(locals()))
        for group in self.param_groups:
            for param in group["params"]:
                self._impl_begin(group, param)

    def __setstate__(self, state) -> None:
        """Take over the state of any optimizer, with tensors as counts of steps also where it does
        not belong to a parameter.

        Raises KeyError for a state without a count.
        """
        super().__setstate__(state)
        states = list(self.state.values())
        if states and not isinstance(states[0]["step"], Tensor):
            fused = any(group["fused"] for group in self.param_groups[-1:])
            for kept in states:
                kept["step"] = number_tensor(float(kept["step"]), fused)

    def _impl_prepare(self, group) -> None:
        require(group, "fused" if with_gradient(group) else "")
        super()._impl_prepare(group)

    def _impl_update(self, group) -> None:
        for step, param, grad, total in self._impl_each(group):
            rate = group["lr"] / (1 + (step.item() - 1) * group["lr_decay"])
            if grad.is_sparse:
                sparse_rules.adagrad(param, grad, total, rate, group["eps"])
                continue
            total.addcmul_(grad, grad, value=1)
            param.addcdiv_(grad, total.sqrt().add(group["eps"]), value=-rate)


class Adadelta(UpdateRule):
    """Adadelta (M. D. Zeiler, arXiv:1212.5701, 2012, algorithm 1).

    v ← ρ v + (1 - ρ) g²;  Δ = √(u + ε) / √(v + ε) · g;  u ← ρ u + (1 - ρ) Δ²;  θ ← θ - γ Δ.
    """

    _impl_options = "lr rho eps weight_decay maximize capturable foreach differentiable"
    _impl_checked = "lr rho eps weight_decay"
    _impl_state = (Kept("square_avg"), Kept("acc_delta"))
    _impl_captured_by_xla = False, False
    _impl_read_before = "lr rho eps weight_decay foreach maximize differentiable capturable"

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *,
                 capturable=False, maximize=False, differentiable=False):  # fmt: skip
        super().__init__(params, self._impl_defaults(locals()))

    def _impl_update(self, group) -> None:
        rho, eps = group["rho"], group["eps"]
        for _, param, grad, square_avg, acc_delta in self._impl_each(group):
            square_avg.mul_(rho).addcmul_(grad, grad, value=1 - rho)
            delta = acc_delta.add(eps).sqrt_()
            delta = delta.clone() if group["differentiable"] else delta
            delta.div_(square_avg.add(eps).sqrt_()).mul_(grad)
            acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
            param.add_(delta, alpha=-group["lr"])


class RMSprop(UpdateRule):
    """RMSprop (T. Tieleman and G. Hinton, lecture 6.5, 2012); `centered`: A. Graves, 2013.

    v ← α v + (1 - α) g²;  a ← α a + (1 - α) g;  d = √v + ε, with `centered` √(v - a²) + ε;
    b ← μ b + g / d;  θ ← θ - γ b.
    """

    _impl_options = (
        "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
    )
    _impl_checked = "lr eps momentum weight_decay alpha"
    _impl_state = (
        Kept("square_avg"),
        Kept("momentum_buffer", only_if=lambda group: group["momentum"] > 0),
        Kept("grad_avg", only_if=itemgetter("centered")),
    )
    _impl_captured_by_xla = True, True
    _impl_read_after = (
        "lr alpha eps weight_decay momentum centered foreach maximize differentiable capturable"
    )
    _impl_added_options: ClassVar[dict[str, Any]] = {
        "momentum": 0,
        "centered": False,
        **UpdateRule._impl_added_options,
    }

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0,
                 centered=False, capturable=False, foreach=None, maximize=False,
                 differentiable=False):  # fmt: skip
        super().__init__(params, self._impl_defaults(locals()))

    def _impl_update(self, group) -> None:
        lr, alpha, momentum = group["lr"], group["alpha"], group["momentum"]
        for _, param, grad, square_avg, buffer, grad_avg in self._impl_each(group):
            square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
            if group["centered"]:
                grad_avg.lerp_(grad, 1 - alpha)
                avg = square_avg.addcmul(grad_avg, grad_avg, value=-1).sqrt_()
            else:
                avg = square_avg.sqrt()
            avg = avg.add(group["eps"])
            if momentum > 0:
                buffer.mul_(momentum).addcdiv_(grad, avg)
                param.add_(buffer, alpha=-lr)
            else:
                param.addcdiv_(grad, avg, value=-lr)


class Rprop(UpdateRule):
    """Rprop without weight backtracking (M. Riedmiller and H. Braun, ICNN 1993), in PyTorch's form.

    s ← clamp(s · η₊ if g g' > 0, s · η₋ if g g' < 0, else s);  g ← 0 where g g' < 0;
    θ ← θ - s sign(g), g' the gradient of the step before.
    """

    _impl_options = "lr etas step_sizes foreach maximize differentiable capturable"
    _impl_checked = "lr etas"
    _impl_state = (
        Kept("prev"),
        Kept("step_size", lambda self, group, param: filled(param._own_grad, float(group["lr"]))),
    )
    _impl_captured_by_xla = True, True
    _impl_read_before = "etas step_sizes foreach maximize"
    _impl_read_after = "differentiable capturable"

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *,
                 capturable=False, foreach=None, maximize=False,
                 differentiable=False):  # fmt: skip
        super().__init__(params, self._impl_defaults(locals()))

    def _impl_update(self, group) -> None:
        shrink, grow = group["etas"]
        least, most = group["step_sizes"]
        for _, param, grad, prev, step_size in self._impl_each(group):
            factor = grad.mul(prev.clone()).sign()
            factor[factor.gt(0)] = grow
            factor[factor.lt(0)] = shrink
            factor[factor.eq(0)] = 1
            step_size.mul_(factor).clamp_(least, most)
            if group["foreach"]:
                # `prev` becomes the gradient: written, negated and corrected in place.
                grad = prev.copy_(-grad).neg_() if group["maximize"] else prev.copy_(grad)
                grad.copy_(C.where(factor.eq(shrink), 0, grad))
                param.addcmul_(grad.sign(), step_size, value=-1)
                continue
            grad = grad.clone()
            grad[factor.eq(shrink)] = 0
            param.addcmul_(grad.sign(), step_size, value=-1)
            prev.copy_(grad)


class ASGD(UpdateRule):
    """Averaged stochastic gradient descent (B. T. Polyak and A. B. Juditsky, 1992).

    θ ← (1 - λ η) θ - η g;  a ← a + μ (θ - a), the average, "ax" in the state;
    η = γ / (1 + λ γ t)^α, μ = 1 / max(1, t - t₀).
    """

    _impl_options = "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
    _impl_checked = "lr lambd alpha weight_decay"
    _impl_state = (
        Kept("eta", lambda self, group, param: number_tensor(float(group["lr"]))),
        Kept("mu", one),
        Kept("ax"),
    )
    _impl_captured = ("params, mus, etas, and state_steps",) * 2
    _impl_computed_in_tensors = ("lr",)
    _impl_read_after = "lambd lr t0 alpha weight_decay foreach maximize differentiable capturable"
    _impl_numbers_in_tensors = ("step", "eta", "mu")
    _impl_read_at_begin = ""
    _impl_read_of_state = "mu ax eta"

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0,
                 foreach=None, maximize=False, differentiable=False,
                 capturable=False):  # fmt: skip
        super().__init__(params, self._impl_defaults(locals()))

    def _impl_update(self, group) -> None:
        lr, lambd = group["lr"], group["lambd"]
        for step, param, grad, eta, mu, average in self._impl_each(group, decay_real=True):
            if group["foreach"]:
                param.addcmul_(grad.add(param, alpha=lambd), eta, value=-1)
                average.addcmul_(param.sub(average), mu)
            else:
                rate = eta.item()
                param.mul_(1 - lambd * rate)
                param.add_(grad, alpha=-rate)
                if mu.item() == 1:
                    average.copy_(param)
                else:
                    average.add_(param.sub(average).mul_(mu))
            t = step if group["foreach"] else step.item()  # so its dtype is not the default one
            eta.copy_(C.as_tensor(lr / ((1 + lambd * lr * t) ** group["alpha"])))
            mu.copy_(creation.tensor(1 / max(1, step.item() - group["t0"])))
