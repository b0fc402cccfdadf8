"""`--server URL`: the same exit codes and the same bytes as where it is done here."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from reflect_gate.cli._server import PLAINTEXT_VARIABLE, TOKEN_VARIABLE

from ..capture.world import FAILURE
from .conftest import Run
from .gate import Gate


def written(folder: Path, name: str, document: object) -> str:
    """Write a document as JSON and return its path."""
    path = folder / name
    path.write_text(json.dumps(document))
    return str(path)


def refused(candidate: dict[str, Any]) -> dict[str, Any]:
    """Return the request without evidence."""
    changed = copy.deepcopy(candidate)
    changed["reflection"]["evidence_ids"] = []
    return changed


def both(run: Run, gate: Gate, *arguments: str) -> tuple[int, bytes, str]:
    """Run a command there and here, hold the two to each other, and return what they said."""
    there = run(*arguments, "--server", gate.url)
    here = run(*arguments)
    assert (there.code, there.out, there.err) == (here.code, here.out, here.err)
    return here


@pytest.mark.parametrize("format_", ["text", "json", "ndjson"])
def test_one_request(run: Run, gate: Gate, candidate: dict[str, Any], tmp_path: Path, format_: str) -> None:
    """Admitted, refused, invalid and no JSON at all: output, errors and exit code."""
    documents = {"good.json": candidate, "bad.json": refused(candidate), "invalid.json": {"record": 1}}
    codes = [both(run, gate, "evaluate", written(tmp_path, *each), "--format", format_)[0] for each in documents.items()]
    (tmp_path / "text.json").write_text("{")
    codes.append(both(run, gate, "evaluate", str(tmp_path / "text.json"), "--format", format_)[0])
    assert codes == [0, 5, 3, 3]


@pytest.mark.parametrize("format_", ["text", "json", "ndjson"])
def test_many_requests(run: Run, gate: Gate, candidate: dict[str, Any], tmp_path: Path, format_: str) -> None:
    """In their order, each with its place, and the summary."""
    lines = [json.dumps(each) for each in (candidate, refused(candidate), {"record": 1}, candidate)]
    (tmp_path / "all.ndjson").write_text("\n".join([*lines, "{"]))
    done = both(run, gate, "evaluate", str(tmp_path / "all.ndjson"), "--format", format_, "--explain")
    assert done[0] == 3
    assert "line 3" in done[2] or ":3" in done[2]


def test_against_the_store_and_committed(run: Run, gate: Gate, candidate: dict[str, Any], tmp_path: Path) -> None:
    """What the server commits is in its store, and committing again is known there and here."""
    candidate["record"]["failure_id"] = "remote-1"
    path = written(tmp_path, "request.json", candidate)
    first = run("evaluate", path, "--apply", "--server", gate.url, "--format", "json")
    assert json.loads(first.out)["applied"]["events"]
    again = both(run, gate, "evaluate", path, "--apply", "--format", "json")
    assert json.loads(again[1])["applied"]["action"] == "known"
    both(run, gate, "evaluate", written(tmp_path, "refused.json", refused(candidate)), "--store")


@pytest.mark.parametrize("format_", ["text", "json", "context"])
def test_lessons_for_a_task(run: Run, gate: Gate, candidate: dict[str, Any], tmp_path: Path, format_: str) -> None:
    """R-h1: found and not found; and what was shown is logged by the server."""
    candidate["record"]["failure_id"] = "remote-2"
    run("evaluate", written(tmp_path, "request.json", candidate), "--apply", "--server", gate.url)
    asked = ("retrieve", "load_cart() may return None for a new session", "--format", format_, "--limit", "2")
    assert both(run, gate, *asked, "--no-log")[0] == 0
    assert both(run, gate, "retrieve", "sharpen the pencils of the choir", "--no-log", "--format", format_)[0] == 4
    logged = run(*asked, "--server", gate.url)
    assert (logged.code, b"retrieval" in logged.out) == (0, True)


def test_the_outcome_of_a_task(run: Run, gate: Gate, candidate: dict[str, Any], tmp_path: Path) -> None:
    """R-i1: recorded once there, known here; a report of tests is read here and its counts are sent."""
    candidate["record"]["failure_id"] = "remote-3"
    path = written(tmp_path, "request.json", candidate)
    lesson = json.loads(run("evaluate", path, "--apply", "--format", "json").out)["applied"]["lesson_id"]
    (tmp_path / "junit.xml").write_text('<testsuite tests="2"><testcase name="a"/><testcase name="b"/></testsuite>')
    asked = ["record", "--lesson", lesson, "--task", "remote-3", "--outcome", "resolved", "--before", "failing"]
    first = run(*asked, "--report", str(tmp_path / "junit.xml"), "--format", "json", "--server", gate.url)
    assert (first.code, json.loads(first.out)["added"], json.loads(first.out)["executed"]) == (0, True, True)
    for format_ in ("json", "text"):
        both(run, gate, *asked, "--report", str(tmp_path / "junit.xml"), "--format", format_)
    assert both(run, gate, *asked, "--exit-code", "1")[0] == 3
    assert both(run, gate, "record", "--retrieval", "unknown", "--outcome", "worse", "--exit-code", "1")[0] == 3


def test_a_failure_is_captured(run: Run, gate: Gate, tmp_path: Path) -> None:
    """R-t1: kept by the server; what is not valid, or switched off, is said as it is here."""
    path = written(tmp_path, "failure.json", {**FAILURE, "failure_id": "remote-4"})
    assert run("capture", path, "--server", gate.url).code == 0
    assert "duplicate" in both(run, gate, "capture", path)[2]
    assert both(run, gate, "capture", path, "--trigger", "low_quality", "--format", "json")[0] == 0
    assert both(run, gate, "capture", written(tmp_path, "wrong.json", {"failure_id": 1}))[0] == 3


def test_secrets_stay_here(run: Run, tmp_path: Path, answering: Answering) -> None:
    """A capture is sent without the secrets in it, and says how many there were."""
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"  # noqa: S105 - the form of a token, and none
    failure = copy.deepcopy(FAILURE)
    failure["traces"][0]["text"] += f" token {secret}"
    done = run("capture", written(tmp_path, "failure.json", failure), "--server", answering.url)
    assert done.code == 0
    assert "1 secrets were replaced" in done.err
    assert answering.bodies
    assert secret not in answering.bodies[0]


@pytest.mark.parametrize(
    "options",
    [
        ("--bundle", "introspect"),
        ("--set", "grounding.min_anchor_overlap=0.6"),
        ("--disable", "blame"),
        ("--engine", "compiled"),
        ("--store=other.db",),
        ("--jobs", "2"),
        ("--shadow", "introspect"),
    ],
)
def test_how_to_judge_is_the_servers(run: Run, gate: Gate, options: tuple[str, ...]) -> None:
    """An option that would have no effect is an error; the variable of a default bundle is not."""
    done = run("evaluate", "request.json", "--server", gate.url, *options)
    assert done.code == 64


def test_the_variable_of_a_bundle_is_for_here(
    run: Run, gate: Gate, candidate: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is set for all commands of a shell, and says nothing of a server."""
    monkeypatch.setenv("REFLECT_GATE_BUNDLE", "introspect")
    done = run("evaluate", written(tmp_path, "request.json", candidate), "--server", gate.url, "--format", "json")
    assert json.loads(done.out)["bundle"]["name"] == "structured"


