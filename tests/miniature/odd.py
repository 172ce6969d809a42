"""Raises exceptions, and returns objects, that break naive handlers."""

from .wrapping import Namespace


class Unprintable(Exception):
    """An error whose `str()` raises."""

    def __str__(self) -> str:
        raise ValueError("no text for you")

    __repr__ = __str__


def _unprintable(*args, **keywords):
    raise Unprintable


def _exit(*args, **keywords):
    raise SystemExit(7)


def _interrupt(*args, **keywords):
    raise KeyboardInterrupt


def _surrogate(*args, **keywords):
    raise RuntimeError("half a \udc80 character, \x1b[31mred\x1b[0m and a \x00")


def _strange_value(*args, **keywords):
    class Evasive:
        def __getattr__(self, name):
            raise RuntimeError(f"{name} is not for you")

    return Evasive()


unprintable = Namespace(ones=_unprintable)
exit = Namespace(ones=_exit)
interrupt = Namespace(ones=_interrupt)
surrogate = Namespace(ones=_surrogate)
strange_value = Namespace(ones=_strange_value)
