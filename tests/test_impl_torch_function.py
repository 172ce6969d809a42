"""Classes derived from Tensor, and classes that take functions over by `__torch_function__`."""

import copy
import pickle
import threading
from typing import ClassVar

import pytest

import impl as torch
from impl.overrides import TorchFunctionMode


class Own(torch.Tensor):
    """A class of a program's own."""


class Logged(torch.Tensor):
    """A class that counts the functions it is asked for."""

    log: ClassVar[list] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


class Refusing(torch.Tensor):
    """A class that takes `sum` over only."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "sum" if func is torch.sum else NotImplemented


class Duck:
    """No tensor, but a class that takes every function over."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, [kind.__name__ for kind in types], len(args), kwargs


class Tagged(torch.Tensor):
    """A class with arguments of its own."""

    def __new__(cls, data, tag=None):
        return super().__new__(cls, data)

    def __init__(self, data, tag=None):
        self.tag = tag


def test_a_derived_class_is_made_from_data():
    """From a list, from sizes and from a tensor, whose memory it shares."""
    assert repr(Own([1.0, 2.0])) == "Own([1., 2.])"
    assert Own(2, 3).shape == (2, 3)
    x = torch.ones(2, dtype=torch.float64)
    own = Own(x)
    own[0] = 5
    assert x.tolist() == [5, 1] and own.dtype is torch.float64
    assert Tagged([1.0], tag=3).tag == 3


def test_results_have_the_derived_class():
    """Of operators, methods, properties, lists and named results; the memory of views is shared."""
    own, x = Own([[1.0, 2.0], [3.0, 4.0]]), torch.ones(2, 2)
    for result in (own + x, x + own, 2 - own, -own, own.sum(), torch.stack([x, own]), own.T):
        assert type(result) is Own
    for result in (own[0], x[Own([0]).long()], own.data, own.detach(), own.max(0).values):
        assert type(result) is Own
    assert {type(row) for row in own} == {type(part) for part in own.split(1)} == {Own}
    assert type(own.shape) is torch.Size and type(torch.tensor([1.0])) is torch.Tensor
    assert type(x.add_(own)) is Own and x.tolist() == [[2, 3], [4, 5]]


def test_results_are_aliases_of_the_computed_tensor():
    """Their node is that of the alias; a leaf's gradient is a plain tensor."""
    own = Own([1.0, 2.0]).requires_grad_()
    loss = (own * 3).sum()
    assert [type(loss.grad_fn).__name__, type(loss.grad_fn.next_functions[0][0]).__name__] == [
        "AliasBackward0",
        "SumBackward0",
    ]
    loss.backward()
    assert type(own.grad) is torch.Tensor and own.grad.tolist() == [3, 3]
    assert type(torch.autograd.grad(own.sum(), own)[0]) is Own


def test_as_subclass_is_a_view():
    """It is differentiable, and refuses other classes; `_make_subclass` is detached."""
    x = torch.ones(2, requires_grad=True)
    own = x.as_subclass(Own)
    assert type(own) is Own and own._is_view() and own.data_ptr() == x.data_ptr()
    assert type(own.grad_fn).__name__ == "AliasBackward0"
    made = torch.Tensor._make_subclass(Own, x, True)
    assert type(made) is Own and made.is_leaf and made.requires_grad
    with pytest.raises(TypeError, match="does not inherit from Tensor is not possible"):
        x.as_subclass(int)


def test_copies_of_a_derived_class():
    """Pickled and shallow copies keep it; deepcopy needs a new_empty that does."""
    own = Own([1.0, 2.0])
    assert type(pickle.loads(pickle.dumps(own))) is type(copy.copy(own)) is Own
    with pytest.raises(RuntimeError, match="subclass types that implement new_empty"):
        copy.deepcopy(own)


class Renewed(torch.Tensor):
    """A class whose new_empty keeps it."""

    def new_empty(self, *size, **options):
        return self.as_subclass(torch.Tensor).new_empty(*size, **options).as_subclass(Renewed)


