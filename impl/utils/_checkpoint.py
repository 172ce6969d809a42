"""`torch.utils.checkpoint`: calls whose saved tensors are recomputed in backward.

The non-reentrant variant records an ordinary graph, whose saved tensors `impl.utils._recomputation`
replaces. The reentrant variant records one `Function`, which runs a nested backward pass in its
backward.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Iterable, Iterator

from impl.core.grad_mode import enable_grad, no_grad
from impl.core.state import STATE
from impl.dispatch.autocast import (
    autocast,
    get_autocast_dtype,
    is_autocast_cache_enabled,
    is_autocast_enabled,
)
from impl.engine.backward import backward
from impl.factories import generator
from impl.tape.custom_function import Function
from impl.tensor.tensor import Tensor
from impl.utils._checkpoint_debug import logging_contexts
from impl.utils._recomputation import CheckpointFrame
from impl.utils._selective import _CachingTorchDispatchMode

_UNSTATED = (
    "use_reentrant=False is recommended, but if you need to preserve the current default behavior, "
    "you can pass use_reentrant=True. Refer to docs for more details on the differences between "
    "the two variants."
)


def noop_context_fn():
    """Two contexts that do nothing, the default `context_fn`."""
    return contextlib.nullcontext(), contextlib.nullcontext()


# The metadata of a saved tensor that must be equal in forward and rerun.
_CHECKS = {
    "default": lambda t: {"shape": t.shape, "dtype": t.dtype, "device": t.device},
    "none": lambda t: None,
}
# Overrides of the arguments of the same names; None for no override.
_OVERRULING: dict[str, bool | None] = {"early_stop": None, "debug": None}


@contextlib.contextmanager
def _overruling(name: str, value: bool | None) -> Iterator[None]:
    before, _OVERRULING[name] = _OVERRULING[name], value
    try:
        yield
    finally:
        _OVERRULING[name] = before


def _in_force(name: str, argument: bool) -> bool:
    value = _OVERRULING[name]
    return argument if value is None else value


def set_checkpoint_early_stop(enable: bool):
    """A context manager that overrides `early_stop` of the checkpointed calls made inside."""
    return _overruling("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None):
    """A context manager that overrides `debug` of the checkpointed calls made inside."""
    return _overruling("debug", enabled)


def checkpoint(
    function=None,
    *args,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn=noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    respect_saved_tensors_hooks: bool | None = None,
    **kwargs,
):
    """`function(*args, **kwargs)`, computed again in backward instead of saving its tensors.

    Without a function, a decorator that checkpoints every call of one.

    Args:
        use_reentrant: the variant; True, with a warning, if not given.
        preserve_rng_state: whether a rerun draws the random numbers of the first run.
        context_fn: returns the contexts of the first run and of reruns.
        determinism_check: "default" or "none", whether shapes and dtypes of a rerun are compared.
        debug: list the operators of both runs in an error about their difference.
        early_stop: end a rerun as soon as all needed tensors are saved.
        respect_saved_tensors_hooks: whether the saved-tensor hooks around the call see the tensors
            that a selective checkpoint keeps; None warns of such hooks, and leaves them out.
        kwargs: for the function.

    Raises ValueError for arguments that do not go together, RuntimeError when a forward context
    swallows an exception, and in backward CheckpointError (torch.utils.checkpoint.checkpoint).
    """
    options = {
        "use_reentrant": use_reentrant,
        "preserve_rng_state": preserve_rng_state,
        "context_fn": context_fn,
        "determinism_check": determinism_check,
        "debug": debug,
        "early_stop": early_stop,
        "respect_saved_tensors_hooks": respect_saved_tensors_hooks,
    }
    if function is None and not args:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        return functools.partial(_CheckpointedFunction, **options)
    return _checkpointed(function, args, kwargs, **options)


class _CheckpointedFunction:
    """A function every call of which is checkpointed; as a method it is bound like a function."""

    def __init__(self, function, **options) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function, self.options = function, options

    def __call__(self, *args, **kwargs):
        return _checkpointed(self.function, args, kwargs, **self.options)

    def __get__(self, instance, owner=None):
        bind = getattr(self.function, "__get__", None)
        if instance is None or bind is None:
            return self
        return type(self)(bind(instance, owner), **self.options)


def _checkpointed(
    function,
    args: tuple,
    kwargs: dict,
    *,
    use_reentrant: bool | None,
    preserve_rng_state: bool,
    context_fn,
    determinism_check: str,
    debug: bool,
    early_stop: bool,
    respect_saved_tensors_hooks: bool | None,
):
    """One checkpointed call."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. In a "
            "future release, calling checkpoint without use_reentrant will raise an exception. "
            f"{_UNSTATED}",
            stacklevel=1,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        plain = context_fn is noop_context_fn and debug is False
        if not plain or respect_saved_tensors_hooks is not None:
            raise ValueError(
                "Passing `context_fn`, `debug`, or `respect_saved_tensors_hooks` is only supported "
                "when use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    explain = None
    if _in_force("debug", debug):
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        context_fn, explain = logging_contexts()
    if determinism_check not in _CHECKS:
        raise ValueError(
            f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}"
        )
    forward_context, rerun_context = context_fn()
    if isinstance(forward_context, _CachingTorchDispatchMode):
        forward_context.respect_saved_tensors_hooks = respect_saved_tensors_hooks
    as_now = _as_now(preserve_rng_state)
    if not STATE.enabled:
        return function(*args, **kwargs)

    def run_again(*args) -> None:
        with as_now(), rerun_context:
            function(*args, **kwargs)

    stops = _in_force("early_stop", early_stop)
    call = CheckpointFrame(run_again, args, stops, _CHECKS[determinism_check], explain)
    with call.hooks(), forward_context:
        result = function(*args, **kwargs)
        call.returned = True
    if not call.returned:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an "
            "exception raised during the checkpointed forward. This is not supported because "
            "checkpoint cannot return a value for a failed forward."
        )
    return result


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Apply functions (or the children of a Sequential) one after the other to a tensor.

    They are cut into segments, of which all but the last are checkpointed. Arguments as
    `checkpoint` (torch.utils.checkpoint.checkpoint_sequential).
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be "
            "passed explicitly. In a future release, we will raise an exception if use_reentrant "
            f"is not passed. {_UNSTATED}",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children() if hasattr(functions, "children") else functions)
    size = len(steps) // segments
    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(
            _composed(steps[start:end]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return _composed(steps[end:])(input)


def _composed(steps):
    def run(value):
        for step in steps:
            value = step(value)
        return value

    return run


def _as_now(preserve_rng_state):
    """A function that returns context managers which restore the present autocast state, and with
    `preserve_rng_state` the random state.

    On exit the states at entry are restored.
    """
    state = generator.get_rng_state() if preserve_rng_state else None
    dtype, enabled = get_autocast_dtype("cpu"), is_autocast_enabled("cpu")
    cached = is_autocast_cache_enabled()

    @contextlib.contextmanager
    def block() -> Iterator[None]:
        with generator.fork_rng(enabled=state is not None), autocast("cpu", dtype, enabled, cached):
            if state is not None:
                generator.set_rng_state(state)
            yield

    return block


# -- the reentrant variant --------------------------------------------------------------------


def detach_variable(inputs: tuple) -> tuple:
    """The tensors of a tuple as leaves with the same flags, everything else as it is.

    Raises RuntimeError for anything but a tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(_leaf(value) if isinstance(value, Tensor) else value for value in inputs)


def _leaf(tensor: Tensor) -> Tensor:
    leaf = tensor.detach()
    leaf.requires_grad = tensor.requires_grad
    return leaf


def check_backward_validity(inputs: Iterable) -> None:
    """Warn if none of the tensors among the inputs requires grad."""
    if not any(i.requires_grad for i in inputs if isinstance(i, Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )


class CheckpointFunction(Function):
    """The Function of a reentrant call: runs without recording, and again with recording in
    backward."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.as_then = _as_now(preserve_rng_state)
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.positions = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.positions))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if not STATE.accumulates_all:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        arguments = list(ctx.others)
        for i, tensor in zip(ctx.positions, ctx.saved_tensors, strict=True):
            arguments[i] = tensor
        leaves = detach_variable(tuple(arguments))
        with ctx.as_then(), enable_grad():
            outputs = ctx.run_function(*leaves)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=False)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        roots, seeds = zip(*pairs, strict=True)
        backward(roots, seeds)
        return (None, None, *(leaf.grad if isinstance(leaf, Tensor) else None for leaf in leaves))
