"""Mutation testing: each kind of mistake, what notices it, what is kept, and that nothing is counted as noticed by accident."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import Bundle, schemas
from reflect_gate.errors import ReflectGateError
from reflect_gate.infer.compiled import Compiled
from reflect_gate.policy.bench import Bench
from reflect_gate.policy.cases import read_cases
from reflect_gate.policy.judging import Corpus, Judge
from reflect_gate.policy.model import Program
from reflect_gate.policy.mutants import KINDS, Mutant, apply, mutants
from reflect_gate.policy.mutate import Result, mutate, subjects
from reflect_gate.report.mutation import mutation_document, mutation_text

from .conftest import GOOD, WriteCases

FULL = (
    GOOD
    + """\
  - id: no-cause
    facts: [{lesson: {cause: false}}]
    expect: {verdict: too_vague, findings: []}
  - id: noisy
    facts: [{lesson: {}}, {hits: {lexicon: noise}}]
    expect: {verdict: too_vague, findings: []}
"""
)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "cache"))


def run(folder: Path, *only: str, **options: Any) -> dict[str, Result]:
    """Return the results by what was changed."""
    results = mutate(subjects([folder / "rules"], only), folder / "policies.yaml", **options)
    return {f"{result.mutant.rule}: {result.mutant.text}": result for result in results}


def survivors(found: dict[str, Result]) -> set[str]:
    """Return the changes that nothing noticed."""
    return {name for name, result in found.items() if not result.killed_by}


def test_good_cases_kill_every_mutant_but_the_one_that_they_do_not_try(write: WriteCases, folder: Path) -> None:
    """Only that another lexicon's hit leaves the rule alone is tried by no case, and one pattern is found beside another."""
    write(FULL)
    assert survivors(run(folder)) == {
        "speed/in-limits: drop `not hits.lexicon = noise`",
        "noise/shouting: drop `hurrah`",
    }


def test_missing_case_leaves_its_mutants_alive(write: WriteCases, folder: Path) -> None:
    """Without the case at the threshold the shifted threshold survives, and is named with its place."""
    expect = "{verdict: too_vague, findings: [{rule: too-many, reason: hedged}]}"
    write(f"  - id: many\n    facts: [{{lesson: {{hedges: 9}}}}]\n    expect: {expect}\n")
    found = run(folder, "speed")
    name = "speed/too-many: compare with 4: `lesson.hedges > 3 (speed.limit)`"
    assert name in survivors(found)
    source = found[name].mutant.source
    assert (Path(source.file).name, source.line) == ("speed.yaml", 12)


def test_survivor_is_killed_by_a_case_that_tries_it(write: WriteCases, folder: Path) -> None:
    """The case that kills a mutant is named."""
    write(FULL.replace("id: noisy", "id: loud"))
    assert run(folder, "speed")["speed/in-limits: drop `no hits`"].killed_by == "case loud"


def test_lexicon_pattern_survives_where_another_finds_its_texts(folder: Path) -> None:
    """`hurrah` stands only beside `ahoy`; `ahoy` has a text of its own."""
    found = run(folder, "noise")
    assert found["noise/shouting: drop `hurrah`"].killed_by == ""
    assert found["noise/shouting: drop `ahoy`"].killed_by == "case noise/shouting/hit"


def test_every_kind_changes_what_a_program_does(structured: Bundle) -> None:
    """Each kind occurs in the shipped rules, and an applied mutant is another program that still compiles."""
    program = structured.program
    found = [mutant for name in ("grounding", "admission", "calibration") for mutant in mutants(program, name, f"{name}.yaml")]
    assert {mutant.kind for mutant in found} == set(KINDS) - {"drop-lexicon-pattern"}
    for mutant in {mutant.kind: mutant for mutant in found}.values():
        changed = apply(program, mutant)
        assert changed is not None
        assert changed != program
        Compiled(changed)


def test_dropping_a_pattern_moves_the_joins_behind_it(structured: Bundle) -> None:
    """No condition refers to a pattern that is not there."""
    program = structured.program
    drops = [
        mutant
        for ruleset in structured.rulesets
        for mutant in mutants(program, ruleset.name, "f")
        if mutant.kind == "drop-pattern"
    ]
    assert drops
    for mutant in drops:
        changed = apply(program, mutant)
        assert changed is not None
        rule = next(rule for rule in changed.rules if rule.name == mutant.rule)
        joins = [test.value for pattern in (*rule.positive, *rule.negative) for test in pattern.tests]
        assert all(value.pattern < len(rule.positive) for value in joins if hasattr(value, "pattern"))


def test_threshold_stays_in_its_domain(structured: Bundle) -> None:
    """No mutant asks for a share above one or a count below none."""
    shifts = [
        mutant
        for ruleset in structured.rulesets
        for mutant in mutants(structured.program, ruleset.name, "f")
        if mutant.kind == "shift-threshold"
    ]
    assert shifts
    assert not [mutant.text for mutant in shifts if "with -" in mutant.text or "with 1.01" in mutant.text]


