"""Modes: blocks, threads and settings that wrap the statements of any random program."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from conformance.fuzz.choices import Choices

BLOCKS = (
    "torch.no_grad()",
    "torch.enable_grad()",
    "torch.set_grad_enabled(False)",
    "torch.inference_mode()",
    "torch.autograd.detect_anomaly()",
    "torch.autograd.set_detect_anomaly(True)",
    "torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t)",
    "torch.autograd.graph.saved_tensors_hooks(lambda t: t.shape, lambda s: torch.ones(s))",
    # Kernels do not look at saved indices: doubled ones would reach beyond the tensor.
    "torch.autograd.graph.saved_tensors_hooks("
    "lambda t: t, lambda t: t * 2 if t.is_floating_point() or t.is_complex() else t)",
    "torch.autograd.graph.save_on_cpu()",
    "torch.autograd.graph.disable_saved_tensors_hooks('none here')",
    "torch.autograd.graph.allow_mutation_on_saved_tensors()",
    "torch.autograd.forward_ad.dual_level()",
    "torch.autograd.set_multithreading_enabled(False)",
    "torch.autocast('cpu', dtype=torch.bfloat16)",
    "torch.autocast('cpu', dtype=torch.float16)",
    "torch.random.fork_rng()",
    "torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)",
)
SETTINGS = (
    "torch.set_grad_enabled(False)",
    "torch.autograd.set_detect_anomaly(True)",
    "torch.set_default_dtype(torch.float64)",
    "torch.set_default_dtype(torch.bfloat16)",
    "torch.manual_seed(7)",
    "torch.set_printoptions(precision=2, sci_mode=True)",
    "torch.autograd.forward_ad.enter_dual_level()",
)


def _span(choices: Choices, statements: list[str]) -> tuple[int, int]:
    """One to three statements that follow each other, later than the first tensor."""
    first = choices.integer(min(1, len(statements) - 1), len(statements) - 1)
    return first, min(len(statements), first + choices.integer(1, 3))


def block(choices: Choices, statements: list[str]) -> list[str]:
    """Some statements within a block of torch's."""
    first, last = _span(choices, statements)
    body = textwrap.indent("\n".join(statements[first:last]), "    ")
    return [*statements[:first], f"with {choices.pick(BLOCKS)}:\n{body}", *statements[last:]]


def thread(choices: Choices, statements: list[str]) -> list[str]:
    """Some statements in a thread of their own, which has torch's default modes."""
    first, last = _span(choices, statements)
    names = [s.partition(" = ")[0] for s in statements[first:last] if " = " in s]
    bound = ", ".join(dict.fromkeys(name for name in names if name.isidentifier()))
    shared = f"    global {bound}\n" if bound else ""
    body = textwrap.indent("\n".join(statements[first:last]), "    ")
    # One statement starts and awaits the thread, so that no observation falls in between.
    runs = "    worker = threading.Thread(target=work)\n    worker.start()\n    worker.join()"
    work, run = (_unused(name, statements) for name in ("work", "run"))
    runs = runs.replace("=work", f"={work}")
    running = [
        *("import threading", f"def {work}():\n{shared}{body}"),
        *(f"def {run}():\n{runs}", f"{run}()"),
    ]
    return [*statements[:first], *running, *statements[last:]]


def _unused(name: str, statements: list[str]) -> str:
    """The name, with a number if the statements have it: a thread that starts itself has no end."""
    text = "\n".join(statements)
    names = (name, *(f"{name}{k}" for k in range(2, 100)))
    return next(one for one in names if f"{one}()" not in text)


def setting(choices: Choices, statements: list[str]) -> list[str]:
    """A setting of torch that is changed before the program, or within it."""
    first = choices.integer(0, len(statements) - 1)
    return [*statements[:first], choices.pick(SETTINGS), *statements[first:]]


def shown(choices: Choices, statements: list[str]) -> list[str]:
    """A tensor as text, after the statement that bound it."""
    places = [k for k, s in enumerate(statements) if s.partition(" = ")[0].isidentifier()]
    if not places:
        return statements
    at = choices.pick(places)
    name = statements[at].partition(" = ")[0]
    text = choices.pick((f"repr({name})", f"str({name})", f"f'{{{name}}}'", f"repr([{name}])"))
    return [*statements[: at + 1], text, *statements[at + 1 :]]


def doubled(choices: Choices, statements: list[str]) -> list[str]:
    """A statement that is executed twice."""
    at = choices.integer(0, len(statements) - 1)
    return [*statements[: at + 1], *statements[at:]]


def caught(choices: Choices, statements: list[str]) -> list[str]:
    """A statement whose error is caught, and shown."""
    first, last = _span(choices, statements)
    body = textwrap.indent("\n".join(statements[first:last]), "    ")
    caught = f"try:\n{body}\nexcept Exception as error:\n    text = type(error).__name__"
    return [*statements[:first], caught, *statements[last:]]


MODES: dict[Callable[[Choices, list[str]], list[str]], float] = {
    block: 6.0,
    shown: 3.0,
    thread: 1.0,
    setting: 1.5,
    doubled: 1.0,
    caught: 0.5,
}


def wrapped(choices: Choices, statements: list[str]) -> list[str]:
    """The statements under no, one or two modes."""
    for share in (0.4, 0.15):
        if statements and choices.chance(share):
            statements = choices.weighted(MODES)(choices, statements)
    return statements