class Unwrapping(torch.Tensor):
    """A class that computes with plain tensors."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        plain = [a.as_subclass(torch.Tensor) if isinstance(a, cls) else a for a in args]
        return func(*plain, **(kwargs or {}))


def test_a_class_that_is_deepcopied_or_unwrapped():
    """With a new_empty of its own; as_subclass asks no class."""
    copied = copy.deepcopy(Renewed([1.0, 2.0]))
    assert type(copied) is Renewed and copied.tolist() == [1, 2]
    assert type(Unwrapping([1.0]) + 1) is torch.Tensor


def test_a_conjugated_derived_class_is_resolved():
    """Its values are those of the conjugate."""
    own = Own(torch.ones(2, dtype=torch.complex64) * 1j).conj()
    assert type(own) is Own and own.tolist() == [-1j, -1j]


def test_a_parameter_of_a_derived_class_keeps_it():
    """It counts as a parameter all the same."""
    parameter = torch.nn.Parameter(Own([1.0]))
    assert type(parameter) is Own and isinstance(parameter, torch.nn.Parameter)
    assert repr(parameter) == "Parameter(Own([1.], requires_grad=True))"
    module = torch.nn.Module()
    module.weight = parameter
    assert list(dict(module.named_parameters())) == ["weight"]


def test_every_function_asks_the_class_once():
    """Operators by the method that computes them, properties by their getter."""
    x, logged = torch.ones(2), torch.ones(2).as_subclass(Logged)
    Logged.log.clear()
    for call in (
        lambda: logged + x,
        lambda: x - logged,
        lambda: 1 / logged,
        lambda: x < logged,
        lambda: -logged,
        lambda: logged[0],
        lambda: torch.sum(logged),
        lambda: logged.mean(),
        lambda: logged.shape,
        lambda: len(logged),
        lambda: torch.stack([x, logged]),
    ):
        call()
    assert Logged.log == [
        *("add", "sub", "__rdiv__", "gt", "neg", "__getitem__", "sum", "mean"),
        *("__get__", "__len__", "stack"),
    ]


def test_a_class_that_refuses():
    """Functions name themselves, operators are those of operands that do not fit."""
    refusing = torch.ones(1).as_subclass(Refusing)
    assert torch.sum(refusing) == "sum"
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch.mul'; all __torch"):
        torch.mul(refusing, 2)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+"):
        refusing + 1


def test_a_right_operand_that_is_no_tensor():
    """It is asked for operators, functions and brackets; missing arguments are reported first."""
    x, duck = torch.ones(2), Duck()
    assert (x >= duck) == ("ge", ["Duck"], 2, None)
    assert (x == duck) == ("eq", ["Duck"], 2, None)
    assert duck + x == ("add", ["Duck"], 2, None)
    assert x @ duck == ("matmul", ["Duck"], 2, None)
    assert x[duck] == ("__getitem__", ["Duck"], 2, None)
    assert torch.add(1, duck, alpha=2) == ("add", ["Duck"], 2, {"alpha": 2})
    assert x.expand(duck)[0] == "expand"
    with pytest.raises(TypeError, match='missing 1 required positional arguments: "imag"'):
        torch.complex(duck)
    with pytest.raises(RuntimeError, match="Could not infer dtype of Duck"):
        torch.tensor(duck)


def test_nothing_is_asked_while_disabled():
    """The results are then plain tensors."""
    own = Own([1.0])
    with torch._C.DisableTorchFunctionSubclass():
        assert type(own + 1) is torch.Tensor
    assert type(own + 1) is Own


class Log(TorchFunctionMode):
    """A mode that notes the functions it is asked about."""

    def __init__(self):
        self.log = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.log.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_tensors_have_their_own_members_again_after_a_mode():
    """The methods that ask stand in Tensor only meanwhile; nested modes are counted."""
    before = dict(vars(torch.Tensor))
    with Log(), Log() as inner:
        assert vars(torch.Tensor)["__add__"] is not before["__add__"]
        with pytest.raises(ZeroDivisionError), Log():
            _ = 1 / 0
        _ = torch.ones(2) + 1
    assert inner.log == ["ones", "add"]
    assert dict(vars(torch.Tensor)) == before


def test_types_that_a_parser_accepted_are_asked_about_in_a_mode():
    """Also in a thread that starts its mode while another one is in one; and not afterwards."""
    x = torch.ones(2)
    torch.exp(x)
    seen = []

    def work():
        with Log() as other:
            torch.exp(x)
        torch.exp(x)
        seen.append(other.log)

    with Log() as mode:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        torch.exp(x)
    torch.exp(x)
    assert (mode.log, seen) == (["exp"], [["exp"]])


def test_functions_written_in_python_ask_for_a_mode_and_refuse_as_before():
    """Arguments that do not fit are refused by the function itself."""
    x = torch.ones(2)
    with Log() as mode:
        torch.nn.functional.mse_loss(x, target=x)
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            torch.nn.functional.mse_loss(x)
        torch.norm(x)
    assert mode.log == ["mse_loss", "norm"]


def test_a_mode_is_not_asked_by_the_implementation():
    """The engine, Functions and the recording of views read flags and histories by themselves."""
    x = torch.ones(2, 2, requires_grad=True)

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.view(4)

        @staticmethod
        def backward(ctx, g):
            return g.view(2, 2)

    view = x[0]
    with Log() as mode:
        y = Double.apply(x)
        (y.sum() + view.sum()).backward()
    assert mode.log == ["view", "sum", "sum", "add", "backward"]


def test_a_parameter_needs_a_class_that_detach_keeps():
    """Which one without `__torch_function__` does not."""

    class Disabled(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    class Named(torch.nn.Parameter):
        """A Parameter of a program's own."""

    for data in (torch.ones(2).as_subclass(Disabled), Named(torch.ones(2))):
        with pytest.raises(RuntimeError, match=r"requires that detach\(\) returns an instance"):
            torch.nn.Parameter(data)
    assert type(torch.nn.Parameter(torch.ones(2).as_subclass(Own))) is Own
    with pytest.raises(TypeError, match=r"argument 'data' \(position 2\) must be Tensor, not int"):
        torch.Tensor._make_subclass(Own, 3)
