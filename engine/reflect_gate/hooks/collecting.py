"""From events to captured failures: what fails is kept with its session, and goes to the queue when it has ended.

A failure has ended when its command passes, or when its session does. The transcript is read where there is one, since it has the
plans and edits too; else what the events themselves said. Whoever reads it when, a failure has one id and is one job.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from .event import Event
from .running import DISABLE
from .sessions import Spool, abandoned

if TYPE_CHECKING:
    from .transcripts._evidence import Evidence

__all__ = ["Capture", "collect", "entries_of", "settle"]

Capture: TypeAlias = Callable[[Mapping[str, Any]], object]
"""Takes a termination in, durably."""

_TAIL: Final = 4 * 1_048_576
"""Bytes of a transcript's end that a hook reads: a harness waits for it."""

_MOST: Final = 32
"""Failures that one hook captures at most, in the time that it has."""

_SWEPT: Final = 3


class _About(NamedTuple):
    """What is known of a session, from its last event or from what was kept of it."""

    dialect: str
    session: str
    cwd: str
    transcript: str


def collect(event: Event, capture: Capture) -> None:
    """Keep what an event tells of a failure, and capture the failures that have ended by it."""
    if not event.session:
        return
    spool = Spool.of(event)
    if (
        event.kind == "failure"
        or (event.kind == "tool_result" and spool.exists)
        or (event.kind == "prompt" and not event.transcript)
    ):
        entries = entries_of(event)
        if entries:
            spool.add({"key": event.key, **_about(event)._asdict(), "entries": [list(entry) for entry in entries]})
    elif event.kind in {"turn_end", "snapshot", "session_end"}:
        # A subagent that stops is over, while its session goes on.
        over = event.kind == "session_end" or (event.kind == "turn_end" and bool(event.agent))
        settle(spool, capture, over=over, about=_about(event))
    elif event.kind == "session_start":
        for old in list(abandoned(_SWEPT)):
            settle(old, capture, over=True)
            old.forget()


def _about(event: Event) -> _About:
    return _About(event.dialect, event.session, event.cwd, event.transcript)


def entries_of(event: Event) -> list[Evidence]:
    """Return the evidence in one event."""
    from .transcripts._evidence import Calls, Evidence, bounded, plain

    if event.kind == "prompt":
        return list(plain("user", event.said))
    failed = event.kind == "failure"
    if not event.tool and not event.action:
        text = event.output or event.error_class
        return [Evidence("error", bounded(text), error_class=event.error_class, failed=True)] if text and failed else []
    from .reading import payload_of

    calls = Calls()
    arguments = payload_of(event.action.encode("utf-8", "replace")) or {"command": event.action}
    made = list(calls.called("call", event.tool, arguments))
    back = calls.returned("call", event.output, failed=failed, exit_code=event.exit_code, error_class=event.error_class)
    return [*made, *back]


def settle(spool: Spool, capture: Capture, *, over: bool, about: _About | None = None) -> int:
    """Capture the failures of a session that have ended, and return how many were new; each is captured once a session."""
    lines = spool.lines()
    known = about or _kept(lines)
    if known is None or not (lines or known.transcript):
        return 0
    from .places import place_of
    from .terminations import Session, terminations

    entries, first_seq = _evidence(known, lines)
    if not any(entry.failed for entry in entries):
        if over:
            spool.close()
        return 0
    # Lessons are given to the session, whichever of its agents failed.
    given = Spool.of(Event(known.dialect, "", "other", known.session)).given()
    session = Session(known.dialect, known.session, place_of(known.cwd), given)
    done = {line.get("settled") for line in lines}
    found = terminations(entries, session, over=over, first_seq=first_seq)
    new = [one for one in found if f"{one['failure_id']} {one['outcome']}" not in done]
    # What was captured before the one that fails is captured for good; the others stay with the session, for its next end or
    # for the sweep.
    for one in islice(new, _MOST):
        with _marked():
            capture(one)
        name = f"{one['failure_id']} {one['outcome']}"
        spool.add({"key": f"settled {name}", **known._asdict(), "settled": name})
    if over and len(new) <= _MOST:
        spool.close()
    return min(len(new), _MOST)


def _evidence(known: _About, lines: list[dict[str, Any]]) -> tuple[list[Evidence], int]:
    """Return the evidence of a session, and how many entries came before it: the transcript's, then what only the events tell.

    A transcript may lag, hold no results (Cursor's), or be longer than the end of it that is read.
    """
    from .transcripts import Evidence, Transcript, read_transcript

    read = read_transcript(known.transcript, tail=_TAIL) if known.transcript else Transcript("", ())
    told = {entry.action for entry in read.entries if entry.returned}
    events = [Evidence(*parts) for line in lines for parts in line.get("entries", ())]
    return [
        *read.entries,
        *(entry for entry in events if not read.entries or (entry.action and entry.action not in told)),
    ], read.forgotten


def _kept(lines: list[dict[str, Any]]) -> _About | None:
    last = lines[-1] if lines else {}
    try:
        return _About(*(str(last[name]) for name in _About._fields))
    except KeyError:
        return None


@contextmanager
def _marked() -> Iterator[None]:
    """Let what is started from here be silent in its own hooks: a worker's agent would feed itself."""
    before = os.environ.get(DISABLE)
    os.environ[DISABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[DISABLE]
        else:
            os.environ[DISABLE] = before
