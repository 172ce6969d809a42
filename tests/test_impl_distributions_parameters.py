"""Parameters of univariate distributions, as torch takes, checks, broadcasts and expands them."""

from __future__ import annotations

import copy
import pickle

import pytest
from made_univariate import (
    ALL,
    CASES,
    PROPERTIES,
    agree,
    family,
    outcome,
    parameters,
    with_gradients,
)


@pytest.mark.parametrize("name", CASES)
def test_numbers_as_parameters(name):
    values, points = CASES[name]

    def program(n):
        distribution = outcome(lambda: family(n, name)(**{k: v[0] for k, v in values.items()}))
        if isinstance(distribution, str):
            return {"error": distribution}
        found = {"repr": repr(distribution), "shape": distribution.batch_shape}
        found["sample"] = outcome(lambda: distribution.sample((2,)))
        found["log_prob"] = outcome(lambda: distribution.log_prob(n.tensor(points)))
        for attribute in PROPERTIES:
            found[attribute] = outcome(lambda a=attribute: getattr(distribution, a))
        return found | {"entropy": outcome(distribution.entropy)}

    agree(program)


@pytest.mark.parametrize("name", CASES)
def test_parameters_are_broadcast(name):
    values, points = CASES[name]
    first, *rest = values

    def program(n):
        given = parameters(n, values, "float64")
        given[first] = given[first].unsqueeze(-1)
        distribution = family(n, name)(**given)
        found = {"repr": repr(distribution), "shape": distribution.batch_shape}
        found |= {"sample": distribution.sample(), "mode": outcome(lambda: distribution.mode)}
        found["entropy"] = outcome(distribution.entropy)
        if rest:  # a number beside a tensor has the tensor's dtype
            given[rest[0]] = values[rest[0]][0]
            found["mixed"] = repr(family(n, name)(**given))
        value = n.tensor(points, dtype=n.float64)
        return found | {"log_prob": outcome(lambda: distribution.log_prob(value))}

    agree(program)


@pytest.mark.parametrize("name", CASES)
def test_integers_as_parameters(name):
    """Whole numbers and integer tensors: which families take them, and the errors of others."""
    values, _ = CASES[name]
    whole = {"low": 0, "high": 1, "probs": 1}

    def program(n):
        numbers = {k: whole.get(k, 2 + i) for i, k in enumerate(values)}
        tensors = {k: n.tensor([v, v]) for k, v in numbers.items()}
        found = {}
        for kind, given in {"numbers": numbers, "tensors": tensors}.items():
            distribution = outcome(lambda g=given: family(n, name)(**g))
            found[kind] = repr(distribution)
            if isinstance(distribution, str):
                continue
            for attribute in ("mean", "mode", "variance"):
                found[f"{attribute} of {kind}"] = outcome(
                    lambda d=distribution, a=attribute: getattr(d, a)
                )
            found[f"sample of {kind}"] = outcome(lambda d=distribution: d.sample([2]))
            found[f"entropy of {kind}"] = outcome(distribution.entropy)
            for i, value in enumerate((n.tensor(1), n.tensor([[1.0, 1.0], [2.0, 0.0]]))):
                found[f"log_prob {i} of {kind}"] = outcome(
                    lambda d=distribution, v=value: d.log_prob(v)
                )
        return found

    agree(program)


@pytest.mark.parametrize("name", CASES)
def test_shapes_of_samples_and_batches(name):
    values, _ = CASES[name]

    def program(n):
        distribution = family(n, name)(**parameters(n, values, "float32", grad=False))
        shapes = {"size": n.Size([3]), "list": [3], "number": 3, "none": [], "tensor": n.ones(1)}
        found = {
            f"sample {k}": outcome(lambda s=s: distribution.sample(s)) for k, s in shapes.items()
        }
        batches = {"list": [3, 2], "size": n.Size([3, 2]), "wrong": (3, 4), "number": 3}
        for kind, batch in batches.items():
            found[f"expand {kind}"] = outcome(lambda b=batch: repr(distribution.expand(b)))
        twice = outcome(lambda: distribution.expand((1, 2)).expand((3, 1, 2)))
        return found | {"twice": repr(twice), "keyword": distribution.sample(sample_shape=(1,))}

    agree(program)


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("case", ALL)
def test_expanded_distributions(case, computed):
    name, values, points = ALL[case]

    def program(n):
        given = parameters(n, values, "float64")
        distribution = family(n, name)(**given, validate_args=False)
        if computed:
            outcome(lambda: (distribution.logits, distribution.probs))
        shape = (3,) if name == "LogisticNormal" else (3, 2)
        wide = distribution.expand(shape)
        found = {"class": type(wide).__name__, "repr": repr(wide), "shape": wide.batch_shape}
        found |= {k: outcome(lambda k=k: getattr(wide, k)) for k in (*values, *PROPERTIES)}
        found["validate"] = wide._validate_args
        found["attributes"] = sorted(k for k in vars(wide) if not k.startswith("_"))
        found |= with_gradients(n, "sample", lambda: wide.sample((2,)), given)
        value = n.tensor(points, dtype=n.float64)
        found |= with_gradients(n, "log_prob", lambda: wide.log_prob(value), given)
        found |= with_gradients(n, "_param", lambda: wide._param, given)
        return found | with_gradients(n, "rsample", lambda: wide.rsample((2,)), given)

    agree(program)


