"""What becomes of each fault of the server: the table, and the way to fill it in. `python tests/llm/faults.py` prints it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from reflect_gate import schemas
from reflect_gate.llm.client import Client
from reflect_gate.llm.errors import ModelError
from reflect_gate.llm.journal import open_journal
from reflect_gate.llm.settings import ModelSettings
from reflect_gate.stages.reflect import reflect

if __package__:
    from .server import BEHAVIOURS, ModelServer
else:
    from server import BEHAVIOURS, ModelServer  # type: ignore[import-not-found, no-redef] # run as a script

__all__ = ["KEY", "OUTCOMES", "RECEIVED", "Outcome", "happened", "settings_for", "table"]

KEY: Final = "sk-test-0123456789abcdef"
PATIENCE: Final = 30.0
"""Seconds for what does not wait, so that a busy machine changes no outcome."""

TIMEOUT: Final = 0.7
RECORD: Final[Any] = schemas.schema("record")["examples"][0]
CONTEXT: Final[Any] = schemas.schema("signature-context")["examples"][0]


class Outcome(NamedTuple):
    """How one termination ended: what came of it, its code, and how long the server asked to be left alone for."""

    what: str
    code: str = ""
    retry_after: float | None = None


RECEIVED: Final = frozenset({"reflection", "skip", "violation"})
"""What comes of a response that was received."""

_CANDIDATE = Outcome("reflection")
_SHAPE = Outcome("violation", "response-shape")
_SCHEMA = Outcome("violation", "schema")
_NOT_JSON = Outcome("violation", "not-json")
_UNREADABLE = Outcome("violation", "response-not-json")
_TIMEOUT = Outcome("transient", "model-timeout")
_BROKEN = Outcome("transient", "model-connection")
_BUSY = Outcome("transient", "model-busy")
_DOWN = Outcome("transient", "model-unavailable")

OUTCOMES: Final[Mapping[str, Outcome]] = {
    "ok": _CANDIDATE,
    "skip": Outcome("skip"),
    "latency": _CANDIDATE,
    "no usage": _CANDIDATE,
    "odd usage": _CANDIDATE,
    "status 201": _CANDIDATE,
    "wrong content type": _CANDIDATE,
    "status 204": _UNREADABLE,
    "truncated JSON": _NOT_JSON,
    "finish_reason length": Outcome("violation", "truncated"),
    "content filter": Outcome("violation", "content-filter"),
    "refusal": Outcome("violation", "refused"),
    "tool call": Outcome("violation", "tool-call"),
    "empty choices": _SHAPE,
    "choices null": _SHAPE,
    "empty content": Outcome("violation", "empty"),
    "null content": Outcome("violation", "empty"),
    "content is a list": _SHAPE,
    "prose around": _NOT_JSON,
    "two documents": _NOT_JSON,
    "duplicate key": _NOT_JSON,
    "not an object": _SCHEMA,
    "wrong schema": _SCHEMA,
    "extra key": _SCHEMA,
    "missing causal key": _SCHEMA,
    "blank lesson": Outcome("violation", "empty-lesson"),
    "no cause": Outcome("violation", "no-cause"),
    "unknown evidence": Outcome("violation", "unknown-evidence"),
    "one tag": Outcome("violation", "tags"),
    "six tags": Outcome("violation", "tags"),
    "confidence 2": _SCHEMA,
    "skip with reflection": _SCHEMA,
    "neither": _SCHEMA,
    "HTML page": _UNREADABLE,
    "empty body": _UNREADABLE,
    "JSON null": _SHAPE,
    "not UTF-8": _UNREADABLE,
    "error with status 200": _SHAPE,
    "huge body": Outcome("violation", "response-too-large"),
    "429 Retry-After": _BUSY._replace(retry_after=7.0),
    "429 Retry-After date": _BUSY._replace(retry_after=90.0),
    "429 Retry-After odd": _BUSY,
    "408": _BUSY,
    "409": _BUSY,
    "500": _DOWN,
    "503": _DOWN._replace(retry_after=2.0),
    "503 asks to retry": _DOWN,
    "503 drop in body": _DOWN._replace(retry_after=3.0),
    "huge error body": _DOWN,
    "hang": _TIMEOUT,
    "drop at once": _BROKEN,
    "drop in body": _BROKEN,
    "drop in chunks": _BROKEN,
    "slow drip": _TIMEOUT,
    "slow drip, no length": _TIMEOUT,
    "slow drip in head": _TIMEOUT,
    "400": Outcome("permanent", "model-refused"),
    "400 schema": Outcome("permanent", "model-schema-unsupported"),
    "400 temperature": Outcome("permanent", "model-parameter"),
    "400 max_completion_tokens": Outcome("permanent", "model-parameter"),
    "401": Outcome("permanent", "model-unauthorized"),
    "401 asks to retry": Outcome("permanent", "model-unauthorized"),
    "401 drop in body": Outcome("permanent", "model-unauthorized"),
    "403": Outcome("permanent", "model-unauthorized"),
    "404": Outcome("permanent", "model-unknown"),
    "422": Outcome("permanent", "model-refused"),
    "redirect 302": Outcome("permanent", "model-redirect"),
    "redirect 307": Outcome("permanent", "model-redirect"),
}
"""Every behaviour of the server and what must come of it."""


class Happened(NamedTuple):
    """What came of one termination, how many requests the server saw, and whether a response was journalled."""

    outcome: Outcome
    requests: int
    journalled: bool
    message: str


def settings_for(server: ModelServer, **change: Any) -> ModelSettings:
    """Return settings that ask `server`."""
    return ModelSettings("tiny", server.base_url, **{"key": KEY, "timeout": PATIENCE, **change})


def happened(name: str, folder: Path) -> Happened:
    """Let the server behave as `name` says and reflect on one termination."""
    journal = open_journal(folder / "journal")
    with ModelServer(name) as server:
        try:
            timeout = TIMEOUT if OUTCOMES[name] == _TIMEOUT else PATIENCE
            found = reflect(RECORD, CONTEXT, Client(settings_for(server, timeout=timeout)), journal)
        except ModelError as error:
            what = "transient" if error.transient else "permanent"
            outcome, message = Outcome(what, error.code, error.retry_after), error.message
        else:
            violation = found.violation
            outcome = Outcome(found.kind, violation.code if violation else "")
            message = violation.message if violation else ""
        return Happened(outcome, len(server.asked), bool(journal.keys()), message)


def table(outcomes: Mapping[str, Outcome]) -> str:
    """Return the outcomes as the table of `docs/model.md`."""
    lines = ["| the server | what comes of it | code | journalled |", "|---|---|---|---|"]
    for name, (what, code, wait) in outcomes.items():
        kept = "yes" if what in RECEIVED else "no"
        later = f", after {wait:g} s" if wait is not None else ""
        lines.append(f"| {name} | {what}{later} | {f'`{code}`' if code else ''} | {kept} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure every outcome and print the table."""
    found = {}
    for name in BEHAVIOURS:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = happened(name, Path(folder)).outcome
    print(table(found), end="")  # noqa: T201


if __name__ == "__main__":
    main()
