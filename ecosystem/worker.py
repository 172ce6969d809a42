"""One program on one side: `python -m ecosystem.worker impl PROGRAM FILE`.

The side is `torch` or `impl`; what the cases return is written to the file, as JSON.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import random
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy

PROGRAMS = Path(__file__).parent / "programs"
ROOT = PROGRAMS.parent.parent


def main(side: str, name: str, answer: str) -> None:
    """Run the cases of a program, and write their results."""
    if side == "impl":
        importlib.import_module("impl.run").bind()
    # The programs are named after the packages that they import.
    sys.path[:] = [folder for folder in sys.path if Path(folder or ".").resolve() != PROGRAMS]
    warnings.simplefilter("ignore")
    import torch

    found: dict[str, Any] = {"cases": {}}
    try:
        module = _program(name)
    except BaseException as error:
        found["import"] = _told(error)
    else:
        for case in [name for name in vars(module) if name.startswith("case_")]:
            found["cases"][case.removeprefix("case_")] = _result(torch, getattr(module, case))
    Path(answer).write_text(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)  # a package's threads must not keep the process


def _program(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"program_{name}", PROGRAMS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _result(torch: Any, case: Any) -> dict[str, Any]:
    """The tensors that a case returns, or its error."""
    try:
        torch.set_default_dtype(torch.float64)
        random.seed(0)
        numpy.random.seed(0)
        torch.manual_seed(0)
        value = case()
        tensors = value if isinstance(value, (tuple, list)) else (value,)
        return {"values": [_numbers(torch, tensor) for tensor in tensors]}
    except BaseException as error:
        return {"error": _told(error)}


def _numbers(torch: Any, tensor: Any) -> dict[str, Any]:
    plain = torch.as_tensor(tensor).detach()
    if plain.is_complex():
        plain = torch.view_as_real(plain)
    return {"shape": list(plain.shape), "numbers": plain.reshape(-1).tolist()}


def _told(error: BaseException) -> str:
    """The error, and the innermost line of the package, or of impl, that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    # The table is the same wherever the project lies.
    text = " ".join(str(error).split()).replace(f"{ROOT}/", "")
    line = f"{type(error).__name__}: {text}"
    own = [f for f in frames if "ecosystem" not in f.filename and "importlib" not in f.filename]
    outside = [f for f in own if "/impl/" not in f.filename] or own
    if not outside:
        return line
    return f"{line} ({Path(outside[-1].filename).name}: {outside[-1].line})"


if __name__ == "__main__":
    main(*sys.argv[1:])
