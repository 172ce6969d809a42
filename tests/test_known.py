"""Known divergences: parsing, display with their reasons, and errors for obsolete ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import judge

from conformance.compare.known import KnownError, default_path, read_known
from conformance.run_files.reading import read_run
from conformance.suite.suite import read_suite

PROGRAMS = ["SEED-01.1", "SEED-01.2", "TIES-01.1"]
RULES = ["SEED-01", "TIES-01"]


def entry(**keys: str | None) -> str:
    keys = {"program": "SEED-01.1", "level": "memory", "reason": "no counters yet", **keys}
    return "[[known]]\n" + "".join(f'{k} = "{v}"\n' for k, v in keys.items() if v is not None)


def read(tmp_path: Path, text: str):
    (tmp_path / "known.toml").write_text(text)
    return read_known(tmp_path / "known.toml", PROGRAMS, RULES)


def line(identifier: str, outcome: str = "conforms", **levels: str) -> dict:
    conforms = dict.fromkeys(("values", "graph", "memory", "diagnostics"), "conforms")
    return {
        "id": identifier,
        "rule": identifier.partition(".")[0],
        "outcome": outcome,
        "levels": {**conforms, **levels} if outcome in ("conforms", "diverges") else {},
        "specification": [],
    }


LEVELS = ("values", "graph", "memory", "diagnostics")
OF_RULE = {"SEED-01": ["SEED-01.1", "SEED-01.2"], "TIES-01": ["TIES-01.1"]}


def test_entry_excuses_its_program_at_its_level_only(tmp_path):
    known = read(tmp_path, entry(link="https://example.org/1"))
    excused = known.known_divergence(line("SEED-01.1", "diverges", memory="diverges"), LEVELS)
    assert excused == {"reason": "no counters yet", "link": "https://example.org/1"}
    assert known.known_divergence(line("SEED-01.1", "diverges", values="diverges"), LEVELS) is None
    both = line("SEED-01.1", "diverges", values="diverges", memory="diverges")
    assert known.known_divergence(both, LEVELS) is None
    assert known.known_divergence(line("SEED-01.2", "diverges", memory="diverges"), LEVELS) is None


def test_level_that_does_not_count_needs_no_excuse(tmp_path):
    known = read(tmp_path, entry())
    both = line("SEED-01.1", "diverges", values="diverges", memory="diverges")
    assert known.known_divergence(both, ("memory",)) is not None


def test_rule_entry_excuses_all_its_programs(tmp_path):
    known = read(tmp_path, entry(program=None, rule="SEED-01"))
    for name in ("SEED-01.1", "SEED-01.2"):
        assert known.known_divergence(line(name, "diverges", memory="diverges"), LEVELS)
    assert known.known_divergence(line("TIES-01.1", "diverges", memory="diverges"), LEVELS) is None


def test_pattern_excuses_what_it_names_and_is_stale_when_none_of_it_diverges(tmp_path):
    known = read(tmp_path, entry(program="SEED-*"))
    one, two = line("SEED-01.1", "diverges", memory="diverges"), line("SEED-01.2")
    assert known.known_divergence(one, LEVELS)
    assert known.known_divergence(line("TIES-01.1", "diverges", memory="diverges"), LEVELS) is None
    assert known.known_divergence(two, LEVELS) is None, "it may conform"
    assert known.stale([one, two], LEVELS, OF_RULE) == []
    assert known.stale([two], LEVELS, OF_RULE) == [], "the other program may still diverge"
    (sentence,) = known.stale([line("SEED-01.1"), two], LEVELS, OF_RULE)
    assert "SEED-* conforms at level memory: remove the entry" in sentence


def test_entry_that_names_several_programs_is_one_for_each(tmp_path):
    several = entry(program=None) + 'program = ["SEED-01.1", "TIES-*"]\n'
    known = read(tmp_path, several)
    for name in ("SEED-01.1", "TIES-01.1"):
        assert known.known_divergence(line(name, "diverges", memory="diverges"), LEVELS)
    lines = [line("SEED-01.1", "diverges", memory="diverges"), line("TIES-01.1")]
    (sentence,) = known.stale(lines, LEVELS, OF_RULE)
    assert "TIES-* conforms at level memory: remove" in sentence
    with pytest.raises(KnownError, match=r"no program 'TIES-09\.1'"):
        read(tmp_path, several.replace("TIES-*", "TIES-09.1"))


def test_entry_of_what_random_programs_call_excuses_these_only(tmp_path):
    known = read(tmp_path, entry(program=None, calls="torch.vmap("))
    assert known.of_calls == {"torch.vmap(": ("memory",)}
    diverging = line("SEED-01.1", "diverges", memory="diverges")
    assert known.known_divergence(diverging, LEVELS) is None
    assert known.stale([line("SEED-01.1")], LEVELS, OF_RULE) == []


def test_several_levels_in_one_entry(tmp_path):
    text = entry(level=None) + 'level = ["memory", "diagnostics"]\n'
    known = read(tmp_path, text)
    both = line("SEED-01.1", "diverges", memory="diverges", diagnostics="diverges")
    assert known.known_divergence(both, LEVELS)
    one = line("SEED-01.1", "diverges", memory="diverges")
    assert [s for s in known.stale([one], LEVELS, OF_RULE) if "diagnostics" in s]


def test_entry_of_a_program_that_conforms_is_stale(tmp_path):
    known = read(tmp_path, entry())
    conforms = line("SEED-01.1")
    assert known.known_divergence(conforms, LEVELS)["stale"] is True
    (sentence,) = known.stale([conforms], LEVELS, OF_RULE)
    assert "SEED-01.1 conforms at level memory" in sentence
    assert "known.toml:1" in sentence


def test_entry_is_not_stale_where_nothing_was_compared(tmp_path):
    known = read(tmp_path, entry())
    for outcome in ("unsupported", "error", "not_run"):
        assert known.known_divergence(line("SEED-01.1", outcome), LEVELS) is None
        assert known.stale([line("SEED-01.1", outcome)], LEVELS, OF_RULE) == []
    assert known.stale([line("SEED-01.2")], LEVELS, OF_RULE) == []
    assert known.known_divergence(line("SEED-01.1"), ("values",)) is None
    assert known.stale([line("SEED-01.1")], ("values",), OF_RULE) == []


def test_entry_of_a_program_that_diverges_sometimes_is_never_stale(tmp_path):
    known = read(tmp_path, entry() + "sometimes = true\n")
    assert known.known_divergence(line("SEED-01.1"), LEVELS) is None
    assert known.stale([line("SEED-01.1")], LEVELS, OF_RULE) == []
    assert (
        known.known_divergence(line("SEED-01.1", "diverges", memory="diverges"), LEVELS) is not None
    )
    with pytest.raises(KnownError, match=r'"sometimes" of .* must be true'):
        read(tmp_path, entry() + 'sometimes = "yes"\n')


def test_rule_entry_is_stale_when_none_of_its_programs_diverges(tmp_path):
    known = read(tmp_path, entry(program=None, rule="SEED-01"))
    one, two = line("SEED-01.1", "diverges", memory="diverges"), line("SEED-01.2")
    assert known.stale([one, two], LEVELS, OF_RULE) == []
    assert known.stale([two], LEVELS, OF_RULE) == [], "the other program may still diverge"
    assert len(known.stale([line("SEED-01.1"), two], LEVELS, OF_RULE)) == 1


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        (entry(program="SEED-01.9"), 1, r"no program 'SEED-01\.9'. Did you mean SEED-01\."),
        (entry(program=None) + "program = []\n", 1, r"program is a text, not \[\]"),
        (entry(program="LEAF-*"), 1, r"no program 'LEAF-\*'"),
        (entry(program=None) + "program = 1\n", 1, "program is a text, not 1"),
        (entry() + entry(program=None, rule="SEED-09"), 5, "no rule 'SEED-09'"),
        (entry(reason=None), 1, "needs a reason"),
        (entry(reason="  "), 1, "needs a reason"),
        (entry(level="depth"), 1, "must be one or several of values"),
        (entry(level=None), 1, "must be one or several of values"),
        (entry(rule="SEED-01"), 1, "names a program, a rule, or what"),
        (entry(program=None), 1, "names a program, a rule, or what"),
        (entry(operator="amax"), 1, "unknown key operator"),
        ("[known]\nx = 1\n", None, "only \\[\\[known\\]\\] entries"),
        ("skip = ['SEED-01.1']\n", None, "only \\[\\[known\\]\\] entries.*skip"),
        ("\n[[known]\n", 2, "not TOML"),
        ("known = [1]\n", None, "an entry is a table"),
    ],
)
def test_bad_list_is_refused_with_file_and_line(tmp_path, text, at, message):
    with pytest.raises(KnownError, match=message) as caught:
        read(tmp_path, text)
    assert caught.value.line == at
    assert str(tmp_path / "known.toml") in str(caught.value)


def test_missing_list(tmp_path):
    with pytest.raises(KnownError, match="cannot be read"):
        read_known(tmp_path / "nowhere.toml", PROGRAMS, RULES)


def test_lists_that_are_shipped_can_be_read():
    suite = read_suite()
    own = default_path("impl")
    for path in own.parent.glob("*.toml"):
        read_known(path, suite.ids(), list(suite.programs_of_rule()))
    assert default_path("somebody.port:torch") is None


def written(tmp_path: Path, *entries: str) -> Path:
    path = tmp_path / "list.toml"
    path.write_text("\n".join(entries))
    return path


def test_run_with_a_known_divergence_succeeds_and_shows_the_reason(tmp_path):
    listed = written(tmp_path, entry(program="LEAF-02.1", level="memory"))
    done = judge("wrong:memory", "--known", listed, "--run-file", tmp_path / "r", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 known divergences" in done.stdout
    assert "no counters yet" in done.stdout
    run = read_run(tmp_path / "r")
    known = run.program("LEAF-02.1")
    assert (known["outcome"], known["known"]["reason"]) == ("diverges", "no counters yet")
    assert run.footer["known"] == 1
    assert run.footer["exit"] == 0


def test_known_divergence_that_is_gone_fails_the_run(tmp_path):
    listed = written(tmp_path, entry(program="LEAF-02.1", level="memory"))
    done = judge("right:namespace", "--known", listed, "--run-file", tmp_path / "r", cwd=tmp_path)
    assert done.returncode == 1
    assert "LEAF-02.1 conforms at level memory: remove the entry at" in done.stdout
    assert "list.toml:1" in done.stdout
    assert read_run(tmp_path / "r").footer["stale"]


def test_known_at_another_level_does_not_excuse(tmp_path):
    listed = written(tmp_path, entry(program="LEAF-02.1", level="memory"))
    done = judge("wrong:values", "--known", listed, cwd=tmp_path)
    assert done.returncode == 1
    assert "1 cause of 1 divergences" in done.stdout
    assert "What `ones` makes is filled with ones" in done.stdout


def test_entry_that_names_nothing_stops_the_command(tmp_path):
    listed = written(tmp_path, entry(program="LEAF-99.1"))
    done = judge("right:namespace", "--known", listed, cwd=tmp_path)
    assert done.returncode == 2
    assert "list.toml:1: there is no program 'LEAF-99.1'" in done.stderr
    assert "Traceback" not in done.stderr


def test_of_another_version_than_the_list_is_about_an_entry_may_conform(tmp_path):
    known = read(tmp_path, 'torch = "2.11"\n' + entry())
    for version, stale in (("2.11.0+cu130", True), (None, True), ("2.15.0", False)):
        found = known.beside(version)
        assert bool(found.stale([line("SEED-01.1")], LEVELS, OF_RULE)) is stale
        assert bool(found.known_divergence(line("SEED-01.1"), LEVELS)) is stale
        assert found.known_divergence(line("SEED-01.1", "diverges", memory="diverges"), LEVELS)
    with pytest.raises(KnownError, match="torch is a minor version"):
        read(tmp_path, "torch = 2.11\n" + entry())
    with pytest.raises(KnownError, match="belong in this file, not: numpy"):
        read(tmp_path, 'numpy = "2.11"\n' + entry())
