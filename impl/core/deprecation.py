"""Deprecated functions, which warn before Python looks at their arguments."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any


def deprecated(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions: each call warns of FutureWarning with that text."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def warned(*args, **kwargs):
            warnings.warn(text, FutureWarning, stacklevel=2)
            return function(*args, **kwargs)

        return warned

    return decorate
