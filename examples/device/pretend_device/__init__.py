"""The device `pretend`: an accelerator that is none, as a backend of PyTorch outside its tree.

Importing this module compiles the extension (once, with the C++ compiler of the machine), names the
device and installs `torch.pretend`. Without a compiler the name is there and the device is not.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import torch

from pretend_device import module

_HERE = Path(__file__).parent
_SOURCES = sorted((_HERE / "csrc").iterdir())
_BUILD = _HERE.parent / "build"
_LIBRARY = _BUILD / "pretend_device.so"


def _is_new() -> bool:
    """Whether the library is newer than all that it is made of, torch included."""
    made_of = [*_SOURCES, Path(torch.__file__)]
    return _LIBRARY.exists() and _LIBRARY.stat().st_mtime > max(p.stat().st_mtime for p in made_of)


def _compile() -> None:
    """Compile the extension; several processes may do so at once, and one does."""
    # Imported late: it takes seconds, and only a build needs it.
    from torch.utils import cpp_extension

    _BUILD.mkdir(exist_ok=True)
    cpp_extension.load(
        "pretend_device",
        [str(path) for path in _SOURCES if path.suffix == ".cpp"],
        extra_cflags=["-O1", "-g0"],
        build_directory=str(_BUILD),
        is_python_module=False,
    )


torch.utils.rename_privateuse1_backend("pretend")
if _is_new():
    torch.ops.load_library(str(_LIBRARY))
elif shutil.which(os.environ.get("CXX", "c++")):
    _compile()
torch._register_device_module("pretend", module)
if hasattr(torch.ops.pretend, "device_count"):
    torch.utils.generate_methods_for_privateuse1_backend(
        for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=True
    )
