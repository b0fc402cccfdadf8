"""The application without a socket: what it does when there is too much, too often, for too long, or something unforeseen."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reflect_gate import Bundle
from reflect_gate.errors import ReflectGateError
from reflect_gate.serving import app as module
from reflect_gate.serving.app import Bounds, Service
from reflect_gate.serving.calls import Answer, Given
from reflect_gate.serving.desk import Desk
from reflect_gate.serving.policies import WatchedPolicies
from reflect_gate.serving.routes import ROUTES
from reflect_gate.serving.tokens import TokenFile, Tokens
from reflect_gate.serving.workers import Workers
from reflect_store import open_store

from .test_units import begin


class Told(NamedTuple):
    """What the application sent."""

    status: int
    headers: dict[str, str]
    body: Any


class World(NamedTuple):
    """A service and what is behind it."""

    service: Service
    workers: Workers

    def ask(self, method: str, path: str, parts: Sequence[bytes] = (), **headers: str) -> Told:
        """Send one request and return the answer."""
        return asyncio.run(self.asked(method, path, parts, **headers))

    async def asked(self, method: str, path: str, parts: Sequence[bytes] = (), **headers: str) -> Told:
        """Send one request in a loop that runs."""
        waiting = list(parts)
        sent: list[Any] = []
        known = {"host": "localhost:1", "content-type": "application/json", **headers}
        if parts and "content_length" not in headers:
            known["transfer-encoding"] = "chunked"
        scope = {
            "type": "http",
            "method": method,
            "path": path.partition("?")[0],
            "query_string": path.partition("?")[2].encode(),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in known.items()],
            "client": ("192.0.2.7", 1),
        }

        async def receive() -> dict[str, Any]:
            if not waiting:
                await asyncio.sleep(3_600)
            return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting) or parts[-1:] == [b"..."]}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.service.app(scope, receive, send)
        told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Told(sent[0]["status"], told, json.loads(b"".join(message.get("body", b"") for message in sent[1:]) or b"null"))


Make = Callable[..., World]


@pytest.fixture
def make(structured: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Make services with bounds of their own, on a store of their own."""
    monkeypatch.setenv("REFLECT_GATE_STORE", str(tmp_path / "store.db"))
    open_store(tmp_path / "store.db", create=True).close()
    made: list[World] = []

    def build(waiting: int = 8, threads: int = 1, load: Callable[[], Bundle] = lambda: structured, **bounds: Any) -> World:
        policies = WatchedPolicies(load, 0.0)
        workers = Workers(threads, waiting, lambda: Desk(policies))
        tokens = Tokens(TokenFile(tmp_path / "tokens.json"), required=False)
        made.append(World(Service(policies, tokens, workers, Bounds(**{"rate": 0.0, **bounds}), waiting), workers))
        return made[-1]

    yield build
    for world in made:
        world.workers.close()


def test_bodies_of_all_requests_are_bounded_together(make: Make) -> None:
    """Many large bodies at once are more memory than one of them shows; afterwards there is room again."""
    world = make(held_bytes=100, body_seconds=5.0)

    async def both() -> tuple[Told, Told]:
        slow = asyncio.create_task(world.asked("POST", "/v1/retrieve", [b" " * 90, b"..."]))
        await asyncio.sleep(0.05)
        second = await world.asked("POST", "/v1/retrieve", [b" " * 20])
        slow.cancel()
        return second, await asyncio.gather(slow, return_exceptions=True)  # type: ignore[return-value]

    second, _ = asyncio.run(both())
    assert (second.status, second.body["code"], second.headers["retry-after"]) == (503, "server-busy", "1")
    assert world.ask("POST", "/v1/retrieve", [b'{"text": "pagination cursor"}']).status == 200


def test_more_than_the_rate_is_told_when_to_come_again(make: Make) -> None:
    """429 with a time; an address of its own, and no body is read for it."""
    world = make(rate=0.5, burst=2.0)
    assert [world.ask("GET", "/healthz").status for _ in range(3)] == [200, 200, 429]
    told = world.ask("POST", "/v1/evaluate", [b"{}"])
    assert (told.body["code"], told.headers["retry-after"]) == ("server-rate", "2")


def test_work_that_takes_too_long_is_not_waited_for(make: Make) -> None:
    """The client is told to come again; what waits behind it is refused where too much waits, and the server says not ready."""
    world = make(waiting=1, work_seconds=0.05)
    begun, held = threading.Event(), threading.Event()
    try:
        world.workers.submit(lambda _: begin(begun, held))
        assert begun.wait(60)
        late = world.ask("GET", "/v1/lessons")
        assert (late.status, late.body["code"]) == (503, "server-timeout")
        assert world.workers.waiting == 1
        assert world.ask("GET", "/v1/lessons").body["code"] == "server-busy"
        assert world.ask("GET", "/readyz").body["code"] == "server-busy"
        assert world.ask("GET", "/healthz").status == 200
    finally:
        held.set()


def test_what_nobody_foresaw_tells_nothing(
    make: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 500; the message of the error, which may repeat a request, is neither answered nor logged."""

    def fail(_desk: Desk, _given: Given) -> Answer:
        raise RuntimeError("sesame")

    routes = tuple(route._replace(run=fail) if route.path == "/v1/lessons" else route for route in ROUTES)
    monkeypatch.setattr(module, "ROUTES", routes)
    told = make().ask("GET", "/v1/lessons")
    log = capsys.readouterr().err
    assert (told.status, told.body["code"]) == (500, "internal")
    assert "sesame" not in json.dumps(told.body) + log
    fault = json.loads(log.splitlines()[0])
    assert (fault["event"], fault["error"], fault["at"].partition(":")[0]) == ("fault", "RuntimeError", "test_app.py")
    assert fault["id"] in told.body["errors"][0]["message"]


def test_a_broken_policy_judges_nothing(make: Make, candidate: dict[str, Any]) -> None:
    """R-P3: 503 with the errors of the loader for everything that judges; not ready; what was decided can still be read."""

    def load() -> Bundle:
        raise ReflectGateError("rule-unknown", "no rule `x`")

    world = make(load=load)
    for path in ("/v1/evaluate", "/v1/evaluate?store=true&apply=true", "/v1/retrieve", "/v1/record"):
        body = {"outcome": "worse", "exit_code": 1, "lessons": ["x"]} if path == "/v1/record" else candidate
        told = world.ask("POST", path, [json.dumps({"text": "x"} if path == "/v1/retrieve" else body).encode()])
        assert (told.status, told.body["code"]) == (503, "rule-unknown"), path
    assert world.ask("GET", "/readyz").status == 503
    assert world.ask("GET", "/v1/lessons").body["lessons"] == []


def test_a_store_that_is_gone_is_not_made_anew(make: Make, tmp_path: Path) -> None:
    """What would be committed to an empty store instead would be lost to everybody who looks for it."""
    world = make()
    assert world.ask("GET", "/v1/lessons").status == 200
    for path in tmp_path.glob("store.db*"):
        path.unlink()
    told = world.ask("GET", "/v1/lessons")
    assert (told.status, told.body["code"]) == (503, "store-missing")
    assert world.ask("GET", "/readyz").body["code"] == "store-missing"
    assert not (tmp_path / "store.db").exists()
    open_store(tmp_path / "store.db", create=True).close()
    assert world.ask("GET", "/v1/lessons").status == 200
