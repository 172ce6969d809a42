"""The names of ATen's overloads with `out=`, which errors under `vmap` show: their maker.

`python tools/out_overloads.py` writes `impl/arg_parser/out_overloads.txt` from the schemas of the
torch that is installed: for each function, the overloads of its signatures with `out=` in the order
of `signatures.txt`. Functions whose only overload is called `out` are left out.
"""

from __future__ import annotations

import re
from pathlib import Path

import torch

from impl.arg_parser.parser import signatures
from impl.arg_parser.signature import Signature

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "impl/arg_parser/out_overloads.txt"
_OWN = {"self": "input"}  # the first operand in schemas and in signatures
ATEN = re.compile(r"^(fft|linalg|special)\.")


def main() -> None:
    """Write the table."""
    lines = []
    for name, texts in signatures().items():
        found = [overload(name, Signature(name, text)) for text in texts if " out=" in text]
        if set(found) - {"out"} and not name.startswith("_VF."):
            lines.append(" ".join((in_aten(name), *found)))
    TABLE.write_text("".join(f"{line}\n" for line in sorted(lines)))


def in_aten(name: str) -> str:
    """The name of a public function in ATen: `linalg_inv` for `linalg.inv`."""
    return ATEN.sub(r"\1_", name).rpartition(".")[2]


def overload(name: str, signature: Signature) -> str:
    """The overload with the parameters of a signature, and with the same types of them if there are
    several."""
    wanted = [p for p in signature.parameters if p.name not in ("out", "dtype", "layout", "device")]
    skipped = ("pin_memory", "requires_grad")
    names = [_OWN.get(p.name, p.name) for p in wanted if p.name not in skipped]
    fitting = []
    for schema in torch._C._jit_get_all_schemas():
        inputs = [a for a in schema.arguments if not a.is_out]
        known = [_OWN.get(a.name, a.name) for a in inputs]
        known = [n for n in known if n != "dtype"]
        takes_out = schema.name == f"aten::{in_aten(name)}" and len(inputs) < len(schema.arguments)
        if takes_out and sorted(known) == sorted(names):
            fitting.append((alike(wanted, inputs), schema.overload_name))
    return max(fitting, default=(0, "out"), key=lambda pair: pair[0])[1]


def alike(parameters, arguments) -> int:
    """How many arguments of a schema have the type of the parameter of their name."""
    kinds = {_OWN.get(p.name, p.name): p.kind for p in parameters}
    same = 0
    for argument in arguments:
        kind, text = kinds.get(_OWN.get(argument.name, argument.name), ""), str(argument.type)
        same += ("Tensor" in kind.partition("|")[0]) == ("Tensor" in text)
        same += (kind == "str") == (text == "str")
        same += ("[" in kind) == ("List" in text)
    return same


if __name__ == "__main__":
    main()
