"""The named results of operators against all of torch.return_types."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest

import impl

torch = pytest.importorskip("torch")

# The arguments of operators that need more than a matrix.
ARGUMENTS = {
    **dict.fromkeys(("max", "min", "median", "nanmedian", "cummax", "cummin"), "{x}, 0"),
    **dict.fromkeys(("kthvalue", "topk"), "{x}, 2"),
    **dict.fromkeys(("linalg_lstsq", "linalg_solve_ex", "triangular_solve"), "{x}, {x}"),
    "linalg_lstsq": "{x}, {x}, driver='gelsd'",
    "lu_unpack": "*torch.linalg.lu_factor({x})",
}
ABSENT = {"histogramdd"}
NAMES = [
    kind.__name__
    for kind in torch.return_types.all_return_types
    if not kind.__name__.endswith("_out") and kind.__name__ not in ABSENT
]
MATRIX = [[2.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 4.0]]


@pytest.fixture(autouse=True)
def deprecations():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def call(library, name: str, form: str = "function", **options):
    """The result of an operator, as a function or as a method."""
    arguments = ARGUMENTS.get(name, "{x}")
    function = "torch." + name.replace("linalg_", "linalg.")
    if form == "method":
        function, arguments = f"x.{name}", arguments.removeprefix("{x}").removeprefix(", ")
    scope = {"torch": library, "x": library.tensor(MATRIX), "options": options}
    return eval(f"{function}({arguments.format(x='x')}{',' * bool(arguments)} **options)", scope)


def outputs(library, values):
    return tuple(library.empty(0, dtype=getattr(library, str(v.dtype)[6:])) for v in values)


def described(result):
    kind = type(result)
    return {
        "class": (kind.__name__, kind.__qualname__, kind.__module__.partition(".")[2]),
        "bases": kind.__bases__,
        "fields": kind.__match_args__,
        "counts": (kind.n_fields, kind.n_sequence_fields, kind.n_unnamed_fields),
        "named": [
            getattr(result, f) is v for f, v in zip(kind.__match_args__, result, strict=True)
        ],
        "part": type(result[:1]),
        "copies": [type(made(result)) is kind for made in (copy.copy, copy.deepcopy)],
        "text": repr(kind(range(kind.n_fields))),
        "pickled": repr(pickle.loads(pickle.dumps(kind(range(kind.n_fields))))),
        "members": [repr(getattr(kind, field)) for field in kind.__match_args__],
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["function", "method"])
def test_results_are_named_as_in_torch(name, form):
    if form == "method" and not hasattr(torch.Tensor, name):
        pytest.skip("no method")
    assert described(call(impl, name, form)) == described(call(torch, name, form))


@pytest.mark.parametrize("name", NAMES)
def test_results_in_out_have_their_own_type(name):
    results = []
    for library in (impl, torch):
        out = outputs(library, call(library, name))
        result = call(library, name, out=out)
        assert all(a is b for a, b in zip(result, out, strict=True))
        results.append(described(result))
    assert results[0] == results[1]


def raised(action) -> str:
    with pytest.raises((AttributeError, TypeError)) as caught:
        action()
    return f"{caught.type.__name__}: {caught.value}"


@pytest.mark.parametrize("name", NAMES)
def test_misuse_is_refused_as_in_torch(name):
    texts = []
    for library in (impl, torch):
        kind = getattr(library.return_types, name)
        result = kind(range(kind.n_fields))
        field = kind.__match_args__[0]
        misuses = [
            lambda kind=kind: kind(5),
            lambda kind=kind: kind(()),
            lambda result=result: result.absent,
            lambda result=result, field=field: setattr(result, field, 1),
            lambda kind=kind: type("Derived", (kind,), {}),
        ]
        texts.append([raised(misuse) for misuse in misuses])
    assert texts[0] == texts[1]


def test_all_named_results_that_impl_has_are_public():
    shared = {kind.__name__ for kind in torch.return_types.all_return_types}
    absent = ABSENT | {f"{name}_out" for name in ABSENT if f"{name}_out" in shared}
    assert set(impl.return_types.__all__) - {"all_return_types"} == shared - absent
