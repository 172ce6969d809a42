"""Univariate distributions, their parameters, and programs on them that torch and impl run."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np
import torch

import impl

NAMESPACES = (torch, impl)
DTYPES = ("float32", "float64")

# Parameters of each distribution, several of a batch, with values of its support.
CASES: dict[str, tuple[dict[str, Any], list[float]]] = {
    "Normal": ({"loc": [0.5, -1.0], "scale": [2.0, 0.3]}, [0.1, -2.5]),
    "LogNormal": ({"loc": [0.5, -1.0], "scale": [0.7, 0.3]}, [0.1, 2.5]),
    "HalfNormal": ({"scale": [2.0, 0.3]}, [0.1, 0.0]),
    "HalfCauchy": ({"scale": [2.0, 0.3]}, [0.1, 0.0]),
    "Cauchy": ({"loc": [0.5, -1.0], "scale": [2.0, 0.3]}, [0.1, -2.5]),
    "Laplace": ({"loc": [0.5, -1.0], "scale": [2.0, 0.3]}, [0.1, -1.0]),
    "Exponential": ({"rate": [2.0, 0.3]}, [0.1, 0.0]),
    "Gamma": ({"concentration": [2.0, 0.3], "rate": [0.5, 1.5]}, [0.1, 3.0]),
    "InverseGamma": ({"concentration": [2.5, 0.9], "rate": [0.5, 1.5]}, [0.1, 3.0]),
    "Chi2": ({"df": [2.0, 0.3]}, [0.1, 3.0]),
    "Beta": ({"concentration1": [2.0, 0.3], "concentration0": [0.5, 1.5]}, [0.1, 0.9]),
    "FisherSnedecor": ({"df1": [5.0, 1.5], "df2": [6.0, 3.0]}, [0.1, 3.0]),
    "StudentT": ({"df": [5.0, 1.5], "loc": [0.5, -1.0], "scale": [2.0, 0.3]}, [0.1, -2.0]),
    "Uniform": ({"low": [-1.0, 0.5], "high": [2.0, 0.75]}, [0.1, 0.5]),
    "Gumbel": ({"loc": [0.5, -1.0], "scale": [2.0, 0.3]}, [0.1, -2.5]),
    "Weibull": ({"scale": [2.0, 0.3], "concentration": [0.5, 1.5]}, [0.1, 3.0]),
    "Pareto": ({"scale": [2.0, 0.3], "alpha": [2.5, 0.9]}, [2.1, 0.3]),
    "Kumaraswamy": (
        {"concentration1": [2.0, 0.3], "concentration0": [1.5, 1.5]},
        [0.1, 0.9],
    ),
    "VonMises": ({"loc": [0.5, -1.0], "concentration": [0.5, 7.5]}, [0.1, -2.5]),
    "LogisticNormal": ({"loc": [0.5, -1.0], "scale": [2.0, 0.3]}, [0.2, 0.3, 0.5]),
    "GeneralizedPareto": (
        {"loc": [0.5, -1.0], "scale": [2.0, 0.3], "concentration": [0.25, -0.4]},
        [0.6, -0.5],
    ),
    "ContinuousBernoulli": ({"probs": [0.2, 0.4995]}, [0.1, 0.9]),
    "Bernoulli": ({"probs": [0.2, 0.5]}, [1.0, 0.0]),
    "Geometric": ({"probs": [0.2, 0.7]}, [3.0, 0.0]),
    "Poisson": ({"rate": [0.5, 7.0]}, [3.0, 0.0]),
    "Binomial": ({"total_count": [5.0, 5.0], "probs": [0.2, 0.7]}, [3.0, 0.0]),
    "NegativeBinomial": ({"total_count": [5.0, 0.5], "probs": [0.2, 0.7]}, [3.0, 0.0]),
}
# The same families by other parameters.
VARIANTS: dict[str, tuple[str, dict[str, Any], list[float]]] = {
    "ContinuousBernoulli of logits": ("ContinuousBernoulli", {"logits": [-2.0, 1e-3]}, [0.1, 0.9]),
    "Bernoulli of logits": ("Bernoulli", {"logits": [-2.0, 0.7]}, [1.0, 0.0]),
    "Geometric of logits": ("Geometric", {"logits": [-2.0, 0.7]}, [3.0, 0.0]),
    "Geometric that succeeds": ("Geometric", {"probs": [1.0, 1.0]}, [0.0, 1.0]),
    "Binomial of logits": (
        "Binomial",
        {"total_count": [5.0, 5.0], "logits": [-2.0, 0.0]},
        [3.0, 0.0],
    ),
    "Binomial of several counts": (
        "Binomial",
        {"total_count": [5.0, 0.0], "probs": [0.0, 1.0]},
        [0.0, 0.0],
    ),
    "NegativeBinomial of logits": (
        "NegativeBinomial",
        {"total_count": [5.0, 0.0], "logits": [-2.0, 0.7]},
        [3.0, 0.0],
    ),
    "exponential GeneralizedPareto": (
        "GeneralizedPareto",
        {"loc": [0.5, -1.0], "scale": [2.0, 0.3], "concentration": [0.0, -1.0]},
        [0.6, -0.9],
    ),
    "heavy GeneralizedPareto": (
        "GeneralizedPareto",
        {"loc": [0.5, -1.0], "scale": [2.0, 0.3], "concentration": [0.7, 1.2]},
        [0.6, 3.0],
    ),
    "heavy StudentT": ("StudentT", {"df": [1.0, 2.0]}, [0.1, -2.0]),
    "light Kumaraswamy": (
        "Kumaraswamy",
        {"concentration1": [0.5, 3.0], "concentration0": [0.7, 2.0]},
        [0.1, 0.9],
    ),
    "small VonMises": ("VonMises", {"loc": [0.5, 3.0], "concentration": [1e-6, 3.0]}, [0.1, 3.0]),
    "small Gamma": ("Gamma", {"concentration": [1e-3, 1.0], "rate": [0.5, 1.5]}, [0.1, 0.0]),
    "Poisson of nothing": ("Poisson", {"rate": [0.0, 1.0]}, [0.0, 2.0]),
    "Laplace at its mean": ("Laplace", {"loc": [0.5, -1.0], "scale": [2.0, 0.3]}, [0.5, -1.0]),
}
ALL = {name: (name, *case) for name, case in CASES.items()} | VARIANTS

PROPERTIES = ("mean", "mode", "variance", "stddev", "_natural_params")
AT_VALUES = ("log_prob", "cdf", "log_cdf", "log_survival_function")


def family(namespace, name: str) -> type:
    """The class of that name, from the module in which torch has it."""
    module = getattr(torch.distributions, name).__module__
    return getattr(import_module(module.replace("torch", namespace.__name__, 1)), name)


def graph(node) -> str:
    """The operations that a tensor was computed by, as nested names."""
    if node is None:
        return "-"
    name = node.name().rsplit("::", 1)[-1].replace("Backward0", "")
    inputs = ", ".join(graph(input) for input, _ in node.next_functions)
    return f"{name}({inputs})" if inputs else name


def observed(thing) -> Any:
    """A plain description of a result: of tensors their values, layout and recorded operations."""
    if isinstance(thing, tuple | list):
        return [observed(item) for item in thing]
    if isinstance(thing, torch.Tensor | impl.Tensor):
        facts = (str(thing.dtype), tuple(thing.shape), thing.stride(), graph(thing.grad_fn))
        return (*facts, thing.detach().numpy())
    return str(thing).replace("impl.", "torch.")


def outcome(compute) -> Any:
    """The result of a call, or the class and text of its error."""
    try:
        return compute()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def assert_same(expected, got, label: str) -> None:
    """Assert that two descriptions agree: numbers up to rounding, all else exactly."""
    if isinstance(expected, list):
        assert isinstance(got, list) and len(got) == len(expected), label
        for i, pair in enumerate(zip(expected, got, strict=True)):
            assert_same(*pair, f"{label}[{i}]")
        return
    if not isinstance(expected, tuple):
        assert got == expected, label
        return
    assert isinstance(got, tuple), f"{label}: {got}, torch has {expected}"
    assert got[:-1] == expected[:-1], label
    eps = np.finfo(expected[-1].dtype).eps if expected[-1].dtype.kind == "f" else 0
    # A gradient is a sum of terms, some of which cancel.
    rtol, atol = (64 * eps, 16 * eps) if re.match("d.*/d", label) else (16 * eps, 4 * eps)
    np.testing.assert_allclose(got[-1], expected[-1], rtol=rtol, atol=atol, err_msg=label)


def agree(program) -> None:
    """Assert that `program(namespace)`, a dictionary of results, is the same on both."""
    results = []
    for namespace in NAMESPACES:
        namespace.default_generator.manual_seed(7)
        results.append({label: observed(item) for label, item in program(namespace).items()})
        results[-1]["state"] = observed(namespace.rand(1))
    expected, got = results
    assert got.keys() == expected.keys()
    for label in expected:
        assert_same(expected[label], got[label], label)


def parameters(namespace, values: dict[str, Any], dtype: str, grad: bool = True) -> dict[str, Any]:
    """Parameters as tensors, which require gradients."""
    dtype = getattr(namespace, dtype)
    return {
        name: namespace.tensor(value, dtype=dtype, requires_grad=grad)
        for name, value in values.items()
    }


def gradients(namespace, result, inputs: dict[str, Any]) -> dict[str, Any]:
    """The gradients of the sum of a result to each input; None of one that it does not use."""
    if not isinstance(result, namespace.Tensor) or not result.requires_grad:
        return {}
    tensors = list(inputs.values())
    total, options = result.sum(), {"allow_unused": True, "retain_graph": True}
    grads = outcome(lambda: namespace.autograd.grad(total, tensors, **options))
    return {"all": grads} if isinstance(grads, str) else dict(zip(inputs, grads, strict=True))


def with_gradients(namespace, label: str, compute, inputs: dict[str, Any]) -> dict[str, Any]:
    """A result and its gradients, by their labels."""
    result = outcome(compute)
    slopes = gradients(namespace, result, inputs)
    return {label: result} | {f"d{label}/d{name}": slope for name, slope in slopes.items()}
