"""Backends: implementations that programs run on, found by name."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from typing import Any

from conformance.base.garbage import uncollected
from conformance.base.levels import LEVELS
from conformance.observe.observer import Observer
from conformance.observe.texts import classes_as_torchs

KNOWN = (
    "impl, torch, torch:DEVICE, torch:compile=COMPILER[@DEVICE], package.module:attribute, "
    "'cmd: COMMAND'"
)


class BackendError(Exception):
    """A backend does not exist, cannot be imported, or is not one; the message says which."""


class Backend:
    """An implementation that programs run on: their `torch` is its `namespace`.

    A subclass for something that is not torch-shaped overrides `observer`, whose result offers
    `names`, `result` and `is_tensor` as `conformance.observe.observer.Observer` does.
    """

    levels: tuple[str, ...] = LEVELS
    """The levels that it claims; no others are compared."""

    def __init__(
        self, name: str, namespace: Any, version: str = "unknown", device: str = "cpu"
    ) -> None:
        self.name = name
        self.namespace = namespace
        self.version = version
        self.device = device
        self.seed = 0  # of the random numbers of each session
        self.default_dtype = "float32"  # the dtype of literals

    @property
    def other_device(self) -> str | None:
        """The name of a second device, which programs have as `other_device`; None for none.

        For a backend on the CPU the meta device, for one on an accelerator the CPU.
        """
        return "meta" if self.device == "cpu" else "cpu"

    def available(self) -> str | None:
        """Return why programs cannot run here and now, or None if they can."""
        return None

    @contextmanager
    def session(self) -> Iterator[None]:
        """Set the backend's initial state, and restore its former one afterwards."""
        yield

    def placing(self) -> AbstractContextManager[Any]:
        """Return a block in which factories make tensors on the device, as in a session."""
        return nullcontext()

    def spent(self) -> str | None:
        """Return why this process can run no more programs, or None if it can.

        A failed kernel of CUDA, such as one whose device assertion did not hold, makes every later
        call of its process raise.
        """
        return None

    def samples(self, entry: str, dtype: str) -> Iterator[Any]:
        """Return the samples (`conformance.sweep.sample`) of an entry of the operator database.

        Raises NoEntry where this backend, as an oracle, has no such entry, and LookupError where
        it has no database.
        """
        raise LookupError(f"{self.name} has no database of operators")

    def load_samples(self) -> None:
        """Load what `samples` reads, which may change the interpreter; usually nothing."""

    def example(self, identifier: str) -> Any:
        """Return an example of torch's docstrings, by its ID, as a program.

        Raises LookupError where this backend, as an oracle, has no such example.
        """
        raise LookupError(f"{self.name} has no docstrings of torch")

    def reseed(self) -> None:
        """Reset the random number generator to its state at the beginning of a session."""

    def worded(self, text: str) -> str:
        """Return the text of an error or a warning as torch words it on the CPU."""
        return classes_as_torchs(text, self.namespace)

    def observer(self) -> Observer:
        """Return an observer for one program."""
        return Observer(self.namespace)

    def __repr__(self) -> str:
        return f"<backend {self.name} {self.version} on {self.device}>"


class TorchShaped(Backend):
    """A backend whose namespace has torch's names; state that it lacks is not restored."""

    @contextmanager
    def session(self) -> Iterator[None]:
        """Set grad mode, default dtype, anomaly mode and seed; restore them afterwards."""
        with ExitStack() as stack:
            self._keep(stack, "is_grad_enabled", "set_grad_enabled", True)
            dtype = _find(self.namespace, self.default_dtype)
            self._keep(stack, "get_default_dtype", "set_default_dtype", dtype)
            self._keep(stack, "is_anomaly_enabled", "autograd.set_detect_anomaly", False)
            self._keep(stack, "get_rng_state", "set_rng_state", None)
            self._keep(stack, "is_warn_always_enabled", "set_warn_always", True)
            self._keep_device(stack)
            mode = "get_deterministic_debug_mode", "set_deterministic_debug_mode"
            self._keep(stack, *mode, 0)
            self.reseed()
            stack.callback(_leave_dual_level, self.namespace)
            stack.callback(_print_as_usual, self.namespace)
            yield

    def reseed(self) -> None:
        """Reset the random number generator to its state at the beginning of a session."""
        manual_seed = _find(self.namespace, "manual_seed")
        if manual_seed is not None:
            manual_seed(self.seed)

    def _keep(self, stack: ExitStack, getter: str, setter: str, initial: Any) -> None:
        """Set `initial` now (unless None) and what `getter` returned when the session ends."""
        get, restore = _find(self.namespace, getter), _find(self.namespace, setter)
        if get is None or restore is None:
            return
        stack.callback(restore, get())
        if initial is not None:
            restore(initial)

    def _keep_device(self, stack: ExitStack) -> None:
        """Set the default device back when the session ends, if a program has changed it."""
        get = _find(self.namespace, "get_default_device")
        restore = _find(self.namespace, "set_default_device")
        if get is None or restore is None:
            return
        before = get()

        def back() -> None:
            if get() != before:
                # None takes it away; the CPU by name would be a mode around every call in torch.
                restore(None if str(before) == "cpu" else before)

        stack.callback(back)


