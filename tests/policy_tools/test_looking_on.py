"""What experimental rules would change stands beside a decision that they have no part in."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflect_gate import Bundle, ReflectGateError, evaluate, load_bundle, schemas
from reflect_gate.cli import main
from reflect_gate.cli.demo import load_demo
from reflect_gate.cli.demo import requests as demo_requests
from reflect_gate.policy.build import durable_available
from reflect_gate.policy.codec import encode_program
from reflect_gate.runtime import Runtime
from reflect_gate.shadowing import summarize

from .lives import CASES, DRAFT, RULES, load
from .looking_on import figures

BOTH: tuple[Literal["durable", "compiled"], ...] = ("durable", "compiled") if durable_available() else ("compiled",)


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rule set whose one rule would refuse everything, and looks on."""
    path = tmp_path_factory.mktemp("draft") / "draft.yaml"
    path.write_text(DRAFT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def watched(draft: Path) -> Bundle:
    """The default bundle with that rule set in it."""
    return load_bundle("structured", rules=draft)


# -- beside a decision -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", BOTH)
def test_what_looks_on_is_told_and_decides_nothing(
    request_document: dict[str, Any], structured: Bundle, watched: Bundle, engine: Any
) -> None:
    """But for `experimental` and the bundle, the decision is what it is without the rule; by either engine."""
    by = {"engine": engine, "cross_check": engine == "durable"}
    plain = evaluate(request_document, structured._replace(**by), explain=True).to_json()
    told = evaluate(request_document, watched._replace(**by), explain=True).to_json()
    schemas.check("decision", told, "decision")
    tried = told.pop("experimental")
    assert (plain["status"], tried["status"], tried["reason"]) == ("admitted", "refused", "too_vague")
    assert tried["fired"] == [{"rule": "draft/no-lesson", "source": "draft.yaml:7:9"}]
    assert ("draft", "no-lesson") in {(found["ruleset"], found["rule"]) for found in tried["added"]}
    differing = {key for key in plain if plain[key] != told[key]}
    assert differing <= {"bundle", "decision_id", "envelope"}
    assert {**plain["envelope"], "bundle": told["bundle"]["digest"]} == told["envelope"]


def test_promoted_it_decides(request_document: dict[str, Any], watched: Bundle, draft: Path) -> None:
    """As was told of it before; then nothing looks on any more."""
    promoted = load_bundle("structured", rules=draft, experimental=["draft/no-lesson"])
    decision = evaluate(request_document, promoted)
    tried = evaluate(request_document, watched).experimental
    assert tried is not None
    assert (decision.status, decision.reason) == (tried["status"], tried["reason"])
    assert decision.experimental is None
    assert promoted.digest != watched.digest


def test_without_experimental_rules_nothing_is_tried(
    request_document: dict[str, Any], structured: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No second judgement is made, and the decision has no such key."""
    monkeypatch.setattr("reflect_gate.pipeline._tried", pytest.fail)
    assert "experimental" not in evaluate(request_document, structured).to_json()


def test_what_cannot_be_tried_costs_nothing(
    request_document: dict[str, Any], watched: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the rules that look on is told in place of what they would decide."""

    def fails(*_: object) -> None:
        raise ReflectGateError("engine-limit", "too much")

    monkeypatch.setattr("reflect_gate.pipeline._tried", fails)
    decision = evaluate(request_document, watched).to_json()
    schemas.check("decision", decision, "decision")
    assert decision["status"] == "admitted"
    assert decision["experimental"] == {"status": "error", "reason": "engine-limit", "gone": [], "added": [], "fired": []}


def test_rules_of_stages_that_no_evaluation_runs_are_not_tried(request_document: dict[str, Any], tmp_path: Path) -> None:
    """They say nothing of a request, so nothing is kept beside its decision."""
    path = tmp_path / "draft.yaml"
    rule = DRAFT.replace("stage: calibrate", "stage: retrieve").replace("neutral: calibrated", "neutral: offer")
    path.write_text(rule.replace("lesson: {}", "match: {}").replace("too_vague", "abstain"), encoding="utf-8")
    bundle = load_bundle("structured", rules=path)
    assert bundle.trial is not None
    assert evaluate(request_document, bundle).experimental is None


def test_the_same_request_gives_the_same_bytes(request_document: dict[str, Any], watched: Bundle) -> None:
    """Also of what looks on; and the text of the decision tells it."""
    from reflect_gate.report.text import decision_text

    first, second = (evaluate(request_document, watched) for _ in range(2))
    assert first.to_bytes() == second.to_bytes()
    text = decision_text(first.to_json())
    assert "experimental rules would decide refused: too_vague" in text
    assert "~ draft/no-lesson fired" in text


def test_a_stored_decision_keeps_it(request_document: dict[str, Any], watched: Bundle) -> None:
    """Read back from a document, it is the same decision."""
    from reflect_gate.memory.applying import stored_decision

    decision = evaluate(request_document, watched)
    assert stored_decision(orjson.loads(decision.to_bytes())).to_bytes() == decision.to_bytes()


def test_why_not_says_how_it_is_made_to_decide(watched: Bundle) -> None:
    """A rule that only looks on cannot be what a decision is asked for."""
    from reflect_gate.whynot.goals import parse_goal

    with pytest.raises(ReflectGateError, match="--enable-experimental draft/no-lesson"):
        parse_goal("draft/no-lesson", watched)


def test_why_not_understands_old_names(folder: Path) -> None:
    """The goal has the new one."""
    from reflect_gate.whynot.goals import parse_goal

    (folder / "rules" / "speed.yaml").write_text(RULES, encoding="utf-8")
    assert parse_goal("speed/sober", load(folder)).rule == "speed/in-limits"


# -- the log -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def log(
    request_document: dict[str, Any], with_reflection: Callable[..., dict[str, Any]], watched: Bundle
) -> list[dict[str, Any]]:
    """A decision that would differ, and one that would not: it is refused for the same reason."""
    first = evaluate(request_document, watched).to_json()
    second = evaluate(with_reflection(candidate_lesson="Always be careful."), watched).to_json()
    return [first, second]


def test_the_report_counts_what_they_would_have_changed(
    log: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Decisions that would differ, and of each rule how often it fired and in how many of these."""
    path = tmp_path / "log.ndjson"
    path.write_bytes(b"".join(orjson.dumps(decision) + b"\n" for decision in log))
    assert main(["policy", "shadow", "report", str(path), "--format", "json"]) == 0
    report = orjson.loads(capsys.readouterr().out)
    schemas.check("shadow-report", report, "report")
    assert report["shadowed"] == 0
    tried = report["experimental"]
    assert tried["decisions"] == 2
    assert tried["rules"][0] == {"rule": "draft/no-lesson", "fired": 2, "differing": len(tried["differing"])}
    assert [entry["place"] for entry in tried["differing"]] == [
        "line 1",
        *(["line 2"] if log[1]["reason"] != "too_vague" else []),
    ]
    assert main(["policy", "shadow", "report", str(path)]) == 0
    out = capsys.readouterr().out
    assert "decisions would differ by experimental rules" in out
    assert re.search(r"draft/no-lesson +2 ", out)


def test_the_report_counts_renamed_rules_under_their_new_names(
    log: list[dict[str, Any]], folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log that names an old id is read by the policies of today, with a warning."""
    (folder / "rules" / "draft.yaml").write_text(
        DRAFT.replace("no-lesson", "none-at-all").replace("maturity", "renamed_from: [no-lesson]\n    maturity"), encoding="utf-8"
    )
    path = tmp_path / "log.ndjson"
    path.write_bytes(orjson.dumps(log[0]) + b"\n")
    arguments = ["policy", "shadow", "report", str(path), "--policies", str(folder / "policies.yaml"), "--format", "json"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert [entry["rule"] for entry in orjson.loads(captured.out)["experimental"]["rules"]] == ["draft/none-at-all"]
    assert "rule `draft/no-lesson` of the log is counted as `draft/none-at-all`" in captured.err


def test_a_log_is_read_whatever_became_of_the_policies(
    log: list[dict[str, Any]], folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken policies cost the new names, and no more."""
    (folder / "rules" / "speed.yaml").write_text("ruleset: [", encoding="utf-8")
    path = tmp_path / "log.ndjson"
    path.write_bytes(orjson.dumps(log[0]) + b"\n")
    assert main(["policy", "shadow", "report", str(path), "--policies", str(folder / "policies.yaml")]) == 0
    assert "policy-yaml" in capsys.readouterr().err


def test_a_summary_of_plain_decisions_has_no_experiment(request_document: dict[str, Any], structured: Bundle) -> None:
    """They are counted, and nothing is said of rules that do not exist."""
    found = summarize([("line 1", evaluate(request_document, structured).to_json())])
    assert (found.decisions, found.tried, found.rules) == (1, 0, {})


# -- no way from what looks on to what decides -------------------------------------------------------------------------

TYPES = ("red", "green", "blue")
_FIELDS = ("candidate_lesson", "scope", "counterfactual")


@st.composite
def rule_sets(draw: st.DrawFn) -> tuple[str, str, str]:
    """Return a rule set three times: with experimental rules among it, without them, and with them stable.

    Strata are those of the colours: a rule reads those before the one that it derives, also their absence.
    """
    rules: list[tuple[str, bool]] = []
    for number in range(draw(st.integers(2, 7))):
        level = draw(st.integers(0, len(TYPES)))
        reads = draw(st.lists(st.tuples(st.sampled_from(TYPES[:level]), st.booleans()), max_size=2)) if level else []
        when = [f"- hits as h: {{lexicon: noise, n: {{gt: {draw(st.integers(0, 2))}}}}}"]
        when += [f"- {'not ' if absent else ''}{kind}: {{target: $h.target}}" for kind, absent in reads]
        verdict = draw(st.sampled_from(["calibrated", "shallow", "too_vague"]))
        finding = f"finding: {{verdict: {verdict}, reason: r{number}, about: $h.target}}"
        then = finding if level == len(TYPES) else f"{TYPES[level]}: {{target: $h.target}}"
        lines = "".join(f"      {line}\n" for line in when)
        rules.append((f"    when:\n{lines}    then: [{{{then}}}]\n", draw(st.booleans())))
    # Each colour is derived by a rule that stays, since a type that nothing derives is an error of its own.
    rules += [
        (f"    when: [{{hits: {{lexicon: noise, n: 9}}}}]\n    then: [{{{kind}: {{target: scope}}}}]\n", False) for kind in TYPES
    ]
    head = (
        RULES.partition("settings:")[0]
        + "derive: {red: {target: target}, green: {target: target}, blue: {target: target}}\nrules:\n"
    )

    def written(keep: bool, mature: str) -> str:
        shown = ""
        for number, (body, tried) in enumerate(rules):
            if keep or not tried:
                life = f"    maturity: {mature}\n" if tried else ""
                shown += f"  - id: rule-{number}\n    doc: A rule for tests.\n{life}{body}"
        return head + shown

    return written(True, "experimental"), written(False, "stable"), written(True, "stable")


def _built(folder: Path, text: str) -> Bundle:
    (folder / "rules" / "speed.yaml").write_text(text, encoding="utf-8")
    return load(folder)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rule_sets(), st.lists(st.tuples(st.sampled_from(_FIELDS), st.integers(0, 3)), max_size=4, unique_by=lambda fact: fact[0]))
def test_no_rule_that_decides_hears_of_one_that_looks_on(
    folder: Path, texts: tuple[str, str, str], hits: list[tuple[str, int]]
) -> None:
    """What decides is the program without the experimental rules; what is tried is the one with all of them, on both engines."""
    mixed, fewer, stable = (_built(folder, text) for text in texts)
    assert encode_program(mixed.program, meaning_only=True) == encode_program(fewer.program, meaning_only=True)
    assert encode_program(mixed.trying().program, meaning_only=True) == encode_program(stable.program, meaning_only=True)
    facts: list[Any] = [("hits", "noise", "shouting", field, n, 100) for field, n in hits]
    for one, other in ((mixed, fewer), (mixed.trying(), stable)):
        said = [Runtime(bundle._replace(engine=BOTH[0], cross_check=len(BOTH) > 1)) for bundle in (one, other)]
        first, second = (_said(gate, facts) for gate in said)
        assert first == second


def _said(gate: Runtime, facts: list[Any]) -> object:
    interner = gate.interner()
    with gate.engine.session(gate.bundle.limits) as session:
        fired = session.advance("calibrate", gate.encode(facts, interner))
    judged = gate.judge("calibrate", fired, interner)
    return judged.verdict, [(gate.program.rules[found.rule].name, *found[1:]) for found in judged.findings]


def test_a_shipped_rule_that_looks_on_is_as_if_it_were_not_there() -> None:
    """On real requests, against programs that were cut without a word of maturity; `looking_on.py` tries every rule."""
    requests = [request for _, request in demo_requests(load_demo())][:2]
    found = figures(requests, 4)
    assert found["wrong"] == []
    assert (found["as_without"], found["told_as_with"]) == (8, 8)


# -- differences between bundles ---------------------------------------------------------------------------------------


def test_diff_tells_maturity_apart_from_what_decides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A promotion is a new rule; a deprecation and a rule that looks on can change no verdict; a new name is no change."""
    (folder / "rules" / "speed.yaml").write_text(RULES, encoding="utf-8")
    (folder / "rules" / "speed.cases.yaml").write_text(CASES, encoding="utf-8")
    other = folder / "other"
    (other / "rules" / "lexicons").mkdir(parents=True)
    for name in ("policies.yaml", "rules/lexicons/noise.yaml"):
        (other / name).write_bytes((folder / name).read_bytes())
    text = RULES.replace("    maturity: deprecated\n    replaced_by: in-limits\n", "    renamed_from: [far-too-many]\n")
    (other / "rules" / "speed.yaml").write_text(text.replace("    maturity: experimental\n", ""), encoding="utf-8")
    assert main(["policy", "diff", str(folder / "policies.yaml"), str(other / "policies.yaml"), "--format", "json"]) == 0
    document = orjson.loads(capsys.readouterr().out)
    schemas.check("policy-diff", document, "diff")
    changes = {(change["kind"], change["name"]): change for change in document["changes"]}
    assert changes.keys() == {("rule", "speed/shouting"), ("maturity", "speed/shouting"), ("maturity", "speed/too-many")}
    assert (changes["rule", "speed/shouting"]["before"], changes["rule", "speed/shouting"]["can"]) == ("", "either")
    assert changes["maturity", "speed/too-many"]["can"] == "neither"
    assert (changes["maturity", "speed/too-many"]["before"], changes["maturity", "speed/too-many"]["after"]) == ("deprecated", "")


def test_a_flip_by_a_promotion_is_attributed(
    folder: Path, tmp_path: Path, request_document: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """The rule that decides now is named as the cause, by taking it back."""
    import shutil

    from reflect_gate.resources import data_path

    shutil.copytree(data_path("rules"), folder / "rules", dirs_exist_ok=True)
    (folder / "rules" / "draft.yaml").write_text(DRAFT, encoding="utf-8")
    sets = sorted(path.stem for path in data_path("rules").glob("*.yaml") if ".cases" not in path.name)
    policies = f"""\
policies: 1
default: ours
rules: rules
lexicons: rules/lexicons
bundles:
  ours: {{doc: With a rule that looks on., rulesets: [{", ".join([*sets, "draft"])}]}}
  tried: {{doc: Promoted., extends: ours, experimental: [draft/no-lesson]}}
"""
    (folder / "policies.yaml").write_text(policies, encoding="utf-8")
    corpus = tmp_path / "requests.ndjson"
    corpus.write_bytes(orjson.dumps(request_document) + b"\n")
    arguments = ["policy", "diff", "ours", "tried", "--policies", str(folder / "policies.yaml"), "--corpus", str(corpus)]
    assert main([*arguments, "--format", "json"]) == 0
    document = orjson.loads(capsys.readouterr().out)
    (flip,) = document["behaviour"]["decisions"]
    assert (flip["before"]["status"], flip["after"]["status"]) == ("admitted", "refused")
    causes = [document["changes"][number] for number in flip["changes"]]
    assert [(cause["kind"], cause["name"]) for cause in causes] == [("rule", "draft/no-lesson")]
    # What a bundle does with a rule is not counted against the version of its rule set.
    assert [one["ruleset"] for one in document["versions"]] == [""]
