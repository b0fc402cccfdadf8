"""The requests that the server takes, as data: what the HTTP side and the OpenAPI document are both made from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from ..errors import ReflectGateError, did_you_mean, raise_all
from . import calls
from .calls import Answer, Given
from .desk import Desk
from .tokens import Scope

__all__ = ["ROUTES", "Parameter", "Route", "parameters_of"]

_JSON: Final = "application/json"


class Parameter(NamedTuple):
    """A parameter of the query or of the path: its name, its JSON schema, what it is for."""

    name: str
    schema: Mapping[str, Any]
    doc: str
    place: Literal["query", "path"] = "query"

    def read(self, text: str) -> Any:
        """Return the value of a text; `server-parameter` where it is none."""
        kind = self.schema["type"]
        if kind == "boolean" and text in {"true", "false"}:
            return text == "true"
        if kind == "integer" and re.fullmatch(r"[0-9]{1,9}", text):
            number = int(text)
            if self.schema["minimum"] <= number <= self.schema["maximum"]:
                return number
        if kind == "string" and self._fits(text):
            return text
        raise ReflectGateError("server-parameter", f"parameter `{self.name}`: expected {self._expected()}, found `{text[:80]}`")

    def _fits(self, text: str) -> bool:
        schema = self.schema
        if "enum" in schema:
            return text in schema["enum"]
        return 0 < len(text) <= schema["maxLength"] and bool(re.fullmatch(schema.get("pattern", ".*"), text, re.DOTALL))

    def _expected(self) -> str:
        schema = self.schema
        if "enum" in schema:
            return f"one of {', '.join(schema['enum'])}"
        if schema["type"] == "integer":
            return f"a number from {schema['minimum']} to {schema['maximum']}"
        return "true or false" if schema["type"] == "boolean" else f"a text of 1 to {schema['maxLength']} characters"


class Route(NamedTuple):
    """A request that the server takes.

    `scope` is what a token must allow (`None`: no token is asked for), `request` and `answer` are names of schemas, `run` does it
    (`None`: the server itself answers), `media` is that of the answer, `problems` are the statuses beyond those of every request.
    """

    method: Literal["GET", "POST"]
    path: str
    scope: Scope | None
    summary: str
    doc: str
    run: Callable[[Desk, Given], Answer] | None = None
    request: str | None = None
    answer: str | None = None
    parameters: tuple[Parameter, ...] = ()
    media: str = _JSON
    problems: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """What logs and metrics call it."""
        return f"{self.method} {self.path}"


def _flag(name: str, doc: str) -> Parameter:
    return Parameter(name, {"type": "boolean", "default": False}, doc)


_SIGNATURE: Final = {"type": "string", "maxLength": 64, "pattern": "^[0-9a-f]{64}$"}
_TAKES: Final = (400, 408, 413, 415, 422)

_EVALUATE: Final = (
    _flag("store", "Judge against the lessons that were learned before."),
    _flag("apply", "Commit what is decided to the store; goes with `store`, and takes the scope `apply` besides."),
    _flag("explain", "Keep every firing with its bound facts."),
)
_TRIGGER: Final = {"type": "string", "enum": ["error", "hallucination", "low_quality", "manual"], "default": "error"}
_LESSONS: Final = (
    Parameter(
        "standing",
        {"type": "string", "enum": ["active", "flagged", "superseded", "retired", "all"], "default": "active"},
        "Where the lessons stand.",
    ),
    Parameter("level", {"type": "string", "enum": ["episodic", "procedural", "meta_strategy"]}, "Only lessons of this level."),
    Parameter("signature", _SIGNATURE, "Only lessons learned from failures of this signature."),
    Parameter("limit", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 50}, "Lessons at most."),
    Parameter("after", {"type": "string", "maxLength": 4096}, "Go on after this cursor, which the page before ended with."),
    _flag("oldest", "The oldest first."),
)

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "POST",
        "/v1/evaluate",
        "evaluate",
        "Judge whether a reflection may become a lesson.",
        "As `reflect-gate evaluate`. A refusal is an answer like any other: status 200, and `status` in the decision.",
        calls.evaluate,
        "request",
        "decision",
        _EVALUATE,
        problems=_TAKES,
    ),
    Route(
        "POST",
        "/v1/capture",
        "capture",
        "Take a failure in, to be reflected on later.",
        "As `reflect-gate capture`: the job is on the disk when the answer comes. `outcome` says what became of it; `full` means "
        "that the queue had no room, and that the failure is recorded as not reflected on.",
        calls.capture,
        "termination",
        "capture-report",
        (Parameter("trigger", _TRIGGER, "Why it is captured; each has a switch."),),
        problems=_TAKES,
    ),
    Route(
        "POST",
        "/v1/retrieve",
        "retrieve",
        "Offer the few lessons that fit a task, or none.",
        "As `reflect-gate retrieve`. What was shown is logged, so that `/v1/record` can say what it did.",
        calls.retrieve,
        "retrieve-request",
        "retrieval",
        problems=_TAKES,
    ),
    Route(
        "POST",
        "/v1/record",
        "record",
        "Record how a task ended, count it for its lessons, and sweep them.",
        "As `reflect-gate record`. Recording a task again adds nothing; recording it otherwise is a conflict.",
        calls.record,
        "record-request",
        "outcome-report",
        problems=(*_TAKES, 409),
    ),
    Route(
        "GET",
        "/v1/lessons",
        "read",
        "List lessons, the newest first.",
        "As `reflect-gate lessons list --format json`.",
        calls.lessons,
        answer="lessons-report",
        parameters=_LESSONS,
        problems=(400, 422),
    ),
    Route(
        "GET",
        "/v1/decisions/{id}",
        "read",
        "Show one decision in full, as it was made.",
        "As `reflect-gate decisions show ID --format json`.",
        calls.decision,
        answer="decision",
        parameters=(Parameter("id", {"type": "string", "maxLength": 256}, "The decision's id.", "path"),),
        problems=(400, 404, 422),
    ),
    Route("GET", "/healthz", None, "Say that the server is alive.", "Nothing is looked at.", answer="server-status"),
    Route(
        "GET",
        "/readyz",
        None,
        "Say whether the server can judge now.",
        "Status 503 while the policies do not load, the store cannot be read, too many requests wait, or the server is ending.",
        answer="server-status",
    ),
    Route(
        "GET",
        "/metrics",
        "metrics",
        "Tell the metrics.",
        "In the text format of Prometheus.",
        media="text/plain",
    ),
    Route("GET", "/openapi.json", None, "Show this document.", "OpenAPI 3.1, made from the schemas."),
)


def parameters_of(route: Route, given: Sequence[tuple[str, str]], path: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of a request with their defaults, `None` where there is none.

    Raises:
        ReflectGateError: `server-parameter`, every one that is unknown, there twice, or not valid.
    """
    known = {parameter.name: parameter for parameter in route.parameters}
    queried = {name for name, parameter in known.items() if parameter.place == "query"}
    found: dict[str, Any] = {name: parameter.schema.get("default") for name, parameter in known.items()}
    problems, seen = [], set[str]()
    for name, _ in given:
        if name not in queried:
            message = f"no parameter `{name[:80]}`{did_you_mean(name[:80], queried)}"
        elif name in seen:
            message = f"parameter `{name}` is given twice"
        else:
            message = ""
        seen.add(name)
        if message:
            problems.append(ReflectGateError("server-parameter", message))
    raise_all(problems)
    for name, text in [*given, *path.items()]:
        try:
            found[name] = known[name].read(text)
        except ReflectGateError as error:
            problems.append(error)
    raise_all(problems)
    return found
