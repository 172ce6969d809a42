"""Benchmark of impl against torch, other Python tapes and bare NumPy; writes a page of ratios.

    python benchmarks/engine.py [--rounds 3] [--only NAME] [--out docs/benchmarks]

Each workload runs in processes of its own, in which the libraries alternate within every round, so
that a slow phase of the machine affects all of them. Threads are limited to one. Objects that exist
before the first round are frozen (gc.freeze), so that the collector does not traverse torch's
modules. Times are medians; the spread is half the interquartile range. Writes OUT.md and OUT.svg.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from workloads import WORKLOADS

ROOT = Path(__file__).parents[1]
LIBRARIES = {"impl": "torch", "torch": "torch", "autograd": "autograd", "mygrad": "mygrad"}
LIBRARIES |= {"micrograd": "micrograd", "numpy": "numpy"}  # library -> the interface it is used by
TITLES = {"impl": "impl", "torch": "torch", "autograd": "HIPS/autograd", "mygrad": "MyGrad"}
MODULES = {"micrograd": "micrograd.engine", "autograd": "autograd.numpy"}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# Makes glibc keep freed pages, which it otherwise returns and maps again, for all libraries.
KEPT_PAGES = {"MALLOC_TRIM_THRESHOLD_": "1073741824", "MALLOC_MMAP_THRESHOLD_": "1073741824"}
KEEPS = ", pages kept"
PROCESSES = 5
SECONDS = 2.0  # least duration of the rounds in each process
# Upper bounds of impl's time relative to torch's (see the project's notes on performance).
BARS = {
    "1,000 scalar operations": 0.45,
    "1,000 operations on 32 elements": 0.45,
    "100,000 additions": 0.4,
    "one leaf used 10,000 times": 0.6,
    "1,000 in-place operations on a view": 0.4,
    "MLP training step": 1,
    "softmax attention": 1,
    "100 seeds through one retained graph": 1,
    "a million elements" + KEEPS: 1,
    "a million elements": 1.3,
    "conv 3x3 and max-pool": 2,
    "one leaf added 100,000 times": 0.5,
    "double backward": 1,
    "indexing by 512 integers": 1.5,
    "LSTM of 50 steps": 1.5,
    "transformer layer": 1.1,
    "convolution, batch norm and pooling": 1.2,
    "100,000 uniform numbers": 2,
    "100,000 normal numbers": 2,
    "100,000 log-normal numbers": 2,
    "100,000 exponential numbers": 2,
    "100,000 Cauchy numbers": 2,
    "100,000 geometric numbers": 2,
    "100,000 integers and a permutation": 2,
    "dropout of 100,000 elements": 2,
    "a network's first parameters": 2,
    "printing a large tensor": 2,
}


def load(library: str) -> Any:
    """The module of a library, or None if it is not installed."""
    try:
        module = importlib.import_module(MODULES.get(library, library))
    except ImportError:
        return None
    if library == "torch":
        module.set_num_threads(1)
    return importlib.import_module("autograd") if library == "autograd" else module


def measure(name: str, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of a step in each round, by library; to be called in a process of its own.

    There are at least `rounds` rounds, and of short ones as many as fit into `SECONDS`. A library's
    turn lasts at least 20 ms, and as many steps as fit, so that caches, allocator and interpreter
    are as warm as in a training loop.
    """
    steps = {}
    for library, interface in LIBRARIES.items():
        prepare = WORKLOADS[name].get(interface)
        module = load(library) if prepare is not None else None
        if prepare is not None and module is not None:
            steps[library] = prepare(module)
    counts = {library: _steps_per_turn(step) for library, step in steps.items()}
    gc.collect()
    gc.freeze()
    times: dict[str, list[float]] = {library: [] for library in steps}
    began, turns, number = time.perf_counter(), list(steps), 0
    while number < rounds or time.perf_counter() - began < SECONDS:
        for library in turns[number % len(turns) :] + turns[: number % len(turns)]:
            step, count = steps[library], counts[library]
            start = time.perf_counter()
            for _ in range(count):
                step()
            times[library].append((time.perf_counter() - start) * 1000 / count)
        number += 1
    return times


def _steps_per_turn(step) -> int:
    """The number of steps in 20 ms, after three warm-up steps: the first may compile."""
    for _ in range(3):
        step()
    began, count = time.perf_counter(), 0
    while not count or (time.perf_counter() - began < 0.02 and count < 1000):
        step()
        count += 1
    return max(1, round(count * 0.02 / (time.perf_counter() - began)))


