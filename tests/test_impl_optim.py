"""The optimizers' records against torch's: signatures, defaults, states, and modules."""

from __future__ import annotations

import importlib
import inspect

import pytest

import impl
from impl.optim.update_rule import UpdateRule

OTHERS = {"Optimizer", "lr_scheduler", "swa_utils", "swap_in_optimizer_params_and_state"}
NAMES = sorted(set(impl.optim.__all__) - OTHERS)
# Optimizers that torch.optim itself is the module of, which take no complex parameters.
REAL = {"Adafactor", "Muon", "SparseAdam"}


def stepped(library, name: str, **options):
    """An optimizer after one step of a complex and a real parameter."""
    params = [
        library.tensor([1.0 + 2.0j, -0.5j], requires_grad=True),
        library.tensor([[0.25, -3.0]], requires_grad=True),
    ]
    optimizer = getattr(library.optim, name)(params, **options)

    def closure():
        optimizer.zero_grad()
        loss = sum((param.abs() ** 2).sum() for param in params)
        loss.backward()
        return loss

    optimizer.step(closure)
    return optimizer


@pytest.mark.parametrize("name", NAMES)
def test_signatures_are_those_of_torch(name):
    torch = pytest.importorskip("torch")
    ours, theirs = (
        [
            (option.name, option.kind, option.default)
            for option in inspect.signature(getattr(library.optim, name)).parameters.values()
        ]
        for library in (impl, torch)
    )
    assert ours == theirs


@pytest.mark.parametrize("name", NAMES)
def test_records_name_every_option(name):
    kind = getattr(impl.optim, name)
    options = set(inspect.signature(kind).parameters) - {"params"}
    if issubclass(kind, UpdateRule):
        named = set(kind._impl_options.split())
        assert named - options <= {"decoupled_weight_decay"} and options <= named
        assert set(kind._impl_checked.split()) <= options


@pytest.mark.parametrize("name", sorted(set(NAMES) - REAL))
def test_defaults_and_states_are_ordered_as_torch_does(name):
    torch = pytest.importorskip("torch")
    ours, theirs = (stepped(library, name) for library in (impl, torch))
    assert list(ours.defaults.items()) == list(theirs.defaults.items())
    for mine, other in zip(ours.state.values(), theirs.state.values(), strict=True):
        assert list(mine) == list(other)


@pytest.mark.parametrize("name", sorted(set(NAMES) - REAL))
def test_each_optimizer_has_the_module_of_torch(name):
    kind = getattr(impl.optim, name)
    module = importlib.import_module(f"impl.optim.{name.lower()}")
    assert kind.__module__ == module.__name__
    assert getattr(module, name) is kind
    assert getattr(impl.optim, name.lower()) is module


def hooks_called(library) -> list:
    """The order in which the hooks of a step, of saving and of loading are called."""
    called: list = []
    params = [library.tensor([1.0], requires_grad=True)]
    optimizer = library.optim.SGD(params, lr=0.5)
    module = importlib.import_module(f"{library.__name__}.optim.optimizer")
    handles = [
        module.register_optimizer_step_pre_hook(lambda *_: called.append("all before")),
        module.register_optimizer_step_post_hook(lambda *_: called.append("all after")),
    ]
    optimizer.register_step_pre_hook(lambda o, args, kwargs: called.append((len(args), kwargs)))
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o,), {"closure": lambda: 7}))
    optimizer.register_step_post_hook(lambda o, args, kwargs: called.append((len(args), [*kwargs])))
    called.append(optimizer.step())
    for handle in handles:
        handle.remove()
    optimizer.step(None)
    for prepend in (False, True):
        for kind in ("", "load_"):
            before = getattr(optimizer, f"register_{kind}state_dict_pre_hook")
            after = getattr(optimizer, f"register_{kind}state_dict_post_hook")
            before(lambda *args, p=prepend: called.append(("before", len(args), p)), prepend)
            after(lambda *args, p=prepend: called.append(("after", len(args), p)), prepend)
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    saved = optimizer.state_dict()
    optimizer.load_state_dict(saved)
    return [*called, sorted(saved)]


def test_hooks_are_called_in_the_order_of_torch():
    torch = pytest.importorskip("torch")
    assert hooks_called(impl) == hooks_called(torch)


def refused(library) -> str:
    optimizer = library.optim.SGD([library.tensor([1.0], requires_grad=True)])
    optimizer.register_step_pre_hook(lambda *args: 5)
    with pytest.raises(RuntimeError) as caught:
        optimizer.step()
    return str(caught.value).rpartition(">")[2]


def test_a_hook_that_returns_something_else_is_refused():
    torch = pytest.importorskip("torch")
    assert refused(impl) == refused(torch)


def meta_gradients(library, name: str) -> list:
    """The gradients of a loss after a differentiable step, for the start and the gradient of it."""
    start = library.tensor([1.0, -2.0, 0.5, 3.0], dtype=library.float64, requires_grad=True)
    gradient = library.tensor([0.5, -1.0, 2.0, 0.25], dtype=library.float64, requires_grad=True)
    param = start.clone()
    param.grad = gradient * 1.0
    param.retain_grad()
    optimizer = getattr(library.optim, name)([param], lr=0.1, differentiable=True)
    optimizer.step()
    grads = library.autograd.grad((param**2).sum(), (start, gradient), allow_unused=True)
    return [None if g is None else g.tolist() for g in grads]


@pytest.mark.parametrize(
    "name",
    [n for n in NAMES if "differentiable" in inspect.signature(getattr(impl.optim, n)).parameters],
)
def test_a_step_can_be_differentiated(name):
    torch = pytest.importorskip("torch")
    for ours, theirs in zip(meta_gradients(impl, name), meta_gradients(torch, name), strict=True):
        assert ours == (theirs and pytest.approx(theirs, rel=1e-6))


@pytest.mark.parametrize("name", ["NAdam", "ASGD"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
def test_numbers_of_a_state_have_the_dtype_of_step_counts(name, dtype):
    torch = pytest.importorskip("torch")
    seen = []
    for library in (torch, impl):
        library.set_default_dtype(getattr(library, dtype))
        try:
            param = library.ones(2, dtype=library.float32, requires_grad=True)
            optimizer = getattr(library.optim, name)([param], lr=1.5)
            for _ in range(2):
                param.sum().backward()
                optimizer.step()
        finally:
            library.set_default_dtype(library.float32)
        state = {key: str(value.dtype)[-7:] for key, value in optimizer.state[param].items()}
        seen.append((state, param.tolist()))
    assert seen[0] == seen[1]
