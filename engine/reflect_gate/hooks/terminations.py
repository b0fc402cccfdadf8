"""From a session's evidence to terminations: which commands failed, and how each failure ended.

A failure begins where a command (or a tool on a file) fails, and goes on while it does. It is `resolved` when the same command
passes: what was edited since the last failure is the repair, what was done since is the successful trajectory. It is `escalated`
when the session ends before that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from .places import Place, language_of
from .transcripts._evidence import TEXT, Evidence, bounded

__all__ = ["Session", "answered", "item_of", "terminations"]

Outcome: TypeAlias = Literal["resolved", "escalated"]

_BEFORE: Final = 12
"""Entries before a failure that are its context."""

_MOST: Final = 48
"""Entries of a failure, and of a successful trajectory."""

_COMPONENT: Final = {"user": "user", "plan": 11, "action": 11, "code": 11, "tool_output": 12, "test_output": 12, "error": 12}

_ASKING: Final = frozenset("grep egrep fgrep rg ag git which type command test [ diff cmp ls find pgrep stat cat head".split())
"""Commands whose exit code 1 is an answer (nothing found, not there, not the same) and no failure of the task."""


class Session(NamedTuple):
    """What is known of the session that the evidence is of.

    `given` are the lessons that it was given, each with the entry after which it was, -1 where that was at the beginning, None
    where it cannot be told.
    """

    dialect: str
    name: str
    place: Place = Place()
    given: tuple[tuple[str, int | None], ...] = ()
    task: str = ""


class _Failure(NamedTuple):
    """A failure: where it began, the places at which it showed, and where it passed (None while it has not)."""

    action: str
    shown: tuple[int, ...]
    passed: int | None = None

    @property
    def outcome(self) -> Outcome:
        return "escalated" if self.passed is None else "resolved"


def terminations(entries: Sequence[Evidence], session: Session, *, over: bool, first_seq: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the failures that have ended, each a document of `termination.schema.json`, in the order in which they ended.

    Args:
        entries: the evidence, in order.
        session: where it comes from.
        over: the session has ended, so that what has not passed is escalated.
        first_seq: how many entries came before these.
    """
    for failure in _failures(entries, over):
        yield _termination(entries, failure, session, first_seq)


def _failures(entries: Sequence[Evidence], over: bool) -> Iterator[_Failure]:
    open_: dict[str, _Failure] = {}
    for at, entry in enumerate(entries):
        if not entry.returned:
            continue
        known = open_.get(_about(entry))
        if entry.failed and not answered(entry):
            shown = known.shown if known else ()
            open_[_about(entry)] = _Failure(
                entry.action, (*shown, at)[-_MOST:] if len(shown) < _MOST else (shown[0], *shown[2:], at)
            )
        elif entry.failed is False and known:
            del open_[_about(entry)]
            yield known._replace(passed=at)
    if over:
        yield from open_.values()


def _about(entry: Evidence) -> str:
    """Return what a failure is of: its command, else what it says, since nothing can show that it passed."""
    return entry.action or f"{entry.error_class}\n{entry.text}"


def answered(entry: Evidence) -> bool:
    """Return whether an exit code is an answer of a command that asks, and no failure of the task."""
    program = entry.action.split(maxsplit=1)[0] if entry.action else ""
    return entry.exit_code == 1 and entry.kind != "test_output" and program.rpartition("/")[2] in _ASKING


def _termination(entries: Sequence[Evidence], failure: _Failure, session: Session, first_seq: int) -> dict[str, Any]:
    first, last = failure.shown[0], failure.shown[-1]
    prompts = [at for at, entry in enumerate(entries[:first]) if entry.kind == "user"]
    around = {*prompts[:1], *prompts[-1:], *range(max(0, first - _BEFORE), first), *_between(first, last)}
    # What another failure showed is that failure's evidence: here it would be taken for this one's symptom.
    window = sorted(at for at in around if not entries[at].failed or _about(entries[at]) == _about(entries[first]))
    after = range(last + 1, failure.passed + 1) if failure.passed is not None else range(0)
    files = [entries[at].path for at in (*window, *after) if entries[at].path]
    document: dict[str, Any] = {
        "failure_id": _id(session, failure, entries[first]),
        "outcome": failure.outcome,
        "task": bounded(entries[prompts[-1]].text) if prompts else session.task,
        "repository": session.place.repository,
        "commit": session.place.commit,
        "language": language_of(files),
        "traces": [item_of(entries[at], first_seq + at) for at in window],
        "repair_delta": _repair(entries, failure, first_seq),
        "successful_trajectory": [item_of(entries[at], first_seq + at) for at in list(after)[-_MOST:]],
        "session": session.name,
        **_recalled(session, first),
    }
    made = next((at for at in range(last, -1, -1) if not entries[at].returned and entries[at].action == failure.action), None)
    if failure.action and made is not None:
        document["failing_action_seq"] = first_seq + made
    return {key: value for key, value in document.items() if value != ""}


def _recalled(session: Session, first: int) -> dict[str, list[str]]:
    """Return the lessons that were given before a failure first showed, and the others; a key only where there are some.

    A lesson that came after it could not prevent it.
    """
    before = [name for name, at in session.given if at is not None and at < first]
    beside = [name for name, _ in session.given if name not in before]
    return {key: names for key, names in (("recalled", before), ("recalled_beside", beside)) if names}


def _between(first: int, last: int) -> Iterable[int]:
    """Return the places from the first failure to the last, at most `_MOST` of them: the beginning and the end."""
    places = range(first, last + 1)
    return places if len(places) <= _MOST else [*places[: _MOST // 2], *places[-_MOST // 2 :]]


def _id(session: Session, failure: _Failure, entry: Evidence) -> str:
    """Return the same id for the same failure, whoever reports it and however often."""
    parts = f"{session.dialect}\0{session.name}\0{failure.action}\0{entry.text}"
    return f"{session.dialect}-{hashlib.sha256(parts.encode('utf-8', 'replace')).hexdigest()[:32]}"


def _repair(entries: Sequence[Evidence], failure: _Failure, first_seq: int) -> dict[str, Any] | None:
    """Return the edits between the last failure and the success, else those between the first and the success."""
    if failure.passed is None:
        return None
    for start in (failure.shown[-1], failure.shown[0]):
        edits = [at for at in range(start + 1, failure.passed) if entries[at].kind == "code"]
        if edits:
            text = bounded("\n".join(entries[at].text for at in edits))
            item = {"component": 14, "kind": "repair", "seq": first_seq + edits[-1], "text": text}
            return item | ({"path": entries[edits[-1]].path} if entries[edits[-1]].path else {})
    return None


def item_of(entry: Evidence, seq: int) -> dict[str, Any]:
    """Return an entry as an item of `termination.schema.json`; its error class is read off its text where it does not say it."""
    item: dict[str, Any] = {"component": _COMPONENT[entry.kind], "kind": entry.kind, "seq": seq, "text": entry.text}
    if entry.exit_code is not None:
        item["exit_code"] = entry.exit_code
    if entry.kind == "test_output" and entry.failed is not None:
        item["passed"] = not entry.failed
    # What a harness calls a failure (`nonzero_exit`) would hide the error by which it is known again.
    error = (_error_class(entry.text) if entry.failed else "") or entry.error_class
    return item | ({"error_class": error} if error else {}) | ({"path": entry.path} if entry.path else {})


def _error_class(text: str) -> str:
    from ..measure._errortext import read_error

    return read_error(text[-TEXT:]).error_class