def apart(arguments: list[str], keeps_pages: bool = False) -> Any:
    """The JSON output of this script with these arguments, run in a process of its own."""
    environment = {**os.environ, **ONE_THREAD, **(KEPT_PAGES if keeps_pages else {})}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


def measured(name: str, rounds: int) -> dict[str, list[float]]:
    """`measure` in several processes: the placement of memory changes times by some percent."""
    times: dict[str, list[float]] = {}
    arguments = ["--measure", name.removesuffix(KEEPS), "--rounds", str(rounds)]
    for _ in range(PROCESSES):
        for library, found in apart(arguments, name.endswith(KEEPS)).items():
            times.setdefault(library, []).extend(found)
    return times


def spread(times: list[float]) -> float:
    """Half the interquartile range."""
    low, _, high = statistics.quantiles(times, n=4)
    return (high - low) / 2


def growth() -> dict[str, float]:
    """The growth of impl's time for fourfold work, and the memory that a pass leaves behind."""
    import tracemalloc

    from workloads.small import additions, uses

    import impl

    x, b = impl.tensor(0.5, requires_grad=True), impl.tensor(1e-5)
    leaf, c = impl.full((1000,), 0.5, requires_grad=True), impl.full((1000,), 1.5)

    def fastest(work: Callable[[int], Any], count: int) -> float:
        times = []
        for _ in range(7):
            began = time.perf_counter()
            work(count).backward()
            times.append(time.perf_counter() - began)
            x.grad = leaf.grad = None
        return min(times)

    gc.collect()
    gc.freeze()
    chain = fastest(lambda n: additions(x, b, n), 100_000) / fastest(
        lambda n: additions(x, b, n), 25_000
    )
    fan = fastest(lambda n: uses(leaf, c, n), 10_000) / fastest(lambda n: uses(leaf, c, n), 2_500)
    tracemalloc.start()
    additions(x, b, 1000).backward()
    x.grad = None
    before = tracemalloc.get_traced_memory()[0]
    additions(x, b, 100_000).backward()
    x.grad = None
    left = tracemalloc.get_traced_memory()[0] - before
    return {"chain": chain, "fan": fan, "left": left}


# -- the page ---------------------------------------------------------------------------------


def table(results: dict[str, dict[str, list[float]]]) -> str:
    """The table in Markdown: milliseconds, and impl's time relative to torch and the best tape."""
    columns = [c for c in LIBRARIES if any(c in times for times in results.values())]
    head = ["workload", *(TITLES.get(c, c) for c in columns), "impl / torch", "bar"]
    lines = [f"| {' | '.join(head)} |", f"|---{'|---:' * (len(head) - 1)}|"]
    for name, times in results.items():
        medians = {library: statistics.median(t) for library, t in times.items()}
        cells = [
            f"{medians[c]:.3g} ± {spread(times[c]):.2g}" if c in medians else "–" for c in columns
        ]
        # Ratio of adjacent turns: a disturbance of the machine affects both.
        ratio = statistics.median(a / b for a, b in zip(times["impl"], times["torch"], strict=True))
        bar = BARS[name]
        met = "met" if ratio <= bar else "**missed**"
        lines.append(f"| {' | '.join([name, *cells, f'{ratio:.2f}', f'{bar} {met}'])} |")
    return "\n".join(lines)


def versions() -> str:
    """The versions of the libraries."""
    found = []
    for library in LIBRARIES:
        if library != "impl":
            try:
                found.append(f"{TITLES.get(library, library)} {metadata.version(library)}")
            except metadata.PackageNotFoundError:
                found.append(f"{TITLES.get(library, library)} not installed")
    return ", ".join(found)


def plot(results: dict[str, dict[str, list[float]]], file: Path) -> None:
    """An SVG plot of each library's time relative to torch's, on a logarithmic scale."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "benchmarks"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 0.5 * len(results) + 1.2), layout="constrained")
    markers = dict(zip(LIBRARIES, "o|sD^v", strict=True))
    names = list(results)[::-1]
    for library in LIBRARIES:
        points = [
            (statistics.median(results[n][library]) / statistics.median(results[n]["torch"]), i)
            for i, n in enumerate(names)
            if library in results[n]
        ]
        if points:
            x, y = zip(*points, strict=True)
            size = 120 if library == "torch" else 45
            axes.scatter(x, y, size, marker=markers[library], label=TITLES.get(library, library))
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("time, in torch's (further left is faster)")
    axes.grid(axis="x", which="both", alpha=0.3)
    axes.legend(loc="upper right", fontsize="small")
    figure.savefig(file, metadata={"Date": None})


PAGE = """# How fast `impl` is

