"""Verbs that let a server do it (`--server URL`): the same documents come back, and are printed as if they had been made here."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

import click

from .._canonical import canonical_bytes
from ..config import Limits
from ..documents import read_json
from ..errors import ReflectGateError, ReflectGateErrors, Source
from ._batch import Judged, placed

if TYPE_CHECKING:
    from http.client import HTTPResponse

    from ..memory.retrieving import Recalled
    from ._batch import Entry
    from ._options import BundleChoice

__all__ = ["PLAINTEXT_VARIABLE", "TOKEN_VARIABLE", "Server", "here_alone", "judge_there", "recalled_of", "server_option"]

F = TypeVar("F", bound=Callable[..., Any])

TOKEN_VARIABLE: Final = "REFLECT_GATE_TOKEN"  # noqa: S105 - the name of a variable
PLAINTEXT_VARIABLE: Final = "REFLECT_GATE_SERVER_PLAINTEXT"
"""`1` lets the token be sent over plain HTTP to another machine, for a network that is private by itself."""

_SECONDS: Final = 120.0
_ANSWER_BYTES: Final = 256 * 1024 * 1024
_ATTEMPTS: Final = 5
_LONGEST_WAIT: Final = 10.0
_HERE: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_AGAIN: Final = frozenset({"server-busy", "server-rate"})
_MOST_LINES: Final = 2**31
_CODE: Final = re.compile(r"[a-z0-9-]{1,64}")

_ANSWERS: Final[Mapping[str, str]] = {
    "/v1/evaluate": "decision",
    "/v1/capture": "capture-report",
    "/v1/retrieve": "retrieval",
    "/v1/record": "outcome-report",
}
"""The schema of what is answered to each request: an exit code, too, comes out of it."""

server_option = click.option(
    "--server",
    metavar="URL",
    help=f"Let this server do it, by its policies and with its store; the token is that of {TOKEN_VARIABLE}.",
)


class _Address(NamedTuple):
    scheme: str
    host: str
    port: int | None
    path: str


def _address(url: str) -> _Address:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        found = _Address(parts.scheme, parts.hostname or "", parts.port, parts.path.rstrip("/"))
        wrong = parts.username is not None or parts.query or parts.fragment
    except ValueError:
        found, wrong = _Address("", "", None, ""), True
    if found.scheme not in {"http", "https"} or not found.host or wrong:
        raise click.UsageError("`--server` takes a URL such as https://gate.example.org, without a name, a password or a query")
    return found


def here_alone(choice: BundleChoice, store_file: str | None) -> None:
    """Refuse options that say how to judge here: the server has its own policies and its own store."""
    from click.core import ParameterSource

    from ._options import BundleChoice

    context = click.get_current_context()
    if context.get_parameter_source("bundle") is ParameterSource.ENVIRONMENT:
        choice = choice._replace(name=None)
    if choice != BundleChoice():
        raise click.UsageError("the server judges by its own policies, so `--server` goes with no option that chooses a bundle")
    if store_file:
        raise click.UsageError("the server has its own store, so `--server` names none")


class Server:
    """A connection to a server; `name` is what errors call the document that is sent."""

    def __init__(self, url: str, name: str = "request") -> None:
        # Every start of the verbs imports this module, and hardly any of them asks a server.
        from http.client import HTTPConnection, HTTPSConnection

        self._at = _address(url)
        self._name = name
        self._headers = {"content-type": "application/json", "accept": "application/json", **self._token()}
        kind = HTTPSConnection if self._at.scheme == "https" else HTTPConnection
        self._connection = kind(self._at.host, self._at.port, timeout=_SECONDS)
        self._used = False

    def _token(self) -> dict[str, str]:
        token = os.environ.get(TOKEN_VARIABLE, "").strip()
        if not token:
            return {}
        if not token.isascii() or not token.isprintable() or " " in token:
            # The value itself is never shown.
            raise ReflectGateError("server-token", f"`{TOKEN_VARIABLE}` holds no token")
        if self._at.scheme != "https" and self._at.host not in _HERE and os.environ.get(PLAINTEXT_VARIABLE) != "1":
            message = f"the token is not sent over plain HTTP to another machine: use https, or set {PLAINTEXT_VARIABLE}=1"
            raise ReflectGateError("server-plaintext", message)
        return {"authorization": f"Bearer {token}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def post(self, path: str, document: object, **parameters: Any) -> dict[str, Any]:
        """Send a document and return the one that is answered; waits a little where the server asks to.

        Raises:
            ReflectGateError: what the server says, with its codes; `server-unreachable`, `server-answer`.
        """
        from urllib.parse import urlencode

        told = {name: str(value).lower() if isinstance(value, bool) else value for name, value in parameters.items() if value}
        target = self._at.path + path + (f"?{urlencode(told)}" if told else "")
        body = canonical_bytes(document)
        for attempt in range(1, _ATTEMPTS + 1):
            answer, data = self._exchange(target, body)
            found = self._read(data)
            if answer.status == 200:
                return self._checked(found, _ANSWERS[path])
            wait = self._wait(answer, found)
            if wait is None or attempt == _ATTEMPTS:
                raise self._error(found)
            time.sleep(wait)
        raise AssertionError

    def _exchange(self, target: str, body: bytes) -> tuple[HTTPResponse, bytes]:
        """Send, and once more where a connection that was open for a while had been closed; sending twice changes nothing."""
        from http.client import HTTPException

        try:
            try:
                return self._once(target, body)
            except (ConnectionError, HTTPException):
                self._connection.close()
                if not self._used:
                    raise
                return self._once(target, body)
        except (OSError, HTTPException, UnicodeError) as error:
            # A host or a path that HTTP cannot write is refused by its encoding alone.
            self._connection.close()
            reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
            raise ReflectGateError("server-unreachable", f"cannot reach `{self._shown}`: {reason}") from None

    def _once(self, target: str, body: bytes) -> tuple[HTTPResponse, bytes]:
        try:
            self._connection.request("POST", target, body, self._headers)
        except (BrokenPipeError, ConnectionResetError):
            # A server that refuses a body answers before it has all of it.
            if self._connection.sock is None:
                raise
        answer = self._connection.getresponse()
        data = answer.read(_ANSWER_BYTES + 1)
        self._used = True
        return answer, data

    @property
    def _shown(self) -> str:
        port = f":{self._at.port}" if self._at.port else ""
        return f"{self._at.scheme}://{self._at.host}{port}{self._at.path}"

    def _read(self, data: bytes) -> dict[str, Any]:
        try:
            found = read_json(data, self._shown, Limits(request_bytes=_ANSWER_BYTES))
        except ReflectGateError:
            found = None
        if not isinstance(found, dict):
            raise ReflectGateError(
                "server-answer", f"`{self._shown}` answers with something else than a document of reflect-gate"
            )
        return found

    def _checked(self, found: dict[str, Any], schema: str) -> dict[str, Any]:
        """Return a document as it was answered, if it is what this version of the program knows."""
        from .. import schemas

        try:
            schemas.checked(schema, found, self._shown, Limits(request_bytes=_ANSWER_BYTES))
        except ReflectGateError as error:
            message = f"`{self._shown}` answers with no `{schema}` as this version knows it: {error.errors[0].message}"
            raise ReflectGateError("server-answer", message) from None
        return found

    @staticmethod
    def _wait(answer: HTTPResponse, problem: Mapping[str, Any]) -> float | None:
        """Return the seconds to wait before trying again, `None` where that would not help."""
        said = answer.headers.get("retry-after", "")
        if problem.get("code") not in _AGAIN or not said.isdecimal():
            return None
        return min(float(said), _LONGEST_WAIT)

    def _error(self, problem: Mapping[str, Any]) -> ReflectGateError:
        try:
            errors = [self._leaf(entry) for entry in problem["errors"]]
            return errors[0] if len(errors) == 1 else ReflectGateErrors(errors)
        except (KeyError, TypeError, IndexError, ValueError):
            return ReflectGateError("server-answer", f"`{self._shown}` refuses, and does not say why as reflect-gate does")

    def _leaf(self, entry: Mapping[str, Any]) -> ReflectGateError:
        file = self._name if entry["file"] in {"request", "termination"} else str(entry["file"])
        source = Source(file, _place(entry["line"]), _place(entry["column"]), str(entry["pointer"]))
        code = str(entry["code"])
        if not _CODE.fullmatch(code):
            raise ValueError(code)
        return ReflectGateError(code, str(entry["message"]), source if any(source) else None)


def _place(number: object) -> int:
    if isinstance(number, int) and 0 <= number < _MOST_LINES:
        return number
    raise ValueError(number)


def judge_there(entry: Entry, name: str, server: Server, flags: Mapping[str, bool]) -> Judged:
    """Let a server judge one entry of the input called `name`; a server that is not there ends the batch."""
    place, request = entry
    if isinstance(request, ReflectGateError):
        return Judged(place, None, None, request)
    try:
        decision = server.post("/v1/evaluate", request, **flags)
    except ReflectGateError as error:
        if error.code.startswith("server-"):
            raise
        return Judged(place, request, None, placed(error, place, name))
    return Judged(place, request, decision, None)


def recalled_of(document: Mapping[str, Any]) -> Recalled:
    """Return the answer that a document tells of, as far as it is printed."""
    import orjson

    from ..measure.likeness import Likeness
    from ..measure.scope import Fit
    from ..memory.retrieving import Recalled, Shown
    from ..stages.retrieve import Match, Proposal, read

    shown = []
    for lesson, told in zip(document["retrieve"]["lessons"], document["matches"], strict=True):
        held = orjson.dumps({"lesson": lesson, "envelope": {"red_flag": False}, "standing": "active"})
        proposal = Proposal(told["lesson_id"], held, 0.0, told["known_failure"], read(held))
        # The score as it was told: what it was made of is not told apart.
        match = Match(proposal, Fit(told["fit"], ()), 0, Likeness(round(told["score"] * 100), told["words"]), 0)
        shown.append(Shown(match, tuple(told["reasons"])))
    query, name = document["query"], document["retrieval_id"] or ""
    return Recalled(
        name,
        query["digest"],
        query["signature"] or "",
        query["place"],
        {},
        document["proposed"],
        tuple(shown),
        tuple(document["withheld"]),
    )
