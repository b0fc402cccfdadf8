"""`evaluate --shadow`: what another bundle would have decided stands beside a decision that it has no part in."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from reflect_gate import Bundle, evaluate, load_bundle, schemas
from reflect_gate.cli import main
from reflect_gate.errors import ReflectGateError
from reflect_gate.shadowing import shadow_of, summarize, summary_document


@pytest.fixture(scope="module")
def naive() -> Bundle:
    """The bundle that admits everything."""
    return load_bundle("introspect", cache=False)


@pytest.fixture
def refused(request_document: dict[str, Any]) -> dict[str, Any]:
    """A request that `structured` refuses: what it cites is none of its evidence."""
    document = copy.deepcopy(request_document)
    document["reflection"]["evidence_ids"] = []
    return document


def shadowed(request: Mapping[str, Any], bundle: Bundle, shadow: Bundle) -> dict[str, Any]:
    """Return the decision with its shadow, held to the schema."""
    decision = evaluate(request, bundle).to_json()
    decision["shadow"] = shadow_of(decision, request, shadow)
    schemas.check("decision", decision, "decision")
    return decision


def test_a_shadow_says_what_differs(refused: dict[str, Any], structured: Bundle, naive: Bundle) -> None:
    """The other status and reason, and the findings of one side only."""
    decision = shadowed(refused, structured, naive)
    assert (decision["status"], decision["shadow"]["status"], decision["shadow"]["reason"]) == ("refused", "admitted", None)
    assert decision["shadow"]["added"] == []
    assert {found["ruleset"] for found in decision["shadow"]["gone"]} == {found["ruleset"] for found in decision["findings"]}
    mirrored = shadowed(refused, naive, structured)["shadow"]
    assert mirrored["added"] == decision["shadow"]["gone"]
    assert mirrored["gone"] == []


def test_a_shadow_of_the_same_bundle_differs_in_nothing(refused: dict[str, Any], structured: Bundle) -> None:
    """Neither in its status nor in a finding."""
    decision = shadowed(refused, structured, structured)
    assert decision["shadow"]["bundle"] == {"name": structured.name, "digest": structured.digest}
    assert (decision["shadow"]["status"], decision["shadow"]["reason"]) == (decision["status"], decision["reason"])
    assert decision["shadow"]["gone"] == decision["shadow"]["added"] == []


def test_a_shadow_that_cannot_judge_costs_nothing(request_document: dict[str, Any], structured: Bundle) -> None:
    """Its error is its status, with the code as the reason."""
    narrow = structured._replace(limits=structured.limits._replace(items=1))
    decision = shadowed(request_document, structured, narrow)
    assert decision["status"] == "admitted"
    assert decision["shadow"]["status"] == "error"
    with pytest.raises(ReflectGateError) as caught:
        evaluate(request_document, narrow)
    assert decision["shadow"]["reason"] == caught.value.code


def test_a_summary_counts_moves_and_rules(
    request_document: dict[str, Any], refused: dict[str, Any], structured: Bundle, naive: Bundle
) -> None:
    """Decisions without a shadow are counted as decisions; rules once a decision."""
    both = [shadowed(document, structured, naive) for document in (request_document, refused)]
    bare = evaluate(request_document, structured).to_json()
    found = summarize([(f"line {number}", decision) for number, decision in enumerate([*both, bare], 1)])
    assert (found.decisions, found.shadowed) == (3, 2)
    assert found.shadow.moves == {("admitted", "admitted"): 1, ("refused", "admitted"): 1}
    assert [(place, own[0], other[0]) for place, _, own, other in found.shadow.differing] == [("line 2", "refused", "admitted")]
    assert found.shadow.added == {}
    assert max(found.shadow.gone.values()) <= 2
    assert (found.tried, found.rules) == (0, {})
    schemas.check("shadow-report", summary_document(found), "report")


def test_what_is_no_decision_is_refused() -> None:
    """A log of something else is not summed up as nothing."""
    with pytest.raises(ReflectGateError):
        summarize([("line 1", {"schema": "x"})])


@pytest.fixture
def requests_file(tmp_path: Path, request_document: dict[str, Any], refused: dict[str, Any]) -> str:
    """Two requests, and a line that is none."""
    path = tmp_path / "requests.ndjson"
    path.write_bytes(b"\n".join(map(orjson.dumps, (request_document, refused, {"record": 1}))) + b"\n")
    return str(path)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_decisions_are_as_without_a_shadow(
    requests_file: str, tmp_path: Path, jobs: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Byte for byte, but for the key; in this process and in workers. The report reads what was written."""
    bare, log = tmp_path / "bare", tmp_path / "log"
    common = ["evaluate", requests_file, "--format", "ndjson", "-o"]
    assert main([*common, str(bare)]) == main([*common, str(log), "--shadow", "introspect", "--jobs", jobs]) == 3
    lines = [orjson.loads(line) for line in log.read_bytes().splitlines()]
    assert [line.pop("shadow", {}).get("status") for line in lines] == ["admitted", "admitted", None]
    assert lines == [orjson.loads(line) for line in bare.read_bytes().splitlines()]
    capsysbinary.readouterr()
    assert main(["policy", "shadow", "report", str(log), "--format", "json"]) == 0
    report = orjson.loads(capsysbinary.readouterr().out)
    schemas.check("shadow-report", report, "report")
    assert (report["decisions"], len(report["differing"])) == (2, 1)
    assert main(["policy", "shadow", "report", str(log)]) == 0
    assert b"1 of 2 decisions differ" in capsysbinary.readouterr().out


def test_the_exit_code_is_the_decisions(
    tmp_path: Path, refused: dict[str, Any], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A shadow that admits does not admit, and one that is misspelt is an error."""
    path = tmp_path / "request.json"
    path.write_bytes(orjson.dumps(refused))
    assert main(["evaluate", str(path), "--shadow", "introspect"]) == 5
    assert main(["evaluate", str(path), "--shadow", "introspct"]) == 3
    assert main(["evaluate", str(path), "--shadow", "introspect", "--store=x.db"]) == 64
    assert b"takes no store" in capsysbinary.readouterr().err