@pytest.mark.parametrize("url", ["gate", "ftp://gate", "http://", "http://user:word@gate", "http://gate?x=1", "http://[gate"])
def test_a_url_that_is_none_is_a_wrong_use(run: Run, tmp_path: Path, candidate: dict[str, Any], url: str) -> None:
    """Exit code 64, and no part of a password in it is printed."""
    done = run("evaluate", written(tmp_path, "request.json", candidate), "--server", url)
    assert done.code == 64
    assert "word" not in done.err.replace("password", "")


def test_a_server_that_is_not_there(run: Run, tmp_path: Path, candidate: dict[str, Any]) -> None:
    """Exit code 1, at once, also in the middle of a batch: nothing was judged, and nothing is said to be invalid."""
    (tmp_path / "all.ndjson").write_text("\n".join([json.dumps(candidate)] * 3))
    done = run("evaluate", str(tmp_path / "all.ndjson"), "--server", "http://127.0.0.1:9")
    assert done.code == 1
    assert done.err.count("[server-unreachable]") == 1


# -- a server that answers as a test wants ---------------------------------------------------------------------------------


class Answering:
    """A server that gives the same answers in turn, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.bodies: list[str] = []
        self.headers: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.bodies.append(self.rfile.read(int(self.headers["content-length"])).decode())
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                status, headers, body = outer.answers.pop(0) if outer.answers else (200, {}, CAPTURED)
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


CAPTURED = json.dumps(
    {
        "schema": "urn:reflect-gate:schema:capture-report:1",
        "job_id": "0" * 16,
        "outcome": "queued",
        "failure_id": "cart-1",
        "trigger": "error",
        "route": "15reflect",
        "reason": "",
        "secrets": 0,
        "cut": 0,
        "dropped": [],
    }
).encode()


@pytest.fixture
def answering() -> Iterator[Answering]:
    """A server of this test's own."""
    server = Answering()
    yield server
    server.close()


