"""Laws: what holds of every operator's gradient, on any backend, whatever torch does.

Each law is a program of which the last line is to be true, so that it needs no oracle
(`conform run --oracle none`). They are about vector-Jacobian products: they are linear in the
cotangent, do not depend on who else requires grad or on what was differentiated before, and are
what differences of the function tend to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.program import Given, Program
from conformance.samples import OPERATORS
from conformance.samples.drawing import cotangent, results_of
from conformance.samples.operator import Operator
from conformance.samples.sample import inputs_of, tuple_of
from conformance.samples.variants import plain_of

AREA = "laws"
DTYPE = "float64"
SENTENCES = {
    "sum": "the gradient of the sum is the gradient for a cotangent of ones",
    "linear": "the gradient is linear in the cotangent",
    "subset": "a gradient does not depend on which other inputs require grad",
    "unrelated": "a gradient does not depend on an unrelated backward before it",
    "differences": "the gradient is what central differences tend to",
}
# Operators that draw random numbers, which have to be the same at each call.
_DRAWING = ("dropout", "dropout1d", "dropout2d", "dropout3d", "rrelu")


def programs() -> Iterator[Program]:
    """The laws of every operator that the samples know and that has a gradient."""
    for operator in OPERATORS:
        if not operator.unlinked and "\n" not in operator.call:
            yield from _Laws(operator).programs()


class _Laws:
    def __init__(self, operator: Operator) -> None:
        plain = plain_of(operator)
        self.operator = operator
        self.givens = inputs_of(operator, plain, DTYPE)
        self.leaves = [given.name for given in self.givens if given.requires_grad]
        self.results = results_of(plain.result, plain.outputs)
        call = plain.call.format_map({g.name: g.name for g in self.givens})
        self.head = [
            f"def f({', '.join(g.name for g in self.givens)}):",
            *(["    torch.manual_seed(0)"] if operator.name.endswith(_DRAWING) else []),
            f"    result = {call}",
            f"    return {self._returned(plain.outputs)}",
        ]

    def _returned(self, outputs: tuple[str, ...]) -> str:
        """The outputs that have a gradient, as a list."""
        if len(outputs) == 1:
            return "[result]"
        kept = [f"result[{i}]" for i, name in enumerate(outputs) if name in self.results]
        return f"[{', '.join(kept)}]"

    def programs(self) -> Iterator[Program]:
        if not self.leaves or not self.results:
            return
        every = ", ".join(given.name for given in self.givens)
        leaves = tuple_of(self.leaves) if len(self.leaves) > 1 else self.leaves[0]
        call = f"results = f({every})"
        gradient = f"torch.autograd.grad(results, {leaves}, {{}}"
        yield self._program(
            "sum",
            [
                call,
                "sums = [result.sum() for result in results]",
                "ones = [torch.ones_like(result) for result in results]",
                f"one = torch.autograd.grad(sums, {leaves}, retain_graph=True)",
                f"two = torch.autograd.grad(results, {leaves}, ones)",
                "all(torch.allclose(a, b) for a, b in zip(one, two))  # True",
            ],
        )
        yield self._program(
            "linear",
            [
                call,
                f"one = {gradient.format('v')}, retain_graph=True)",
                f"two = {gradient.format('w')}, retain_graph=True)",
                "mixed = [2 * a - 3 * b for a, b in zip(v, w)]",
                f"both = {gradient.format('mixed')})",
                "all(torch.allclose(c, 2 * a - 3 * b) for a, b, c in zip(one, two, both))  # True",
            ],
            "vw",
        )
        if len(self.leaves) > 1:
            for leaf in self.leaves:
                alone = ", ".join(
                    name if name == leaf else f"{name}.detach()" for name in every.split(", ")
                )
                yield self._program(
                    "subset",
                    [
                        call,
                        f"one = torch.autograd.grad(results, {leaf}, v)",
                        f"two = torch.autograd.grad(f({alone}), {leaf}, v)",
                        "torch.allclose(one[0], two[0])  # True",
                    ],
                    "v",
                    leaf,
                )
        first = self.leaves[0]
        yield self._program(
            "unrelated",
            [
                call,
                f"one = {gradient.format('v')}, retain_graph=True)",
                f"({first} * {first}).sum().backward()",
                f"two = {gradient.format('v')})",
                "all(torch.allclose(a, b) for a, b in zip(one, two))  # True",
            ],
            "v",
        )
        yield self._differences(every, leaves)

    def _differences(self, every: str, leaves: str) -> Program:
        def moved(sign: str) -> str:
            return ", ".join(
                f"{name} {sign} step * d{self.leaves.index(name)}" if name in self.leaves else name
                for name in every.split(", ")
            )

        directions = [
            f"d{i} = torch.cos(torch.arange({leaf}.numel(), dtype=torch.float64) * 1.3 + {i})"
            f".reshape({leaf}.shape)"
            for i, leaf in enumerate(self.leaves)
        ]
        listed = ", ".join(f"d{i}" for i in range(len(self.leaves)))
        return self._program(
            "differences",
            [
                *directions,
                "step = 1e-6",
                f"slopes = torch.autograd.grad(f({every}), {leaves}, v)",
                f"slope = sum((g * d).sum() for g, d in zip(slopes, [{listed}]))",
                "with torch.no_grad():",
                f"    up, down = f({moved('+')}), f({moved('-')})",
                "    rise = sum(((a - b) * v).sum() for a, b, v in zip(up, down, v))",
                "abs(float(slope - rise / (2 * step))) < 1e-5 * (1 + abs(float(slope)))  # True",
            ],
            "v",
            givens=self._off_the_grid(),
        )

    def _off_the_grid(self) -> list[Given]:
        """The leaves a little beside their values, where no kink or jump lies."""
        places = {leaf: (i + 1) / 128 for i, leaf in enumerate(self.leaves)}
        return [
            replace(given, values=tuple(value + places[given.name] for value in given.values))
            if given.name in places
            else given
            for given in self.givens
        ]

    def _program(
        self,
        law: str,
        lines: list[str],
        letters: str = "",
        which: str | None = None,
        givens: list[Given] | None = None,
    ) -> Program:
        seeds = [
            cotangent(f"{letter}{i}", shape, DTYPE, start=5 * k + 3 * i)
            for k, letter in enumerate(letters)
            for i, shape in enumerate(self.results.values())
        ]
        count = range(len(self.results))
        lists = [f"{v} = [{', '.join(f'{v}{i}' for i in count)}]" for v in letters]
        name = f"{law}-{which}" if which else law
        return Program(
            id=f"law/{self.operator.name}/{name}",
            area=AREA,
            source="\n".join([*self.head, *lists, *lines]) + "\n",
            sentence=f"{self.operator.name}: {SENTENCES[law]}",
            operator=self.operator.name,
            givens=(*(givens or self.givens), *seeds),
            dtype=DTYPE,
        )
