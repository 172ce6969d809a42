"""Texts of errors, warnings and values, without the parts that differ between processes."""

from __future__ import annotations

import re
from typing import Any

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_TRIGGERED = re.compile(r"\s*\(Triggered internally at .*?\)\s*\Z", re.DOTALL)
_FORWARD_CALL = "Traceback of forward call that "
_FRAMES = re.compile(rf"(?<={_FORWARD_CALL})([^:\n]*:).*", re.DOTALL)

# A set of texts, whose order is that of hashes.
_SET = re.compile(r"\{'[^'{}]*'(?:, '[^'{}]*')+\}")

# The file of a module.
_MODULE = re.compile(r"(?<=<module ')([^']+)' from '[^']*'(?=>)")

# The stack that pybind11 adds to what Python code raised under it.
_STACK = re.compile(r"\n\nAt:\n(?:  [^\n]*\(\d+\): [^\n]*(?:\n|$))+")

# The stack that c10 adds where C++ code shows the text of another error.
_CPP_STACK = re.compile(r"\nException raised from .*?\n?(?=\"?\Z)", re.DOTALL)


def text(value: Any) -> str:
    """Return `str(value)` without addresses, stacks, files of modules and orders of sets, which
    differ by process or machine; never raises."""
    try:
        plain = value if type(value) is str else str(value)
    except Exception as error:
        return f"<{type(value).__name__} whose str() raises {type(error).__name__}>"
    if not isinstance(plain, str):
        return f"<{type(value).__name__}>"
    if _FORWARD_CALL in plain:
        plain = _FRAMES.sub(r"\1", plain)
    if "\n\nAt:\n" in plain:
        plain = _STACK.sub("", plain)
    if "\nException raised from " in plain:
        plain = _CPP_STACK.sub("", plain)
    if "0x" in plain:
        plain = _ADDRESS.sub("0x...", plain)
    if "<module '" in plain:
        plain = _MODULE.sub(r"\1'", plain)
    if "{'" in plain:
        plain = _SET.sub(_sorted, plain)
    # A lone surrogate can be written to no UTF-8 file.
    return plain if plain.isascii() else plain.encode("utf-8", "replace").decode("utf-8")


def _sorted(found: re.Match[str]) -> str:
    return "{" + ", ".join(sorted(found[0][1:-1].split(", "))) + "}"


def failure(error: BaseException) -> dict[str, str]:
    """Return an exception's class name and message."""
    return {"type": type(error).__name__, "message": text(error)}


def classes_as_torchs(message: str, namespace: Any) -> str:
    """Return a message in which the namespace and its classes are shown as torch shows its own:
    `<class 'torch.Tensor'>` for `<class 'port.Tensor'>`, `module 'torch'` for `module 'port'`."""
    package = getattr(namespace, "__name__", None)
    if not isinstance(package, str):
        return message
    if "<class '" in message:
        message = re.sub(rf"<class '{re.escape(package)}(?=\.)", "<class 'torch", message)
    return message.replace(f"module '{package}'", "module 'torch'")


def warning_text(message: Any) -> str:
    """Return a warning's message without the place in torch's sources that issued it."""
    return _TRIGGERED.sub("", text(message))
