"""impl's univariate distributions against torch's: values, gradients and random streams."""

from __future__ import annotations

import pytest
from made_univariate import (
    ALL,
    AT_VALUES,
    CASES,
    DTYPES,
    PROPERTIES,
    agree,
    family,
    outcome,
    parameters,
    with_gradients,
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", ALL)
def test_properties_and_entropy(case, dtype):
    name, values, _ = ALL[case]

    def program(n):
        given = parameters(n, values, dtype)
        distribution = family(n, name)(**given)
        found = {"repr": repr(distribution)}
        for attribute in PROPERTIES:
            compute = lambda attribute=attribute: getattr(distribution, attribute)  # noqa: E731
            found |= with_gradients(n, attribute, compute, given)
        found |= with_gradients(n, "entropy", distribution.entropy, given)
        for attribute in ("support", "has_rsample", "has_enumerate_support", "arg_constraints"):
            found[attribute] = getattr(distribution, attribute)
        shapes = (distribution.batch_shape, distribution.event_shape)
        return found | {"shapes": tuple(map(tuple, shapes))}

    agree(program)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", ALL)
def test_functions_of_a_value(case, dtype):
    name, values, points = ALL[case]

    def program(n):
        given = parameters(n, values, dtype)
        given["value"] = n.tensor(points, dtype=getattr(n, dtype), requires_grad=True)
        value = given["value"]
        distribution = family(n, name)(**{k: given[k] for k in values})
        found = {}
        for function in AT_VALUES:
            if hasattr(distribution, function):
                compute = getattr(distribution, function)
                found |= with_gradients(n, function, lambda c=compute: c(value), given)
        quantile = n.tensor([0.25, 0.9], dtype=getattr(n, dtype), requires_grad=True)
        given["value"] = quantile
        return found | with_gradients(n, "icdf", lambda: distribution.icdf(quantile), given)

    agree(program)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", ALL)
def test_samples(case, dtype):
    name, values, _ = ALL[case]

    def program(n):
        given = parameters(n, values, dtype)
        distribution = family(n, name)(**given)
        found = {}
        for shape in ((), (3,), (2, 9)):
            found[f"sample {shape}"] = outcome(lambda s=shape: distribution.sample(s))
            draw = outcome(lambda s=shape: distribution.rsample(n.Size(s)))
            found |= with_gradients(n, f"rsample {shape}", lambda d=draw: d, given)
        return found

    agree(program)


@pytest.mark.parametrize("name", CASES)
def test_the_layout_of_parameters(name):
    """Which results keep the strides of transposed parameters, and which are contiguous."""
    values, _ = CASES[name]

    def program(n):
        given = {k: n.tensor([v, v[::-1]], dtype=n.float64).t() for k, v in values.items()}
        distribution = family(n, name)(**given)
        found = {a: outcome(lambda a=a: getattr(distribution, a)) for a in PROPERTIES}
        found |= {"entropy": outcome(distribution.entropy), "sample": distribution.sample((2,))}
        empty = outcome(lambda: family(n, name)(**{k: n.zeros(0) for k in values}))
        if not isinstance(empty, str):
            found |= {"none": outcome(empty.sample), "mean": outcome(lambda: empty.mean)}
        return found | {"empty": repr(empty)}

    agree(program)


@pytest.mark.parametrize("name", CASES)
def test_values_outside_the_support(name):
    values, _ = CASES[name]

    def program(n):
        found = {}
        for checked in (True, False):
            distribution = family(n, name)(
                **parameters(n, values, "float64", grad=False), validate_args=checked
            )
            for function in (*AT_VALUES, "icdf"):
                compute = getattr(distribution, function, None)
                for wrong in (-2.0, 0.0, 0.5, 1.0, 2.0, float("nan"), float("inf"), -float("inf")):
                    value = n.tensor([0.25, wrong], dtype=n.float64)
                    label = f"{function} at {wrong}, {checked}"
                    found[label] = outcome(lambda c=compute, v=value: c and c(v))
                for i, wrong in enumerate((n.ones(3), 0.5, n.ones(2, dtype=n.int64))):
                    label = f"{function} of other {i}, {checked}"
                    if (function, i) != ("icdf", 2):  # which computes in float32
                        found[label] = outcome(lambda c=compute, w=wrong: c and c(w))
        return found

    agree(program)


@pytest.mark.parametrize(
    "name",
    ["Bernoulli", "Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Normal", "Poisson"],
)
def test_the_log_normalizer_of_an_exponential_family(name):
    values, _ = CASES[name]

    def program(n):
        given = parameters(n, values, "float64")
        distribution = family(n, name)(**given)
        natural = distribution._natural_params
        compute = lambda: distribution._log_normalizer(*natural)  # noqa: E731
        found = {"carrier": outcome(lambda: distribution._mean_carrier_measure)}
        return found | with_gradients(n, "log_normalizer", compute, given)

    agree(program)


@pytest.mark.parametrize("name", ["Bernoulli", "Binomial", "Normal"])
def test_enumerated_supports(name):
    values, _ = CASES[name]

    def program(n):
        distribution = family(n, name)(**parameters(n, values, "float64"))
        found = {f"{e}": outcome(lambda e=e: distribution.enumerate_support(e)) for e in (0, 1)}
        return found | {"default": outcome(distribution.enumerate_support)}

    agree(program)


@pytest.mark.parametrize(
    "case", [case for case, (_, values, _) in ALL.items() if {"probs", "logits"} & set(values)]
)
def test_parameters_that_are_computed(case):
    name, values, _ = ALL[case]

    def program(n):
        given = parameters(n, values, "float64")
        distribution = family(n, name)(**given)
        found = {}
        for parameter in ("probs", "logits", "param_shape"):
            compute = lambda p=parameter: getattr(distribution, p)  # noqa: E731
            found |= with_gradients(n, parameter, compute, given)
        found["new"] = outcome(lambda: distribution._new((2, 3)).shape)
        return found | {"attributes": sorted(vars(distribution))}

    agree(program)


def test_a_generator_of_gamma_samples():
    def program(n):
        gamma = family(n, "Gamma")(2.0, 3.0)
        generators = [n.Generator().manual_seed(4) for _ in range(2)]
        return {
            "sample": gamma.sample((3,), generator=generators[0]),
            "rsample": gamma.rsample((3,), generators[1]),
        }

    agree(program)


def test_limits_of_a_continuous_bernoulli():
    def program(n):
        given = parameters(n, {"probs": [0.2, 0.4]}, "float64")
        distribution = family(n, "ContinuousBernoulli")(**given, lims=(0.3, 0.6))
        wide = distribution.expand((3, 2))
        value = n.tensor([0.1, 0.2], dtype=n.float64)
        return {
            "mean": distribution.mean,
            "lims": wide._lims,
            "cdf": wide.cdf(value),
            "normalizer": outcome(lambda: distribution._log_normalizer(value)),
            "wrong": outcome(lambda: family(n, "ContinuousBernoulli")(1.5, validate_args=True)),
        }

    agree(program)
