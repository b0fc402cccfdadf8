"""The HTTP side: who may ask, how much and how often, then the work in a thread, then the answer and one line of log."""

from __future__ import annotations

import asyncio
import functools
import math
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple, NoReturn

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as Path_

from .._canonical import canonical_bytes
from ..errors import ReflectGateError
from .calls import Answer, Given
from .desk import Desk
from .limiting import Buckets
from .logs import fault, log
from .metrics import ServerMetrics
from .openapi import document
from .policies import WatchedPolicies
from .problems import MEDIA, Problem, problem_of, refused
from .routes import ROUTES, Route, parameters_of
from .tokens import Token, Tokens
from .watching import QueueWatch
from .workers import Workers

__all__ = ["Bounds", "Service"]

_LOOPBACK: Final = frozenset(("127.0.0.1", "localhost", "[::1]"))
_STATUS_SCHEMA: Final = "urn:reflect-gate:schema:server-status:1"
_DISCARDED: Final = 16 * 1024 * 1024
_DISCARD_SECONDS: Final = 1.0
_NO_ROUTE: Final = "-"
_READY_SECONDS: Final = 1.0
_CLOSED: Final = 499


class Bounds(NamedTuple):
    """What requests may take: bytes of one body, seconds for it to come and for the work, and how often one asks.

    `rate` is requests a second of one token, or of one address where there is none; 0 is without limit. `burst` may come at once.
    `held_bytes` are those of all bodies that are in memory at once.
    """

    request_bytes: int = 8_388_608
    body_seconds: float = 30.0
    work_seconds: float = 60.0
    rate: float = 100.0
    burst: float = 200.0
    held_bytes: int = 268_435_456


