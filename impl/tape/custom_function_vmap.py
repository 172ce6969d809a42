"""Custom Functions within torch.func.vmap (torch/_functorch/autograd_function.py).

A Function with `generate_vmap_rule` is applied as another one, whose forward and backward call
those of the first on batched tensors. One with a `vmap` method of its own computes its results for
a whole batch by that; where a transform of differentiation runs within the `vmap`, its backward is
still called on batched tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from impl.core.registry import tensor_ops
from impl.core.state import STATE
from impl.tensor.batched_tensor import BatchedTensor, batched, is_at, with_dim
from impl.tensor.tensor import Tensor

_PAGE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
_NO_RULE = (
    "You tried to vmap over {}, but it does not have vmap support. Please override and implement "
    f"the vmap staticmethod or set generate_vmap_rule=True. {_PAGE}"
)
_TWO_RULES = (
    "You tried to vmap over {}, but it has both generate_vmap_rule=True and an overridden vmap "
    "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod "
    f"to avoid ambiguity. {_PAGE}"
)
_PAIR = (
    "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree "
    "structure compatible with the output. Got {} instead"
)
_OUT_DIMS = (
    "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. "
    "Expected out_dims={} to be compatible with the structure of `output`. out_dims has structure "
    f"{{}} but output has structure {{}}. {_PAGE}"
)


class VmapInfo(NamedTuple):
    """The first argument of a Function's `vmap`."""

    batch_size: int
    randomness: str


def level_of(args: tuple) -> Any:
    """The level of `vmap` at which a Function is applied: that which runs innermost of all
    transforms, or else the innermost at which an argument is batched; None if there is none."""
    if not STATE.batched or not STATE.transforms:
        return None
    if STATE.transforms[-1].randomness is not None:
        return STATE.transforms[-1]
    levels = [a._level for a in args if type(a) is BatchedTensor]
    return max(levels, key=lambda level: level.number, default=None)


def applied(cls, base, args: tuple, level) -> Any:
    """The results of a Function for a batch of arguments.

    `base` is the class of all Functions. Raises RuntimeError for a Function without a rule, and for
    a `vmap` method that returns no pair of outputs and their dimensions.
    """
    own = cls.vmap is not base.vmap
    if own and cls.generate_vmap_rule:
        raise RuntimeError(_TWO_RULES.format(cls.__name__))
    if not own and not cls.generate_vmap_rule:
        raise RuntimeError(_NO_RULE.format(cls.__name__))
    dims = tuple(a._dim if is_at(a, level) else None for a in args)
    values = tuple(a._value if is_at(a, level) else a for a in args)
    stack = STATE.transforms
    if all(dim is None for dim in dims):
        with transforms(stack[: stack.index(level)]):
            return cls.apply(*args)
    if own and stack[-1] is level:
        with transforms(stack[:-1]):
            outputs, out_dims = called(cls.vmap, level, dims, values)
        return wrapped(outputs, out_dims, level)
    rule = _Rule(cls, level, dims, stack)
    mapped: Any = type(
        f"Vmapped{cls.__name__}",
        (base,),
        {
            "forward": staticmethod(rule.own_forward if own else rule.forward),
            "setup_context": staticmethod(rule.setup_context),
            "backward": staticmethod(rule.backward),
            "jvp": staticmethod(rule.jvp),
            "generate_vmap_rule": True,
        },
    )
    with transforms(stack[: stack.index(level)]):
        outputs = mapped.apply(*values)
    return wrapped(outputs, rule.out_dims, level)


@contextmanager
def transforms(stack: tuple) -> Iterator[None]:
    """Let these transforms run for the duration of a block."""
    before = STATE.transforms, STATE.batched
    STATE.transforms = stack
    STATE.batched = any(transform.randomness is not None for transform in stack)
    STATE.fast_path_blockers += 1
    try:
        yield
    finally:
        STATE.transforms, STATE.batched = before
        STATE.fast_path_blockers -= 1


def called(rule, level, dims: tuple, values: tuple) -> tuple:
    """The outputs of a rule, such as a Function's `vmap` method, and their dimensions."""
    result = rule(VmapInfo(level.size, level.randomness), dims, *values)
    if not isinstance(result, tuple):
        raise RuntimeError(_PAIR.format(f"a {type(result)}"))
    if len(result) != 2:
        raise RuntimeError(_PAIR.format(f"{len(result)} returns"))
    return result


def wrapped(outputs: Any, out_dims: Any, level) -> Any:
    """The outputs as batched tensors, each by its dimension."""
    if not isinstance(outputs, tuple):
        if isinstance(out_dims, (tuple, list)):
            raise RuntimeError(_OUT_DIMS.format(out_dims, _structure(out_dims), "*"))
        return _hidden(outputs, out_dims, level)
    several = isinstance(out_dims, (tuple, list))
    dims = out_dims if several else (out_dims,) * len(outputs)
    if len(dims) != len(outputs):
        texts = _structure(out_dims), _structure(outputs)
        raise RuntimeError(_OUT_DIMS.format(out_dims, *texts))
    return tuple(_hidden(value, dim, level) for value, dim in zip(outputs, dims, strict=True))


