"""A small OpenAI-compatible server on loopback that misbehaves as told: real HTTP, scripted request by request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeAlias

__all__ = ["BEHAVIOURS", "GOOD", "Asked", "Behaviour", "ModelServer", "answering", "completion", "status"]

GOOD: dict[str, Any] = {
    "skip": False,
    "tags": ["division", "empty-input"],
    "reflection": {
        "outcome": "resolved",
        "failed_assumption": "A window always holds at least one sample.",
        "overlooked_evidence": "",
        "strategy_error": "",
        "violated_invariant": "",
        "evidence_ids": ["plan-1", "test-1"],
        "counterfactual": "A check for an empty window before the division would have returned 0.0.",
        "candidate_lesson": "When a function divides by the size of its input, check for an empty input before dividing.",
        "scope": "lang:python error:ZeroDivisionError",
        "confidence": 0.7,
    },
}
"""An answer that fits the first example of `record.schema.json`."""

SKIP: dict[str, Any] = {"skip": True, "tags": [], "reflection": None}


class Asked(NamedTuple):
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Any


class Handler(BaseHTTPRequestHandler):
    """Hands each request to the next behaviour of the script; the last one stays."""

    protocol_version = "HTTP/1.1"
    server: _Server
    asked: Asked
    """The request that is being answered."""

    def do_POST(self) -> None:
        """Note the request and behave."""
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, json.loads(body))
        self.asked = asked
        self.server.owner.next(asked)(self)

    def do_GET(self) -> None:
        """Whoever follows a redirect ends here, which counts as a request."""
        self.server.owner.asked.append(Asked(self.path, {}, None))
        self.send(404, b"{}")

    def send(self, code: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        """Send a whole response; underscores in header names stand for hyphens."""
        self.head(code, kind, content_length=str(len(body)), **headers)
        self.wfile.write(body)

    def head(self, code: int, kind: str = "application/json", **headers: str) -> None:
        """Send the head of a response alone."""
        self.send_response_only(code)
        self.send_header("content-type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def leave(self) -> None:
        """Close the connection after this request."""
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class' name
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    owner: ModelServer
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what some behaviours are about."""


Behaviour: TypeAlias = Callable[[Handler], None]


def completion(content: object, **change: Any) -> bytes:
    """Return a chat completion whose answer is `content`; `message` and `choice` add to these parts, other names to the whole."""
    message = {"role": "assistant", "content": content, "refusal": None, **change.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **change.pop("choice", {})}
    whole = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny-2026",
        "choices": [choice],
        "usage": {
            "prompt_tokens": 1200,
            "completion_tokens": 150,
            "total_tokens": 1350,
            "prompt_tokens_details": {"cached_tokens": 200},
        },
        **change,
    }
    return json.dumps(whole).encode()


def answering(body: bytes, kind: str = "application/json") -> Behaviour:
    """Return the behaviour of sending `body` with status 200."""
    return lambda handler: handler.send(200, body, kind)


def saying(document: object, **change: Any) -> Behaviour:
    """Return the behaviour of answering with a JSON document."""
    return answering(completion(json.dumps(document), **change))


def status(code: int, message: str = "", param: str | None = None, **headers: str) -> Behaviour:
    """Return the behaviour of refusing with a status."""
    body = json.dumps({"error": {"message": message, "type": "error", "param": param, "code": None}}).encode()
    return lambda handler: handler.send(code, body, **headers)


def changed(**fields: Any) -> Behaviour:
    """Return the behaviour of answering with some fields of the good reflection changed."""
    return saying({**GOOD, "reflection": {**GOOD["reflection"], **fields}})


def _slow(handler: Handler) -> None:
    time.sleep(0.15)
    handler.send(200, completion(json.dumps(GOOD)))


def _hang(handler: Handler) -> None:
    handler.leave()
    handler.server.owner.ended.wait(30)


def _drop_at_once(handler: Handler) -> None:
    handler.leave()


