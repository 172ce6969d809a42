"""Laws of gradients, and runs without an oracle: programs judged by their own statements."""

import torch
from made_backends import changed

from conformance.backends import find
from conformance.compare.compare import stated
from conformance.compare.known import KnownDivergences
from conformance.execution.execute import trace
from conformance.neutral.compile import NotNeutral, neutral
from conformance.program.program import Program
from conformance.run.judge import Judge
from conformance.settings.settings import Settings
from conformance.suite.laws import SENTENCES, programs
from conformance.suite.subjects import NO_TANGENT, subjects

LAWS = {program.id: program for program in programs()}


class Doubled(torch.autograd.Function):
    """sin with twice its gradient."""

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * ctx.saved_tensors[0].cos()

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient * ctx.saved_tensors[0].cos()


class Clipped(Doubled):
    """sin with a gradient that is not linear in the cotangent."""

    @staticmethod
    def backward(ctx, gradient):
        return gradient.clamp(-1, 1) * ctx.saved_tensors[0].cos()


def verdicts(operator: str, **replaced) -> dict[str, str]:
    backend = changed(**replaced)
    chosen = {name: p for name, p in LAWS.items() if p.operator == operator}
    return {
        name.split("/")[-1]: stated(program, trace(program, backend)).outcome
        for name, program in chosen.items()
    }


def test_every_operator_of_the_samples_with_a_gradient_has_its_laws():
    assert len({program.operator for program in LAWS.values()}) > 500
    assert {name.split("/")[-1].partition("-")[0] for name in LAWS} == set(SENTENCES)
    assert {"law/mul/subset-a", "law/mul/subset-b"} <= set(LAWS)


def test_a_port_in_any_language_can_run_them():
    lacking = set()
    for name, program in LAWS.items():
        try:
            neutral(program)
        except NotNeutral:
            lacking.add(name.rpartition("/")[0])
    assert lacking == {"law/max_pool2d_with_indices_backward"}  # its sample calls with a star


def test_what_a_subject_is_not_asked_for_has_its_reason():
    unasked = {
        (subject.name, law): reason
        for subject in subjects()
        for law, reason in subject.without.items()
    }
    assert all(unasked.values())
    assert {law for _, law in unasked} == {"differences", "forward"}
    assert {name for name, law in unasked if law == "differences"} == {
        *("as_strided_scatter", "normal", "normal/number_mean"),
    }
    forward = {name: reason for (name, law), reason in unasked.items() if law == "forward"}
    assert {name for name, reason in forward.items() if reason == NO_TANGENT} == {
        *("_pack_padded_sequence", "_weight_norm", "cdist", "native_dropout_backward", "ormqr"),
        *("nn.functional.embedding_bag", "nn.functional.multi_margin_loss", "pdist"),
        *("nn.functional.multilabel_margin_loss", "nn.functional.pdist", "segment_reduce"),
        *("scaled_dot_product_attention", "index_reduce/amax", "index_reduce/amin"),
        *("index_reduce/mean", "index_reduce/prod"),
    }
    assert {name for name, reason in forward.items() if reason != NO_TANGENT} == {
        *("_pad_packed_sequence", "as_strided_scatter", "cholesky_inverse", "cov"),
        *("scatter_reduce/prod", "triangular_solve"),
    }


def test_they_hold_on_torch():
    for name in list(LAWS)[::19]:
        verdict = stated(LAWS[name], trace(LAWS[name], find("torch")))
        assert (name, verdict.outcome) == (name, "conforms")


def test_a_doubled_gradient_breaks_the_laws_of_differences_and_of_tangents_alone():
    found = verdicts("sin", sin=Doubled.apply)
    assert found.pop("differences") == found.pop("forward") == "diverges"
    assert set(found.values()) == {"conforms"}


def test_a_clipped_gradient_is_not_linear():
    assert verdicts("sin", sin=Clipped.apply)["linear"] == "diverges"


def test_without_an_oracle_a_program_that_states_nothing_is_not_run():
    judge = Judge(Settings(backend="torch", oracle="none", isolation=False), KnownDivergences())
    silent = Program("T-01.1", "leaves", "x = torch.ones(2)\n", "")
    assert judge.line(silent)["outcome"] == "not_run"
    false = Program("T-01.2", "leaves", "x = torch.ones(2)\nx.sum() * 2  # tensor(5.)\n", "")
    line = judge.line(false)
    assert (line["outcome"], line["levels"]["values"]) == ("diverges", "diverges")
    assert line["divergences"]["values"]["expected"] == "tensor(5.)"
    assert line["levels"]["graph"] == "not_applicable"
    true = Program("T-01.3", "leaves", "torch.ones(2).sum()  # tensor(2.)\n", "")
    assert judge.line(true)["outcome"] == "conforms"
    lacking = Program("T-01.4", "leaves", "torch.no_such_name(1)  # tensor(2.)\n", "")
    assert judge.line(lacking)["outcome"] == "unsupported"
