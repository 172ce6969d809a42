"""The operators, in families; importing this package defines them all."""

import importlib
import pkgutil

for _module in sorted(m.name for m in pkgutil.walk_packages(__path__, f"{__name__}.")):
    importlib.import_module(_module)
