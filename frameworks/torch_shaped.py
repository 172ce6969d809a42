"""A torch-shaped namespace over a library on the tape: operators, grad modes, `autograd`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ContextDecorator, contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from conformance.backends import Backend
from frameworks.forms import sizes
from frameworks.tape import Library, Tape, Tensor, backward, gradients
from frameworks.torch_tensor import DTYPES, Dtype, Size, TorchTensor

_ALIASES = {"float": "float32", "double": "float64", "long": "int64", "int": "int32"}
_LIKE = ("zeros", "ones", "empty", "full")


class Ported(Backend):
    """A library as a backend at the level `values`: the tape has no views, versions or nodes."""

    levels = ("values",)

    def __init__(self, name: str, library: Library) -> None:
        super().__init__(name, Namespace(library), library.version)

    @contextmanager
    def session(self) -> Iterator[None]:
        """Reset grad mode and the default dtype; the tape has no other global state."""
        tape = self.namespace._tape
        tape.recording, tape.default = True, self.default_dtype
        yield


class Namespace:
    """A stand-in for the module `torch`: the library's operators, and the tape's own functions."""

    def __init__(self, library: Library) -> None:
        self.__name__ = "torch"
        self.Tensor = type("Tensor", (TorchTensor,), {"torch": self})
        self._tape = tape = Tape(library, self.Tensor)
        self.Size = Size
        self.dtype = Dtype
        self.pi, self.inf, self.nan = np.pi, np.inf, np.nan
        for name, dtype in DTYPES.items():
            setattr(self, name, dtype)
        for alias, name in _ALIASES.items():
            setattr(self, alias, DTYPES[name])
        self.no_grad = _modal(tape, False)
        self.enable_grad = _modal(tape, True)
        for path, run in library.operators.items():
            place: Any = self
            *folders, name = path.split(".")
            for folder in folders:
                if not hasattr(place, folder):
                    setattr(place, folder, SimpleNamespace())
                place = getattr(place, folder)
            setattr(place, name, self._operator(path, run))
        self.autograd = SimpleNamespace(grad=self._grad, backward=self._backward)
        for name in _LIKE:
            setattr(self, f"{name}_like", self._like(name))

    def _operator(self, path: str, run: Callable[..., Any]) -> Callable[..., Any]:
        """The operator on tensors, at any position or nesting within the arguments.

        Arguments outside of the library function's signature raise NotImplementedError: the library
        lacks them.
        """
        tape = self._tape
        takes = _signature(run)

        def called(*args: Any, **options: Any) -> Any:
            if takes is not None:
                try:
                    takes.bind(*args, **options)
                except TypeError as error:
                    raise NotImplementedError(f"torch.{path} so called: {error}") from None
            if any(isinstance(value, Dtype) for value in (*args, *options.values())):
                raise NotImplementedError(f"torch.{path} with a dtype")
            inputs: list[Tensor] = []
            form = _holes((args, options), inputs)

            def filled(*natives: Any) -> Any:
                again, given = _filled(form, natives)
                return run(*again, **given)

            return tape.apply(filled, inputs)

        return called

    def _made(self, values: np.ndarray, requires_grad: bool = False) -> Any:
        made: Any = self.Tensor(self._tape, self._tape.library.array(values))
        return made.requires_grad_() if requires_grad else made

    def tensor(self, data: Any, *, dtype: Dtype | None = None, requires_grad: bool = False) -> Any:
        """A leaf with these values (torch.tensor)."""
        values = np.asarray(_plain(data))
        if dtype is not None:
            values = values.astype(dtype.numpy)
        elif not isinstance(data, TorchTensor | np.ndarray):
            default = DTYPES[self._tape.default].numpy
            wide = np.dtype("complex64" if default.name == "float32" else "complex128")
            values = values.astype({"f": default, "c": wide}.get(values.dtype.kind, values.dtype))
        return self._made(values, requires_grad)

    def _like(self, name: str) -> Callable[..., Any]:
        def like(model: Any, *fill: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
            kept = dtype or model.dtype
            made = getattr(self, name)(model.shape, *fill, dtype=kept)
            return made.requires_grad_() if requires_grad else made

        return like

    def full(
        self, shape: Any, value: Any, *, dtype: Any = None, requires_grad: bool = False
    ) -> Any:
        """A leaf filled with one value (torch.full)."""
        one = self.tensor(value, dtype=dtype).values
        return self._made(np.full(shape, one), requires_grad)

    def zeros(self, *shape: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        """A leaf of zeros (torch.zeros)."""
        return self.full(sizes(shape), 0.0, dtype=dtype, requires_grad=requires_grad)

    def ones(self, *shape: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        """A leaf of ones (torch.ones)."""
        return self.full(sizes(shape), 1.0, dtype=dtype, requires_grad=requires_grad)

    def empty(self, *shape: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        """A leaf with unspecified contents (torch.empty); here zeros."""
        return self.zeros(*shape, dtype=dtype, requires_grad=requires_grad)

    def arange(self, *ends: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        """A leaf with a range (torch.arange)."""
        return self.tensor(np.arange(*ends).tolist(), dtype=dtype, requires_grad=requires_grad)

    def eye(self, n: int, *, dtype: Any = None, requires_grad: bool = False) -> Any:
        """The identity matrix as a leaf (torch.eye)."""
        return self.tensor(np.eye(n).tolist(), dtype=dtype, requires_grad=requires_grad)

    def is_tensor(self, value: Any) -> bool:
        """Whether `value` is a tensor (torch.is_tensor)."""
        return isinstance(value, TorchTensor)

    def is_grad_enabled(self) -> bool:
        """Whether calls are recorded (torch.is_grad_enabled)."""
        return self._tape.recording

    def get_default_dtype(self) -> Dtype:
        """The dtype of floats in literals (torch.get_default_dtype)."""
        return DTYPES[self._tape.default]

    def allclose(self, a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
        """Whether two tensors agree; NumPy's, so that laws have one criterion for all libraries."""
        return bool(np.allclose(a.values, b.values, rtol, atol))

    def equal(self, a: Any, b: Any) -> bool:
        """Whether two tensors have the same elements; NumPy's, as `allclose`."""
        return bool(np.array_equal(a.values, b.values))

    def _grad(
        self,
        outputs: Any,
        inputs: Any,
        grad_outputs: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        allow_unused: bool = False,
        materialize_grads: bool = False,
        **others: Any,
    ) -> Any:
        if others:
            raise NotImplementedError(f"torch.autograd.grad with {', '.join(others)}")
        roots, targets = _listed(outputs), _listed(inputs)
        retained = create_graph if retain_graph is None else retain_graph
        cotangents = _seeds(grad_outputs, len(roots))
        found = gradients(roots, targets, cotangents, retained, create_graph)
        if materialize_grads:
            pairs = zip(found, targets, strict=True)
            found = [self.zeros(t.shape, dtype=t.dtype) if g is None else g for g, t in pairs]
        elif not allow_unused and any(gradient is None for gradient in found):
            raise RuntimeError("no gradient for one of the inputs, and allow_unused is not set")
        return tuple(found)

    def _backward(
        self,
        tensors: Any,
        grad_tensors: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        roots = _listed(tensors)
        retained = create_graph if retain_graph is None else retain_graph
        wanted = None if inputs is None else _listed(inputs)
        cotangents = _seeds(grad_tensors, len(roots))
        backward(roots, cotangents, retained, create_graph, wanted)


def _modal(tape: Tape, recording: bool) -> type[ContextDecorator]:
    class Modal(ContextDecorator):
        """A grad mode as a context manager and decorator."""

        def __enter__(self) -> None:
            self.former, tape.recording = tape.recording, recording

        def __exit__(self, *_: object) -> None:
            tape.recording = self.former

    return Modal


def _signature(run: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(run)
    except (TypeError, ValueError):
        return None  # a builtin without a signature


def _plain(data: Any) -> Any:
    if isinstance(data, TorchTensor):
        return data.values
    return [_plain(part) for part in data] if isinstance(data, list | tuple) else data


def _listed(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, TorchTensor) else list(tensors)


def _seeds(given: Any, count: int) -> Sequence[Any]:
    return [None] * count if given is None else _listed(given)


class _Hole(int):
    """A placeholder in a call's arguments: the index of a tensor among the inputs."""


def _holes(value: Any, inputs: list[Tensor]) -> Any:
    """The arguments with a placeholder for every tensor, which is appended to `inputs`."""
    if isinstance(value, Tensor):
        inputs.append(value)
        return _Hole(len(inputs) - 1)
    if isinstance(value, list | tuple):
        return type(value)([_holes(part, inputs) for part in value])
    if isinstance(value, dict):
        return {key: _holes(part, inputs) for key, part in value.items()}
    return value


def _filled(form: Any, natives: Sequence[Any]) -> Any:
    if isinstance(form, _Hole):
        return natives[form]
    if isinstance(form, list | tuple):
        return type(form)([_filled(part, natives) for part in form])
    if isinstance(form, dict):
        return {key: _filled(part, natives) for key, part in form.items()}
    return form
