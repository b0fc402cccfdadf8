"""Who may not come in, who takes too long, and who brings too much; then a server that goes on as before."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reflect_gate.serving.tokens import SCOPES, Scope, TokenFile

from .conftest import Run
from .gate import Gate, environment

HEAD = 0.6
BODY = 0.6
BYTES = 200_000
CONNECTIONS = 24


class Guarded(NamedTuple):
    """A server with tokens and narrow limits, and a token of each scope alone."""

    gate: Gate
    file: TokenFile
    tokens: Mapping[str, str]
    every: str


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, bundle_cache: Path) -> Iterator[Guarded]:
    """It listens on this machine all the same."""
    home = tmp_path_factory.mktemp("guarded")
    file = TokenFile(home / "tokens.json")
    tokens: dict[str, str] = {scope: file.add(scope, (scope,))[0] for scope in SCOPES}
    every, _ = file.add("every", SCOPES)
    limits = {"head-timeout": HEAD, "body-timeout": BODY, "request-bytes": BYTES, "connections": CONNECTIONS, "rate": 0}
    options = [word for name, value in limits.items() for word in (f"--{name}", str(value))]
    with Gate(environment(home, bundle_cache), "--tokens", str(file.path), *options) as gate:
        yield Guarded(gate, file, tokens, every)


def alive(guarded: Guarded) -> bool:
    """Return whether the server still does what it is for."""
    return guarded.gate.get("/v1/lessons", guarded.every).status == 200


# -- who -------------------------------------------------------------------------------------------------------------------

ASKED: tuple[tuple[str, str, Scope], ...] = (
    ("POST", "/v1/evaluate", "evaluate"),
    ("POST", "/v1/capture", "capture"),
    ("POST", "/v1/retrieve", "retrieve"),
    ("POST", "/v1/record", "record"),
    ("GET", "/v1/lessons", "read"),
    ("GET", "/v1/decisions/x", "read"),
    ("GET", "/metrics", "metrics"),
)


@pytest.mark.parametrize(("method", "path", "scope"), ASKED)
def test_a_token_does_what_its_scope_says_alone(guarded: Guarded, method: str, path: str, scope: Scope) -> None:
    """A token of every other scope is refused; the one of the scope comes as far as the request itself."""
    body = b"{}" if method == "POST" else None
    for other in SCOPES:
        answer = guarded.gate.ask(method, path, body, token=guarded.tokens[other])
        if other == scope:
            assert answer.status not in {401, 403}, answer
        else:
            assert (answer.status, answer.code) == (403, "server-scope")


def test_committing_takes_a_scope_of_its_own(guarded: Guarded, candidate: dict[str, Any]) -> None:
    """Who may judge may not write."""
    path = "/v1/evaluate?store=true&apply=true"
    assert guarded.gate.post(path, candidate, guarded.tokens["evaluate"]).code == "server-scope"
    assert guarded.gate.post(path, candidate, guarded.tokens["apply"]).code == "server-scope"
    assert guarded.gate.post(path, candidate, guarded.every).status == 200


def test_bad_tokens_are_refused_and_slowed_down(guarded: Guarded) -> None:
    """401 with a challenge, then 429; who has a token is not held up by those who try."""
    token = guarded.every
    for given in (
        "",
        "Bearer",
        f"Basic {token}",
        f"Bearer {token}x",
        f"Bearer  {token[:-1]}",
        "Bearer ÿ",
        f"bearer {token} {token}",
    ):
        answer = guarded.gate.ask("GET", "/v1/lessons", headers={"authorization": given})
        assert (answer.status, answer.code) == (401, "server-token"), given
        assert answer.headers["www-authenticate"].startswith("Bearer")
    answers = [guarded.gate.ask("GET", "/v1/lessons", token=f"{token}x") for _ in range(20)]
    assert {answer.code for answer in answers} == {"server-token", "server-rate"}
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert alive(guarded)


def test_what_says_nothing_of_the_store_is_open(guarded: Guarded) -> None:
    """Whoever watches a server needs no token for that."""
    assert [guarded.gate.get(path).status for path in ("/healthz", "/readyz", "/openapi.json")] == [200, 200, 200]


def test_a_revoked_token_ends_at_once(guarded: Guarded) -> None:
    """Without starting anew; the log names tokens by their ids alone."""
    text, made = guarded.file.add("short", ("read",))
    answer = guarded.gate.get("/v1/lessons", text)
    assert answer.status == 200
    assert guarded.gate.line(id=answer.headers["x-request-id"])["token"] == made.id
    guarded.file.revoke(made.id)
    assert guarded.gate.get("/v1/lessons", text).status in {401, 429}
    assert text.split("_", 2)[2] not in json.dumps(guarded.gate.lines)


def test_a_broken_file_of_tokens_closes_the_server(guarded: Guarded) -> None:
    """Nobody comes in until it is whole again, and nobody hears where it lies."""
    kept = guarded.file.path.read_bytes()
    guarded.file.path.write_bytes(b"{")
    try:
        answer = guarded.gate.get("/v1/lessons", guarded.every)
        assert (answer.status, answer.code) == (503, "tokens-file")
        assert str(guarded.file.path) not in json.dumps(answer.body)
    finally:
        guarded.file.path.write_bytes(kept)
    assert alive(guarded)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])  # noqa: S104 - what is refused
def test_other_machines_are_not_served_without_tokens(run: Run, tmp_path: Path, host: str) -> None:
    """It ends before it listens, and says how to make a token."""
    ended = run("serve", "--host", host, "--port", "0", "--tokens", str(tmp_path / "none.json"))
    assert ended.code == 1
    assert "[server-tokens]" in ended.err
    assert "serve token new" in ended.err


# -- how long --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"", "server-head"),
        (b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-a: ", "server-head"),
        (b"POST /v1/retrieve HTTP/1.1\r\n{h}content-length: 9\r\n\r\n{", "server-body"),
        (b"POST /v1/retrieve HTTP/1.1\r\n{h}transfer-encoding: chunked\r\n\r\n1\r\n{\r\n", "server-body"),
    ],
)
def test_who_does_not_go_on_is_let_go(guarded: Guarded, sent: bytes, code: str) -> None:
    """A head or a body that stops half-way ends the connection with status 408."""
    headers = f"host: x\r\ncontent-type: application/json\r\nauthorization: Bearer {guarded.every}\r\n"
    sent = sent.replace(b"{h}", headers.encode())
    found = guarded.gate.raw(sent)
    assert found.startswith(b"HTTP/1.1 408 ")
    assert json.loads(found.partition(b"\r\n\r\n")[2])["code"] == code


def test_a_byte_now_and_then_does_not_help(guarded: Guarded) -> None:
    """Slow-loris: the deadline is that of the whole head, however many bytes come before it."""
    begun = time.monotonic()
    with socket.create_connection((guarded.gate.host, guarded.gate.port), timeout=30) as connection:
        connection.settimeout(HEAD / 10)
        found = b""
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        while not found and time.monotonic() - begun < 30:
            connection.sendall(b"x-a: b\r\n")
            try:
                found = connection.recv(65_536)
            except TimeoutError:
                continue
    assert found.startswith(b"HTTP/1.1 408 ")


def test_many_who_wait_do_not_close_the_server(guarded: Guarded) -> None:
    """As many connections as may be open: one more hears so; when their time is over, others are served."""
    held = [socket.create_connection((guarded.gate.host, guarded.gate.port), timeout=30) for _ in range(CONNECTIONS)]
    try:
        for connection in held:
            connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        found = guarded.gate.raw(b"")
        assert found.startswith(b"HTTP/1.1 503 ")
        assert json.loads(found.partition(b"\r\n\r\n")[2])["code"] == "server-busy"
        for connection in held:
            assert connection.recv(65_536).startswith(b"HTTP/1.1 408 ")
    finally:
        for connection in held:
            connection.close()
    assert alive(guarded)


# -- how much --------------------------------------------------------------------------------------------------------------


def test_a_body_of_100_mb_is_refused_before_it_comes(guarded: Guarded) -> None:
    """Its length is enough to refuse it."""
    head = f"POST /v1/evaluate HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {guarded.every}\r\ncontent-type: application/json\r\n"
    found = guarded.gate.raw(head.encode(), b"content-length: 100000000\r\nexpect: 100-continue\r\n\r\n")
    assert found.startswith(b"HTTP/1.1 413 ")
    assert json.loads(found.partition(b"\r\n\r\n")[2])["code"] == "document-size"
    assert alive(guarded)


def test_a_body_of_100_mb_is_not_taken_in(guarded: Guarded) -> None:
    """Sent in chunks all the same: the server ends it long before its end, and none of it is kept."""
    head = f"POST /v1/evaluate HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {guarded.every}\r\ncontent-type: application/json\r\n"
    before = len(guarded.gate.lines)
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    sent = 0
    with socket.create_connection((guarded.gate.host, guarded.gate.port), timeout=30) as connection:
        connection.sendall(head.encode() + b"transfer-encoding: chunked\r\n\r\n")
        try:
            while sent < 100_000_000:
                connection.sendall(chunk)
                sent += 65_536
        except OSError:
            pass
    assert sent < 50_000_000
    assert guarded.gate.line(before, status=413, code="document-size")["read"] < 2 * 1024 * 1024
    assert alive(guarded)


def test_a_body_of_the_limit_is_taken(guarded: Guarded) -> None:
    """To the byte."""
    fits, larger = (b"{}" + b" " * (BYTES - 2 + more) for more in (0, 1))
    assert guarded.gate.post("/v1/retrieve", fits, guarded.every).code == "retrieval-empty"
    assert guarded.gate.post("/v1/retrieve", larger, guarded.every).code == "document-size"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nhost: x\r\nx: " + b"a" * 40_000, 400),
        (b"POST /v1/evaluate HTTP/1.1\r\nhost: x\r\ncontent-length: " + b"9" * 5_000 + b"\r\n\r\n", 400),
        (b"POST /v1/evaluate HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", 400),
        (b"POST /v1/evaluate HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", 400),
    ],
)
def test_what_is_no_http_is_refused(guarded: Guarded, sent: bytes, status: int) -> None:
    """With a problem document, and the connection is closed."""
    found = guarded.gate.raw(sent)
    assert found.startswith(f"HTTP/1.1 {status} ".encode()), found[:200]
    assert json.loads(found.partition(b"\r\n\r\n")[2])["code"] == "server-http"
    assert alive(guarded)


def test_it_goes_on_as_before(guarded: Guarded, candidate: dict[str, Any]) -> None:
    """After all of the above, many at once are judged as ever."""
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: guarded.gate.post("/v1/evaluate", candidate, guarded.every), range(24)))
    assert {answer.body["status"] for answer in answers} == {"admitted"}
    assert [line for line in guarded.gate.lines if line["event"] == "fault"] == []
