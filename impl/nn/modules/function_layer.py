"""Layers that call a function of `torch.nn.functional` with the settings they were made with."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from impl.core.method_names import defined
from impl.nn import functional as F
from impl.nn.modules.families import layer_class
from impl.nn.modules.module import Module

_REQUIRED = object()
_DEPRECATED = ("size_average", "reduce", "min_value", "max_value")  # no layer keeps them


class _FunctionLayer(Module):
    """Calls `_function` with the inputs, and with the settings as keyword arguments.

    The settings are attributes of the layer; those among `_buffer_names` are buffers.
    """

    _function: str
    _settings: dict[str, Any]
    _places: tuple[str, ...]  # the settings that the function gets by their places
    _named: tuple[str, ...]  # and those by keyword
    _text: str | None = None
    _buffer_names: tuple[str, ...] = ()

    def __init__(self, *args, **kwargs) -> None:
        super().__init__()
        kind = type(self).__name__
        if len(args) > len(self._settings):
            count = f"from 1 to {len(self._settings) + 1} positional arguments"
            raise TypeError(
                f"{kind}.__init__() takes {count if self._settings else '1 positional argument'} "
                f"but {len(args) + 1} were given"
            )
        given = dict(zip(self._settings, args, strict=False))
        for key, value in kwargs.items():
            if key not in self._settings:
                raise TypeError(f"{kind}.__init__() got an unexpected keyword argument '{key}'")
            given[key] = value
        self._set_up({key: given.get(key, default) for key, default in self._settings.items()})

    def _set_up(self, settings: dict[str, Any]) -> None:
        for key, value in self._kept(settings).items():
            if key in self._buffer_names:
                self.register_buffer(key, value)
            else:
                setattr(self, key, value)

    def _kept(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The settings as the layer keeps them, from those it was given."""
        return settings

    def _apply_function(self, *inputs):
        function = getattr(F, self._function)
        by_place = [getattr(self, key) for key in self._places]
        settings = {key: getattr(self, key) for key in self._named if hasattr(self, key)}
        return function(*inputs, *by_place, **settings)

    def extra_repr(self) -> str:
        if self._text is None:
            return ""
        settings = {key: getattr(self, key) for key in self._settings if hasattr(self, key)}
        texts = [self._text.format(**settings)] if self._text else []
        if settings.get("inplace"):
            texts.append("inplace=True")
        return ", ".join(texts)


def layers_of(module: str, base: type[_FunctionLayer] = _FunctionLayer) -> Callable[..., type[Any]]:
    """A maker of layers that belong to a module, from a name, a function and the settings.

    Required settings are given by name, the others with their defaults. `text` is the format of the
    settings in the layer's text, where `inplace=True` follows if that is set; None: none are shown.
    """

    def layer(
        name: str,
        function: str,
        /,
        *required: str,
        text: str | None = None,
        inputs: tuple[str, ...] = (),
        keyword_only: bool = False,
        **defaults: Any,
    ) -> type[Any]:
        settings = {**dict.fromkeys(required, _REQUIRED), **defaults}
        fields: dict[str, Any] = {
            "_function": function,
            "_settings": settings,
            "__module__": module,
        }
        inputs = inputs or _inputs(function, settings)
        fields["_places"], fields["_named"] = _passed(function, len(inputs), settings)
        fields["forward"] = _forward(name, inputs)
        if settings:
            fields["__init__"] = _constructor(name, settings, keyword_only)
        summary = f"`functional.{function}` as a layer"
        return layer_class((base,), name, summary, _text=text, **fields)

    return layer


def _inputs(function: str, settings: dict[str, Any]) -> tuple[str, ...]:
    """The parameters of a function that are not settings of its layer."""
    parameters = inspect.signature(getattr(F, function)).parameters.values()
    names = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return tuple({"self": "input"}.get(name, name) for name in names if name not in settings)


def _passed(function: str, count: int, settings: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    """The settings that a function gets by place after `count` inputs, and those by keyword."""
    parameters = [*inspect.signature(getattr(F, function)).parameters.values()][count:]
    known = [p.name if p.kind is p.POSITIONAL_OR_KEYWORD else "" for p in parameters]
    places = []
    for name, setting in zip(known, settings, strict=False):
        if name != setting or name in _DEPRECATED:
            break
        places.append(name)
    return tuple(places), tuple(key for key in settings if key not in places)


def _forward(layer: str, inputs: tuple[str, ...]) -> Callable[..., Any]:
    """A method `forward` with its own parameters, which Python's errors name."""
    listed = ", ".join(inputs)
    source = f"def forward(self, {listed}):\n    return self._apply_function({listed})\n"
    return defined(source, f"{layer}.forward", {})


def _constructor(layer: str, settings: dict[str, Any], keyword_only: bool) -> Callable[..., Any]:
    """A method `__init__` whose parameters are the settings."""
    listed = [
        key if default is _REQUIRED else f"{key}=_settings[{key!r}]"
        for key, default in settings.items()
    ]
    star = "*, " if keyword_only else ""
    given = ", ".join(f"{key!r}: {key}" for key in settings)
    source = (
        f"def __init__(self, {star}{', '.join(listed)}):\n"
        f"    Module.__init__(self)\n    self._set_up({{{given}}})\n"
    )
    return defined(source, f"{layer}.__init__", {"_settings": settings, "Module": Module})
