"""What the server does of what the command line does, and how it says no."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reflect_gate import schemas

from ..capture.world import FAILURE
from .gate import Gate


def test_a_request_is_judged(gate: Gate, candidate: dict[str, Any]) -> None:
    """R-a1: the answer is the decision; a refusal is an answer as well."""
    answer = gate.post("/v1/evaluate", candidate)
    assert (answer.status, answer.body["status"]) == (200, "admitted")
    schemas.check("decision", answer.body, "decision")
    candidate["reflection"]["evidence_ids"] = []
    answer = gate.post("/v1/evaluate", candidate)
    assert (answer.status, answer.body["status"], answer.body["exit_code"]) == (200, "refused", 5)


def test_a_lesson_goes_round(gate: Gate, candidate: dict[str, Any]) -> None:
    """R-h1, R-i1: committed, listed, shown, offered for a task, and counted when the task has ended."""
    candidate["record"]["failure_id"] = "round-1"
    applied = gate.post("/v1/evaluate?store=true&apply=true", candidate).body
    assert applied["applied"]["action"] in {"admitted", "merged"}
    again = gate.post("/v1/evaluate?store=true&apply=true", candidate).body
    assert again["applied"]["action"] == "known"
    lesson = applied["applied"]["lesson_id"]
    listed = gate.get("/v1/lessons?limit=1000").body
    schemas.check("lessons-report", listed, "lessons")
    assert lesson in [entry["id"] for entry in listed["lessons"]]
    shown = gate.get(f"/v1/decisions/{applied['decision_id']}").body
    assert shown == {key: value for key, value in applied.items() if key != "applied"}
    found = gate.post("/v1/retrieve", {"text": "load_cart() may return None for a new session", "language": "python"}).body
    schemas.check("retrieval", found, "retrieval")
    assert (found["status"], found["logged"]) == ("found", True)
    outcome = {"outcome": "resolved", "before": "failing", "exit_code": 0, "retrieval": found["retrieval_id"]}
    told = gate.post("/v1/record", outcome).body
    schemas.check("outcome-report", told, "outcome")
    assert told["added"]
    assert gate.post("/v1/record", outcome).body["added"] is False
    assert gate.post("/v1/record", {**outcome, "outcome": "worse", "exit_code": 1}).code == "outcome-conflict"


def test_a_whole_number_may_be_written_with_a_point(gate: Gate, candidate: dict[str, Any]) -> None:
    """JSON has one kind of number, and the schemas take 5.0 for 5."""
    assert gate.post("/v1/retrieve", {"text": "pagination cursor", "limit": 5.0}).body["limit"] == 5
    candidate["record"]["failure_id"] = "round-2"
    lesson = gate.post("/v1/evaluate?store=true&apply=true", candidate).body["applied"]["lesson_id"]
    proof = {"exit_code": 1.0, "checks": {"passed": 0.0, "failed": 2.0}}
    told = gate.post("/v1/record", {"outcome": "worse", "task": "point", "lessons": [lesson], **proof})
    assert (told.status, told.body["executed"]) == (200, True)


def test_a_failure_is_taken_in_once(gate: Gate) -> None:
    """R-t1, R-q2: the job is on the disk, and the same failure is the same job."""
    first = gate.post("/v1/capture", {**FAILURE, "failure_id": "served-1"}).body
    again = gate.post("/v1/capture", {**FAILURE, "failure_id": "served-1"}).body
    schemas.check("capture-report", first, "capture")
    assert (first["outcome"], again["outcome"]) == ("queued", "duplicate")
    assert gate.post("/v1/capture?trigger=low_quality", {**FAILURE, "failure_id": "served-2"}).body["outcome"] == "off"


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/evaluate", b"", 400, "document-empty"),
        ("/v1/evaluate", b"{", 400, "document-syntax"),
        ("/v1/evaluate", b'{"a":1,"a":2}', 400, "document-duplicate-key"),
        ("/v1/evaluate", b"[" * 100_000, 400, "document-depth"),
        ("/v1/evaluate", b"\xff", 400, "document-encoding"),
        ("/v1/evaluate", b"[]", 422, "schema"),
        ("/v1/evaluate?store=true", b"null", 422, "schema"),
        ("/v1/evaluate?apply=true", b"{}", 422, "server-apply"),
        ("/v1/evaluate?explain=yes", b"{}", 400, "server-parameter"),
        ("/v1/evaluate?explain=true&explain=true", b"{}", 400, "server-parameter"),
        ("/v1/evaluate?bundle=introspect", b"{}", 400, "server-parameter"),
        ("/v1/capture", b"7", 400, "document-type"),
        ("/v1/retrieve", b"{}", 422, "retrieval-empty"),
        ("/v1/retrieve", b'{"text":"x","limit":6}', 422, "schema"),
        ("/v1/record", b'{"outcome":"resolved","lessons":["x"]}', 422, "outcome-evidence"),
        ("/v1/record", b'{"outcome":"resolved","exit_code":0}', 422, "outcome-lessons"),
        ("/v1/record", b'{"outcome":"resolved","exit_code":0,"lessons":["x"]}', 422, "lesson-unknown"),
        ("/v1/record", b'{"outcome":"resolved","exit_code":0,"retrieval":"x"}', 422, "retrieval-unknown"),
        ("/v1/nothing", b"{}", 404, "server-path"),
        ("/v1/evaluate/", b"{}", 404, "server-path"),
        ("/v1/lessons", b"{}", 405, "server-method"),
    ],
)
def test_what_is_wrong_is_a_problem_document(gate: Gate, path: str, body: bytes, status: int, code: str) -> None:
    """RFC 9457: the status, and the code of the command line."""
    answer = gate.post(path, body)
    assert (answer.status, answer.code) == (status, code), answer.body
    schemas.check("problem", answer.body, "problem")
    assert answer.body["instance"] == f"urn:uuid:{answer.headers['x-request-id']}"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/decisions/unknown", 404, "decision-unknown"),
        ("/v1/decisions/", 404, "server-path"),
        ("/v1/decisions/a?limit=1", 400, "server-parameter"),
        ("/v1/lessons?limit=0", 400, "server-parameter"),
        ("/v1/lessons?limt=3", 400, "server-parameter"),
        ("/v1/lessons?after=nowhere", 422, "store-unknown"),
        ("/v1/lessons?signature=zz", 400, "server-parameter"),
        ("/v1/evaluate", 405, "server-method"),
    ],
)
def test_reads_say_what_is_wrong(gate: Gate, path: str, status: int, code: str) -> None:
    """A parameter that is not known is never ignored: its reader would take the answer for another one."""
    answer = gate.get(path)
    assert (answer.status, answer.code) == (status, code)


def test_all_errors_come_at_once(gate: Gate, candidate: dict[str, Any]) -> None:
    """As on the command line, with the JSON pointer of each."""
    candidate["reflection"]["confidence"] = 2
    del candidate["record"]["outcome"]
    body = gate.post("/v1/evaluate", candidate).body
    assert sorted(error["pointer"] for error in body["errors"]) == ["/record", "/reflection/confidence"]


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"content-type": "text/plain"}, 415, "server-media"),
        ({"content-type": "application/x-www-form-urlencoded"}, 415, "server-media"),
        ({"content-encoding": "gzip"}, 415, "server-encoding"),
        ({"host": "gate.example.org"}, 421, "server-host"),
        ({"host": "localhost.example.org:80"}, 421, "server-host"),
    ],
)
def test_pages_of_other_sites_get_nothing_done(gate: Gate, headers: dict[str, str], status: int, code: str) -> None:
    """Without tokens: neither what a form can send nor a name that was pointed at this machine is taken."""
    answer = gate.ask("POST", "/v1/evaluate", b"{}", headers)
    assert (answer.status, answer.code) == (status, code)


def test_the_server_tells_how_it_is(gate: Gate) -> None:
    """Alive, ready, and what it has done; statuses have a schema."""
    for path, status in (("/healthz", "alive"), ("/readyz", "ready")):
        answer = gate.get(path)
        schemas.check("server-status", answer.body, "status")
        assert (answer.status, answer.body["status"]) == (200, status)
    told = gate.get("/metrics").body.decode()
    assert 'reflectgate_server_requests_total{route="GET /readyz",status="200"}' in told
    assert "reflectgate_server_policies_loaded 1.0" in told


def test_the_log_has_no_payload(gate: Gate, candidate: dict[str, Any]) -> None:
    """Who asked what route, how it ended and how long it took; nothing of what was sent, also where it is wrong."""
    candidate["reflection"]["scope"] = "task:sesame-one"
    candidate["sesame-two"] = "sesame-three"
    gate.post("/v1/evaluate", candidate)
    gate.get("/v1/decisions/sesame-four")
    gate.get("/sesame-five?sesame-six=sesame-seven")
    answer = gate.ask("GET", "/healthz", headers={"authorization": "Bearer sesame-eight"})
    name = answer.headers["x-request-id"]
    line = gate.line(id=name)
    assert "sesame" not in json.dumps(gate.lines)
    assert {"time", "event", "id", "route", "status", "ms", "read", "wrote", "address"} == line.keys()
    assert gate.other == []