def _drop_in_body(handler: Handler) -> None:
    body = completion(json.dumps(GOOD))
    handler.head(200, content_length=str(len(body)))
    handler.wfile.write(body[: len(body) // 2])
    handler.leave()


def _drop_in_chunks(handler: Handler) -> None:
    body = completion(json.dumps(GOOD))
    handler.head(200, transfer_encoding="chunked")
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
    handler.leave()


def _drip(handler: Handler) -> None:
    body = completion(json.dumps(GOOD))
    handler.head(200, content_length=str(len(body)))
    _trickle(handler, body)


def _drip_to_the_end(handler: Handler) -> None:
    handler.head(200, connection="close")
    _trickle(handler, completion(json.dumps(GOOD)))


def _drip_in_head(handler: Handler) -> None:
    _trickle(handler, b"HTTP/1.1 200 OK\r\nx-slow: " + b"a" * 10_000)


def _trickle(handler: Handler, data: bytes) -> None:
    handler.leave()
    for at in range(len(data)):
        handler.wfile.write(data[at : at + 1])
        if handler.server.owner.ended.wait(0.02):
            return


def _huge(handler: Handler) -> None:
    handler.leave()
    handler.head(200, connection="close")
    for _ in range(64):
        handler.wfile.write(b" " * 65_536)


def _huge_error(handler: Handler) -> None:
    handler.leave()
    handler.head(500, connection="close")
    for _ in range(64):
        handler.wfile.write(b"x" * 65_536)


def _drop_in_error(code: int) -> Behaviour:
    def drop(handler: Handler) -> None:
        handler.head(code, content_length="5000", retry_after="3")
        handler.wfile.write(b'{"error": {"mess')
        handler.leave()

    return drop


def _redirect(code: int) -> Behaviour:
    return lambda handler: handler.send(code, b"", location=f"http://127.0.0.1:{handler.server.server_address[1]}/elsewhere")


_TEXT = json.dumps(GOOD)
_SCHEMA_REFUSED = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."

BEHAVIOURS: Mapping[str, Behaviour] = {
    "ok": saying(GOOD),
    "skip": saying(SKIP),
    "latency": _slow,
    "no usage": saying(GOOD, usage=None),
    "odd usage": saying(GOOD, usage={"prompt_tokens": -1, "completion_tokens": "many"}),
    "status 201": lambda handler: handler.send(201, completion(json.dumps(GOOD))),
    "wrong content type": answering(completion(_TEXT), "text/plain"),
    # received, and no candidate
    "status 204": lambda handler: handler.head(204),
    "truncated JSON": answering(completion(_TEXT[:-40])),
    "finish_reason length": answering(completion(_TEXT, choice={"finish_reason": "length"})),
    "content filter": answering(completion("", choice={"finish_reason": "content_filter"})),
    "refusal": answering(completion(None, message={"refusal": "I cannot help with that."})),
    "tool call": answering(completion(None, message={"tool_calls": [{"id": "1", "type": "function"}]})),
    "empty choices": answering(completion("", choices=[])),
    "choices null": answering(completion("", choices=None)),
    "empty content": answering(completion("")),
    "null content": answering(completion(None)),
    "content is a list": answering(completion([{"type": "text", "text": _TEXT}])),
    "prose around": answering(completion(f"Here it is:\n```json\n{_TEXT}\n```")),
    "two documents": answering(completion(_TEXT + _TEXT)),
    "duplicate key": answering(completion('{"skip": true, "skip": true, "tags": [], "reflection": null}')),
    "not an object": saying([GOOD]),
    "wrong schema": saying({"lesson": "be careful"}),
    "extra key": changed(lesson="be careful"),
    "missing causal key": saying({**GOOD, "reflection": {key: GOOD["reflection"][key] for key in ("outcome", "scope")}}),
    "blank lesson": changed(candidate_lesson=" \u200b"),
    "no cause": changed(failed_assumption=" "),
    "unknown evidence": changed(evidence_ids=["plan-1", "plan-9"]),
    "one tag": saying({**GOOD, "tags": ["one"]}),
    "six tags": saying({**GOOD, "tags": ["a", "b", "c", "d", "e", "f"]}),
    "confidence 2": changed(confidence=2),
    "skip with reflection": saying({**GOOD, "skip": True}),
    "neither": saying({"skip": False, "tags": [], "reflection": None}),
    "HTML page": answering(b"<html><body>Please log in</body></html>", "text/html"),
    "empty body": answering(b""),
    "JSON null": answering(b"null"),
    "not UTF-8": answering(b'{"choices": "\xff\xfe"}'),
    "error with status 200": answering(b'{"error": {"message": "overloaded"}}'),
    "huge body": _huge,
    # not received, worth another try
    "429 Retry-After": status(429, "slow down", retry_after="7"),
    "429 Retry-After date": status(
        429, "slow down", date="Mon, 30 Nov 2026 10:00:00 GMT", retry_after="Mon, 30 Nov 2026 10:01:30 GMT"
    ),
    "429 Retry-After odd": status(429, "slow down", retry_after="soon"),
    "408": status(408, "too slow"),
    "409": status(409, "locked"),
    "500": status(500, "broken"),
    "503": status(503, "overloaded", retry_after="2"),
    "503 asks to retry": status(503, "overloaded", x_should_retry="true"),
    "503 drop in body": _drop_in_error(503),
    "huge error body": _huge_error,
    "hang": _hang,
    "drop at once": _drop_at_once,
    "drop in body": _drop_in_body,
    "drop in chunks": _drop_in_chunks,
    "slow drip": _drip,
    "slow drip, no length": _drip_to_the_end,
    "slow drip in head": _drip_in_head,
    # not received, and never will be
    "400": status(400, "bad request"),
    "400 schema": status(400, _SCHEMA_REFUSED, "response_format"),
    "400 temperature": status(400, "Unsupported value: 'temperature' does not support 0 with this model.", "temperature"),
    "400 max_completion_tokens": status(400, "Unrecognized request argument supplied: max_completion_tokens"),
    "401": status(401, "Incorrect API key provided: sk-test-0123456789abcdef."),
    "401 asks to retry": status(401, "expired", x_should_retry="true"),
    "401 drop in body": _drop_in_error(401),
    "403": status(403, "not allowed"),
    "404": status(404, "The model `tiny` does not exist"),
    "422": status(422, "unprocessable"),
    "redirect 302": _redirect(302),
    "redirect 307": _redirect(307),
}
"""Every behaviour by name."""


class ModelServer:
    """The server as a context manager: behaves by `script`, one entry a request, and keeps what it was asked."""

    def __init__(self, *script: str | Behaviour) -> None:
        self.asked: list[Asked] = []
        self.ended = threading.Event()
        self._script: Sequence[Behaviour] = [BEHAVIOURS[each] if isinstance(each, str) else each for each in script or ("ok",)]
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.005}, daemon=True)

    @property
    def base_url(self) -> str:
        """The address to ask, up to and with `/v1`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def next(self, asked: Asked) -> Behaviour:
        """Note a request and return how to behave."""
        with self._lock:
            self.asked.append(asked)
            return self._script[min(len(self.asked), len(self._script)) - 1]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
