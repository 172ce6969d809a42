"""Two functions behind one name, chosen by a flag: torch's `boolean_dispatch`."""

from __future__ import annotations

import functools


def boolean_dispatch(name: str, flag: str, place: int, if_true, if_false):
    """A function that calls `if_true` where the argument `flag`, at `place`, is true, else
    `if_false`, with all arguments; which are refused under the name of the one that is called."""

    @functools.wraps(if_true)
    def function(*args, **named):
        chosen = named[flag] if flag in named else place < len(args) and args[place]
        return (if_true if chosen else if_false)(*args, **named)

    function.__name__ = function.__qualname__ = name
    return function