def _hidden(value: Any, dim: int | None, level) -> Any:
    if dim is None or not isinstance(value, Tensor):
        return value
    return batched(value, dim % value._raw.ndim, level)


def _structure(values: Any) -> str:
    if not isinstance(values, (tuple, list)):
        return "*"
    leaves = ",\n  ".join("*" for _ in values)
    return f"TreeSpec({type(values).__name__}, None, [{leaves}])"


class _Rule:
    """The static methods of the Function by which another one is applied to a batch."""

    def __init__(self, cls, level, dims: tuple, stack: tuple) -> None:
        self.cls, self.level, self.dims, self.stack = cls, level, dims, stack
        self.out_dims: Any = None
        self.saved_dims: list = []

    def forward(self, *values):
        with transforms(self.stack):
            outputs = self.cls.forward(*self._shown(values))
            results = outputs if isinstance(outputs, tuple) else (outputs,)
            made = tuple(self._explicit(result) for result in results)
        self.out_dims = tuple(0 if is_at(result, self.level) else None for result in results)
        if not isinstance(outputs, tuple):
            self.out_dims = self.out_dims[0]
            return made[0]
        return made

    def own_forward(self, *values):
        with transforms(self.stack[: self.stack.index(self.level)]):
            outputs, self.out_dims = called(self.cls.vmap, self.level, self.dims, values)
        wrapped(outputs, self.out_dims, self.level)  # which looks at the dimensions
        return outputs

    def setup_context(self, ctx, inputs, output):
        with self._entered():
            shown = wrapped(output, self.out_dims, self.level)
            self.cls.setup_context(_Context(ctx, self), self._shown(inputs), shown)

    def backward(self, ctx, *gradients):
        with self._entered():
            results = self.cls.backward(_Context(ctx, self), *self._outputs(gradients))
            return self._reduced(results if isinstance(results, tuple) else (results,))

    def jvp(self, ctx, *tangents):
        with self._entered():
            results = self.cls.jvp(_Context(ctx, self), *self._shown(tangents))
            several = isinstance(results, tuple)
            made = tuple(with_dim(t, self.level, 0) for t in (results if several else (results,)))
            return made if several else made[0]

    @contextmanager
    def _entered(self) -> Iterator[None]:
        """The level, for a block that may come after its end."""
        running = STATE.transforms
        with transforms(running if self.level in running else (*running, self.level)):
            yield

    def _shown(self, values) -> tuple:
        return tuple(
            value if dim is None or value is None else batched(value, dim, self.level)
            for value, dim in zip(values, self.dims, strict=True)
        )

    def _outputs(self, gradients) -> list:
        dims = self.out_dims if isinstance(self.out_dims, tuple) else (self.out_dims,)
        dims = dims * len(gradients) if len(dims) < len(gradients) else dims
        return [
            None if g is None else _hidden(g, dim, self.level)
            for g, dim in zip(gradients, dims, strict=True)
        ]

    def _explicit(self, value: Any) -> Any:
        return with_dim(value, self.level, 0) if is_at(value, self.level) else value

    def _reduced(self, gradients: tuple) -> tuple:
        """Gradients of the arguments: with the mapped dimension of those that have one, summed over
        the examples for the others."""
        dims = (*self.dims, *(None,) * (len(gradients) - len(self.dims)))
        made: list = []
        for gradient, dim in zip(gradients, dims, strict=True):
            if gradient is None:
                made.append(None)
            elif dim is None:
                whole = self._explicit(gradient)
                made.append(whole if whole is gradient else tensor_ops.sum_dim(whole, (0,), False))
            else:
                made.append(with_dim(gradient, self.level, dim))
        return tuple(made)


class _Context:
    """A context that saves the values of batched tensors, and shows them as batched tensors."""

    def __init__(self, ctx, rule: _Rule) -> None:
        object.__setattr__(self, "_ctx", ctx)
        object.__setattr__(self, "_rule", rule)

    def save_for_backward(self, *tensors) -> None:
        """Save tensors, or None, for backward."""
        self._ctx.save_for_backward(*self._taken(tensors))

    def save_for_forward(self, *tensors) -> None:
        """Save tensors, or None, for jvp."""
        self._ctx.save_for_forward(*self._taken(tensors))

    def _taken(self, tensors: tuple) -> tuple:
        level = self._rule.level
        self._rule.saved_dims[:] = [t._dim if is_at(t, level) else None for t in tensors]
        return tuple(t._value if is_at(t, level) else t for t in tensors)

    @property
    def saved_tensors(self) -> tuple:
        """The saved tensors, batched where they were."""
        saved, dims = self._ctx.saved_tensors, self._rule.saved_dims
        level = self._rule.level
        return tuple(
            value if dim is None else batched(value, dim, level)
            for value, dim in zip(saved, dims, strict=True)
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx, name, value)