def test_mutant_of_a_rule_that_is_not_there_changes_nothing(structured: Bundle) -> None:
    """A bundle with the rule set off has nothing to mutate."""
    mutant = mutants(structured.program, "blame", "f")[0]
    assert apply(structured.program, mutant._replace(rule="blame/gone")) is None


def test_results_are_kept_until_rules_or_cases_change(write: WriteCases, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run judges nothing; a changed case judges all of the rule set again, and not the lexicon's."""
    judged: list[str] = []
    killer = Judge.killer

    def counted(self: Judge, mutant: Mutant) -> str:
        judged.append(mutant.rule)
        return killer(self, mutant)

    monkeypatch.setattr(Judge, "killer", counted)
    write(GOOD)
    first = run(folder)
    assert judged
    judged.clear()
    assert run(folder) == first
    assert judged == []
    write(FULL)
    run(folder)
    assert len(judged) == sum(name.startswith("speed/") for name in first)


def test_damaged_cache_is_as_if_it_were_not_there(folder: Path, tmp_path: Path) -> None:
    """What cannot be read is tried again."""
    first = run(folder)
    for kept in (tmp_path / "cache").rglob("*.json"):
        kept.write_text("[1", encoding="utf-8")
    assert run(folder) == first


def test_cases_must_pass_without_a_mutant(write: WriteCases, folder: Path) -> None:
    """A failing case would kill everything, so it is an error."""
    write("  - id: many\n    facts: [{lesson: {hedges: 9}}]\n    expect: {verdict: shallow, findings: []}\n")
    with pytest.raises(ReflectGateError) as caught:
        run(folder, "speed")
    assert caught.value.code == "mutate-baseline"


def test_unknown_name_is_an_error(folder: Path) -> None:
    """A misspelt rule set is not an empty success."""
    with pytest.raises(ReflectGateError, match="did you mean `speed`"):
        subjects([folder / "rules"], ["sped"])


def test_several_processes_say_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order and the results do not depend on the number of workers."""
    monkeypatch.setattr("reflect_gate.policy.mutate._CHUNK", 6)
    assert list(run(folder, keep=False, jobs=2).items()) == list(run(folder, keep=False, jobs=1).items())


def test_progress_counts_every_mutant(folder: Path) -> None:
    """The bar ends at the number of mutants."""
    told: list[tuple[int, int]] = []
    found = run(folder, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(found), len(found))
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_document_and_text_list_the_survivors(write: WriteCases, folder: Path) -> None:
    """Both name each survivor with its file and line, and the share is not rounded up."""
    write(FULL)
    results = list(run(folder).values())
    document = mutation_document(results)
    schemas.check("policy-mutate", document, "results")
    alive = [mutant for mutant in document["mutants"] if mutant["killed_by"] is None]
    text = mutation_text(results)
    assert len(alive) == document["total"] - document["killed"] == 2
    assert all(f"{mutant['file']}:{mutant['line']}" in text for mutant in alive)


# -- the corpus --------------------------------------------------------------------------------------------------------


def find(program: Program, ruleset: str, text: str) -> Mutant:
    """Return the mutant of a rule set with these words."""
    (found,) = [mutant for mutant in mutants(program, ruleset, "f") if text in mutant.text]
    return found


def test_corpus_kills_what_changes_a_finding(structured: Bundle, request_document: dict[str, Any]) -> None:
    """Without its rule the admitted request is no longer earned; a rule that never spoke of it may go."""
    corpus = Corpus(structured, [request_document])
    program = structured.program
    assert corpus.killer(find(program, "admission", "disable `earned`")) == "corpus checkout-1187"
    assert corpus.killer(find(program, "admission", "disable `shallow`")) == ""


def test_corpus_kills_a_lexicon_pattern_that_it_needs(structured: Bundle, with_reflection: Callable[..., dict[str, Any]]) -> None:
    """The pattern that makes the lesson a platitude is missed; one that finds nothing is not."""
    request = with_reflection(candidate_lesson="Be more careful.")
    group = next(group for group in structured.lexicons["virtue-level"].groups if group.id == "carefulness")
    corpus = Corpus(structured, [request])
    killed = []
    for pattern in group.patterns:
        place, text = structured.rulesets[0].origin, f"drop `{pattern}`"
        mutant = Mutant("drop-lexicon-pattern", "virtue-level/carefulness", -1, -1, 0, text, place)
        killed.append(corpus.killer(mutant))
    assert "corpus checkout-1187" in killed
    assert "" in killed


def test_request_case_judges_a_mutant(folder: Path, request_document: dict[str, Any]) -> None:
    """A mutant that no case of facts notices is tried on the whole requests."""
    path = folder / "admission.cases.yaml"
    expect = "{status: admitted, findings: [{rule: earned, reason: earned}]}"
    path.write_text(
        f"ruleset: admission\ncases:\n  - id: whole\n    bundle: structured\n    request: {json.dumps(request_document)}\n"
        f"    expect: {expect}\n",
        encoding="utf-8",
    )
    bench = Bench(read_cases(path.read_bytes(), str(path)), None)
    program = bench.alone("").program
    judge = Judge(bench)
    assert judge.killer(find(program, "admission", "disable `earned`")) == "case whole"
    assert judge.killer(find(program, "admission", "disable `shallow`")) == ""
