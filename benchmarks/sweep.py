"""The sweep beside torch alone: every float64 sample of torch's database, in one process.

    python benchmarks/sweep.py [--dtype float64] [--entries GLOB ...]

torch alone draws the samples and runs forward and backward; the sweep draws the same plain samples
and runs forward, backward and double backward on torch and on impl, and compares them. Prints the
CPU seconds of both, in turns entry by entry, their ratio, and the entries that take the sweep
longest.
"""

from __future__ import annotations

import argparse
import fnmatch
import time
import warnings

import torch

from conformance.backends import find
from conformance.sweep.sweep import Passage, Sweep
from conformance.sweep.tally import Tally
from reference import opinfo


def alone(info, dtype: torch.dtype) -> None:
    """Draw an entry's samples and run them forward and backward on torch."""
    for sample in info.sample_inputs("cpu", dtype, requires_grad=True):
        try:
            result = info(sample.input, *sample.args, **sample.kwargs)
        except Exception:
            continue  # some samples are refused, in the sweep as well
        results = [result] if isinstance(result, torch.Tensor) else result
        outputs = [
            r for r in results if isinstance(r, torch.Tensor) and r.requires_grad and r.numel()
        ]
        leaves = [
            t
            for t in (sample.input, *sample.args)
            if isinstance(t, torch.Tensor) and t.requires_grad and t.is_leaf
        ]
        if outputs and leaves:
            seeds = [torch.randn_like(r) for r in outputs]
            torch.autograd.grad(outputs, leaves, seeds, allow_unused=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="float64", choices=list(opinfo.DTYPES))
    parser.add_argument("--entries", nargs="*", default=["*"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dtype = opinfo.DTYPES[options.dtype]
    oracle, backend = find("torch"), find("impl")
    seconds: dict[str, tuple[float, float]] = {}
    with oracle.session(), backend.session():
        sweep = Sweep(oracle, backend)
        for entry, dtypes in opinfo.entries().items():
            if options.dtype not in dtypes:
                continue
            if not any(fnmatch.fnmatchcase(entry, glob) for glob in options.entries):
                continue
            begin = time.process_time()
            alone(opinfo.described(entry), dtype)
            middle = time.process_time()
            for sample in opinfo.samples(entry, options.dtype):
                if sample.kind == "plain":
                    Passage(sweep, sample, Tally()).run()
            seconds[entry] = middle - begin, time.process_time() - middle
    torch_alone, both = (sum(pair[side] for pair in seconds.values()) for side in (0, 1))
    print(f"torch alone {torch_alone:.1f} s, sweep {both:.1f} s, ratio {both / torch_alone:.2f}")
    for entry in sorted(seconds, key=lambda name: -seconds[name][1])[:15]:
        print(f"  {entry:45} {seconds[entry][0]:6.2f} {seconds[entry][1]:6.2f}")


if __name__ == "__main__":
    main()
