"""A torch-shaped namespace over a library on the tape: tensors, dtypes, modes, `autograd`."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ContextDecorator, contextmanager
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

from conformance.backends import Backend
from frameworks.tape import Library, Tape, Tensor, backward, gradients

_NAMES = (
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "bool",
)


class Dtype:
    """A dtype under torch's name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.numpy = np.dtype(getattr(ml_dtypes, name, None) or name)
        self.is_floating_point = "float" in name
        self.is_complex = name.startswith("complex")

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class Size(tuple[int, ...]):
    """A tensor's shape."""


DTYPES = {name: Dtype(name) for name in (*_NAMES, "bfloat16")}
_ALIASES = {"float": "float32", "double": "float64", "long": "int64", "int": "int32"}
_LIKE = ("zeros", "ones", "empty", "full")


class Ported(Backend):
    """A library as a backend. It claims values: the tape has no views, versions or nodes."""

    levels = ("values",)

    def __init__(self, name: str, library: Library) -> None:
        super().__init__(name, Namespace(library), library.version)

    @contextmanager
    def session(self) -> Iterator[None]:
        """Record again and let literals be what they are at the start; nothing else lasts."""
        tape = self.namespace._tape
        tape.recording, tape.default = True, self.default_dtype
        yield


class Namespace:
    """The name `torch` over a library: its operators, and what the tape itself offers."""

    def __init__(self, library: Library) -> None:
        self.__name__ = "torch"
        self.Tensor = type("Tensor", (_Tensor,), {"torch": self})
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
        """The operator on tensors, wherever among the arguments they stand.

        Arguments that the library's function does not take are a lack, not a mistake.
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
        """A leaf with these values."""
        values = np.asarray(_plain(data))
        if dtype is not None:
            values = values.astype(dtype.numpy)
        elif not isinstance(data, _Tensor | np.ndarray):
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
        """A leaf of one value throughout."""
        one = self.tensor(value, dtype=dtype).values
        return self._made(np.full(shape, one), requires_grad)

    def zeros(self, *shape: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        """A leaf of zeros."""
        return self.full(_shape(shape), 0.0, dtype=dtype, requires_grad=requires_grad)

    def ones(self, *shape: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        """A leaf of ones."""
        return self.full(_shape(shape), 1.0, dtype=dtype, requires_grad=requires_grad)

    def empty(self, *shape: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        """A leaf of no values in particular."""
        return self.zeros(*shape, dtype=dtype, requires_grad=requires_grad)

    def arange(self, *ends: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        """A leaf that counts."""
        return self.tensor(np.arange(*ends).tolist(), dtype=dtype, requires_grad=requires_grad)

    def eye(self, n: int, *, dtype: Any = None, requires_grad: bool = False) -> Any:
        """The identity matrix as a leaf."""
        return self.tensor(np.eye(n).tolist(), dtype=dtype, requires_grad=requires_grad)

    def is_tensor(self, value: Any) -> bool:
        """Say whether `value` is a tensor."""
        return isinstance(value, _Tensor)

    def is_grad_enabled(self) -> bool:
        """Say whether calls are recorded."""
        return self._tape.recording

    def get_default_dtype(self) -> Dtype:
        """What a literal's floats become."""
        return DTYPES[self._tape.default]

    def allclose(self, a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
        """Whether two tensors agree; NumPy's, so that a law is judged alike on every library."""
        return bool(np.allclose(a.values, b.values, rtol, atol))

    def equal(self, a: Any, b: Any) -> bool:
        """Whether two tensors have the same elements; NumPy's."""
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


class _Tensor(Tensor):
    """What every tensor offers besides the library's operators."""

    torch: Any

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            found = self.tape.library.operators.get(name)
            if found is not None:
                operator = getattr(self.torch, name)
                return lambda *args, **options: operator(self, *args, **options)
        raise AttributeError(f"a tensor on this tape has no {name!r}", name=name, obj=self)

    @property
    def shape(self) -> Size:
        return Size(self.values.shape)

    @property
    def dtype(self) -> Dtype:
        return DTYPES[self.values.dtype.name]

    @property
    def ndim(self) -> int:
        return self.values.ndim

    def dim(self) -> int:
        return self.values.ndim

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        return self.values.size

    def tolist(self) -> Any:
        return self.values.tolist()

    def item(self) -> Any:
        return self.values.item()

    def is_floating_point(self) -> builtins.bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> builtins.bool:
        return self.dtype.is_complex

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> builtins.bool:
        return bool(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return (self.torch.getitem(self, i) for i in range(len(self)))

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"tensor({self.tolist()})"

    def requires_grad_(self, flag: bool = True) -> Any:
        if flag and self.values.dtype.kind not in "fcV":
            raise RuntimeError("only tensors of floating point and complex dtype require grad")
        if not flag and self.call is not None:
            raise RuntimeError("only a leaf can stop requiring grad")
        self.requires_grad = self.requires_grad or flag if self.call else flag
        return self

    def detach(self) -> Any:
        return self.torch.Tensor(self.tape, self.native)

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        self.torch._backward(self, gradient, retain_graph, create_graph, inputs)

    @property
    def real(self) -> Any:
        return self.torch.real(self) if self.is_complex() else self

    @property
    def imag(self) -> Any:
        return self.torch.imag(self)

    @property
    def T(self) -> Any:
        return self.torch.permute(self, tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> Any:
        return self.torch.transpose(self, -1, -2)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise NotImplementedError("writing in place")


def _written(*_: Any) -> Any:
    raise NotImplementedError("writing in place")


def _infix(name: str, turned: bool = False) -> Callable[..., Any]:
    def method(self: Any, *others: Any) -> Any:
        run = getattr(self.torch, name, None)
        if run is None:
            raise NotImplementedError(f"torch.{name}")
        return run(*others, self) if turned else run(self, *others)

    return method


_INFIX = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "pow": "pow",
    "matmul": "matmul",
    "mod": "remainder",
    "floordiv": "floor_divide",
}
for _symbol, _name in _INFIX.items():
    setattr(_Tensor, f"__{_symbol}__", _infix(_name))
    setattr(_Tensor, f"__r{_symbol}__", _infix(_name, turned=True))
    setattr(_Tensor, f"__i{_symbol}__", _written)
for _symbol in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(_Tensor, f"__{_symbol}__", _infix(_symbol))
for _symbol in ("neg", "abs", "getitem"):
    setattr(_Tensor, f"__{_symbol}__", _infix(_symbol))


def _modal(tape: Tape, recording: bool) -> type[ContextDecorator]:
    class Modal(ContextDecorator):
        """A block in which calls are recorded, or are not."""

        def __enter__(self) -> None:
            self.former, tape.recording = tape.recording, recording

        def __exit__(self, *_: object) -> None:
            tape.recording = self.former

    return Modal


def _signature(run: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(run)
    except (TypeError, ValueError):
        return None  # written in C


def _plain(data: Any) -> Any:
    if isinstance(data, _Tensor):
        return data.values
    return [_plain(part) for part in data] if isinstance(data, list | tuple) else data


def _shape(shape: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], list | tuple) else shape


def _listed(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, _Tensor) else list(tensors)


def _seeds(given: Any, count: int) -> Sequence[Any]:
    return [None] * count if given is None else _listed(given)


class _Hole(int):
    """The place of a tensor among a call's inputs."""


def _holes(value: Any, inputs: list[Tensor]) -> Any:
    """The arguments with a hole for every tensor, which is added to `inputs`."""
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
