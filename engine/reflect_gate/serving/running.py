"""Running the server: a socket, uvicorn on it, deadlines for slow clients, and an end that finishes what has begun."""

from __future__ import annotations

import asyncio
import gc
import importlib
import ipaddress
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .._canonical import canonical_bytes
from ..cli._errors import store_errors
from ..config import store_path
from ..errors import ReflectGateError
from ..runtime import runtime
from .app import Bounds, Service
from .desk import Desk
from .logs import log, take_over
from .policies import CHECK_SECONDS, WatchedPolicies
from .problems import MEDIA, refused
from .tokens import TokenFile, Tokens
from .workers import Workers

if TYPE_CHECKING:
    from ..policy import Bundle

__all__ = ["Plan", "serve"]

_BACKLOG: Final = 1_024
_NEEDED: Final = (
    *("..capture.capturing", "..cli._against", "..cli.capture", "..cli.lessons", "..cli.record", "..cli.retrieve"),
    *("..measure.checks", "..memory.applying", "..memory.recording", "..memory.rejudging", "..memory.retrieving"),
    *("..memory.settling", "..pipeline", "..report.recalled", "reflect_store.queue"),
)
"""Modules that `calls` imports when they are needed."""

_HEAD_BYTES: Final = 32_768
_RAW: Final = "HTTP/1.1 {status} {phrase}\r\ncontent-type: {media}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"


class Plan(NamedTuple):
    """How to serve: where, with how many threads, and what clients may take; times are seconds.

    `waiting` requests may wait for a thread, `connections` may be open. `header` is the time for the head of a request to come,
    `write` that for a client to take an answer. After a signal to end, `delay` passes before nothing new is taken, and `drain`
    before what is not done is given up.
    """

    host: str = "127.0.0.1"
    port: int = 8321
    tokens: Path = Path("server-tokens.json")
    threads: int = 4
    waiting: int = 256
    connections: int = 1_000
    header: float = 10.0
    write: float = 30.0
    idle: int = 30
    delay: float = 0.0
    drain: int = 30
    bounds: Bounds = Bounds()
    policy_check: float = CHECK_SECONDS


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(plan: Plan, load: Callable[[], Bundle]) -> None:
    """Serve until a signal says to end; returns when everything that had begun is answered.

    Args:
        plan: how to serve.
        load: returns the bundle to judge by, as the files say it now.

    Raises:
        ReflectGateError: the policies do not load, the store cannot be opened, the address is taken (`server-address`), or it is
            not that of this machine and there are no tokens (`server-tokens`).
    """
    from reflect_store import open_store

    local = is_loopback(plan.host)
    tokens = Tokens(TokenFile(plan.tokens), required=not local)
    if not tokens.live() and not local:
        message = f"`{plan.host}` is not this machine alone, and there is no token: make one with `reflect-gate serve token new`"
        raise ReflectGateError("server-tokens", message)
    policies = WatchedPolicies(load, plan.policy_check)
    bundle = policies.bundle()
    with store_errors(), open_store(store_path(), create=True) as store:
        place = store.backend.place
    _prepare(bundle)
    listener = _listener(plan)
    take_over()
    # What is loaded by now stays, so the collector need not look at it again.
    gc.collect()
    gc.freeze()
    turn = threading.Lock()
    workers = Workers(plan.threads, plan.waiting, lambda: Desk(policies, turn))
    try:
        told = {"store": place, "bundle": bundle.name, "digest": bundle.digest, "tokens": tokens.required}
        with closing(Service(policies, tokens, workers, plan.bounds, plan.waiting)) as service:
            _Server(_config(service, plan), service, plan.delay, told).run(sockets=[listener])
    finally:
        workers.close()
    log("ended")


def _prepare(bundle: Bundle) -> None:
    """Load what requests need before the first of them: it would wait for that, or find other files after an upgrade."""
    for name in _NEEDED:
        importlib.import_module(name, __package__)
    runtime(bundle)


def _listener(plan: Plan) -> socket.socket:
    family = socket.AF_INET6 if ":" in plan.host else socket.AF_INET
    try:
        return socket.create_server((plan.host, plan.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        message = f"cannot listen on `{plan.host}:{plan.port}`: {(error.strerror or str(error)).lower()}"
        raise ReflectGateError("server-address", message) from None


def _config(service: Service, plan: Plan) -> uvicorn.Config:
    class Bound(_Protocol):
        header, write, most = plan.header, plan.write, plan.connections

    return uvicorn.Config(
        service.app,
        http=Bound,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=plan.idle,
        timeout_graceful_shutdown=plan.drain,
        h11_max_incomplete_event_size=_HEAD_BYTES,
    )


class _Server(uvicorn.Server):
    """Ends without dying of the signal, so that the exit code is ours; a second signal ends at once."""

    def __init__(self, config: uvicorn.Config, service: Service, delay: float, about: Mapping[str, Any]) -> None:
        super().__init__(config)
        self._service = service
        self._delay = delay
        self._about = about
        self._told: float | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, and say so: from now on a signal ends it as it should."""
        await super().startup(sockets)
        for listener in sockets or ():
            host, port = listener.getsockname()[:2]
            log("listening", url=f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}", **self._about)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Hear the signals that say to end, while the server runs."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Begin to end; at the second time, end."""
        if self._told is not None:
            self.should_exit = self.force_exit = True
        self._told = self._told or time.monotonic()
        self._service.draining = True

    async def on_tick(self, counter: int) -> bool:
        """Go on until it is time to take nothing new."""
        if self._told is not None and time.monotonic() - self._told >= self._delay:
            self.should_exit = True
            log("draining", connections=len(self.server_state.connections))
        return await super().on_tick(counter)


class _Protocol(H11Protocol):
    """uvicorn's protocol with deadlines: for the head of a request to come, and for an answer to be taken."""

    header: float
    write: float
    most: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Take a connection, unless there are too many."""
        super().connection_made(transport)
        # An answer goes out in two parts, and the second is not to wait until the first is acknowledged.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self.connections) > self.most:
            self._end("server-busy", "too many connections")
        else:
            self._await_head()

    def data_received(self, data: bytes) -> None:
        """Take bytes; as long as they do not make the head of a request, its deadline stays."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._await_head()
        else:
            _cancel(self._head_timer)
            self._head_timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        _cancel(self._head_timer)
        self._head_timer = None
        _cancel(self._write_timer)
        self._write_timer = None
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Give a client that does not read a while, then let it go."""
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.write, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read."""
        _cancel(self._write_timer)
        self._write_timer = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._end("server-http", msg.rstrip(".").lower())

    def _await_head(self) -> None:
        if self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(self.header, self._late)

    def _late(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing() and self.conn.their_state is h11.IDLE:
            self._end("server-head", f"the head of the request did not come within {self.header:g} seconds")

    def _end(self, code: str, message: str) -> None:
        """Answer without a request that could be answered, and close."""
        problem = refused(code, message)
        name = str(uuid.uuid4())
        document = problem.to_json(name)
        body = canonical_bytes(document) + b"\n"
        head = _RAW.format(status=problem.status, phrase=document["title"], media=MEDIA, length=len(body))
        self.transport.write(head.encode() + body)
        self.transport.close()
        log("connection", id=name, status=problem.status, code=code)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