class _RefusedError(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


class _Seen:
    """What is known of one request, for its answer and its line of log."""

    def __init__(self, request: Request, route: str) -> None:
        self.id = str(uuid.uuid4())
        self.route = route
        self.started = time.perf_counter()
        self.address = request.client.host if request.client else ""
        self.token = ""
        self.read = 0
        self.said = ""
        headers = request.headers
        self.unread = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def _refuse(code: str, message: str, retry: float = 0.0) -> NoReturn:
    raise _RefusedError(refused(code, message, retry))


class Service:
    """The ASGI application, and all that it needs."""

    def __init__(self, policies: WatchedPolicies, tokens: Tokens, workers: Workers, bounds: Bounds, waiting: int) -> None:
        self._policies = policies
        self._tokens = tokens
        self._workers = workers
        self._bounds = bounds
        self._most_waiting = waiting
        self._buckets = Buckets(bounds.rate, bounds.burst)
        # Who fails to come in is slowed down apart, so that a token's owner behind the same address is not.
        self._strangers = Buckets(1.0, 20.0)
        self._ready_at: tuple[float, Problem | None] = (-math.inf, None)
        self._ready_lock = asyncio.Lock()
        self._held = 0
        self.draining = False
        self._queue = QueueWatch()
        self.metrics = ServerMetrics(lambda: float(workers.waiting), self._loaded, self._queue)
        self._own = {"/healthz": self._health, "/readyz": self._readiness, "/metrics": self._told, "/openapi.json": self._openapi}
        self.app = Starlette(
            routes=[Path_(route.path, functools.partial(self._handle, route), methods=[route.method]) for route in ROUTES],
            exception_handlers={HTTPException: self._astray},
        )
        self.app.router.redirect_slashes = False

    def close(self) -> None:
        """Release what was opened to be looked at."""
        self._queue.close()

    # -- one request -----------------------------------------------------------------------------------------------------

    async def _handle(self, route: Route, request: Request) -> Response:
        seen = _Seen(request, route.name)
        self.metrics.open.inc()
        try:
            answer = await self._answer(route, request, seen)
            seen.said = answer.said
            return self._respond(seen, 200, answer.body, route.media)
        except _RefusedError as error:
            return await self._refusal(request, seen, error.problem)
        except ReflectGateError as error:
            return await self._refusal(request, seen, problem_of(error))
        except ClientDisconnect:
            seen.unread = True
            return self._respond(seen, _CLOSED, b"", MEDIA)
        except Exception as error:  # noqa: BLE001 - the last resort: whoever asks hears no more than that it failed
            log("fault", id=seen.id, route=seen.route, **fault(error))
            return await self._refusal(request, seen, refused("internal", f"internal error: the log has it under `{seen.id}`"))
        finally:
            self._held -= seen.read
            self.metrics.open.dec()

    async def _astray(self, request: Request, error: Exception) -> Response:
        """Answer what no route takes."""
        seen = _Seen(request, _NO_ROUTE)
        status = error.status_code if isinstance(error, HTTPException) else 404
        if status == 405:
            allowed = (error.headers or {}).get("Allow", "") if isinstance(error, HTTPException) else ""
            problem = refused("server-method", f"this path takes {allowed} alone")
            return await self._refusal(request, seen, problem, {"allow": allowed})
        return await self._refusal(request, seen, refused("server-path", "no such path: /openapi.json tells which there are"))

    async def _answer(self, route: Route, request: Request, seen: _Seen) -> Answer:
        token = self._admit(route, request, seen)
        self._slow_down(token.id if token else seen.address)
        parameters = parameters_of(route, request.query_params.multi_items(), request.path_params)
        if parameters.get("apply"):
            self._allow(token, "apply")
        if route.run is None:
            return await self._own[route.path]()
        body = await self._body(request, seen) if route.method == "POST" else b""
        return await self._worked(route, Given(body, parameters))

    async def _worked(self, route: Route, given: Given) -> Answer:
        run = route.run
        assert run is not None  # noqa: S101 - for the type checker: `_answer` has looked
        future = self._workers.submit(lambda desk: run(desk, given))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._bounds.work_seconds)
        except TimeoutError:
            _refuse("server-timeout", f"not done within {self._bounds.work_seconds:g} seconds", 5.0)

    # -- who may ask, and how often --------------------------------------------------------------------------------------

    def _admit(self, route: Route, request: Request, seen: _Seen) -> Token | None:
        """Return whose request it is, `None` where nobody needs a token."""
        if route.scope is None:
            return None
        if not self._needs_token():
            # A page of another site could otherwise reach a server on this machine under a name of its own.
            host = request.headers.get("host", "")
            if host.rpartition(":")[0] not in _LOOPBACK and host not in _LOOPBACK:
                _refuse("server-host", "without tokens the server answers to localhost, 127.0.0.1 and [::1] alone")
            return None
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        token = self._tokens.holder(given.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            wait = self._strangers.take(seen.address)
            if wait:
                _refuse("server-rate", "too many requests without a valid token", wait)
            _refuse("server-token", "a valid bearer token is needed")
        seen.token = token.id
        self._allow(token, route.scope)
        return token

    def _needs_token(self) -> bool:
        try:
            return self._tokens.required
        except ReflectGateError as error:
            # Whoever asks has shown no token yet: where the file lies and what is wrong with it is not for them.
            log("tokens", code=error.code, message=error.message)
            _refuse("tokens-file", "the tokens cannot be read: the log says more", 5.0)

    @staticmethod
    def _allow(token: Token | None, scope: str) -> None:
        if token is not None and scope not in token.scopes:
            _refuse("server-scope", f"the token `{token.id}` does not have the scope `{scope}`")

    def _slow_down(self, key: str) -> None:
        wait = self._buckets.take(key)
        if wait:
            _refuse("server-rate", f"more than {self._bounds.rate:g} requests a second", wait)

    # -- the body --------------------------------------------------------------------------------------------------------

    async def _body(self, request: Request, seen: _Seen) -> bytes:
        most, headers = self._bounds.request_bytes, request.headers
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            _refuse("server-media", "the body is JSON: send `Content-Type: application/json`")
        if headers.get("content-encoding", "identity").lower() != "identity":
            _refuse("server-encoding", "the body comes as it is, without `Content-Encoding`")
        if int(headers.get("content-length", "0")) > most:
            _refuse("document-size", f"more than {most} bytes")
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(self._bounds.body_seconds):
                async for part in request.stream():
                    seen.read += len(part)
                    self._held += len(part)
                    if seen.read > most:
                        _refuse("document-size", f"more than {most} bytes")
                    if self._held > self._bounds.held_bytes:
                        _refuse("server-busy", "the server holds as many bytes of requests as it may: try again", 1.0)
                    parts.append(part)
        except TimeoutError:
            _refuse("server-body", f"the body did not come within {self._bounds.body_seconds:g} seconds")
        seen.unread = False
        return b"".join(parts)

    @staticmethod
    async def _discard(request: Request, seen: _Seen) -> None:
        """Take in some of a body that nobody reads: closing upon it could cost the sender the answer."""
        if "expect" in request.headers:
            return
        left = _DISCARDED
        with suppress(TimeoutError, ClientDisconnect, RuntimeError):
            async with asyncio.timeout(_DISCARD_SECONDS):
                async for part in request.stream():
                    left -= len(part)
                    if left < 0:
                        return
                seen.unread = False

    # -- the answer ------------------------------------------------------------------------------------------------------

    async def _refusal(
        self, request: Request, seen: _Seen, problem: Problem, headers: Mapping[str, str] | None = None
    ) -> Response:
        if seen.unread and problem.code != "server-body":
            await self._discard(request, seen)
        more = dict(headers or {})
        if problem.status == 401:
            more["www-authenticate"] = 'Bearer realm="reflect-gate"'
        if problem.retry:
            more["retry-after"] = str(math.ceil(problem.retry))
        body = canonical_bytes(problem.to_json(seen.id)) + b"\n"
        return self._respond(seen, problem.status, body, MEDIA, more, code=problem.code)

    def _respond(
        self,
        seen: _Seen,
        status: int,
        body: bytes,
        media: str,
        headers: Mapping[str, str] | None = None,
        code: str = "",
    ) -> Response:
        seconds = time.perf_counter() - seen.started
        self.metrics.count(seen.route, status, seconds, seen.said)
        told: dict[str, Any] = {"token": seen.token, "code": code, "outcome": seen.said}
        log(
            "request",
            id=seen.id,
            route=seen.route,
            status=status,
            ms=round(seconds * 1000, 3),
            read=seen.read,
            wrote=len(body),
            address=seen.address,
            **{key: value for key, value in told.items() if value},
        )
        sent = {"x-request-id": seen.id, "cache-control": "no-store", "x-content-type-options": "nosniff", **(headers or {})}
        if seen.unread:
            sent["connection"] = "close"
        return Response(body, status, sent, media)

    # -- what the server answers itself ----------------------------------------------------------------------------------

    async def _health(self) -> Answer:
        return Answer(canonical_bytes({"schema": _STATUS_SCHEMA, "status": "alive"}) + b"\n", "")

    async def _openapi(self) -> Answer:
        return Answer(canonical_bytes(document()) + b"\n", "")

    async def _told(self) -> Answer:
        # Not by a worker: metrics are wanted most when all of them are busy.
        return Answer(await asyncio.to_thread(self.metrics.text), "")

    async def _readiness(self) -> Answer:
        if self.draining:
            _refuse("server-busy", "the server is ending", 5.0)
        if self._workers.waiting >= self._most_waiting:
            _refuse("server-busy", "as many requests wait as the server takes", 1.0)
        async with self._ready_lock:
            if time.monotonic() - self._ready_at[0] >= _READY_SECONDS:
                self._ready_at = (time.monotonic(), await asyncio.to_thread(self._unready))
        if self._ready_at[1] is not None:
            raise _RefusedError(self._ready_at[1])
        return Answer(canonical_bytes({"schema": _STATUS_SCHEMA, "status": "ready"}) + b"\n", "")

    def _unready(self) -> Problem | None:
        desk = Desk(self._policies)
        try:
            self._policies.bundle()
            with desk.store() as store:
                store.head()
        except ReflectGateError as error:
            found = problem_of(error)
            # Whoever may ask this has no token: which file is broken is for the log and for those who have one.
            log("unready", code=found.code)
            return Problem(503, (ReflectGateError(found.code, "not ready: the log says more"),), 5.0)
        finally:
            desk.close()
        return None

    def _loaded(self) -> float:
        try:
            self._policies.bundle()
        except ReflectGateError:
            return 0.0
        return 1.0
