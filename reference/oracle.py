"""The oracle: eager torch as a backend, on any device that torch knows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

import torch
from torch.autograd import forward_ad

from conformance.backends import TorchShaped
from conformance.sweep.sample import Sample

# Forward mode loads this at its first use, and warns then, once in a process.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch._decomp.decompositions_for_jvp

# Drawn on the CPU and then moved, so that a program draws the same numbers on every device.
_DRAWN = ("rand", "randn", "randint", "randperm", "normal")
# torch.FloatTensor([...]) and the like take no device and ignore the default one.
_LEGACY = (
    "FloatTensor",
    "DoubleTensor",
    "HalfTensor",
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "ShortTensor",
    "IntTensor",
    "LongTensor",
    "BoolTensor",
)


class Torch(TorchShaped):
    """Eager torch on one device, on which programs make their tensors without naming it."""

    def __init__(self, name: str, device: torch.device) -> None:
        namespace = torch if device.type == "cpu" else _OnDevice(device)
        super().__init__(name, namespace, torch.__version__, str(device))
        self._device = device

    def available(self) -> str | None:
        """Return torch's own words where the device is missing."""
        try:
            torch.empty(1, device=self._device)
        except Exception as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            return f"torch {torch.__version__} has no device {self.device} here: {reason}"
        return None

    def samples(self, entry: str, dtype: str) -> Iterator[Sample]:
        """Return the samples of an entry of torch's own database of operators."""
        # Its import takes seconds, and only the sweep needs it.
        from reference.opinfo import samples

        return samples(entry, dtype)

    @contextmanager
    def session(self) -> Iterator[None]:
        """Bring torch's process-wide state into that of a fresh process, and back afterwards."""
        with ExitStack() as stack:
            _keep(stack, torch.is_grad_enabled(), torch.set_grad_enabled, True)
            dtype = getattr(torch, self.default_dtype)
            _keep(stack, torch.get_default_dtype(), torch.set_default_dtype, dtype)
            _keep(stack, torch.is_anomaly_enabled(), _set_anomaly, (False, True))
            _keep(stack, torch.is_warn_always_enabled(), torch.set_warn_always, True)
            # Sums over several threads may round differently from one machine to the next.
            _keep(stack, torch.get_num_threads(), torch.set_num_threads, 1)
            # use_deterministic_algorithms does the same, and imports the compiler: two seconds.
            mode = torch.get_deterministic_debug_mode()
            _keep(stack, mode, torch.set_deterministic_debug_mode, 0)
            stack.callback(torch.set_rng_state, torch.get_rng_state())
            stack.callback(_leave_dual_level)
            self._set_device(stack)
            self.reseed()
            yield

    def reseed(self) -> None:
        """Let random numbers begin where they begin in a session."""
        # torch.manual_seed would also note the seed for every device that is not there yet.
        torch.default_generator.manual_seed(self.seed)

    def _set_device(self, stack: ExitStack) -> None:
        if not hasattr(torch, "get_default_device"):
            return  # before torch 2.3 no other one could be chosen
        stack.callback(_set_default_device, torch.get_default_device())
        _set_default_device(self._device)
        if self._device.type == "cpu":
            return
        module: Any = getattr(torch, self._device.type, None)
        if hasattr(module, "get_rng_state") and hasattr(module, "manual_seed"):
            # torch.mps has one device and one generator, and takes no device here.
            which = () if self._device.type == "mps" else (self._device,)
            stack.callback(module.set_rng_state, module.get_rng_state(*which), *which)
            module.manual_seed(self.seed)


def _set_default_device(device: torch.device) -> None:
    if device != torch.get_default_device():
        # None takes away the mode that torch otherwise runs every call through.
        torch.set_default_device(None if device.type == "cpu" else device)


def _leave_dual_level() -> None:
    """Leave the level of forward mode that a program did not leave, and let tangents be seen."""
    if forward_ad._current_level >= 0:
        forward_ad.exit_dual_level()
    if hasattr(forward_ad, "_set_fwd_grad_enabled"):  # not before torch 2.0
        forward_ad._set_fwd_grad_enabled(True)


def _keep(stack: ExitStack, former: Any, restore: Callable[[Any], Any], initial: Any) -> None:
    stack.callback(restore, former)
    restore(initial)


def _set_anomaly(state: bool | tuple[bool, bool]) -> None:
    enabled, check_nan = state if isinstance(state, tuple) else (state, True)
    if enabled != torch.is_anomaly_enabled():
        torch.autograd.set_detect_anomaly(enabled, check_nan)


class _OnDevice(ModuleType):
    """The name `torch` on a device: torch itself, but for what ignores the default device."""

    def __init__(self, device: torch.device) -> None:
        super().__init__("torch")
        self._device = device
        for name in _DRAWN:
            setattr(self, name, _drawn_on_cpu(getattr(torch, name), device))
        for name in _LEGACY:
            setattr(self, name, _moved(getattr(torch, name), device))

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def __dir__(self) -> list[str]:
        return dir(torch)


def _drawn_on_cpu(draw: Callable[..., torch.Tensor], device: torch.device) -> Callable[..., Any]:
    def drawn(*args: Any, requires_grad: bool = False, **options: Any) -> torch.Tensor:
        if options.get("device") is not None or options.get("generator") is not None:
            return draw(*args, requires_grad=requires_grad, **options)
        options["device"] = "cpu"
        return draw(*args, **options).to(device).requires_grad_(requires_grad)

    drawn.__name__ = draw.__name__
    return drawn


def _moved(make: Callable[..., torch.Tensor], device: torch.device) -> Callable[..., torch.Tensor]:
    def moved(*args: Any) -> torch.Tensor:
        # The constructor is a CPU one and refuses to be asked for another default.
        with torch.device("cpu"):
            return make(*args).to(device)

    moved.__name__ = make.__name__
    return moved


def backend(name: str = "torch", device: str = "cpu") -> Torch:
    """Return torch on `device`; raises RuntimeError for a device that torch does not know."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Torch(name, torch.device(device))
