"""Optimizers against torch: every option of every optimizer at other values, alone and in pairs."""

from __future__ import annotations

import inspect
import itertools
import warnings

import pytest

import impl

torch = pytest.importorskip("torch")

NAMES = [
    name
    for name, kind in vars(torch.optim).items()
    if isinstance(kind, type)
    and issubclass(kind, torch.optim.Optimizer)
    and kind is not torch.optim.Optimizer
]
PARAMETERS = {
    "float32": "[torch.tensor([[1.0, 2.0], [-0.5, 3.0]], requires_grad=True)]",
    "several": "[torch.tensor([1.0, -2.0], requires_grad=True), "
    "torch.tensor([[0.5]], requires_grad=True), torch.ones(1, requires_grad=True)]",
    "float64": "[torch.tensor([[1.0, 2.0]], dtype=torch.float64, requires_grad=True)]",
    "complex": "[torch.tensor([1.0 + 2.0j, -0.5j], requires_grad=True)]",
    "named": "[('w', torch.tensor([[1.0, 2.0]], requires_grad=True))]",
}
MODES = ("foreach", "fused", "capturable", "differentiable", "maximize")
# Values besides those that follow from a default's type; tensors of options are among them.
VALUES = {
    "lr": (
        *("0.3", "0", "-1.0", "torch.tensor(0.25)", "torch.tensor([0.25])", "torch.ones(2)"),
        "torch.tensor(0.3)",  # which rounds otherwise in the precision of the parameters
    ),
    "betas": (
        "(0.5, 0.75)",
        "(1.0, 0.5)",
        "(0.5, -0.25)",
        "(torch.tensor(0.5), torch.tensor(0.75))",
        "(torch.tensor(0.5), 0.75)",
    ),
    "etas": ("(0.25, 1.5)", "(0.5, 0.75)"),
    "step_sizes": ("(0.1, 1)",),
    "eps": ("1e-3", "-1.0"),
    "beta2_decay": ("-0.5", "0.5"),
    "d": ("2.0", "0.5"),
    "ns_coefficients": ("(2.0, -1.5, 0.5)",),
    "ns_steps": ("2", "100"),
    "adjust_lr_fn": ("'original'", "'match_rms_adamw'", "'other'"),
    "line_search_fn": ("'strong_wolfe'", "'other'"),
    "max_eval": ("3",),
    "history_size": ("1",),
    "max_iter": ("3",),
}
SPECIAL = {"Adafactor": {"eps": ("(1e-3, 1e-2)", "(None, -1.0)")}}
# Here torch's errors are of its own scalars; impl takes the tensors for their numbers.
TENSOR_BETAS = {"Adamax", "NAdam", "RAdam"}


def values_of(name: str, option) -> tuple[str, ...]:
    known = {**VALUES, **SPECIAL.get(name, {})}
    if option.name in known:
        values = known[option.name]
        if name in TENSOR_BETAS and option.name == "betas":
            return values[:3]
        return values
    if option.name in MODES or isinstance(option.default, bool):
        return ("True",)
    if option.name == "momentum":
        return ("0.75", "-1.0")
    return ("0.125", "-1.0") if isinstance(option.default, (int, float)) else ()


def settings(name: str) -> list[str]:
    """Keyword arguments: none, each value of each option, and pairs of modes and other options."""
    options = inspect.signature(getattr(torch.optim, name)).parameters
    each = {o: [f"{o}={v}" for v in values_of(name, p)] for o, p in options.items()}
    modes = [each[mode][0] for mode in MODES if mode in each]
    others = [values[0] for option, values in each.items() if values and option not in MODES]
    pairs = [f"{a}, {b}" for a, b in itertools.combinations(modes, 2)]
    mixed = [f"{mode}, {other}" for mode in modes for other in others]
    # The loss has no maximum: a search for one ends where rounding says, some 1e28 away.
    mixed = [pair for pair in mixed if not ("maximize" in pair and "strong_wolfe" in pair)]
    tensors = [f"{mode}, lr=torch.tensor(0.25)" for mode in modes]
    more = ["momentum=0.75, nesterov=True", "momentum=0.75, dampening=0.5, maximize=True"]
    more = more if name == "SGD" else []
    return ["", *itertools.chain.from_iterable(each.values()), *pairs, *mixed, *tensors, *more]


def trained(library, name: str, parameters: str, options: str):
    """Parameters, states and texts after three steps, or the error."""
    scope = {"torch": library}
    listed = eval(PARAMETERS[parameters], scope)
    params = [p[1] if isinstance(p, tuple) else p for p in listed]

    def closure():
        optimizer.zero_grad()
        loss = sum(((p - 0.3).abs() ** 2).sum() for p in params)
        loss.backward()
        return loss

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            optimizer = eval(f"torch.optim.{name}(params, {options})", {**scope, "params": listed})
            for _ in range(3):
                optimizer.step(closure)
        except (AssertionError, RuntimeError, TypeError, ValueError) as error:
            text = str(error).replace("a view of a leaf", "a leaf")  # of complex parameters
            return f"{type(error).__name__}: {text}"
    states = [
        {key: described(value) for key, value in state.items()}
        for state in optimizer.state.values()
        if name != "LBFGS"  # whose directions are rounded otherwise
    ]
    return [described(p) for p in params], states, repr(optimizer)


def described(value):
    """A tensor's elements, rounded, with its dtype, shape and flag; anything else as it is."""
    if not hasattr(value, "requires_grad"):
        return value
    numbers = [pytest.approx(v, rel=1e-4, abs=1e-5) for v in value.detach().reshape(-1).tolist()]
    return numbers, str(value.dtype), tuple(value.shape), value.requires_grad


@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("name", NAMES)
def test_options_have_the_effect_of_torch(name, parameters):
    for options in settings(name):
        ours, theirs = (trained(lib, name, parameters, options) for lib in (impl, torch))
        assert ours == theirs, options
