"""Random programs of every theme, and the program that some statements make."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence

from conformance.backends import Backend
from conformance.fuzz import calls, endings, layers
from conformance.fuzz import statements as drawers
from conformance.fuzz.choices import Choices
from conformance.fuzz.database import Database
from conformance.fuzz.draft import Draft
from conformance.fuzz.modes import wrapped
from conformance.fuzz.moves import MOVES
from conformance.fuzz.mutations import mutated
from conformance.fuzz.operands import new_tensor
from conformance.fuzz.operators import offered, signatures
from conformance.fuzz.program_builder import COTANGENTS, LAYOUTS, SPECIAL, ProgramBuilder
from conformance.fuzz.themes import MOVED
from conformance.program.givens import Given
from conformance.program.program import Program
from conformance.samples.drawing import strides_of

SHAPES = (
    *((), (1,), (2,), (3,), (2, 2), (2, 3), (3, 2), (1, 3), (2, 1), (3, 3)),
    *((2, 2, 2), (2, 1, 3), (2, 3, 2), (0,), (2, 0), ()),
)
TRIES = 7
"""Arguments that are tried for a call until the oracle accepts them."""

REFUSED = 0.05
"""The share of calls that the oracle refuses, and that are compared for it."""

COMMON = (
    *("add", "sub", "mul", "div", "pow", "exp", "log", "sqrt", "abs", "neg", "sum", "mean", "prod"),
    *("max", "min", "amax", "amin", "var", "norm", "cumsum", "softmax", "log_softmax", "logsumexp"),
    *("relu", "sigmoid", "tanh", "clamp", "where", "maximum", "minimum", "matmul", "bmm", "einsum"),
    *("cat", "stack", "expand", "reshape", "transpose", "permute", "index_select", "gather"),
    *("scatter", "masked_fill", "sort", "topk"),
)  # fmt: skip
"""Operators that most programs consist of; there are thousands of others."""

COMMON_SHARE = 0.15
"""The share of calls that are of a common operator."""

KINDS = {
    "call": 11.0, "binary": 2.0, "unary": 0.8, "read": 1.2, "view": 2.0, "write": 1.6,
    "indexed": 1.0, "assigned": 1.2, "part": 1.0, "hook": 1.3, "dual": 0.4, "functional": 0.8,
}  # fmt: skip


class Source:
    """Draws programs whose names oracle and backend both have."""

    def __init__(self, oracle: Backend, backend: Backend | None = None) -> None:
        """Without a ``backend`` (a port, which has no namespace here) names are the oracle's."""
        self.oracle = oracle
        self.database = Database(oracle)
        spaces = [oracle.namespace, *([backend.namespace] if backend else [])]
        self.operators, self.modules, self.optimisers = (
            tuple(
                signature
                for signature in signatures(kind)
                if all(offered(space, signature.spellings[0]) for space in spaces)
            )
            for kind in ("operators", "modules", "optimisers")
        )
        names = {f"torch.{name}" for name in COMMON}
        self.common = tuple(s for s in self.operators if not names.isdisjoint(s.spellings))

    def draw(self, theme: str, choices: Choices, pool: Sequence[Sequence[str]] = ()) -> list[str]:
        """The statements of a program of the theme; raises KeyError for an unknown theme.

        ``pool`` are programs that reached something new: a share of programs is made of them.
        """
        if theme in MOVED:
            return moved(choices, MOVED[theme])
        draft = Draft(choices, self.oracle)
        if pool and choices.chance(0.3):
            older = mutated(choices, choices.pick(pool))
            draft.recall(older)
            if choices.chance(0.5):
                return wrapped(choices, pruned(draft.statements))
            self._step(draft)
        else:
            _BEGINNINGS[theme](self, draft)
        before = len(draft.statements)
        endings.end(draft)
        if choices.chance(0.1):
            self._step(draft)
        statements, ending = draft.statements[:before], draft.statements[before:]
        if choices.chance(0.15):
            return wrapped(choices, pruned([*statements, *ending]))
        return [*wrapped(choices, pruned(statements, ending)), *ending]

    def _operators(self, draft: Draft) -> None:
        choices = draft.choices
        x = new_tensor(draft)
        if choices.chance(0.35):
            draft.attempt(f"{draft.fresh()} = {x} * 1")
        for _ in range(choices.pick((1, 1, 2, 2, 3, 4))):
            self._step(draft)

    def _database(self, draft: Draft) -> None:
        if not self.database.draw(draft):
            self._operators(draft)
        while draft.choices.chance(0.3):
            self._step(draft)

    def _layers(self, draft: Draft) -> None:
        layers.module(draft, draft.choices.pick(self.modules))
        if draft.choices.chance(0.3):
            self._step(draft)

    def _optimisers(self, draft: Draft) -> None:
        layers.optimiser(draft, draft.choices.pick(self.optimisers))

    def _step(self, draft: Draft) -> None:
        """Add one statement of any kind that the oracle accepts, or now and then refuses."""
        choices = draft.choices
        kind = choices.weighted(KINDS)
        often = self.common and choices.chance(COMMON_SHARE)
        signature = choices.pick(self.common if often else self.operators)
        for _ in range(TRIES):
            if kind == "call":
                statement = calls.statement(draft, signature)
            else:
                statement = drawers.KINDS[kind](draft)
            if draft.attempt(statement):
                return
            if choices.chance(REFUSED):
                draft.refuse(statement)
                return
            if choices.chance(0.3):
                signature = choices.pick(self.operators)


