"""The checks of arguments by the C++ functions that `torch.nn.functional` calls.

torch writes `cross_entropy` in Python, and the parser of `cross_entropy_loss`, which it calls,
reads the arguments that it hands on. `functional.txt` says which: the function, the signature that
reads them, and for each parameter of that the one of the function.
"""

from __future__ import annotations

import functools
import inspect
from importlib import resources
from types import ModuleType

from impl.arg_parser.parameter import MISSING, Parameter
from impl.arg_parser.parser import kind_of
from impl.arg_parser.signature import Signature


def publish_checks(functional: ModuleType) -> None:
    """Put the checks before the functions of `torch.nn.functional`."""
    text = resources.files(__package__).joinpath("functional.txt").read_text()
    for line in text.splitlines():
        name, read_by, handed = line.split("\t")
        called, _, rest = read_by.partition("(")
        call = getattr(functional, name, None)
        if call is not None:
            signature = Signature(called, rest.removesuffix(")"))
            setattr(functional, name, _checked(call, signature, handed.split(", ")))


def _checked(call, signature: Signature, handed: list[str]):
    """The function, with the arguments checked and converted that the signature reads."""
    own = inspect.signature(call)
    read = [
        (place, parameter, name)
        for place, (parameter, name) in enumerate(zip(signature.parameters, handed, strict=True))
        if name in own.parameters
    ]
    accepted: set = set()

    @functools.wraps(call)
    def function(*args, **named):
        if (*map(type, args), MISSING, *named, *map(type, named.values())) in accepted:
            return call(*args, **named)
        key = (*map(kind_of, args), MISSING, *named, *map(kind_of, named.values()))
        if key in accepted:
            return call(*args, **named)
        try:
            bound = own.bind(*args, **named)
        except TypeError:
            return call(*args, **named)  # Python's own error, with the function's name
        lasting = True
        for place, parameter, name in read:
            value = bound.arguments.get(name)
            if value is None and own.parameters[name].default is None:
                continue
            if name in bound.arguments:
                found = _value(signature, parameter, value, place)
                lasting = lasting and found is value and not parameter.depends_on_value(value)
                bound.arguments[name] = found
        if lasting:
            accepted.add(key)
        return call(*bound.args, **bound.kwargs)

    return function


def _value(signature: Signature, parameter: Parameter, value, place: int):
    if not parameter.accepts(value):
        by_place = None if parameter.keyword_only else place
        error = signature.wrong_type(parameter, value, by_place)
        raise TypeError(*error.args)
    return parameter.converted(value, signature.name)