Forward and backward together, in milliseconds: medians of interleaved turns of at least 20 ms
each, {rounds} or more in each of {processes} processes, ± half the distance between the quartiles,
one thread. The last columns are the time of `impl` in that of torch eager, the median over the
turns, and what it is to be at most. Made by `tox run -e benchmarks`.

{versions}; CPython {python}, {machine}.

{table}

![Each library's time in torch's]({plot})

Four times the additions take {chain:.1f} times as long, four times the uses of a leaf {fan:.1f}
times. After the backward of 100,000 additions {left:,} bytes more are allocated than after one of
1,000.

- *NumPy* is the same arithmetic with its backward written out by hand, without any tape.
- *pages kept* tells glibc not to give freed memory back (`MALLOC_TRIM_THRESHOLD_`,
  `MALLOC_MMAP_THRESHOLD_`), for all libraries; without it, arrays of megabytes are mapped, and
  their pages faulted in, again and again. `impl` asks for 64 MB of it when it is imported, which
  serves all libraries in its process.
- Where a library has no figure it cannot do the workload, or is not asked to.

## What was tried

What paid, roughly in the order of what it brought on chains (they began at 2.4 times torch):

- *A fast path per operator* (`impl/dispatch/fast_path`): a function generated from the definition,
  without loops over parameters and without tables; the same kernel, formulas and gradient plan as
  the slow path, which takes over for anything unusual.
- *Chains are followed*: a node with one edge returns its gradient alone, and if no other node sends
  a gradient to the next node, that one runs at once, without buffer or queue.
- *0-dim values are NumPy scalars*, seeds and literals too: a product takes 39 ns, that of 0-d
  arrays 300.
- *One object for one look*: shape and dtype of plain float tensors are interned, so that operands,
  results and gradients are compared by identity.
- *Storages and version counters on demand*: most tensors are never shared, most saved ones never
  written; a node keeps the tensor, or the storage, and the version it had was 0.
- *Slots* for what each operation reads: half the memory of 100,000 nodes, and four times faster to
  read than a class's default.
- *No np.where on large arrays* (a branch per element: 9 ms for a million, masking bits 0.2), no
  reduction per row in softmax, axpy for `add_(alpha=)`.
