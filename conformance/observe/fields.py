"""The fields of an observation: one row each, for all that reads, compares or describes them.

`FIELDS` is shared by observing (the reader), comparing traces (level and comparator), the sweep's
comparison of live tensors (the same, where `expression` says how torch spells the field), ports'
answers (level and types), the JSON Schema of run files and the table in docs/porting.md. A new
field of a tensor is a new row here, and the reader that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from conformance.base.levels import LEVELS
from conformance.observe import readers


class Comparator(Enum):
    """The ways in which two values of a field are compared."""

    EXACT = "equal"
    TEXT = "equal; of live tensors only where autograd records"
    PLAIN = "equal, unless the program calls the value unspecified"
    NUMBER = "a number, within the tolerance of its dtype, unless unspecified"
    ELEMENTS = "numbers, each within the tolerance of their dtype, unless unspecified"
    STRIDES = "equal along dimensions of more than one element"
    OFFSET = "equal, unless both tensors have no elements"
    PARTITION = "equal up to names: what one side gives one name has one name on the other"
    GRADIENT = "None, or field by field by the rows of a gradient"
    OPTIONAL = "equal; left out of a tensor that is nothing special"
    SHOWN = "not compared"


@dataclass(frozen=True)
class Field:
    """One field of the observations of a kind of value; `of` is "grad" for a gradient's.

    `types` are the Python types that its JSON form has. A torch-shaped namespace must be able to
    read a field that is `essential`; where it cannot read another, the field is left out.
    Fields of lower `rank` are compared first, and those of the same rank in the table's order,
    which is also the order of the keys in a trace: a level's first divergence depends on it.
    """

    name: str
    of: str
    level: str | None
    read: Callable[[Any, Any, str | None], Any]
    comparator: Comparator
    types: tuple[type, ...]
    about: str
    essential: bool = False
    rank: int = 0
    expression: str | None = None


_C = Comparator
_NONE = type(None)
_R = readers

# fmt: off
FIELDS = (
    Field("shape", "tensor", "values", _R.shape, _C.EXACT, (list,),
          "its sizes", essential=True, expression="shape"),
    Field("dtype", "tensor", "values", _R.dtype, _C.EXACT, (str,),
          'its name, such as `"float32"`', essential=True, expression="dtype"),
    Field("sparse", "tensor", "values", _R.sparse, _C.OPTIONAL, (dict,),
          'of a sparse tensor only: `layout`, such as `"sparse_coo"`, `indices`, a list for each '
          "sparse dimension, and `coalesced`, whether the indices are sorted and distinct"),
    Field("on_cpu", "tensor", "values", _R.on_cpu, _C.OPTIONAL, (bool,),
          "true of a tensor with dimensions that is on the CPU, though the backend is not, where "
          "the program names neither the CPU nor what lies there; of others left out"),
    Field("values", "tensor", "values", _R.values, _C.ELEMENTS, (list,),
          "the elements, flat and row-major; of a sparse tensor those that it stores, in their "
          "order", essential=True, rank=5, expression=""),
    Field("grad", "tensor", "values", _R.grad, _C.GRADIENT, (dict, _NONE),
          "null, or the fields of the gradient, below", essential=True, rank=6),
    Field("requires_grad", "tensor", "graph", _R.requires_grad, _C.EXACT, (bool,),
          "the attribute", essential=True, expression="requires_grad"),
    Field("is_leaf", "tensor", "graph", _R.is_leaf, _C.EXACT, (bool,),
          "the attribute", expression="is_leaf"),
    Field("has_grad_fn", "tensor", "graph", _R.has_grad_fn, _C.EXACT, (bool,),
          "whether it has a `grad_fn`"),
    Field("retains_grad", "tensor", "graph", _R.retains_grad, _C.EXACT, (bool,),
          "the attribute"),
    Field("output_nr", "tensor", "graph", _R.output_nr, _C.EXACT, (int,),
          "its number among the outputs of its `grad_fn`"),
    Field("strides", "tensor", "memory", _R.strides, _C.STRIDES, (list,),
          "in elements; of a sparse tensor neither these nor offset and storage", rank=4,
          expression="stride()"),
    Field("offset", "tensor", "memory", _R.offset, _C.OFFSET, (int,),
          "of its first element in the storage, in elements", rank=3),
    Field("version", "tensor", "memory", _R.version, _C.EXACT, (int,),
          "the version counter", rank=2, expression="_version"),
    Field("is_view", "tensor", "memory", _R.is_view, _C.EXACT, (bool,),
          "whether it is a view for autograd", rank=3, expression="_is_view()"),
    Field("storage", "tensor", "memory", _R.storage, _C.PARTITION, (int, str),
          "any name or number that two tensors have in common when they share storage, and that no "
          "other storage of the program ever had", rank=1),
    Field("grad_fn", "tensor", "diagnostics", _R.grad_fn, _C.TEXT, (str, _NONE),
          "its name, or null", expression="grad_fn"),
    Field("graph", "tensor", "diagnostics", _R.graph, _C.EXACT, (list,),
          "the nodes below `grad_fn` in preorder, one text each"),

    Field("shape", "grad", "values", _R.shape, _C.EXACT, (list,),
          "its sizes", essential=True),
    Field("dtype", "grad", "values", _R.dtype, _C.EXACT, (str,),
          "its name", essential=True),
    Field("sparse", "grad", "values", _R.sparse, _C.OPTIONAL, (dict,),
          "of a sparse gradient only: as of a tensor"),
    Field("on_cpu", "grad", "values", _R.on_cpu, _C.OPTIONAL, (bool,),
          "as of a tensor"),
    Field("values", "grad", "values", _R.values, _C.ELEMENTS, (list,),
          "the elements, as of a tensor", essential=True, rank=2),
    Field("strides", "grad", "memory", _R.strides, _C.STRIDES, (list,),
          "in elements", rank=1),
    Field("same", "grad", "memory", _R.same_grad, _C.EXACT, (bool,),
          "whether it is the tensor that it was when this name was observed last"),

    Field("value", "bool", "values", _R.boolean, _C.PLAIN, (bool,), "the value"),
    Field("value", "int", "values", _R.integer, _C.PLAIN, (int,), "the value"),
    Field("value", "float", "values", _R.floating, _C.NUMBER, (int, float, str),
          'the value; `"nan"`, `"inf"`, `"-inf"`'),
    Field("value", "complex", "values", _R.pair, _C.NUMBER, (list,), "real and imaginary part"),
    Field("value", "str", "values", _R.string, _C.PLAIN, (str,), "the value"),
    Field("value", "size", "values", _R.sizes, _C.EXACT, (list,), "the sizes"),
    Field("value", "dtype", "values", _R.dtype_name, _C.EXACT, (str,),
          'its name, such as `"float32"`'),
    Field("shape", "array", "values", _R.array_shape, _C.EXACT, (list,), "its sizes"),
    Field("dtype", "array", "values", _R.array_dtype, _C.EXACT, (str,), "its name"),
    Field("values", "array", "values", _R.array_values, _C.ELEMENTS, (list,),
          "the elements, flat and row-major", rank=1),
    Field("name", "node", "diagnostics", _R.type_name, _C.EXACT, (str,), "the name of its class"),
    Field("type", "object", None, _R.type_name, _C.SHOWN, (str,), "the name of its class"),
)
# fmt: on

CONTAINERS = {"list": list, "tuple": list, "dict": dict}
"""Kinds of values whose observation has `items`, and the JSON form of these."""

KINDS = (
    *("tensor", "none", "bool", "int", "float", "complex", "str", "list", "tuple", "dict"),
    *("dtype", "size", "node", "array", "object"),
)
"""The kinds of values that an observation tells apart."""

_OF = {of: tuple(row for row in FIELDS if row.of == of) for of in (*KINDS, "grad")}
_COMPARED = {
    of: tuple(sorted((row for row in rows if row.level is not None), key=lambda row: row.rank))
    for of, rows in _OF.items()
}


def fields_of(of: str) -> tuple[Field, ...]:
    """Return the rows of a kind of value, or of "grad", in the order of a trace's keys."""
    return _OF[of]


