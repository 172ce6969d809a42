"""Layers that call a function of `torch.nn.functional` with the settings they were made with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.nn import functional as F
from impl.nn.modules.families import layer_class
from impl.nn.modules.module import Module

_REQUIRED = object()


class _FunctionLayer(Module):
    """Calls `_function` with the inputs, and with the settings as keyword arguments.

    The settings are attributes of the layer; those among `_buffer_names` are buffers.
    """

    _function: str
    _settings: dict[str, Any]
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
        settings = {key: given.get(key, default) for key, default in self._settings.items()}
        for key, value in settings.items():
            if value is _REQUIRED:
                raise TypeError(
                    f"{kind}.__init__() missing 1 required positional argument: '{key}'"
                )
        for key, value in self._kept(settings).items():
            if key in self._buffer_names:
                self.register_buffer(key, value)
            else:
                setattr(self, key, value)

    def _kept(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The settings as the layer keeps them, from those it was given."""
        return settings

    def forward(self, *inputs):
        settings = {key: getattr(self, key) for key in self._settings if hasattr(self, key)}
        return getattr(F, self._function)(*inputs, **settings)

    def extra_repr(self) -> str:
        if self._text is None:
            return ""
        settings = {key: getattr(self, key) for key in self._settings}
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
        name: str, function: str, /, *required: str, text: str | None = None, **defaults: Any
    ) -> type[Any]:
        settings = {**dict.fromkeys(required, _REQUIRED), **defaults}
        fields = {"_function": function, "_settings": settings, "__module__": module}
        summary = f"`functional.{function}` as a layer"
        return layer_class((base,), name, summary, _text=text, **fields)

    return layer
