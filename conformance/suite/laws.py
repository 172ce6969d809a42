"""Laws: properties of every operator's gradient, on any backend and without an oracle.

Each law is a program whose last line is to be true, so that it needs no oracle
(`conform run --oracle none`). Vector-Jacobian products are linear in the cotangent, do not depend
on which other tensors require grad or on earlier backward passes, are the limits of difference
quotients, agree with the tangents of forward mode, and are the same for a batch of cotangents as
for each alone. They are written without loops and comprehensions, so that a port in any language
can run them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.program.givens import Given
from conformance.program.program import Program
from conformance.samples.drawing import cotangent
from conformance.samples.sample import tuple_of
from conformance.suite.subjects import DTYPE, Subject, subjects

AREA = "laws"
SENTENCES = {
    "sum": "the gradient of the sum is the gradient for a cotangent of ones",
    "linear": "the gradient is linear in the cotangent",
    "subset": "a gradient does not depend on which other inputs require grad",
    "unrelated": "a gradient does not depend on an unrelated backward before it",
    "differences": "the gradient is what central differences tend to",
    "forward": "tangents of forward mode are those of which the gradient is the adjoint",
    "mapped": "gradients for a batch of cotangents are those for each of them",
}


def programs() -> Iterator[Program]:
    """The laws of every operator that has a gradient."""
    for subject in subjects():
        yield from laws_of(subject)


def laws_of(subject: Subject) -> Iterator[Program]:
    """The laws of a subject, except those that it is `without`."""
    writer = _Writer(subject)
    for law, write in writer.laws.items():
        if law not in subject.without:
            yield from write()


class _Writer:
    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.names = [given.name for given in subject.givens]
        leaves = subject.leaves
        self.complex = any("complex" in dtype for dtype, _ in subject.results)
        self.every = ", ".join(self.names)
        self.call = f"results = f({self.every})"
        self.leaves = tuple_of(leaves) if len(leaves) > 1 else leaves[0]
        self.outputs = range(len(subject.results))
        self.gradient = f"torch.autograd.grad(results, {self.leaves}, {{}}"
        self.laws = {
            "sum": self._sum,
            "linear": self._linear,
            "subset": self._subsets,
            "unrelated": self._unrelated,
            "differences": self._differences,
            "forward": self._forward,
            "mapped": self._mapped,
        }

    def _sum(self) -> Iterator[Program]:
        sums = ", ".join(self._real(f"results[{i}].sum()") for i in self.outputs)
        ones = ", ".join(f"torch.ones_like(results[{i}])" for i in self.outputs)
        yield self._program(
            "sum",
            [
                self.call,
                f"one = torch.autograd.grad([{sums}], {self.leaves}, retain_graph=True)",
                f"two = torch.autograd.grad(results, {self.leaves}, [{ones}])",
                *self._close("one[{0}]", "two[{0}]"),
            ],
        )

    def _linear(self) -> Iterator[Program]:
        mixed = ", ".join(f"2 * v{i} - 3 * w{i}" for i in self.outputs)
        yield self._program(
            "linear",
            [
                self.call,
                f"one = {self.gradient.format('v')}, retain_graph=True)",
                f"two = {self.gradient.format('w')}, retain_graph=True)",
                f"both = {self.gradient.format(f'[{mixed}]')})",
                *self._close("both[{0}]", "2 * one[{0}] - 3 * two[{0}]"),
            ],
            "vw",
        )

    def _subsets(self) -> Iterator[Program]:
        if len(self.subject.leaves) < 2:
            return
        several = len(self.subject.results) > 1  # of which some may not depend on the leaf
        for leaf in self.subject.leaves:
            alone = ", ".join(
                f"{name}.detach()" if name in self.subject.leaves and name != leaf else name
                for name in self.names
            )
            yield self._program(
                "subset",
                [
                    self.call,
                    f"one = torch.autograd.grad(results, {leaf}, v)",
                    *(
                        [
                            f"ends = f({alone})",
                            f"two = torch.autograd.grad({self._product('ends[{0}]')}, {leaf})",
                        ]
                        if several
                        else [f"two = torch.autograd.grad(f({alone}), {leaf}, v)"]
                    ),
                    "torch.allclose(one[0], two[0])  # True",
                ],
                "v",
                leaf,
            )

    def _unrelated(self) -> Iterator[Program]:
        first = self.subject.leaves[0]
        yield self._program(
            "unrelated",
            [
                self.call,
                f"one = {self.gradient.format('v')}, retain_graph=True)",
                f"({first} * {first}).sum().backward()",
                f"two = {self.gradient.format('v')})",
                *self._close("one[{0}]", "two[{0}]"),
            ],
            "v",
        )

    def _differences(self) -> Iterator[Program]:
        leaves = self.subject.leaves

        def moved(sign: str) -> str:
            return ", ".join(
                f"{name} {sign} step * d{leaves.index(name)}" if name in leaves else name
                for name in self.names
            )

        slope = " + ".join(f"(slopes[{i}] * d{i}).sum()" for i in range(len(leaves)))
        yield self._program(
            "differences",
            [
                *self._directions(),
                "step = 1e-6",
                f"slopes = torch.autograd.grad(f({self.every}), {self.leaves}, v)",
                f"slope = {slope}",
                "with torch.no_grad():",
                f"    up, down = f({moved('+')}), f({moved('-')})",
                f"    rise = {self._product('(up[{0}] - down[{0}])')}",
                "abs(float(slope - rise / (2 * step))) < 1e-5 * (1 + abs(float(slope)))  # True",
            ],
            "v",
            givens=self._off_the_grid() if self.subject.on_grid else self.subject.givens,
        )

    def _forward(self) -> Iterator[Program]:
        leaves = self.subject.leaves
        other = ".conj()" if self.complex else ""
        slopes = (f"(slopes[{i}]{other} * d{i}).sum()" for i in range(len(leaves)))
        comma = "," if len(leaves) == 1 else ""
        primals = ", ".join(leaves) + comma
        tangents = ", ".join(f"d{i}" for i in range(len(leaves))) + comma
        yield self._program(
            "forward",
            [
                *self._directions(),
                f"slopes = torch.autograd.grad(f({self.every}), {self.leaves}, v)",
                f"slope = {' + '.join(map(self._real, slopes))}",
                f"def of_leaves({', '.join(leaves)}):",
                f"    return f({self.every})",
                "def rate():",
                f"    ends, t = torch.func.jvp(of_leaves, ({primals}), ({tangents}))",
                f"    return ({self._product('t[{0}]')}).item()",
                "abs(slope.item() - rate()) < 1e-8 * (1 + abs(slope.item()))  # True",
            ],
            "v",
        )

    def _mapped(self) -> Iterator[Program]:
        numbers = range(len(self.subject.leaves))
        batch = ", ".join(f"torch.stack([v{i}, w{i}])" for i in self.outputs)
        several = "retain_graph=True, is_grads_batched=True"
        yield self._program(
            "mapped",
            [
                self.call,
                f"one = {self.gradient.format('v')}, retain_graph=True)",
                f"two = {self.gradient.format('w')}, retain_graph=True)",
                "def both():",
                f"    return {self.gradient.format(f'[{batch}]')}, {several})",
                *(
                    f"torch.allclose(both()[{i}], torch.stack([one[{i}], two[{i}]]))  # True"
                    for i in numbers
                ),
            ],
            "vw",
        )

    def _directions(self) -> list[str]:
        """Statements that make a direction, `d0` and so on, for each leaf."""
        return [
            f"d{i} = torch.cos(torch.arange({leaf}.numel(), dtype=torch.float64) * 1.3 + {i})"
            f".reshape({leaf}.shape)"
            for i, leaf in enumerate(self.subject.leaves)
        ]

    def _product(self, result: str) -> str:
        """The product of results, by their number, with the cotangents."""
        other = ".conj()" if self.complex else ""
        products = (f"({result.format(i)} * v{i}{other}).sum()" for i in self.outputs)
        return " + ".join(map(self._real, products))

    def _close(self, one: str, two: str) -> list[str]:
        """Statements that are true where these gradients, by number, are about the same."""
        numbers = range(len(self.subject.leaves))
        return [f"torch.allclose({one.format(i)}, {two.format(i)})  # True" for i in numbers]

    def _real(self, number: str) -> str:
        """The real part of a number, where it may be complex."""
        return f"{number}.real" if self.complex else number

    def _off_the_grid(self) -> tuple[Given, ...]:
        """The givens with leaves moved slightly, off kinks and jumps."""
        places = {leaf: (i + 1) / 128 for i, leaf in enumerate(self.subject.leaves)}
        return tuple(
            replace(given, values=tuple(value + places[given.name] for value in given.values))
            if given.name in places
            else given
            for given in self.subject.givens
        )

    def _program(
        self,
        law: str,
        lines: list[str],
        letters: str = "",
        which: str | None = None,
        givens: tuple[Given, ...] | None = None,
    ) -> Program:
        subject = self.subject
        seeds = [
            cotangent(f"{letter}{i}", shape, dtype, start=5 * k + 3 * i)
            for k, letter in enumerate(letters)
            for i, (dtype, shape) in enumerate(subject.results)
        ]
        head = [f"def f({self.every}):", *(f"    {line}" for line in subject.body)]
        lists = [f"{v} = [{', '.join(f'{v}{i}' for i in self.outputs)}]" for v in letters]
        name = f"{law}-{which}" if which else law
        return Program(
            id=f"law/{subject.name}/{name}",
            area=AREA,
            source="\n".join([*head, *lists, *lines]) + "\n",
            sentence=f"{subject.name}: {SENTENCES[law]}",
            operator=subject.operator,
            givens=(*(givens or subject.givens), *seeds),
            dtype=DTYPE,
        )
