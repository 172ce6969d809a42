"""Miniature ports for tests: Python scripts that speak the protocol, each with one habit.

    python ports.py HABIT

`right` answers with a trace in which every name is None; `tensors` has one tensor.
"""

from __future__ import annotations

import json
import os
import sys
import time

TENSOR = {"kind": "tensor", "shape": [2], "dtype": "float32", "values": [1, 2], "grad": None}


def say(message) -> None:
    print(json.dumps(message), flush=True)


def names(statement) -> list[str]:
    found = [step.get("to") for step in statement["steps"]]
    return [name for name in found if isinstance(name, str) and not name.startswith("%")]


def trace(request, seen) -> dict:
    steps = []
    for index, statement in enumerate(request["program"]["statements"]):
        step = {"statement": index, "changed": dict.fromkeys(names(statement), seen)}
        if "result" in statement:
            step["result"] = {"kind": "none"}
        steps.append(step)
    return {"type": "trace", "id": request["id"], "steps": steps}


def main(habit: str) -> None:
    ready = {"type": "ready", "protocol": 1, "name": "miniature", "version": "3"}
    starts = {
        "all_levels": {**ready, "levels": ["values", "graph", "memory", "diagnostics"]},
        "without": {
            **ready,
            "levels": ["values", "graph"],
            "without": ["requires_grad", "is_leaf", "has_grad_fn", "retains_grad", "output_nr"],
        },
        "unknown_level": {**ready, "levels": ["values", "depth"]},
        "telling": {**ready, "saved": True},
        "old": {**ready, "protocol": 0},
        "absent": {**ready, "unavailable": "there is no such card"},
        "array": [1],
        "nameless": {"type": "ready", "protocol": 1},
    }
    for line in sys.stdin:
        request = json.loads(line)
        source = request.get("program", {}).get("source", "")
        if request["type"] == "stop":
            if path := os.environ.get("STOPPED"):
                open(path, "w").close()
            return
        if request["type"] == "start":
            if habit == "mute":
                time.sleep(3600)
            if habit == "deaf":
                print("no driver", file=sys.stderr, flush=True)
                sys.exit(7)
            say(starts.get(habit, ready))
        elif habit == "slow" and "torch.sin" in source:
            time.sleep(3600)
        elif habit == "crashing" and "torch.sin" in source:
            print("a last word", file=sys.stderr, flush=True)
            os._exit(5)
        elif habit == "chatty" and "torch.sin" in source:
            print("hello from a library", flush=True)
            say(trace(request, TENSOR))
        elif habit == "flooding" and "torch.sin" in source:
            while True:
                sys.stderr.write("x" * 65536)
        elif habit == "panicking" and "torch.sin" in source:
            sys.stderr.write("thread 'main' panicked at src/tensor.rs:42:9: the index is 7\n")
            sys.stderr.writelines(f"  {n}: core::panicking::panic_fmt\n" for n in range(200))
            sys.exit("note: run with a verbose backtrace")
        elif habit == "lacking" and "torch.sin" in source:
            say({"type": "unsupported", "id": request["id"], "reason": "no torch.sin"})
        elif habit == "failing" and "torch.sin" in source:
            say({"type": "failed", "id": request["id"], "reason": "a slip"})
        elif habit == "rubbish" and "torch.sin" in source:
            say({"type": "trace", "id": request["id"], **json.loads(os.environ["RUBBISH"])})
        elif habit == "telling":
            told = json.loads(os.environ["SAVED"]) if request.get("saved") else {}
            say({**trace(request, {**TENSOR, "storage": 7}), **told})
        else:
            say(trace(request, TENSOR))


if __name__ == "__main__":
    main(sys.argv[1])
