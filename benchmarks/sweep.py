"""Benchmark of the sweep against torch alone: all float64 samples of torch's operator database.

    python benchmarks/sweep.py [--dtype float64] [--entries GLOB ...]

The baseline draws the samples and runs forward and backward on torch. The sweep draws the same
plain samples, runs them on torch and impl and compares: once forward and backward, and once with
saved tensors and double backward, as the suite does. All runs share one process and alternate entry
by entry. Prints the CPU seconds, their ratios, and the entries that take the sweep longest.
"""

from __future__ import annotations

import argparse
import fnmatch
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

import torch
from torch.utils._pytree import tree_leaves

from conformance.backends import find
from conformance.sweep.sweep import SampleRun, Sweep
from conformance.sweep.tally import Tally
from reference import opinfo


def alone(info, dtype: torch.dtype) -> None:
    """The baseline: draw an entry's samples and run them forward and backward on torch."""
    for sample in info.sample_inputs("cpu", dtype, requires_grad=True):
        # Some samples raise in forward or backward, in the sweep as well.
        with suppress(RuntimeError, NotImplementedError, IndexError, ValueError):
            result = info(sample.input, *sample.args, **sample.kwargs)
            outputs = [r for r in tensors(sample.output_process_fn_grad(result)) if r.requires_grad]
            leaves = [
                t
                for t in tensors((sample.input, sample.args, sample.kwargs))
                if t.requires_grad and t.is_leaf
            ]
            if outputs and leaves:
                seeds = [torch.randn_like(r) for r in outputs]
                torch.autograd.grad(outputs, leaves, seeds, allow_unused=True)


def tensors(value) -> Iterator[torch.Tensor]:
    """Every tensor in a value."""
    return (leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor))


class Once(SampleRun):
    """A sample's passage restricted to the baseline's work: without saved tensors, one backward."""

    twice = False

    def _saved(self, outputs) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="float64", choices=list(opinfo.DTYPES))
    parser.add_argument("--entries", nargs="*", default=["*"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dtype = opinfo.DTYPES[options.dtype]
    oracle, backend = find("torch"), find("impl")
    seconds: dict[str, list[float]] = {}
    with oracle.session(), backend.session():
        sweep = Sweep(oracle, backend)

        def passages(kind: type[SampleRun], entry: str) -> None:
            for sample in opinfo.samples(entry, options.dtype, ("plain",)):
                kind(sweep, sample, Tally()).run()

        for entry, dtypes in opinfo.entries().items():
            if options.dtype not in dtypes:
                continue
            if not any(fnmatch.fnmatchcase(entry, glob) for glob in options.entries):
                continue
            times = [time.process_time()]
            alone(opinfo.described(entry), dtype)
            times.append(time.process_time())
            for kind in (Once, SampleRun):
                passages(kind, entry)
                times.append(time.process_time())
            seconds[entry] = [b - a for a, b in pairwise(times)]
    single, both, whole = map(sum, zip(*seconds.values(), strict=True))
    print(f"torch alone {single:.1f} s")
    print(f"forward and backward {both:.1f} s, ratio {both / single:.2f}")
    print(f"with double backward {whole:.1f} s, ratio {whole / single:.2f}")
    for entry in sorted(seconds, key=lambda name: -seconds[name][2])[:15]:
        print(f"  {entry:45}" + "".join(f" {taken:6.2f}" for taken in seconds[entry]))


if __name__ == "__main__":
    main()
