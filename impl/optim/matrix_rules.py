"""Optimizers whose rule depends on the dimensions of a parameter: Adafactor and Muon.

Notation as in `update_rules`.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from impl.core.registry import C
from impl.factories.type_info import finfo
from impl.functional import norm
from impl.optim.kept_state import number_tensor
from impl.optim.optimizer import Optimizer, differentiated, with_gradient
from impl.optim.sparse_rules import refuse_sparse
from impl.tensor.tensor import Tensor


def _check(name: str, value, bound: str = ">= 0") -> None:
    """Raise ValueError unless an option is on the right side of its bound."""
    if name == "Learning rate" and isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    relation, limit = bound.split()
    if not (float(limit) <= value if relation == ">=" else float(limit) >= value):
        raise ValueError(f"{name} should be {bound} but is: {value}")


class Adafactor(Optimizer):
    """Adafactor (N. Shazeer and M. Stern, ICML 2018), with second moments in factored form.

    ρ = min(γ, 1 / √t), α = max(ε₂, RMS(θ)) ρ, β = 1 - t^τ, τ the `beta2_decay`;
    θ ← (1 - γ λ) θ;  r ← β r + (1 - β) mean of g² by rows, c the same by columns, v = r c over the
    mean of r, for a vector v ← β v + (1 - β) g²;  u = g / √max(v, ε₁²);
    θ ← θ - α u / max(1, RMS(u) / d).
    """

    __module__ = "impl.optim"
    _impl_computed_in_tensors = ("lr",)
    _impl_read_before = "eps"
    _impl_read_after = "d lr beta2_decay weight_decay foreach maximize"
    _impl_added_options: ClassVar[dict[str, Any]] = {"foreach": None}
    _impl_numbers_in_tensors = ("step",)

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0,
                 *, foreach=None, maximize=False):  # fmt: skip
        _check("Learning rate", lr)
        _check("beta2_decay", beta2_decay, "<= 0")
        if eps[0] is not None:
            _check("epsilon1", eps[0])
        _check("epsilon2", eps[1])
        _check("Clipping threshold d", d, ">= 1")
        _check("weight_decay", weight_decay)
        defaults = {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d}
        defaults |= {"weight_decay": weight_decay, "foreach": foreach, "maximize": maximize}
        super().__init__(params, defaults)

    def _impl_begin(self, grad: Tensor) -> dict[str, Any]:
        state: dict[str, Any] = {"step": number_tensor(0.0)}
        if grad.ndim > 1:
            rows, columns = [*grad.shape], [*grad.shape]
            rows[-1] = columns[-2] = 1
            state |= {"row_var": grad.new_zeros(rows), "col_var": grad.new_zeros(columns)}
        else:
            state["variance"] = C.zeros_like(grad)
        return state

    def _impl_prepare(self, group) -> None:
        _least, _smallest = group["eps"]  # a number, from another optimizer, is refused first
        for param in with_gradient(group):
            _refuse_complex("Adafactor", param)
            refuse_sparse("Adafactor", param)
            if not self.state[param]:
                self.state[param].update(self._impl_begin(param._own_grad))

    def _impl_update(self, group) -> None:
        lr, decay, d = group["lr"], group["weight_decay"], group["d"]
        least, smallest = group["eps"]
        for param, grad in differentiated(group):
            state = self.state[param]
            if least is None:  # that of the first parameter, for all of the group
                least = finfo(param.dtype).eps
            state["step"] += 1
            t = state["step"].item()
            rate = max(smallest, _rms(param)) * min(lr, 1 / t**0.5)
            if decay != 0:
                param.mul_(1 - lr * decay)
            estimate = _second_moments(state, grad, t ** group["beta2_decay"], least)
            update = estimate.clamp_(min=least * least).rsqrt_().mul_(grad)
            param.add_(update, alpha=-rate / max(1.0, _rms(update) / d))


def _refuse_complex(optimizer: str, param: Tensor) -> None:
    if param.is_complex():
        raise RuntimeError(f"{optimizer} does not support complex parameters")


def _rms(tensor: Tensor) -> float:
    norm: Any = tensor.norm(2)
    return norm.item() / tensor.numel() ** 0.5


def _second_moments(state: dict[str, Any], grad: Any, weight: float, least: float) -> Tensor:
    """Move the averages of g² towards those of this gradient, and return their estimate."""
    if grad.ndim <= 1:
        state["variance"].lerp_(grad * grad, weight)
        return state["variance"].clone()
    rows: Any = state["row_var"]
    columns: Any = state["col_var"]
    for average, dim in ((rows, -1), (columns, -2)):
        squares = norm(grad, dim=dim, keepdim=True).square_()
        average.lerp_(squares.div_(grad.size(dim)), weight)
    return (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=least))


# Factors of Muon's learning rate for a matrix of so many rows and columns.
_LR_ADJUSTMENTS = {
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
    "spectral_unclamped": lambda rows, columns: math.sqrt(rows / columns),
}


class Muon(Optimizer):
    """Muon (K. Jordan, 2024): momentum of matrices, made orthogonal by Newton and Schulz's steps.

    b ← μ b + (1 - μ) g;  u = (1 - μ) g + μ b with `nesterov`, else b;  θ ← (1 - γ λ) θ;
    θ ← θ - γ s O, with O near to U V^T of u = U S V^T, and s from the shape by `adjust_lr_fn`.
    """

    __module__ = "impl.optim"
    _impl_computed_in_tensors = ("lr",)
    _impl_read_before = "lr weight_decay momentum"
    _impl_read_after = "nesterov ns_coefficients eps ns_steps adjust_lr_fn"

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True,
                 ns_coefficients=(3.4445, -4.775, 2.0315), eps=1e-7, ns_steps=5,
                 adjust_lr_fn=None):  # fmt: skip
        _check("Learning rate", lr)
        _check("momentum", momentum)
        _check("weight decay", weight_decay)
        if adjust_lr_fn is not None and adjust_lr_fn not in [*_LR_ADJUSTMENTS]:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum}
        defaults |= {"nesterov": nesterov, "ns_coefficients": ns_coefficients, "eps": eps}
        super().__init__(params, {**defaults, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn})
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{param.size()}"
                    )

    def _impl_prepare(self, group) -> None:
        for param in with_gradient(group):
            _refuse_complex("Muon", param)
            refuse_sparse("Muon", param)
            if "momentum_buffer" not in self.state[param]:
                zeros = C.zeros_like(param._own_grad)
                self.state[param]["momentum_buffer"] = zeros

    def _impl_update(self, group) -> None:
        lr, momentum = group["lr"], group["momentum"]
        for param in with_gradient(group):
            grad: Any = param._own_grad
            if grad.ndim != 2:
                raise ValueError("Param gradient must be a 2D matrix")
            buffer = self.state[param]["momentum_buffer"].lerp_(grad, 1 - momentum)
            update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
            settings = group["ns_coefficients"], group["ns_steps"], group["eps"]
            update = _orthogonalised(update, *settings)
            scale = _LR_ADJUSTMENTS[group["adjust_lr_fn"] or "original"](*param.shape)
            param.mul_(1 - lr * group["weight_decay"])
            param.add_(update, alpha=-lr * scale)


def _orthogonalised(matrix: Tensor, coefficients, steps: int, eps: float) -> Tensor:
    """Steps of a quintic iteration that moves all singular values towards one, in bfloat16."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    result = matrix.bfloat16()
    result = result.T if tall else result
    result.div_(result.norm().clamp(min=eps))
    addmm = C.addmm
    for _ in range(steps):
        gram = result @ result.T
        result = addmm(result, addmm(gram, gram, gram, beta=b, alpha=c), result, beta=a)
    return result.T if tall else result