@pytest.mark.parametrize("name", CASES)
def test_a_subclass_with_a_constructor_has_to_expand_itself(name):
    values, _ = CASES[name]

    def program(n):
        def init(self):
            cls.__init__(self, **parameters(n, values, "float32"))

        cls = family(n, name)
        own = type("Own", (cls,), {"__init__": init})()
        return {"expand": outcome(lambda: own.expand((3, 2)))}

    agree(program)


@pytest.mark.parametrize("name", CASES)
def test_invalid_parameters(name):
    values, _ = CASES[name]

    def program(n):
        cls, found = family(n, name), {}
        for parameter in values:
            for wrong in (-1.5, float("nan"), 1.5, 0.0, float("inf")):
                broken = {**values, parameter: [values[parameter][0], wrong]}
                given = parameters(n, broken, "float32", grad=False)
                label = f"{parameter}={wrong}"
                found[label] = outcome(lambda g=given: repr(cls(**g)))
                found[f"{label} checked"] = outcome(lambda g=given: cls(**g, validate_args=True))
                if name != "FisherSnedecor" and name != "StudentT":
                    unchecked = outcome(lambda g=given: cls(**g, validate_args=False))
                    found[f"{label} unchecked"] = outcome(lambda u=unchecked: u.mean)
        for wrong in ("1", None, n.ones(3)):
            given = parameters(n, values, "float32") | {next(iter(values)): wrong}
            found[f"{wrong}"] = outcome(lambda g=given: repr(cls(**g)))
        return found

    agree(program)


@pytest.mark.parametrize("name", ["Bernoulli", "Binomial", "Geometric", "NegativeBinomial"])
@pytest.mark.parametrize("both", [False, True])
def test_one_of_probs_and_logits_is_given(name, both):
    def program(n):
        count = {"total_count": 3} if "Binomial" in name else {}
        given = {"probs": 0.5, "logits": 0.0} if both else {}
        return {"error": outcome(lambda: family(n, name)(**count, **given))}

    agree(program)


@pytest.mark.parametrize("name", CASES)
def test_copies(name):
    """Deep copies and pickled ones are equal to the original, where torch's are."""
    values, _ = CASES[name]

    def program(n):
        original = family(n, name)(**parameters(n, values, "float64", grad=False))
        found = {}
        for way, duplicate in {
            "deepcopy": copy.deepcopy,
            "pickle": lambda d: pickle.loads(pickle.dumps(d)),
        }.items():
            made = outcome(lambda d=duplicate: d(original))
            n.manual_seed(3)
            found |= {way: repr(made), f"{way} sample": outcome(lambda m=made: m.sample((2,)))}
        return found

    agree(program)


@pytest.mark.parametrize("name", CASES)
def test_classes(name):
    """Bases, attributes and the order of parameters are torch's."""

    def program(n):
        cls = family(n, name)
        code = cls.__init__.__code__
        found = {"bases": [base.__qualname__ for base in cls.__mro__]}
        found["parameters"] = [code.co_varnames[: code.co_argcount], cls.__init__.__defaults__]
        found["module"] = cls.__module__
        for attribute in ("arg_constraints", "support", "has_rsample", "has_enumerate_support"):
            found[attribute] = type(getattr(cls, attribute)).__name__
        return found

    agree(program)


@pytest.mark.parametrize("name", CASES)
def test_checked_distributions_of_mapped_parameters(name):
    """The parameters of all examples are checked at once."""
    values, _ = CASES[name]

    def program(n):
        def mean(*mapped):
            return family(n, name)(**dict(zip(values, mapped, strict=True))).mean

        given = parameters(n, values, "float64", grad=False)
        return {"mean": outcome(lambda: n.func.vmap(mean)(*given.values()))}

    agree(program)
