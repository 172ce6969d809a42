"""NumPy's warnings never reach the user: every function and method, on what NumPy warns about."""

from __future__ import annotations

import itertools
import re
import types
import warnings

import pytest

import impl
from impl.arg_parser.builtin_function import BuiltinFunction

INPUTS = {
    "empty": lambda: impl.empty(0),
    "empty-rows": lambda: impl.empty(2, 0),
    "special": lambda: impl.tensor([float("nan"), float("inf"), -1.0, 0.0]),
    "complex": lambda: impl.tensor([1 + 2j, 0j, complex(float("nan"), 1.0)]),
    "integers": lambda: impl.tensor([3, 0, -1]),
    "half": lambda: impl.tensor([65504.0, 1e-7], dtype=impl.float16),
    "zeros": lambda: impl.zeros(3, 3),
}
NAMESPACES = (impl, impl.nn.functional, impl.linalg, impl.fft, impl.special)
# These change settings, or loop as often as an element says.
SKIPPED = re.compile("_|set_|.*(seed|polynomial|poisson|binomial|multinomial)")


def functions():
    """Every function of the namespaces and every method, once."""
    found = {}
    for space, name in ((s, n) for s in (*NAMESPACES, impl.Tensor) for n in sorted(vars(s))):
        function = getattr(space, name)
        if isinstance(function, (types.FunctionType, BuiltinFunction)) and not SKIPPED.match(name):
            found.setdefault(function, f"{space.__name__}.{name}")
    return [pytest.param(function, id=name) for function, name in found.items()]


def arguments(make):
    """Calls with one tensor, with a dimension or number, with several, and with a dtype."""
    yield lambda: ((make(),), {})
    yield lambda: ((make(), 0), {})
    yield lambda: ((make(), make()), {})
    yield lambda: ((make(), 0), {"keepdim": True})
    yield lambda: ((make(),), {"dtype": impl.float32})
    yield lambda: ((make(), impl.float32), {})
    yield lambda: ((make(),), {"out": impl.empty(0)})


def differentiate(result) -> None:
    """Run backward through the outputs of a call, as far as that works."""
    for output in result if isinstance(result, tuple) else (result,):
        if isinstance(output, impl.Tensor) and output.requires_grad:
            output.abs().sum().backward()


@pytest.mark.parametrize("function", functions())
def test_no_warning_of_numpy_is_seen(function):
    settings = impl._tensor_str.get_printoptions(), impl.get_default_dtype()
    seen = []
    for name, make in INPUTS.items():
        for call, recorded in itertools.product(arguments(make), (False, True)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    args, named = call()
                    if recorded:
                        if not (args[0].is_floating_point() or args[0].is_complex()):
                            continue
                        args = (args[0].requires_grad_(), *args[1:])
                    differentiate(function(*args, **named))
                except Exception:  # wrong arguments are for other tests
                    pass
            seen += [
                (name, str(w.message))
                for w in caught
                if w.category not in (UserWarning, FutureWarning)
            ]
    impl.set_printoptions(**settings[0])
    impl.set_default_dtype(settings[1])
    assert seen == []
