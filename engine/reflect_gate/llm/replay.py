"""Recorded responses, given again over real HTTP: a server on this machine that answers a request as it was answered once.

A recording is a file of JSON lines, one response each, found by the digest of the request's body. `ReplayServer(file)` answers
what it knows and refuses everything else with 404; `ReplayServer(file, upstream=…)` asks the server behind it for what it does
not know, and records the response. Keys are passed on and never recorded. It serves tests and experiments, which must see the
same answers again: the client that asks is the real one.
"""

from __future__ import annotations

import base64
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import orjson

from .._canonical import digest
from ..errors import ReflectGateError, Source

__all__ = ["Recorded", "ReplayServer", "read_recording"]

_MAX_REQUEST: Final = 64 * 1_048_576
_UPSTREAM_SECONDS: Final = 600
_KEPT_HEADERS: Final = ("content-type", "retry-after")


class Recorded(NamedTuple):
    """A response as it came: status, the headers that matter, and the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def read_recording(path: Path) -> dict[str, Recorded]:
    """Return the responses of a recording by request digest; none where the file does not exist; `replay-line` for a bad line."""
    found: dict[str, Recorded] = {}
    if not path.exists():
        return found
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            entry = orjson.loads(line)
            body = base64.b64decode(entry["body"], validate=True)
            found[str(entry["request"])] = Recorded(int(entry["status"]), dict(entry["headers"]), body)
        except (ValueError, KeyError, TypeError):
            raise ReflectGateError("replay-line", "not a recorded response", Source(str(path), number)) from None
    return found


class ReplayServer:
    """A context manager that serves a recording; `base_url` is where, `asked` and `missed` count requests."""

    def __init__(self, path: Path, *, upstream: str = "") -> None:
        self.path = path
        self.asked = 0
        self.missed = 0
        self._upstream = upstream.rstrip("/")
        self._known = read_recording(path)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def base_url(self) -> str:
        """The address to ask, up to and with `/v1`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str, body: bytes, authorization: str) -> Recorded:
        """Return the response to a request: the recorded one, else the upstream server's, else 404."""
        try:
            key = digest(orjson.loads(body))
        except orjson.JSONDecodeError:
            return _error(400, "the request is no JSON")
        with self._lock:
            self.asked += 1
            known = self._known.get(key)
            self.missed += known is None
        if known is not None:
            return known
        if not self._upstream:
            return _error(404, f"no response is recorded for the request {key}")
        found = _ask(self._upstream + path.removeprefix("/v1"), body, authorization)
        # A server that is busy today says nothing about the request.
        if found.status < 500 and found.status not in {408, 409, 425, 429}:
            self._record(key, found)
        return found

    def _record(self, key: str, found: Recorded) -> None:
        entry = {
            "request": key,
            "status": found.status,
            "headers": found.headers,
            "body": base64.b64encode(found.body).decode(),
        }
        with self._lock:
            if key not in self._known:
                self._known[key] = found
                with self.path.open("ab") as stream:
                    stream.write(orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        replay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                if not 0 <= size <= _MAX_REQUEST:
                    self.send_error(413)
                    return
                found = replay.answer(self.path, self.rfile.read(size), self.headers.get("authorization", ""))
                self.send_response(found.status)
                for name, value in found.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(found.body)))
                self.end_headers()
                self.wfile.write(found.body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class' name
                """Say nothing: the caller counts requests."""

        return Handler


def _error(status: int, message: str) -> Recorded:
    return Recorded(status, {"content-type": "application/json"}, orjson.dumps({"error": {"message": message}}))


def _ask(url: str, body: bytes, authorization: str) -> Recorded:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 - the caller's own server
    if authorization:
        request.add_header("Authorization", authorization)
    try:
        with _OPENER.open(request, timeout=_UPSTREAM_SECONDS) as response:
            return Recorded(response.status, _headers(response.headers), response.read())
    except urllib.error.HTTPError as error:
        with error:
            return Recorded(error.code, _headers(error.headers), error.read())
    except OSError as error:
        return _error(502, f"the server behind the replay cannot be asked: {error}")


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the key would go along."""

    def redirect_request(self, *_: object) -> None:
        """Return nothing, so that the redirect itself is the response."""


_OPENER: Final = urllib.request.build_opener(_Stay)


def _headers(given: Message) -> dict[str, str]:
    return {name: str(given[name]) for name in _KEPT_HEADERS if name in given}
