"""What each request of the server does, without HTTP: bytes and parameters in, the document of the command line out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .. import schemas
from .._canonical import canonical_bytes
from ..cli._errors import store_errors
from ..cli._store import head_document
from ..config import Limits
from ..documents import read_json
from ..errors import ReflectGateError
from .desk import Desk
from .logs import log as log_line

if TYPE_CHECKING:
    from ..memory.recording import Proof

__all__ = ["Answer", "Given", "capture", "decision", "evaluate", "lessons", "record", "retrieve"]

_LIMIT: Final = 3
_ORIGIN: Final = ("task", "repository", "commit", "session")


class Given(NamedTuple):
    """What came with a request: its body, and its parameters, of the query and of the path, read and with their defaults."""

    body: bytes
    parameters: Mapping[str, Any]


class Answer(NamedTuple):
    """What a request is answered with: a JSON document, and one word on what came of it, for logs and metrics."""

    body: bytes
    said: str


def _answer(document: Mapping[str, Any], said: str) -> Answer:
    return Answer(canonical_bytes(document) + b"\n", said)


def _checked(given: Given, name: str) -> dict[str, Any]:
    found: dict[str, Any] = schemas.checked(name, read_json(given.body, "request", Limits()), "request")
    return found


def evaluate(desk: Desk, given: Given) -> Answer:
    """Judge one request, against the store and committed where the parameters say so."""
    from ..cli._against import Against
    from ..pipeline import evaluate as judge

    chosen, bundle = given.parameters, desk.bundle
    request: Any = read_json(given.body, "request", bundle.limits)
    if chosen["apply"] and not chosen["store"]:
        raise ReflectGateError("server-apply", "`apply` commits to the store, so it goes with `store`")
    if not chosen["store"]:
        document = judge(request, bundle, explain=chosen["explain"]).to_json()
        return _answer(document, document["status"])
    with desk.writing() if chosen["apply"] else desk.store() as store:
        document = Against(store, apply=chosen["apply"]).judge(request, bundle, explain=chosen["explain"])
    return _answer(document, document["status"])


def capture(_desk: Desk, given: Given) -> Answer:
    """Take a failure in."""
    from ..capture.capturing import capture as take_in
    from ..cli.capture import CAPTURE_SCHEMA

    with store_errors():
        done = take_in(given.body, given.parameters["trigger"])
    return _answer({"schema": CAPTURE_SCHEMA, **done.to_json()}, done.outcome)


def retrieve(desk: Desk, given: Given) -> Answer:
    """Offer the few lessons that fit a task."""
    from ..cli.retrieve import logged_by, retrieval_document
    from ..memory import retrieving

    asked = _checked(given, "retrieve-request")
    limit, log, for_context = int(asked.pop("limit", _LIMIT)), asked.pop("log", True), asked.pop("for_context", False)
    known: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in asked.items()}
    bundle = desk.bundle
    with desk.store() as store:
        recalled = retrieving.retrieve(store, retrieving.Query(**known), bundle, limit=limit)
        if for_context:
            from ..report.recalled import context

            recalled = recalled.first(context(recalled)[1])
        logged = log and logged_by(store, recalled, lambda error: log_line("unlogged", code=error.code))
        document = retrieval_document(recalled, logged, store.backend.place, limit, bundle)
    return _answer(document, document["status"])


def record(desk: Desk, given: Given) -> Answer:
    """Record how a task ended."""
    from ..cli.record import outcome_document
    from ..memory import recording

    asked = _checked(given, "record-request")
    origin = {key: asked[key] for key in _ORIGIN if asked.get(key)}
    outcome = recording.Outcome(asked["outcome"], asked.get("before", "unknown"), _proof(asked), origin)
    bundle = desk.bundle
    with desk.writing() as store:
        done = recording.record(
            store, bundle, outcome, retrieval_id=asked.get("retrieval"), lessons=tuple(asked.get("lessons", ()))
        )
        document = outcome_document(store, bundle, outcome, done)
    return _answer(document, document["outcome"])


def _proof(asked: Mapping[str, Any]) -> Proof:
    from ..measure.checks import Checks
    from ..memory.recording import Proof

    if not {"exit_code", "checks", "evidence"} & asked.keys():
        raise ReflectGateError("outcome-evidence", "nothing shows the outcome: give `exit_code`, `checks` or `evidence`")
    # JSON Schema takes 5.0 for a whole number, and so it is one here.
    checks = Checks(**{name: int(count) for name, count in asked["checks"].items()}) if "checks" in asked else None
    code = int(asked["exit_code"]) if "exit_code" in asked else None
    return Proof(code, checks, asked.get("evidence", ""))


def lessons(desk: Desk, given: Given) -> Answer:
    """List lessons."""
    from ..cli.lessons import REPORT, lesson_entry

    chosen = given.parameters
    where = {name: chosen[name] for name in ("standing", "level", "signature") if chosen[name] not in {None, "all"}}
    with desk.store() as store:
        page = store.page("lessons", where, after=chosen["after"], limit=chosen["limit"], newest=not chosen["oldest"])
        document = {
            "schema": REPORT,
            "command": "list",
            "store": store.backend.place,
            "head": head_document(store.head()),
            "lessons": [lesson_entry(row) for row in page.rows],
            "cursor": page.cursor,
        }
    return _answer(document, "listed")


def decision(desk: Desk, given: Given) -> Answer:
    """Return one decision as it was made."""
    from ..memory.rejudging import kept

    with desk.store() as store:
        found = kept(store, given.parameters["id"])
    return Answer(found.decision.to_bytes() + b"\n", found.decision.status)