- *A written slice's gradient is changed in place* where nothing else holds it.
- *A short prologue*: a single root needs no queue, a leaf without hooks no step of its own
  (a pass over one operation: 48 to 23 us, torch's 39).
- *What BLAS reads*: an expanded gradient is spread before a batched product, sums over few rows
  are products with ones, and two small matrices meet in `dot`, which begins sooner than `matmul`
  (of large ones it first fills the result with zeros).
- *One function for several operators* where plain floats meet: a linear layer records its transpose
  and its product at once, and differentiates them so, cross entropy its log-softmax and its loss
  (70 and 30 us of an MLP's step), a product of two batches the expansions and reshapes that torch
  makes of it (40 us of an attention's 300). They leave the same nodes and views. A leaf behind a
  transpose that runs next takes its gradient, seen from its side, without a round of the queue, and
  what an expansion would hand on as it is goes past it.
- *Few ways into NumPy*: after a large product a reduction that runs once a step takes 15 us, most
  of them to fetch its code; a product with ones or `argmax` finds the same in one or two.

- *Draws by arrays*: NumPy's generator hands out the same words, and BLAS's axpy is the fused
  multiply-add of torch's compiled kernels (a uniform number of a range took eight times as long as
  torch's, and takes 1.6 times). The polynomials of a float32 normal number multiply and add in
  float64: that its second rounding does no harm was tried for all 2**24 uniform numbers. It still
  takes NumPy four times as long as AVX2; a float64 one 1.5 times, most of it in the C library.
- *Detours to compiled loops*: NumPy's own functions of float64 have other last bits than the C
  library's, which SciPy calls for each element: its Box-Cox transformations of power 0 are `log`,
  `log1p` and `exp`, its elliptic functions of parameter 0 sine and cosine. `tan` has no such
  detour; for float32 numbers NumPy's is used, and Python's where the rounding could differ. A
  permutation is LAPACK's exchange of rows, a remainder the division by one number, which is
  vectorised. Masks of bits that choose between two values of each element do not branch (16 us
  less for 8,192 elements than `np.where`).
- *Memory is kept*: the C library maps the pages of large temporary arrays again and again until a
  larger array has been freed; one that is freed at import, and never touched, has the same effect.
- *Passes that record have a loop of their own*: one function a node, in torch's order, without the
  checks that only hooks need (612 to 300 us of a double backward, torch's 200). A product with an
  expanded gradient takes the fast path, too (16 to 2 us).
- *Sums over rows of a normalisation are products* of matrix and vector, and attention writes its
  products where they belong in memory (two thirds of the time in either).
- *Gates with a logistic function lie together* in an LSTM, and are negated with their weights.
- *Rows in rounds*: the gradient of an index adds the next occurrence of every row at once, in a
  fifth of the time of `np.add.at`; of float rows SciPy's loop over a sparse matrix does, called
  without the matrix object, whose checks took as long as 512 rows.
- *Self-attention packs its heads at once*: one function records the copy and fourteen views between
  the projection and the heads (a layer of permuted dimensions is fused, too), and where nothing
  observes those nodes their backward is one step, which writes the gradients of query, key and
  value where they belong in that of the projection: a sixth of a transformer layer's time.
- *Squares without a cast in each call*: the slope of a hyperbolic tangent squares one float64 copy
  in place (5.9 to 2.9 us for 64 elements, a tenth of a double backward).
- *0-dim gradients are added as scalars*, whichever of the two is a 0-dim array (backward of a leaf
  that is used 100,000 times: 250 to 180 ms).
- *No keywords in short loops*: an LSTM's steps pass `out` by its place, and views come from
  iterators (4 %).
- *Copies into one piece*: an LSTM's step computed on every fourth row of a matrix, for each of
  which NumPy runs a short loop (3 to 6 %). A gradient joins a sum in the order of that, too.
- *Less around the formulas*: no buffer to note the version of a gradient that arrives alone, and
  deliveries in the loop of passes that record (with copies a tenth of a double backward).

What did not: a pass without counting dependencies (what is ready first would show in hooks), the
collector switched off during a pass (2 %), a context variable for the grad mode (30 ns an
operation, but tasks would see another mode than torch's threads do), the bias added while a
transposed product is turned (as long as the copy and the addition), `dot` of other orders of a
transformer layer's matrices (all reach 90 GFLOP/s), keys copied before attention multiplies them
(the copy takes what it saves), BLAS's rank-one update for the gradient of a matrix (it fuses the
multiplication and the addition, which torch does not), BLAS for an outer product (it loses the sign
of zeros), an LSTM with its units before its examples (BLAS takes longer).

What is left: an operation on small arrays takes NumPy 250 ns and Python 700, and three times that
after a large product, which leaves neither code nor data of the interpreter in the cache. An MLP's
step of 4 by 4 elements takes as long as torch's; of 784 by 256 its five large products take NumPy's
OpenBLAS 930 us where torch's MKL takes 900, and Python, its caches cold, another 25. A transformer
layer of 1 by 2 by 4 elements takes 690 us (torch's 440): attention is composed of 25 operators, and
a layer normalisation makes 13 passes over memory where torch's makes three. A step of an LSTM takes
BLAS 3 us and the twelve calls of NumPy around it 9.
"""


def main() -> None:
    """Run the benchmark and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="the workloads whose names contain this; nothing is written")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--growth", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.rounds)))
        return
    if options.growth:
        print(json.dumps(growth()))
        return
    names = [n for n in BARS if not options.only or options.only in n]
    results = {name: measured(name, options.rounds) for name in names}
    if options.only:
        print(table(results))
        return
    plot(results, options.out.with_suffix(".svg"))
    page = PAGE.format(
        rounds=options.rounds,
        processes=PROCESSES,
        versions=versions(),
        python=platform.python_version(),
        machine=f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        table=table(results),
        plot=options.out.with_suffix(".svg").name,
        **apart(["--growth"]),
    )
    options.out.with_suffix(".md").write_text(page, encoding="utf-8")
    print(table(results))


if __name__ == "__main__":
    main()