def problem(status: int, code: str, retry: str = "") -> tuple[int, dict[str, str], bytes]:
    """Return an answer that says no."""
    error = {"code": code, "message": "no", "file": "", "line": 0, "column": 0, "pointer": ""}
    return status, {"retry-after": retry} if retry else {}, json.dumps({"code": code, "errors": [error]}).encode()


def test_a_busy_server_is_asked_again(run: Run, tmp_path: Path, answering: Answering) -> None:
    """When it says so, and not for ever."""
    path = written(tmp_path, "failure.json", FAILURE)
    answering.answers = [problem(503, "server-busy", "0"), problem(429, "server-rate", "0")]
    assert run("capture", path, "--server", answering.url).code == 0
    assert len(answering.bodies) == 3
    answering.answers = [problem(503, "server-busy", "0")] * 9
    done = run("capture", path, "--server", answering.url)
    assert (done.code, len(answering.bodies)) == (1, 8)
    assert "[server-busy]" in done.err


@pytest.mark.parametrize(
    "answer",
    [(200, {}, b"<html>"), (200, {}, b"[]"), (502, {}, b"bad gateway"), (500, {}, b"{}"), (500, {}, b'{"errors":[1]}')],
)
def test_what_is_no_answer_is_an_error(run: Run, tmp_path: Path, answering: Answering, answer: tuple[int, Any, bytes]) -> None:
    """Something else that listens there is told from a server of ours."""
    answering.answers = [answer]
    done = run("capture", written(tmp_path, "failure.json", FAILURE), "--server", answering.url)
    assert done.code == 1
    assert "[server-answer]" in done.err


@pytest.mark.parametrize(
    "leaf",
    [
        {"line": "x"},
        {"line": 1e300},
        {"line": -1},
        {"column": 10**18},
        {"line": [1]},
        {"code": "a\x1b[31m"},
        {"code": "a\nerror: b"},
    ],
)
def test_a_problem_of_another_form_is_no_answer(run: Run, tmp_path: Path, answering: Answering, leaf: dict[str, object]) -> None:
    """A place that is none, and a code that would be read as something else where it is printed."""
    error = {"code": "schema", "message": "no", "file": "", "line": 0, "column": 0, "pointer": "", **leaf}
    answering.answers = [(422, {}, json.dumps({"code": "schema", "errors": [error]}).encode())]
    done = run("capture", written(tmp_path, "failure.json", FAILURE), "--server", answering.url)
    assert (done.code, "[server-answer]" in done.err) == (1, True)


@pytest.mark.parametrize("changed", [{"exit_code": 2}, {"exit_code": 5}, {"status": "kept"}, {"lesson": 1}, {"more": 1}])
@pytest.mark.parametrize("format_", ["text", "json"])
def test_a_decision_of_another_form_is_not_believed(
    run: Run, tmp_path: Path, answering: Answering, candidate: dict[str, Any], changed: dict[str, object], format_: str
) -> None:
    """A server says what the command exits with: 2 would block a harness, and 5 is no code of what was admitted."""
    path = written(tmp_path, "request.json", candidate)
    decision = json.loads(run("evaluate", path, "--format", "json").out)
    answering.answers = [(200, {}, json.dumps(decision).encode()), (200, {}, json.dumps({**decision, **changed}).encode())]
    codes = [run("evaluate", path, "--server", answering.url, "--format", format_).code for _ in range(2)]
    assert codes == [0, 1]


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "a..b", "127.0.0.1:9/\u00e9"])
def test_an_address_that_cannot_be_written_cannot_be_reached(
    run: Run, tmp_path: Path, candidate: dict[str, Any], host: str
) -> None:
    """Names have a longest label, and a path is ASCII."""
    done = run("evaluate", written(tmp_path, "request.json", candidate), "--server", f"http://{host}")
    assert (done.code, "[server-unreachable]" in done.err) == (1, True)


def test_the_token_is_sent_and_never_shown(
    run: Run, tmp_path: Path, answering: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the server alone, and over plain HTTP to this machine alone."""
    path = written(tmp_path, "failure.json", FAILURE)
    monkeypatch.setenv(TOKEN_VARIABLE, "rgt_sesame")
    answering.answers = [problem(401, "server-token")]
    done = run("capture", path, "--server", answering.url)
    assert answering.headers[0]["authorization"] == "Bearer rgt_sesame"
    refusals = [run("capture", path, "--server", "http://gate.example.invalid")]
    monkeypatch.setenv(TOKEN_VARIABLE, "two sesame")
    refusals.append(run("capture", path, "--server", answering.url))
    assert [done.code, *(each.code for each in refusals)] == [1, 1, 1]
    assert "[server-plaintext]" in refusals[0].err
    assert PLAINTEXT_VARIABLE in refusals[0].err
    assert all("sesame" not in each.err + each.out.decode() for each in (done, *refusals))
