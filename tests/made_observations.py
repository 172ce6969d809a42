"""Traces of the synthetic program, as a run file has them."""

from __future__ import annotations

from typing import Any


def tensor(
    values: list[Any], shape: list[int], dtype: str = "float32", **fields: Any
) -> dict[str, Any]:
    """The observation of a contiguous leaf tensor, with `fields` overriding the defaults."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    usual = {
        "kind": "tensor",
        "shape": shape,
        "dtype": dtype,
        "values": values,
        "grad": None,
        "requires_grad": False,
        "is_leaf": True,
        "has_grad_fn": False,
        "retains_grad": False,
        "output_nr": 0,
        "strides": strides,
        "offset": 0,
        "version": 0,
        "is_view": False,
        "storage": "x",
        "grad_fn": None,
        "graph": [],
    }
    return {**usual, **fields}


def gradient(
    values: list[Any], shape: list[int], dtype: str = "float32", same: bool = False
) -> Any:
    """A trace's entry for `.grad`."""
    return {"shape": shape, "dtype": dtype, "values": values, "strides": [1], "same": same}


def traced(dtype: str, grads: list[Any], **of_y: Any) -> dict[str, Any]:
    """The trace of the synthetic program, which ends with the gradient `grads`."""
    size = len(grads)
    xs = [1.0 + position for position in range(size)]
    x = tensor(xs, [size], dtype, requires_grad=True)
    graph = ["MulBackward0(#1, -)", "AccumulateGrad x"]
    y = tensor(
        [2 * value for value in xs],
        [size],
        dtype,
        **{
            "requires_grad": True,
            "is_leaf": False,
            "has_grad_fn": True,
            "grad_fn": "MulBackward0",
            "graph": graph,
            "storage": "y",
            **of_y,
        },
    )
    return {
        "steps": [
            {"statement": 0, "line": 2, "changed": {"x": x}},
            {"statement": 1, "line": 3, "changed": {"y": y}},
            {
                "statement": 2,
                "line": 4,
                "changed": {"x": {**x, "grad": gradient(grads, [size], dtype)}},
            },
            {"statement": 3, "line": 5, "result": tensor(grads, [size], dtype, storage="x.grad")},
        ]
    }


def source(dtype: str, size: int, comment: str = "") -> str:
    """The source of the synthetic program, ready to paste."""
    values = ", ".join(f"{1.0 + position}" for position in range(size))
    return (
        "import torch\n"
        f"x = torch.tensor([{values}], dtype=torch.{dtype}, requires_grad=True)\n"
        "y = x * 2\n"
        "y.backward(torch.ones_like(y))\n"
        f"x.grad  {comment}".rstrip()
        + "\n"
    )
