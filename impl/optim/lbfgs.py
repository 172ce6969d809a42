"""`LBFGS`, a quasi-Newton method that evaluates the loss several times in one step."""

from __future__ import annotations

from typing import Any

from impl.core.grad_mode import enable_grad, no_grad
from impl.core.registry import C
from impl.optim.line_search import cubic_interpolate, strong_wolfe
from impl.optim.optimizer import Optimizer, require
from impl.optim.options import check_option
from impl.optim.update_rule import as_real
from impl.tensor.tensor import Tensor

__all__ = ["LBFGS"]

# Minimisers import the line search under these names of torch's.
_strong_wolfe, _cubic_interpolate = strong_wolfe, cubic_interpolate


class LBFGS(Optimizer):
    """Limited-memory BFGS (J. Nocedal, Math. Comp. 35, 1980), for one group of parameters.

    Raises ValueError for several groups, RuntimeError for another line search than "strong_wolfe".
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7,
                 tolerance_change=1e-9, history_size=100,
                 line_search_fn=None, *, maximize=False) -> None:  # fmt: skip
        check_option("lr", lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
            "maximize": maximize,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    def _gradient(self) -> Tensor:
        """All gradients as one real vector; zeros for a parameter without a gradient."""
        parts = []
        for param in self._params:
            gradient = param._own_grad
            if gradient is None:
                gradient = param.new_zeros(param.numel())
            elif gradient.is_sparse:
                gradient = gradient.to_dense()
            (real,) = as_real(gradient.view(-1))
            parts.append(real.view(-1))
        gradient = C.cat(parts, 0)
        return gradient.neg_() if self._maximizes else gradient

    @property
    def _maximizes(self) -> bool:
        return self.param_groups[0].get("maximize", False)

    def _loss(self, value) -> float:
        """The value of the closure as a loss to be minimised."""
        return -float(value) if self._maximizes else float(value)

    def _move(self, size, direction: Any) -> None:
        """Add `size` times the direction to the parameters."""
        start = 0
        for param in as_real(*self._params):
            end = start + param.numel()
            param.add_(direction[start:end].view_as(param), alpha=_number(size))
            start = end

    def step(self, closure):  # type: ignore[override]
        """Run at most `max_iter` iterations; returns the loss before the first.

        Raises AssertionError if groups have been added, KeyError for an option that is missing.
        """
        groups = len(self.param_groups)
        if groups != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {groups}")
        with no_grad():
            closure = enable_grad()(closure)
            return self._step(closure) if self._params else closure()

    def _step(self, closure):
        group = self.param_groups[0]
        require(group, "lr max_iter max_eval tolerance_grad tolerance_change line_search_fn")
        require(group, "history_size")
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss = self._loss(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        gradient = self._gradient()
        if gradient.abs().max() <= group["tolerance_grad"]:
            return first_loss
        known: dict[str, Any] = {
            name: state.get(name)
            for name in ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad")
        }
        known["prev_loss"] = state.get("prev_loss")
        iterations = 0
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            self._direction(state, known, gradient, group["history_size"])
            if known["prev_flat_grad"] is None:
                known["prev_flat_grad"] = gradient.clone()
            else:
                known["prev_flat_grad"].copy_(gradient)
            known["prev_loss"] = loss
            known["t"] = group["lr"]
            if state["n_iter"] == 1:
                known["t"] = min(1.0, 1.0 / gradient.abs().sum()) * group["lr"]
            slope = gradient.dot(known["d"])
            if slope > -group["tolerance_change"]:
                break
            last = iterations == group["max_iter"]
            left = group["max_eval"] - evaluations
            loss, gradient, more = self._search(closure, known, loss, gradient, slope, left, last)
            evaluations += more
            state["func_evals"] += more
            if last or evaluations >= group["max_eval"]:
                break
            if gradient.abs().max() <= group["tolerance_grad"]:
                break
            if known["d"].mul(known["t"]).abs().max() <= group["tolerance_change"]:
                break
            if abs(loss - known["prev_loss"]) < group["tolerance_change"]:
                break
        state.update(known)
        return first_loss

    def _direction(self, state, known, gradient: Tensor, size: int) -> None:
        """Compute the direction, by the two-loop recursion over the last `size` differences."""
        if state["n_iter"] == 1:
            known.update(d=gradient.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return
        change = gradient.sub(known["prev_flat_grad"])
        step = known["d"].mul(known["t"])
        product = change.dot(step)
        changes, steps, inverses = known["old_dirs"], known["old_stps"], known["ro"]
        if product > 1e-10:
            if len(changes) == size:
                for remembered in (changes, steps, inverses):
                    remembered.pop(0)
            changes.append(change)
            steps.append(step)
            inverses.append(1.0 / product)
            known["H_diag"] = product / change.dot(change)
        weights = state.setdefault("al", [None] * size)
        direction = gradient.neg()
        for i in range(len(changes) - 1, -1, -1):
            weights[i] = steps[i].dot(direction) * inverses[i]
            direction.add_(changes[i], alpha=_number(-weights[i]))
        direction = direction * known["H_diag"]
        for i, change in enumerate(changes):
            back = change.dot(direction) * inverses[i]
            direction.add_(steps[i], alpha=_number(weights[i] - back))
        known["d"] = direction

    def _search(self, closure, known, loss, gradient, slope, left: int, last: bool):
        """Move along the direction; returns loss, gradient and the number of evaluations."""
        method = self.param_groups[0]["line_search_fn"]
        if method is None:
            self._move(known["t"], known["d"])
            if last:
                return loss, gradient, 0
            with enable_grad():
                value = closure()
            return self._loss(value), self._gradient(), 1
        if method != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [param.clone() for param in self._params]

        def evaluate(start, size, direction):
            self._move(size, direction)
            value = self._loss(closure())
            made = self._gradient()
            for param, before in zip(self._params, start, strict=True):
                param.copy_(before)
            return value, made

        found = _strong_wolfe(
            evaluate, start, known["t"], known["d"], loss, gradient, slope, max_ls=left
        )
        loss, gradient, known["t"], evaluations = found
        self._move(known["t"], known["d"])
        return loss, gradient, evaluations


def _number(value):
    """A number, or the number in a tensor of one element."""
    return value.item() if isinstance(value, Tensor) else value
