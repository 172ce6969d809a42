"""Whole layers in files: either library reads those of the other, into layers that are the same."""

from __future__ import annotations

import io
import warnings

import pytest

import impl

torch = pytest.importorskip("torch")

ARGUMENTS = ((), (2,), (2, 2), (2, 2, 2), (2, 1), ((2,),))
# The uninitialised layers keep hooks, which torch writes as objects of its own.
LEFT_OUT = ("Lazy", "DataParallel")


def _arguments(name: str) -> tuple | None:
    """The first arguments that torch's layer takes, or None for a class that is no layer."""
    for given in ARGUMENTS:
        try:
            getattr(torch.nn, name)(*given)
        except Exception:
            continue
        return given
    return None


LAYERS = {
    name: _arguments(name)
    for name in dir(torch.nn)
    if isinstance(kind := getattr(torch.nn, name), type)
    and issubclass(kind, torch.nn.Module)
    and hasattr(impl.nn, name)
    and not name.startswith(LEFT_OUT)
}


@pytest.mark.parametrize(("writer", "reader"), [(impl, torch), (torch, impl)])
@pytest.mark.parametrize("name", [name for name, given in LAYERS.items() if given is not None])
def test_either_library_reads_the_layers_of_the_other(name, writer, reader):
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer, own = (getattr(library.nn, name)(*LAYERS[name]) for library in (writer, reader))
        writer.save(layer, file)
        loaded = reader.load(io.BytesIO(file.getvalue()), weights_only=False)
    assert type(loaded) is type(own)
    assert repr(loaded) == repr(layer)
    assert set(vars(loaded)) == set(vars(own))
