"""Loading a state: values into the parameters and buffers of the same names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from impl.modes import no_grad
from impl.nn.parameter import Parameter
from impl.tensor import Tensor


class _IncompatibleKeys(NamedTuple):
    """Names that a state lacked, and names that nothing was found for."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        # A NamedTuple's body knows no super().
        fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({fields})"


def load(module, state_dict, strict: bool, assign: bool) -> _IncompatibleKeys:
    """See `Module.load_state_dict`."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    missing: list[str] = []
    unexpected: list[str] = []
    errors: list[str] = []
    _load(module, dict(state_dict), "", assign, missing, unexpected, errors)
    if strict:
        for what, names in (("Unexpected", unexpected), ("Missing", missing)):
            if names:
                listed = ", ".join(f'"{name}"' for name in names)
                errors.insert(0, f"{what} key(s) in state_dict: {listed}. ")
    if errors:
        raise RuntimeError(
            "Error(s) in loading state_dict for {}:\n\t{}".format(
                type(module).__name__, "\n\t".join(errors)
            )
        )
    return _IncompatibleKeys(missing, unexpected)


def _load(module, state_dict, prefix, assign, missing, unexpected, errors) -> None:
    held: dict[str, Any] = {k: v for k, v in module._parameters.items() if v is not None}
    held |= {
        k: v
        for k, v in module._buffers.items()
        if v is not None and k not in module._non_persistent
    }
    for name, target in held.items():
        key = prefix + name
        if key in state_dict:
            _load_one(module, name, key, target, state_dict[key], assign, errors)
        else:
            missing.append(key)
    for key in state_dict:
        if key.startswith(prefix):
            first, dot, _ = key[len(prefix) :].partition(".")
            if not (first in module._modules if dot else first in held):
                unexpected.append(key)
    for name, child in module._modules.items():
        if child is not None:
            inner = f"{prefix}{name}."
            part = {k: v for k, v in state_dict.items() if k.startswith(inner)}
            _load(child, part, inner, assign, missing, unexpected, errors)


def _load_one(module, name, key, target, value: Any, assign: bool, errors: list[str]) -> None:
    given: object = value
    if not isinstance(given, Tensor):
        errors.append(
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(value)}"
        )
        return
    if target._raw.ndim == 0 and value._raw.shape == (1,):
        value = value[0]
    if value._raw.shape != target._raw.shape:
        errors.append(
            f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
            f"the shape in current model is {target.shape}."
        )
        return
    with no_grad():
        if not assign:
            target.copy_(value)
            return
        if isinstance(target, Parameter):
            if isinstance(value, Parameter):
                value.requires_grad_(target.requires_grad)
            else:
                value = Parameter(value, requires_grad=target.requires_grad)
    setattr(module, name, value)