def _leave_dual_level(namespace: Any) -> None:
    """Exit a forward-mode level that a program did not exit, and enable tangents again."""
    leave = _find(namespace, "autograd.forward_ad.exit_dual_level")
    if leave is not None:
        with suppress(Exception):  # usually no level is open
            leave()
    see = _find(namespace, "autograd.forward_ad._set_fwd_grad_enabled")
    if see is not None:
        see(True)


def _print_as_usual(namespace: Any) -> None:
    """Undo `set_printoptions`."""
    options = _find(namespace, "set_printoptions")
    if options is not None:
        options(profile="default")


def _find(namespace: Any, path: str) -> Any:
    for name in path.split("."):
        namespace = getattr(namespace, name, None)
    return namespace


def find(name: str, imports: Sequence[str] = ()) -> Backend:
    """Return the backend called `name` after importing the modules in `imports`.

    Torch is imported before them if it is meant: its import loads the extensions that ask for that,
    which fails while one of them is being imported.

    Raises BackendError for an unknown name and for a module that cannot be imported.
    """
    if imports and (name == "torch" or name.startswith("torch:")):
        _imported("torch", f"backend {name!r}")
    for module in imports:
        _imported(module, f"--import {module}")
    if name == "impl":
        return _from_namespace(name, _imported("impl", "backend 'impl'"))
    if name == "torch" or name.startswith("torch:"):
        return _oracle(name)
    if name.startswith("cmd:"):
        raise BackendError(
            f"{name!r} is a process of its own: it can be judged, not be an oracle or run within "
            "this process"
        )
    module_name, colon, path = name.partition(":")
    if not module_name or not all(p.isidentifier() for p in module_name.split(".")):
        raise BackendError(f"{name!r} is not the name of a backend; those are: {KNOWN}")
    module = _imported(module_name, f"backend {name!r}")
    if not colon:
        return _from_namespace(name, module)
    return from_object(name, _attribute(name, module, path))


def _oracle(name: str) -> Backend:
    device = name.partition(":")[2] or "cpu"
    if device.startswith("compile="):
        module = _imported("reference.compiled", f"backend {name!r}")
        return _compiled(name, module)
    module = _imported("reference.oracle", f"backend {name!r}")
    try:
        found: Backend = module.backend(name, device)
    except (RuntimeError, ValueError) as error:
        raise BackendError(
            f"backend {name!r}: torch knows no device {device!r} ({_first_line(error)}). "
            "A device that an extension registers needs --import MODULE."
        ) from error
    return found


def _compiled(name: str, module: Any) -> Backend:
    try:
        found: Backend = module.backend(name, name.partition("=")[2])
    except (RuntimeError, ValueError) as error:
        raise BackendError(f"backend {name!r}: {_first_line(error)}") from None
    return found


def _imported(module: str, what: str) -> Any:
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)  # a port is tried from its own checkout
    try:
        with uncollected():
            return importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # importing runs the module's code, which may raise anything
        reason = f"{type(error).__name__}: {_first_line(error)}"
        raise BackendError(f"{what}: {module} cannot be imported: {reason}") from error


def _attribute(name: str, module: Any, path: str) -> Any:
    found = module
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except Exception as error:
            raise BackendError(
                f"backend {name!r}: {module.__name__} has no {path!r} ({_first_line(error)})"
            ) from error
    return found


def from_object(name: str, found: Any) -> Backend:
    if isinstance(found, Backend):
        return found
    if isinstance(found, type) and issubclass(found, Backend):
        return _made(name, found)
    if _has(found, "tensor"):
        return _from_namespace(name, found)
    if callable(found):
        made = _made(name, found)
        return made if isinstance(made, Backend) else _from_namespace(name, made)
    return _from_namespace(name, found)


def _made(name: str, factory: Callable[[], Any]) -> Any:
    try:
        return factory()
    except Exception as error:
        raise BackendError(
            f"backend {name!r}: it cannot be made: {type(error).__name__}: {_first_line(error)}"
        ) from error


def _from_namespace(name: str, namespace: Any) -> Backend:
    if not _has(namespace, "tensor"):
        raise BackendError(f"backend {name!r} is not torch-shaped: it has no 'tensor'")
    version = getattr(namespace, "__version__", "unknown")
    return TorchShaped(name, namespace, str(version))


def _has(namespace: Any, name: str) -> bool:
    try:
        return hasattr(namespace, name)
    except Exception:
        return False


def _first_line(error: BaseException) -> str:
    try:
        return (str(error).strip().splitlines() or [""])[0]
    except Exception:
        return "(no message)"
