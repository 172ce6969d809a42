"""Small programs on torch.distributions, run on torch and on impl, and their observations."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from typing import Any

import numpy as np
import torch

import impl

ULPS = 8
"""The rounding errors by which values may differ, in units of the last place."""


def programs(text: str) -> list[str]:
    """The programs of a text, one a line; indented lines continue the line before.

    The statements of a program are separated by semicolons; the last one is an expression.
    """
    return text.strip().replace("\n    ", " ").splitlines()


def scope(library) -> dict[str, Any]:
    """The names that programs use: those of the distributions and a few functions."""

    def leaf(*values: Any, dtype: str = "float64"):
        """A tensor of the values that requires gradients; one value without brackets."""
        value = values[0] if len(values) == 1 else list(values)
        return library.tensor(value, dtype=getattr(library, dtype), requires_grad=True)

    def grads(value, *leaves):
        """The gradients of the sum of a value; None for leaves that it does not depend on."""
        return list(library.autograd.grad(value.sum(), leaves, allow_unused=True))

    def saved(value):
        """The object after torch.save and torch.load."""
        file = io.BytesIO()
        library.save(value, file)
        file.seek(0)
        return library.load(file, weights_only=False)

    distributions = library.distributions
    return {
        **{name: getattr(distributions, name) for name in distributions.__all__},
        "torch": library, "D": distributions, "c": distributions.constraints,
        "t": distributions.transforms, "u": distributions.utils, "F": library.nn.functional,
        "leaf": leaf, "grads": grads, "copied": copy.deepcopy, "saved": saved,
        "pickled": lambda value: pickle.loads(pickle.dumps(value)),
    }  # fmt: skip


def described(value: Any, library) -> Any:
    """A value as it is compared: tensors by their metadata, the rest by its text."""
    if isinstance(value, library.Tensor):
        node = value.grad_fn
        name = None if node is None else node.name()
        metadata = str(value.dtype), tuple(value.shape), value.stride(), value.requires_grad, name
        return "tensor", metadata, value.detach().numpy()
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return [described(item, library) for item in value]
    if isinstance(value, (bool, int, float, type(None))):
        return value
    return str(value).replace("impl.", "torch.")


def observed(library, program: str) -> Any:
    """The value of a program's last line, or the class and text of its error; and its warnings."""
    *statements, last = [line for line in program.strip().split("; ") if line]
    names = scope(library)
    library.default_generator.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for statement in statements:
                exec(statement, names)
            result = described(eval(last, names), library)
        except Exception as error:
            text = str(error).replace("impl.", "torch.")
            result = f"{type(error).__name__}: {text}"
    texts = [str(warning.message).replace("impl.", "torch.") for warning in caught]
    return [result, texts]


def differ(ours: Any, theirs: Any) -> str | None:
    """The difference of two observations; None where they agree."""
    if isinstance(theirs, tuple) and isinstance(ours, tuple):
        if ours[1] != theirs[1]:
            return f"{ours[1]}, not {theirs[1]}"
        if theirs[2].dtype.kind != "f":
            return None if np.array_equal(ours[2], theirs[2]) else f"{ours[2]}, not {theirs[2]}"
        tolerance = ULPS * np.finfo(theirs[2].dtype).eps
        same = np.allclose(ours[2], theirs[2], rtol=tolerance, atol=0, equal_nan=True)
        return None if same else f"{ours[2]}, not {theirs[2]}"
    if isinstance(theirs, list) and isinstance(ours, list) and len(ours) == len(theirs):
        found = (differ(mine, other) for mine, other in zip(ours, theirs, strict=True))
        return next((text for text in found if text), None)
    return None if ours == theirs else f"{ours!r}, not {theirs!r}"


def assert_agree(program: str) -> None:
    """Assert that a program's observations on impl are those on torch."""
    # The import of torch's compiler, which other tests may cause, switches these checks off.
    torch.distributions.Distribution.set_default_validate_args(True)
    theirs, ours = observed(torch, program), observed(impl, program)
    assert not (difference := differ(ours, theirs)), f"{program}\n{difference}"
