"""The oracle: eager torch as a backend, on any device of torch."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from typing import Any

import torch
from torch.autograd import forward_ad

from conformance.backends import TorchShaped
from conformance.base.garbage import uncollected
from conformance.observe.observer import Observer
from conformance.program.program import Program
from conformance.sweep.sample import Sample
from reference.devices import DeviceObserver, OnDevice, as_on_cpu, draw_as_cpu

# Forward mode loads this at its first use, with a warning once per process.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch._decomp.decompositions_for_jvp


class Torch(TorchShaped):
    """Eager torch on one device, which is the default device of the program's tensors."""

    def __init__(self, name: str, device: torch.device) -> None:
        namespace = torch if device.type == "cpu" else OnDevice(device)
        super().__init__(name, namespace, torch.__version__, str(device))
        self._device = device

    def available(self) -> str | None:
        """Return torch's own error message if the device is missing, else None."""
        try:
            torch.empty(1, device=self._device)
        except Exception as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            return f"torch {torch.__version__} has no device {self.device} here: {reason}"
        return None

    def observer(self) -> Observer:
        """Return an observer for one program."""
        if self._device.type == "cpu":
            return super().observer()
        return DeviceObserver(self.namespace, self._device.type)

    def worded(self, text: str) -> str:
        """Return the text of an error or a warning as torch words it on the CPU."""
        return text if self._device.type == "cpu" else as_on_cpu(self._device.type)(text)

    def placing(self) -> AbstractContextManager[Any]:
        """Return a block in which the default device is this one."""
        return nullcontext() if self._device.type == "cpu" else self._device

    def spent(self) -> str | None:
        """Return the error that the device's queued work ended in, which all later calls raise."""
        synchronize = getattr(self._module(), "synchronize", None)
        if synchronize is None or self._device.type in ("cpu", "meta"):
            return None
        which = () if self._device.index is None else (self._device,)
        try:
            synchronize(*which)
        except NotImplementedError:
            return None  # the device's module has a name for it only
        except Exception as error:
            return str(error) or type(error).__name__
        return None

    def _module(self) -> Any:
        """The device's own module, such as `torch.cuda`, or None."""
        return getattr(torch, self._device.type, None)

    def samples(self, entry: str, dtype: str) -> Iterator[Sample]:
        """Return the samples of an entry of torch's operator database."""
        # Imported late: it takes seconds, and only the sweep needs it.
        from reference.opinfo import samples

        return samples(entry, dtype)

    def load_samples(self) -> None:
        """Import torch's operator database, which extends the path of modules."""
        with uncollected():
            importlib.import_module("reference.opinfo")

    def example(self, identifier: str) -> Program:
        """Return an example of torch's docstrings, by its ID."""
        # Imported late, as above: no other area reads docstrings.
        from reference.docstrings import program

        return program(identifier)

    @contextmanager
    def session(self) -> Iterator[None]:
        """Set torch's process-wide state to that of a fresh process, and restore it afterwards."""
        with ExitStack() as stack:
            _keep(stack, torch.is_grad_enabled(), torch.set_grad_enabled, True)
            dtype = getattr(torch, self.default_dtype)
            _keep(stack, torch.get_default_dtype(), torch.set_default_dtype, dtype)
            _keep(stack, torch.is_anomaly_enabled(), _set_anomaly, (False, True))
            _keep(stack, torch.is_warn_always_enabled(), torch.set_warn_always, True)
            # Sums over several threads round differently on different machines.
            _keep(stack, torch.get_num_threads(), torch.set_num_threads, 1)
            # use_deterministic_algorithms does the same, but imports the compiler: two seconds.
            mode = torch.get_deterministic_debug_mode()
            _keep(stack, mode, torch.set_deterministic_debug_mode, 0)
            stack.callback(torch.set_rng_state, torch.get_rng_state())
            stack.callback(_leave_dual_level)
            _keep_autocast(stack, self._device.type)
            if self._device.type == "cuda":
                _keep_precision(stack)
                stack.callback(_leave_sync_debug_mode)
            stack.callback(torch.set_printoptions, profile="default")
            self._set_device(stack)
            self.reseed()
            yield

    def reseed(self) -> None:
        """Seed the default generator with the session's seed."""
        # torch.manual_seed would also seed every device that is not initialised yet.
        torch.default_generator.manual_seed(self.seed)

    def _set_device(self, stack: ExitStack) -> None:
        if not hasattr(torch, "set_default_device"):
            return  # torch before 2.0
        stack.callback(_set_default_device, _default_device())
        _set_default_device(self._device)
        if self._device.type == "cpu":
            return
        if self._device.type != "meta":  # whose tensors have no values
            draw_as_cpu(self._device.type)
        module = self._module()
        if hasattr(module, "get_rng_state") and hasattr(module, "manual_seed"):
            # torch.mps has one device with one generator, and its functions take no device.
            which = () if self._device.type == "mps" else (self._device,)
            stack.callback(self._restore_generator, module.get_rng_state(*which), *which)
            module.manual_seed(self.seed)

    def _restore_generator(self, *state: Any) -> None:
        """Set the state of the device's generator, unless the device is spent."""
        with suppress(RuntimeError):
            self._module().set_rng_state(*state)


