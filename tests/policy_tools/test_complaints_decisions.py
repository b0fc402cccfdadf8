"""What authors complain about in the decisions, traces and dry runs of other policy tools, tried here (`docs/complaints.md`)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from reflect_gate import Bundle, evaluate, load_bundle
from reflect_gate.cli import main
from reflect_gate.policy.reference import read_policies_files
from reflect_gate.replaying import Replay
from reflect_gate.runtime import Runtime

Make: TypeAlias = Callable[..., dict[str, Any]]
Ran: TypeAlias = Callable[..., tuple[int, str]]

PLATITUDE = "Always be more careful and double-check your work."


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ran:
    """Run a command on a request, which is written first, and return the exit code and what it printed."""
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)

    def run(request: dict[str, Any], *arguments: str) -> tuple[int, str]:
        Path("request.json").write_text(json.dumps(request), encoding="utf-8")
        code = main(list(arguments))
        return code, capsys.readouterr().out

    return run


def test_10_an_explanation_is_in_words_and_figures(ran: Ran, with_reflection: Make) -> None:
    """Each finding names its rule and place, each condition its value, what it is held to and the setting's name."""
    _, said = ran(with_reflection(candidate_lesson=PLATITUDE), "evaluate", "request.json")
    assert said.startswith("refused: too_vague\n")
    found = re.search(
        r"  ✗ calibrate: too_vague, virtue-level on candidate_lesson  calibration/virtue-level  calibration\.yaml:\d+:\d+\n"
        r"      hits\.coverage 1\.0 ≥ 0\.3 \(calibration\.virtue_level_coverage\)\n",
        said,
    )
    assert found, said
    assert not re.search(r"None|True|False|0x[0-9a-f]+|\w+\(\w+=|[\[{]'", said.partition("\n  ✗ ")[2])


def test_10_every_rule_that_an_explanation_can_name_has_a_doc() -> None:
    """A sentence for people, longer than its name."""
    rulesets, _ = read_policies_files(None)
    rules = [rule for file in rulesets for rule in file.rules]
    assert rules
    assert [rule.id for rule in rules if len(rule.doc.split()) < 3 or not rule.doc.endswith(".")] == []


def test_12_a_decision_names_who_took_part_and_nobody_else(ran: Ran, with_reflection: Make) -> None:
    """One bundle, and of the rules those that fired; other bundles of the file and rule sets that said nothing are not listed."""
    _, said = ran(with_reflection(candidate_lesson=PLATITUDE), "evaluate", "request.json", "--explain", "--format", "json")
    decision = json.loads(said)
    assert decision["bundle"]["name"] == "structured"
    assert not re.search(r"introspect|ablate-|episodic-line-level|contradictions-flagged", said)
    fired = {firing["rule"] for firing in decision["firings"]}
    assert {f"{found['ruleset']}/{found['rule']}" for found in decision["findings"]} <= fired
    assert {name.partition("/")[0] for name in fired}.isdisjoint({"dedupe", "poisoning", "retrieval", "audit"})


@pytest.mark.parametrize("off", ["grounding", "poisoning", "generalization", "calibration", "dedupe", "admission", "blame"])
@pytest.mark.parametrize("lesson", ["", PLATITUDE], ids=["admitted", "refused"])
def test_13_what_is_evaluated_in_part_takes_the_defaults(
    structured: Bundle, request_document: dict[str, Any], off: str, lesson: str
) -> None:
    """A replay, which measures once and infers again, gives what a whole evaluation gives where a default speaks for no rule."""
    if lesson:
        request_document["reflection"]["candidate_lesson"] = lesson
    without = load_bundle("structured", disable=[off], cache=False)
    replay = Replay(request_document, structured)
    replay.run(Runtime(structured))
    in_part = replay.run(Runtime(without)).case
    in_whole = Replay(request_document, without).run(Runtime(without)).case
    decided = evaluate(request_document, without)
    assert in_part.outputs == in_whole.outputs
    assert in_part.outputs["admit"]["rejected_reason"] == decided.reason
    assert in_part.judgements["admit"].verdict == in_whole.judgements["admit"].verdict


def test_21_the_clause_that_failed_and_what_would_mend_it(ran: Ran, with_reflection: Make) -> None:
    """The condition with its value and what it needed, and a change that the gate was asked about before it is told."""
    request = with_reflection(failed_assumption="Nobody ever told the printer about the weather in the harbour.")
    assert ran(request, "evaluate", "request.json")[0] == 5
    code, said = ran(request, "explain", "request.json", "--why-not", "admitted", "--format", "json", "--limit", "60")
    answer = json.loads(said)
    assert code == 0
    lacking = [one for one in answer["lacking"] if one["rule"] == "grounding/supported-by-terms"]
    assert lacking
    assert "grounding.min_" in json.dumps(lacking)
    for flip in answer["policy"]["flips"]:
        options = [word for option in flip["options"] for word in option.split(" ", 1)]
        assert ran(request, "evaluate", "request.json", *options)[0] == 0, options
    assert answer["policy"]["flips"]


def test_22_a_dry_run_leaves_what_it_found(ran: Ran, with_reflection: Make) -> None:
    """The decision is the lenient bundle's; what the strict one would have said stays with it, and the report names the rule."""
    request = with_reflection(candidate_lesson=PLATITUDE)
    dry = ("--bundle", "introspect", "--shadow", "structured", "--format", "ndjson", "-o", "log.ndjson")
    assert ran(request, "evaluate", "request.json", *dry)[0] == 0
    kept = json.loads(Path("log.ndjson").read_text(encoding="utf-8"))["shadow"]
    assert (kept["status"], kept["reason"]) == ("refused", "too_vague")
    assert "calibration/virtue-level" in {f"{found['ruleset']}/{found['rule']}" for found in kept["added"]}
    code, said = ran(request, "policy", "shadow", "report", "log.ndjson")
    assert code == 0
    assert re.search(r"calibration/virtue-level +1\n", said)
    assert "admitted → refused (too_vague)" in said
