"""The modules that torch has for classes which impl defines in files of its own.

A class is pickled by the name of its module, so that files of torch's can be read, and torch can
read impl's, where both name the same one.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


def place(name: str, *classes: Any) -> ModuleType:
    """Make classes part of the module of this name, which is made where no file has it."""
    module = sys.modules.get(name)
    if module is None:
        origin = classes[0].__module__
        module = ModuleType(name, f"`{classes[0].__name__}` and its like: see `{origin}`.")
        module.__file__ = sys.modules[origin].__file__
        sys.modules[name] = module
    for cls in classes:
        setattr(module, cls.__name__, cls)
        cls.__module__ = name
    return module