def _default_device() -> torch.device:
    """The default device, as an empty tensor has it: `get_default_device` is not in torch 2.2.

    In torch 2.6 it fails once a default device was set and removed.
    """
    return torch.empty(0).device


def _set_default_device(device: torch.device) -> None:
    if device != _default_device():
        # None removes the mode that a default device installs around every call.
        torch.set_default_device(None if device.type == "cpu" else device)


def _leave_dual_level() -> None:
    """Exit a level of forward mode that the program left entered, and enable tangents."""
    if forward_ad._current_level >= 0:
        forward_ad.exit_dual_level()
    if hasattr(forward_ad, "_set_fwd_grad_enabled"):  # since torch 2.0
        forward_ad._set_fwd_grad_enabled(True)


def _keep_autocast(stack: ExitStack, device_type: str) -> None:
    """Begin without autocast; afterwards it is as before, whatever a program left on."""
    if hasattr(torch, "get_autocast_dtype"):
        for kind in dict.fromkeys(("cpu", device_type)):
            if not torch.amp.is_autocast_available(kind):
                continue
            enabled, dtype = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)
            stack.callback(torch.set_autocast_dtype, kind, dtype)
            stack.callback(torch.set_autocast_enabled, kind, enabled)
            torch.set_autocast_enabled(kind, False)
    else:  # torch before 2.4 has names for each device
        stack.callback(torch.set_autocast_cpu_dtype, torch.get_autocast_cpu_dtype())
        _keep(stack, torch.is_autocast_cpu_enabled(), torch.set_autocast_cpu_enabled, False)


def _keep_precision(stack: ExitStack) -> None:
    """Have CUDA multiply float32 in float32, as the CPU does; cuDNN's default is TF32 (CUDA-02)."""
    for part, usual in (("cudnn", True), ("cublas", False)):
        # torch's database of operators forbids the assignment to torch.backends.cudnn.allow_tf32.
        try:
            allowed = getattr(torch._C, f"_get_{part}_allow_tf32")()
        except RuntimeError:  # a program has used the newer names, such as fp32_precision
            allowed = usual
        _keep(stack, allowed, getattr(torch._C, f"_set_{part}_allow_tf32"), False)


def _leave_sync_debug_mode() -> None:
    """Allow that a call waits for the device, which a program may have forbidden."""
    if torch.cuda.get_sync_debug_mode():
        torch.cuda.set_sync_debug_mode(0)


def _keep(stack: ExitStack, former: Any, restore: Callable[[Any], Any], initial: Any) -> None:
    stack.callback(restore, former)
    restore(initial)


def _set_anomaly(state: bool | tuple[bool, bool]) -> None:
    enabled, check_nan = state if isinstance(state, tuple) else (state, True)
    if enabled != torch.is_anomaly_enabled():
        torch.autograd.set_detect_anomaly(enabled, check_nan)


def backend(name: str = "torch", device: str = "cpu") -> Torch:
    """Return torch on `device`; raises RuntimeError for an unknown device."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Torch(name, torch.device(device))
