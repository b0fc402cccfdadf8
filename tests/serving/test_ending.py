"""A server that ends, and one whose policies change while it runs."""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_gate.resources import data_path

from .gate import Gate, environment

pytestmark = pytest.mark.skipif(os.name != "posix", reason="ends the server by a signal")

_PATIENCE = 30.0


def begun(gate: Gate, body: bytes) -> socket.socket:
    """Send a request but for the last byte of its body."""
    connection = socket.create_connection((gate.host, gate.port), timeout=_PATIENCE)
    head = f"POST /v1/evaluate HTTP/1.1\r\nhost: {gate.host}\r\ncontent-type: application/json\r\n"
    connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body[:-1])
    return connection


def everything(connection: socket.socket) -> bytes:
    """Return what comes until the server closes."""
    found = b""
    while data := connection.recv(65_536):
        found += data
    return found


def until(gate: Gate, path: str, status: int) -> None:
    """Ask until the answer has a status; a server that is gone fails the test."""
    end = time.monotonic() + _PATIENCE
    while gate.get(path).status != status:
        assert time.monotonic() < end


def test_what_has_begun_is_finished(tmp_path: Path, bundle_cache: Path, candidate: dict[str, Any]) -> None:
    """After SIGTERM: not ready while it still takes requests, then nothing new; what came before is answered; exit code 0."""
    body = json.dumps(candidate).encode()
    with Gate(environment(tmp_path, bundle_cache), "--drain-delay", "2") as gate:
        with begun(gate, body) as connection:
            gate.process.terminate()
            until(gate, "/readyz", 503)
            assert gate.post("/v1/evaluate", candidate).status == 200
            gate.line(event="draining")
            with pytest.raises(OSError, match=r".") as refused:
                gate.get("/healthz")
            assert isinstance(refused.value, ConnectionError)
            connection.sendall(body[-1:])
            found = everything(connection)
        assert gate.process.wait(_PATIENCE) == 0
        assert gate.line(event="ended")
    assert found.startswith(b"HTTP/1.1 200 ")
    assert json.loads(found.partition(b"\r\n\r\n")[2])["status"] == "admitted"
    assert gate.other == []


def test_what_does_not_end_is_given_up(tmp_path: Path, bundle_cache: Path, candidate: dict[str, Any]) -> None:
    """A client that never goes on does not keep the server."""
    with Gate(environment(tmp_path, bundle_cache), "--drain", "1") as gate, begun(gate, json.dumps(candidate).encode()):
        assert gate.end() == 0
    assert gate.line(event="ended")


def test_policies_are_followed(tmp_path: Path, bundle_cache: Path, candidate: dict[str, Any]) -> None:
    """R-P3: a changed policy judges, a broken one judges nothing, and a repaired one judges again; without starting anew."""
    shutil.copytree(data_path("rules"), tmp_path / "rules")
    policies = tmp_path / "policies.yaml"
    shutil.copy(data_path("policies.yaml"), policies)
    good = policies.read_text()
    with Gate(environment(tmp_path / "home", bundle_cache), "--policies", str(policies)) as gate:
        first = gate.post("/v1/evaluate", candidate).body
        policies.write_text(good.replace("default: ", "defualt: ", 1))
        until(gate, "/readyz", 503)
        refused = gate.post("/v1/evaluate", candidate)
        assert (refused.status, "status" in refused.body["errors"][0]) == (503, False)
        policies.write_text(good.replace("items: 2000", "items: 1999", 1))
        until(gate, "/readyz", 200)
        second = gate.post("/v1/evaluate", candidate).body
    assert first["bundle"]["digest"] != second["bundle"]["digest"]
    assert (first["status"], second["status"]) == ("admitted", "admitted")