def compared_fields(of: str) -> tuple[Field, ...]:
    """Return the rows of a kind of value, or of "grad", in the order of their comparison."""
    return _COMPARED[of]


def placing_strides(strides: Any, shape: Any) -> Any:
    """Return the strides that place elements: those of dimensions of more than one element.

    torch calls the others arbitrary, and contiguity ignores them.
    """
    if not isinstance(strides, (list, tuple)) or not isinstance(shape, (list, tuple)):
        return strides
    if 0 in shape or len(strides) != len(shape):
        return [] if 0 in shape else strides
    return [int(stride) for stride, size in zip(strides, shape, strict=True) if size > 1]


_JSON: dict[type, str] = {
    **{bool: "boolean", int: "integer", float: "number", str: "string"},
    **{list: "array", dict: "object", _NONE: "null"},
}


def observation_schema() -> dict[str, Any]:
    """Return the JSON Schema of an observation, `#/$defs/observation` of run files."""
    types: dict[str, dict[str, None]] = {}
    for row in FIELDS:
        if row.of != "grad":
            # Reading a tensor's field may raise: it is {"error": ...} then.
            failing = ["object"] if row.of == "tensor" else []
            named = [_JSON[kind] for kind in row.types]
            types.setdefault(row.name, {}).update(dict.fromkeys([*named, *failing]))
    observation = {"$ref": "#/$defs/observation"}
    return {
        "type": "object",
        "required": ["kind"],
        "properties": {
            "kind": {"enum": list(KINDS)},
            **{name: {"type": list(kinds)} for name, kinds in types.items()},
            "items": {
                "anyOf": [
                    {"type": "array", "items": observation},
                    {"type": "object", "additionalProperties": observation},
                ]
            },
        },
    }


def documented_fields() -> Iterator[str]:
    """Yield the lines of the table of a tensor's fields, in Markdown."""
    yield "| level | field | content |"
    yield "|---|---|---|"
    for level in LEVELS:
        for of, prefix in (("tensor", ""), ("grad", "grad.")):
            for row in fields_of(of):
                if row.level == level:
                    yield f"| {level} | `{prefix}{row.name}` | {row.about} |"
