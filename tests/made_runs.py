"""Synthetic runs, made without a backend, for the tests of the report and its benchmark."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from made_observations import source, tensor, traced

from conformance.base.levels import LEVELS
from conformance.run_files.reading import read_run
from conformance.run_files.run import Run
from conformance.run_files.seal import seal
from conformance.run_files.totals import exit_code, footer

AREAS = {
    "leaves": "LEAF",
    "ties": "TIES",
    "seeds": "SEED",
    "accumulation": "ACCUM",
    "aliasing": "ALIAS",
    "inplace": "INPLACE",
}
SENTENCES = {
    "leaves": "A tensor made by the user is a leaf, and keeps what is accumulated into it",
    "ties": "The gradient of amax is shared equally among all elements that tie",
    "seeds": "The cotangent has the shape of its root",
    "accumulation": "A second backward adds to the gradient that is there",
    "aliasing": "Writing through a detached alias is seen by every saved tensor of that storage",
    "inplace": "An in-place operator bumps the version counter of its storage once",
}
HOSTILE = (
    "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    " {{ 7 * 7 }} \x1b[31mred\x1b[0m \x00 \u202egnp.exe\u202c \u200b \ud800 ]]> --> </noscript>"
)


def line(identifier: str, area: str, **fields: Any) -> dict[str, Any]:
    """The line of a program that conforms at every level, with `fields` overriding the defaults."""
    dtype = fields.get("dtype") or "float32"
    usual = {
        "type": "program",
        "id": identifier,
        "area": area,
        "rule": None,
        "operator": None,
        "sentence": SENTENCES.get(area, "The gradient is exact where the result is"),
        "dtype": dtype,
        "file": None,
        "line": None,
        "source": source(dtype, 3, "# tensor([2., 2., 2.])"),
        "outcome": "conforms",
        "levels": dict.fromkeys(LEVELS, "conforms"),
        "divergences": {},
        "specification": [],
        "ulp": {},
        "reason": None,
        "known": None,
        "expected": traced(dtype, [2.0, 2.0, 2.0]),
        "seconds": {"oracle": 0.0011, "backend": 0.0007},
    }
    return {**usual, **fields}


def diverging(identifier: str, area: str, level: str = "values", **fields: Any) -> dict[str, Any]:
    """The line of a program whose traces differ at `level` only."""
    dtype = fields.get("dtype") or "float32"
    expected = traced(dtype, [2.0, 2.0, 2.0])
    match level:
        case "values":
            got = traced(dtype, [2.0, 0.1, 2.0])
            at = (2, 4, "x", "grad.values", [2.0, 2.0, 2.0], [2.0, 0.1, 2.0])
        case "graph":
            got = traced(dtype, [2.0, 2.0, 2.0], is_leaf=True)
            at = (1, 3, "y", "is_leaf", False, True)
        case "memory":
            got = traced(dtype, [2.0, 2.0, 2.0], version=3)
            at = (1, 3, "y", "version", 0, 3)
        case _:
            got = traced(dtype, [2.0, 2.0, 2.0], grad_fn="MulBackward1")
            at = (1, 3, "y", "grad_fn", "MulBackward0", "MulBackward1")
    names = ("step", "line", "name", "field", "expected", "got")
    return line(
        identifier,
        area,
        **{
            "outcome": "diverges",
            "levels": {**dict.fromkeys(LEVELS, "conforms"), level: "diverges"},
            "divergences": {level: dict(zip(names, at, strict=True))},
            "expected": expected,
            "got": got,
            **fields,
        },
    )


def other_version(
    identifier: str, area: str, versions: list[str], level: str = "values", **fields: Any
) -> dict[str, Any]:
    """The line of a program on which the backend shows other versions of torch at `level`."""
    made = diverging(identifier, area, level, **fields)
    levels = {**dict.fromkeys(LEVELS, "conforms"), level: "other_version"}
    return {**made, "outcome": "other_version", "versions": versions, "levels": levels}


def uncompared(identifier: str, area: str, outcome: str, reason: str, **fields: Any) -> Any:
    """The line of a program that was not compared, with the reason."""
    return line(
        identifier,
        area,
        **{"outcome": outcome, "levels": {}, "got": None, "reason": reason, **fields},
    )


def raising(identifier: str, area: str, expected: str, got: str | None) -> dict[str, Any]:
    """A program whose last statement raises `expected`; the backend raises `got`, or nothing."""

    def trace(message: str | None) -> dict[str, Any]:
        made = traced("float32", [2.0, 2.0, 2.0])
        error = {"type": "RuntimeError", "message": message}
        made["steps"][3] = {"statement": 3, "line": 5, **({"error": error} if message else {})}
        return made

    level, of = ("values", "error") if got is None else ("diagnostics", "error.message")
    wanted = {"type": "RuntimeError", "message": expected} if got is None else expected
    first = {"step": 3, "line": 5, "name": None, "field": of, "expected": wanted, "got": got}
    return line(
        identifier,
        area,
        outcome="diverges",
        levels={**dict.fromkeys(LEVELS, "conforms"), level: "diverges"},
        divergences={level: first},
        expected=trace(expected),
        got=trace(got),
    )


def hostile(identifier: str = "SEED-66.1") -> dict[str, Any]:
    """A program with backend texts that try to inject markup and misleading characters."""
    made = diverging(
        identifier,
        "seeds",
        "diagnostics",
        rule="SEED-66",
        sentence="Nothing a backend says is markup",
    )
    step = made["got"]["steps"][1]
    step["changed"]["y"]["grad_fn"] = HOSTILE
    step["changed"]["__proto__"] = tensor([1.0], [1], graph=[HOSTILE])
    step["changed"][HOSTILE] = {"kind": "str", "value": HOSTILE}
    step["warnings"] = [{"category": "UserWarning", "message": HOSTILE + "x" * 120_000}]
    made["divergences"]["diagnostics"]["got"] = HOSTILE
    made["known"] = {"reason": HOSTILE, "link": "javascript:alert(1)"}
    return made


def small() -> list[dict[str, Any]]:
    """One program of every kind that a report distinguishes, and some that conform."""
    return [
        line("LEAF-01.1", "leaves", rule="LEAF-01", file="reference/spec/01-leaves.md", line=12),
        line("LEAF-01.2", "leaves", rule="LEAF-01"),
        diverging("TIES-02.1", "ties", "values", rule="TIES-02", ulp={"float32": 16_106_127.0}),
        diverging("SEED-03.1", "seeds", "graph", rule="SEED-03"),
        raising(
            "SEED-04.1", "seeds", "grad can be implicitly created only for scalar outputs", None
        ),
        diverging("ACCUM-01.1", "accumulation", "memory", rule="ACCUM-01"),
        diverging("ALIAS-01.1", "aliasing", "diagnostics", rule="ALIAS-01"),
        diverging(
            "ALIAS-02.1",
            "aliasing",
            "memory",
            rule="ALIAS-02",
            known={"reason": "NumPy has no negative strides here", "link": "https://example.org/7"},
        ),
        raising(
            "INPLACE-01.1",
            "inplace",
            "one of the variables needed for gradient computation has been modified",
            "a variable was modified",
        ),
        line(
            "INPLACE-02.1",
            "inplace",
            rule="INPLACE-02",
            outcome="diverges",
            specification=[
                {"line": 5, "expected": "tensor([3., 3., 3.])", "got": "tensor([2., 2., 2.])"}
            ],
        ),
        line(
            "op/exp/plain/float64",
            "operators",
            operator="exp",
            dtype="float64",
            sentence="exp of a plain sample",
            ulp={"float64": 1.0},
            got=traced("float64", [2.0, 2.0000000000000004, 2.0]),
            expected=traced("float64", [2.0, 2.0, 2.0]),
        ),
        line(
            "op/amax/ties/int64",
            "operators",
            operator="amax",
            dtype="int64",
            levels={**dict.fromkeys(LEVELS, "conforms"), "memory": "not_applicable"},
            expected={
                "steps": [
                    {"statement": 0, "line": 2, "changed": {"x": tensor([2**63 - 1], [1], "int64")}}
                ]
            },
        ),
        uncompared(
            "op/mode/plain/float32",
            "operators",
            "unsupported",
            "the backend has no 'mode'",
            operator="mode",
        ),
        uncompared("fuzz/9f3c2a", "fuzz", "error", "the backend died: signal 11", sentence=None),
        uncompared(
            "op/relu/plain/bfloat16",
            "operators",
            "not_run",
            "no bfloat16 here",
            operator="relu",
            dtype="bfloat16",
        ),
        hostile(),
        other_version("TIES-37.1", "ties", ["2.13", "2.12"], rule="TIES-37"),
        other_version("TIES-37.2", "ties", ["2.13", "2.12"], rule="TIES-37"),
        other_version("SEED-05.1", "seeds", ["2.14"], "memory", rule="SEED-05"),
    ]


def many(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """`count` programs over rules, operators and dtypes as in a full suite; 2 % diverge."""
    draw = random.Random(seed)
    lines = []
    for number in range(count):
        dtype = draw.choice(["float32", "float64", "bfloat16"])
        size = draw.randrange(1, 24)
        grads = [round(draw.uniform(-3, 3), 4) for _ in range(size)]
        fields: dict[str, Any] = {"dtype": dtype, "source": source(dtype, size, f"# case {number}")}
        area = draw.choice([*AREAS, *["operators"] * 12, "fuzz"])
        if area in AREAS:
            rule = f"{AREAS[area]}-{draw.randrange(1, 40):02d}"
            fields |= {"rule": rule}
            name = f"{rule}.{number + 1}"
        elif area == "operators":
            operator = f"operator_{draw.randrange(130)}"
            fields |= {"operator": operator, "sentence": f"{operator}, sample {number}, {dtype}"}
            name = f"op/{operator}/sample{number}/{dtype}"
        else:
            name = f"fuzz/{draw.getrandbits(64):016x}"
        if draw.random() < 0.02:
            lines.append(diverging(name, area, draw.choice(LEVELS), **fields))
        else:
            ulp = {"float32": draw.choice([0.0, 0.5, 1.0])}
            lines.append(line(name, area, expected=traced(dtype, grads), ulp=ulp, **fields))
    order = [*AREAS, "operators", "fuzz"]
    return sorted(lines, key=lambda made: (order.index(made["area"]), made["id"]))


def header(**fields: Any) -> dict[str, Any]:
    """The header of a made run."""
    usual = {
        "type": "header",
        "schema": 3,
        "run": "2026-03-04T10-00-00-made",
        "started": "2026-03-04T10:00:00+00:00",
        "suite": "0.1.0",
        "backend": {"name": "impl", "version": "0.1.0", "device": "cpu"},
        "oracle": {"name": "torch", "version": "2.13.0", "device": "cpu"},
        "host": {"python": "3.13.1", "platform": "Linux x86_64", "numpy": "2.4.0"},
        "seed": 0,
        "programs": 0,
        "selection": {"levels": list(LEVELS), "areas": [], "rules": []},
    }
    return {**usual, **fields}


def run_file(
    path: Path,
    lines: list[dict[str, Any]],
    *,
    interrupted: bool = False,
    stale: tuple[str, ...] = (),
    claims: dict[str, list[str]] | None = None,
    **of_header: Any,
) -> Path:
    """Write a run file of `lines`, without its footer when it was `interrupted`."""
    whole = [header(**{"programs": len(lines), **of_header}), *lines]
    if not interrupted:
        last = footer(lines, "2026-03-04T10:01:12+00:00", exit_code(lines, stale), stale)
        whole.append(last if claims is None else {**last, "claims": claims})
    return write(path, whole)


def read(path: Path, lines: list[dict[str, Any]], **fields: Any) -> Run:
    """Write a run file of `lines` and read it."""
    return read_run(run_file(path, lines, **fields))


def dumped(line: dict[str, Any]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode()


def sealed(line: dict[str, Any], **added: Any) -> bytes:
    """The line of a run file with its checksum."""
    plain = {name: value for name, value in line.items() if name != "crc"}
    return seal(dumped({**plain, **added})) + b"\n"


def write(path: Path, lines: Sequence[dict[str, Any] | bytes]) -> Path:
    """Write these lines, of which the last may be a footer, with their checksums.

    Those that are bytes have them: a test that writes a thousand files seals each line once.
    """
    content = b""
    for one in lines:
        if isinstance(one, bytes):
            content += one
        elif one.get("type") == "footer":
            content += sealed(one, sha256=hashlib.sha256(content).hexdigest())
        else:
            content += sealed(one)
    path.unlink(missing_ok=True)  # where a file is cut first, the disk is waited for
    path.write_bytes(content)
    return path
