"""The results, or the error, and the warnings of a function of a library, or of a program, with
torch or with impl."""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

from conformance.observe.texts import failure, text, warning_text


def outcome(torch: Any, function: Callable[[Any], Any], digits: int | None = None) -> tuple:
    """The results of a function of a library, numbers rounded to `digits` if given, or its error;
    and its warnings, each of which is given every time."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        before = torch.is_warn_always_enabled()
        torch.set_warn_always(True)
        # torch.manual_seed notes the stack for each kind of device that is not initialised.
        torch.default_generator.manual_seed(0)
        try:
            result = shown(torch, function(torch), digits)
        except Exception as error:
            result = failure(error)
        finally:
            torch.set_warn_always(before)
    told = [warning_text(one.message) for one in caught]
    return result, [one for one in told if "torch.jit" not in one]


def observed(program: str, torch: Any) -> tuple:
    """The outcome of a program, and the tensors and truth values that its names have then."""
    scope: dict[str, Any] = {"torch": torch, "math": math}
    scope["scope"] = scope
    code = compile(textwrap.dedent(program), "<program>", "exec")
    found = outcome(torch, lambda _: exec(code, scope))
    left = {n: v for n, v in scope.items() if isinstance(v, (torch.Tensor, bool, tuple))}
    return found, {name: shown(torch, value) for name, value in left.items()}


def shown(torch: Any, value: Any, digits: int | None = None) -> Any:
    """A value as texts and numbers: of a tensor all that can be seen of it."""
    if isinstance(value, dict):
        return {key: shown(torch, entry, digits) for key, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return [shown(torch, entry, digits) for entry in value]
    if not isinstance(value, torch.Tensor):
        return text(value)
    version = None if value.is_inference() else value._version
    node = None if value.grad_fn is None else value.grad_fn.name()
    layout = [*value.shape], value.stride(), value.storage_offset(), value._is_view()
    kind = str(value.dtype).rpartition(".")[2]
    return kind, *layout, value.requires_grad, node, version, _numbers(value, digits)


def _numbers(value: Any, digits: int | None) -> Any:
    if value._is_zerotensor():
        return "ZeroTensor"
    numbers = value.detach().resolve_conj().cpu()
    if digits is None:
        return repr(numbers.tolist())
    return [round(number, digits) + 0.0 for number in numbers.double().flatten().tolist()]
