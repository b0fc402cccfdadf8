"""`reflect-gate explain`: the derivation of a decision, from the decision or from the request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import Bundle, evaluate, schemas
from reflect_gate.cli.demo import load_demo, requests
from reflect_gate.cli.explain import near_misses
from reflect_gate.report.explain import Node, explanation, explanation_document

Run = Callable[..., Any]

DEMO = dict(requests(load_demo()))


@pytest.fixture
def request_file(tmp_path: Path) -> Callable[[str], str]:
    """Write a demo request and return its path."""

    def write(name: str) -> str:
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(DEMO[name]), encoding="utf-8")
        return str(path)

    return write


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all under it."""
    yield node
    for child in node.children:
        yield from walk(child)


@pytest.mark.parametrize("name", DEMO)
def test_every_finding_of_the_verdict_is_in_the_tree(structured: Bundle, name: str) -> None:
    """Each rule that spoke in the deciding stage stands in the tree with its place."""
    decision = evaluate(DEMO[name], structured, explain=True).to_json()
    verdict = "admit" if decision["status"] == "admitted" else "refuse"
    wanted = {found["source"] for found in decision["findings"] if found["stage"] == "admit" and found["verdict"] == verdict}
    assert wanted <= {node.source for node in walk(explanation(decision)) if node.kind == "finding"}
    assert wanted


def test_tree_reaches_the_measured_facts(here: Run, request_file: Callable[[str], str]) -> None:
    """From the verdict down to the value and the threshold, with the rule's file and line on the way."""
    out = here("explain", request_file("platitude")).out
    depth = [
        next(index for index, line in enumerate(out.splitlines()) if part in line)
        for part in (
            "refused: too_vague",
            "by admission/too-vague  admission.yaml:",
            "conclusion(stage=calibrate, verdict=too_vague)",
            "by calibration/virtue-level  calibration.yaml:",
            "hits(lexicon=virtue-level, target=candidate_lesson): coverage ",
        )
    ]
    assert depth == sorted(depth)


def test_derived_facts_are_followed(here: Run, request_file: Callable[[str], str]) -> None:
    """A fact that a rule derived names that rule and the item that supported the claim."""
    out = here("explain", request_file("admitted")).out
    assert "supported(field=failed_assumption)" in out
    assert "by grounding/supported-by-anchors  grounding.yaml:" in out
    assert "item=plan-1" in out


def test_decision_and_request_tell_the_same(process: Run) -> None:
    """A decision that kept its firings is explained without request or bundle; the tree is that of the request."""
    data = json.dumps(DEMO["platitude"]).encode()
    decision = process("evaluate", "--explain", "--format", "json", stdin=data).out.encode()
    from_decision = json.loads(process("explain", "--format", "json", stdin=decision).out)
    from_request = json.loads(process("explain", "--format", "json", stdin=data).out)
    schemas.check("explanation", from_request, "stdout")
    assert from_request["nearest_misses"]
    assert {**from_request, "nearest_misses": []} == from_decision


def test_refusal_names_the_nearest_miss(here: Run, request_file: Callable[[str], str]) -> None:
    """A refusal says which passing rule came nearest and what it lacked."""
    out = here("explain", request_file("line-level")).out
    assert "nearest miss" in out
    assert "calibration/calibrated (calibration.yaml:" in out


def test_admission_has_no_miss(structured: Bundle) -> None:
    """Nothing was missed where the candidate was admitted."""
    assert near_misses(DEMO["admitted"], structured) == []


def test_miss_of_admission_itself(structured: Bundle) -> None:
    """Where every earlier stage passed, the miss is admission's own: here the evidence is thin for the scope (R-f1)."""
    request = {**DEMO["admitted"], "reflection": {**DEMO["admitted"]["reflection"], "scope": ""}}
    assert evaluate(request, structured).reason == "thin_evidence"
    misses = near_misses(request, structured)
    assert {miss["rule"].partition("/")[0] for miss in misses} == {"admission"}
    assert any(miss.get("condition", {}).get("field") == "n" for miss in misses)


def test_rule_set_off_is_said(here: Run, request_file: Callable[[str], str]) -> None:
    """What no rule derived is not made to look derived."""
    out = here("explain", request_file("platitude"), "--bundle", "introspect").out
    assert out.startswith("admitted\n")
    assert "no rule said so" in out


def test_decision_without_firings_is_an_error(process: Run) -> None:
    """A decision that kept no firings cannot be explained, and the error says how to make one that can."""
    decision = process("evaluate", "--format", "json", stdin=json.dumps(DEMO["blame"]).encode()).out.encode()
    code, out, err = process("explain", stdin=decision)
    assert (code, out) == (3, "")
    assert "evaluate --explain" in err
    assert "[explain-without-firings]" in err


def test_broken_decision_is_an_error(process: Run) -> None:
    """A document that calls itself a decision is held to its schema."""
    code, _, err = process("explain", stdin=b'{"schema": "urn:reflect-gate:schema:decision:1", "firings": 1}')
    assert code == 3
    assert "[schema]" in err


def test_two_documents_are_an_error(process: Run) -> None:
    """One at a time: which of two was meant is not guessed."""
    line = json.dumps(DEMO["blame"]).encode()
    code, _, err = process("explain", stdin=line + b"\n" + line)
    assert code == 3
    assert "[document-many]" in err


def test_invalid_request_is_3(process: Run) -> None:
    """A request that cannot be judged cannot be explained."""
    assert process("explain", stdin=b"{}").code == 3