_BEGINNINGS: dict[str, Callable[[Source, Draft], None]] = {
    "operators": Source._operators,
    "database": Source._database,
    "layers": Source._layers,
    "optimisers": Source._optimisers,
}


_LEAF = re.compile(r"(\w+) = torch\.(?:tensor|zeros|from_numpy)\(")


def pruned(statements: Sequence[str], ending: Sequence[str] = ()) -> list[str]:
    """The statements without new tensors that no other statement mentions."""
    text = "\n".join([*statements, *ending])
    words = Counter(re.findall(r"\w+", text))
    kept = []
    for statement in statements:
        leaf = _LEAF.match(statement)
        if leaf is None or words[leaf[1]] > 1:
            kept.append(statement)
    return kept or list(statements)


def moved(choices: Choices, moves: Sequence[str]) -> list[str]:
    """A program of moves: tensors, one to four moves, backward from the last result."""
    builder = ProgramBuilder(choices)
    first = builder.leaf(
        builder.pick(SHAPES),
        builder.pick(("float64", "float32")),
        special=builder.pick((False, False, True)),
    )
    if "write" in moves and builder.pick((True, True, False)):
        builder.result(f"{first.name} * 1", first.shape, [first], builder.scale(first))
    for _ in range(choices.integer(1, 4)):
        target = builder.live[-1] if choices.chance(0.75) else builder.pick(builder.live)
        if not MOVES[builder.pick(moves)](builder, target):
            MOVES["view"](builder, target)
    root = next((t for t in reversed(builder.live) if t.requires_grad), builder.live[-1])
    builder.givens.append(_cotangent(builder, root.shape, root.dtype))
    if builder.pick(("once", "once", "twice")) == "twice":
        builder.lines.append(f"{root.name}.backward(v, retain_graph=True)")
    builder.lines.append(f"{root.name}.backward(v)")
    return [*(given.source() for given in builder.givens), *builder.lines]


def _cotangent(builder: ProgramBuilder, shape: tuple[int, ...], dtype: str) -> Given:
    layout = builder.pick(LAYOUTS)
    strides = strides_of(shape, layout) if layout else None
    pool = [*COTANGENTS, *SPECIAL] if builder.pick((False, False, False, True)) else COTANGENTS
    values = builder.values(pool, shape, strides is not None and 0 in strides)
    return Given("v", dtype, shape, values, strides)


def named(statements: Sequence[str], sentence: str) -> Program:
    """The program of these statements; its ID is the hash of its content."""
    source = "\n".join(statements) + "\n"
    digest = hashlib.sha256(json.dumps(source).encode()).hexdigest()[:12]
    return Program(id=f"fuzz/{digest}", area="fuzz", source=source, sentence=sentence)