def test_cyclic_firings_end() -> None:
    """A forged decision whose facts derive each other in a circle is drawn once and ends."""
    fact = {"fact": "enough", "fields": {"by": "firm"}}
    finding = {"fact": "finding", "fields": {"verdict": "admit", "reason": "earned", "about": "x"}}
    decision = _decision(
        [
            {
                "stage": "admit",
                "rule": "admission/earned",
                "source": "a:1:1",
                "facts": [fact],
                "measured": [],
                "derived": [finding],
            },
            {"stage": "admit", "rule": "admission/loop", "source": "a:2:1", "facts": [fact], "measured": [], "derived": [fact]},
        ]
    )
    texts = [node.text for node in walk(explanation(decision))]
    assert texts.count("enough(by=firm)") == 1
    assert "enough(by=firm) (above)" in texts


def test_deep_derivations_are_cut() -> None:
    """A chain of any length is drawn to a fixed depth and says that more is left out."""
    facts = [{"fact": "step", "fields": {"n": n}} for n in range(500)]
    finding = {"fact": "finding", "fields": {"verdict": "admit", "reason": "earned", "about": "x"}}
    firings = [
        {
            "stage": "admit",
            "rule": "admission/step",
            "source": "a:1:1",
            "facts": [facts[n + 1]],
            "measured": [],
            "derived": [facts[n]],
        }
        for n in range(499)
    ]
    first = {
        "stage": "admit",
        "rule": "admission/earned",
        "source": "a:1:1",
        "facts": [facts[0]],
        "measured": [],
        "derived": [finding],
    }
    texts = [node.text for node in walk(explanation(_decision([first, *firings])))]
    assert "… deeper derivations are left out" in texts
    assert len(texts) < 100


@pytest.mark.parametrize("name", DEMO)
def test_document_holds_to_its_schema(structured: Bundle, name: str) -> None:
    """The JSON form is versioned and carries the decision's id, so that it can be filed beside it."""
    decision = evaluate(DEMO[name], structured, explain=True).to_json()
    document = explanation_document(decision, near_misses(DEMO[name], structured))
    schemas.check("explanation", document, "document")
    assert document["decision_id"] == decision["decision_id"]


def _decision(firings: list[dict[str, Any]]) -> Mapping[str, Any]:
    finding = {
        "stage": "admit",
        "ruleset": "admission",
        "rule": "earned",
        "verdict": "admit",
        "reason": "earned",
        "about": "x",
        "source": "a:1:1",
        "measured": [],
    }
    return {"status": "admitted", "reason": None, "findings": [finding], "firings": firings}


# -- why not -----------------------------------------------------------------------------------------------------------


def test_why_not_of_a_request(here: Run, request_file: Callable[[str], str]) -> None:
    """The rule in the way with its place, what each rule lacks, and changes of both kinds."""
    code, out, err = here("explain", request_file("platitude"), "--why-not", "admitted")
    assert (code, err) == (0, "")
    for part in ("in the way", "admission/too-vague (admission.yaml:", "lacking", "smallest change of facts", "--disable "):
        assert part in out


def test_why_not_as_json_holds_to_its_schema(here: Run, request_file: Callable[[str], str]) -> None:
    """The document names what was asked for and how long it was looked for."""
    out = here("explain", request_file("line-level"), "--why-not", "calibrated", "--limit", "50", "--format", "json").out
    document = json.loads(out)
    schemas.check("why-not", document, "stdout")
    assert document["goal"] == {"kind": "verdict", "name": "calibrated", "stage": "calibrate"}
    assert document["facts"]["limit"] == 50
    assert document["facts"]["evaluations"] <= 50


def test_why_not_of_a_decision_needs_its_request_to_search(
    structured: Bundle, here: Run, request_file: Callable[[str], str], tmp_path: Path
) -> None:
    """A decision alone tells what stands in the way; with its request it is searched."""
    path = tmp_path / "decision.json"
    path.write_bytes(evaluate(DEMO["platitude"], structured).to_bytes())
    alone = here("explain", str(path), "--why-not", "admitted").out
    assert "in the way" in alone
    assert "give its request" in alone
    both = here(
        "explain", str(path), "--why-not", "admitted", "--request", request_file("platitude"), "--as-of", structured.as_of
    )
    assert "smallest change of facts" in both.out, both.err


def test_why_not_with_another_request_is_3(
    structured: Bundle, here: Run, request_file: Callable[[str], str], tmp_path: Path
) -> None:
    """A decision is never explained by a request that it is not of."""
    path = tmp_path / "decision.json"
    path.write_bytes(evaluate(DEMO["platitude"], structured).to_bytes())
    code, _, err = here("explain", str(path), "--why-not", "admitted", "--request", request_file("line-level"))
    assert (code, "[why-not-request]" in err) == (3, True)
    code, _, err = here(
        "explain", str(path), "--why-not", "admitted", "--request", request_file("platitude"), "--disable", "blame"
    )
    assert (code, "[why-not-bundle]" in err) == (3, True)


def test_request_without_why_not_is_64(here: Run, request_file: Callable[[str], str]) -> None:
    """An option that would do nothing is a usage error."""
    assert here("explain", request_file("platitude"), "--request", request_file("platitude")).code == 64


def test_unknown_goal_is_3(here: Run, request_file: Callable[[str], str]) -> None:
    """The nearest name is offered."""
    code, _, err = here("explain", request_file("platitude"), "--why-not", "calibration/calibrate")
    assert (code, "did you mean `calibration/calibrated`?" in err) == (3, True)
