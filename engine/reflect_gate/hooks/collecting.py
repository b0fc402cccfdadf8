"""From events to captured failures and outcomes: what fails is kept with its session, and goes to the queue when it has ended.

A failure has ended when its command passes, or when its session does. The transcript is read where there is one, since it has the
plans and edits too; else what the events themselves said. Whoever reads it when, a failure has one id and is one job. What the
end says of the lessons that the session was given goes the same way, one job for a session and a lesson.
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

__all__ = ["Capture", "Conclude", "collect", "entries_of", "settle"]

Capture: TypeAlias = Callable[[Mapping[str, Any]], object]
"""Takes a termination in, durably."""

Conclude: TypeAlias = Callable[[Mapping[str, Any]], object]
"""Takes in, durably, what the end of a session says of a lesson (`concluding.conclude`)."""

_TAIL: Final = 4 * 1_048_576
"""Bytes of a transcript's end that a hook reads: a harness waits for it."""

_MOST: Final = 32
"""Failures that one hook captures at most, in the time that it has."""

_SWEPT: Final = 3

_UNTOLD: Final = frozenset({"codex", "vscode"})
"""Dialects whose results without an exit code do not say whether the command succeeded."""


class _About(NamedTuple):
    """What is known of a session, from its last event or from what was kept of it."""

    dialect: str
    session: str
    cwd: str
    transcript: str


def collect(event: Event, capture: Capture, conclude: Conclude | None = None) -> None:
    """Keep what an event tells of a failure, capture the failures that have ended by it, and conclude on the lessons given."""
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
        settle(spool, capture, conclude, over=over, about=_about(event))
    if event.kind in {"session_start", "prompt"}:
        # Some harnesses never say that a session began.
        for old in list(abandoned(_SWEPT)):
            settle(old, capture, conclude, over=True)
            old.forget()


def _about(event: Event) -> _About:
    return _About(event.dialect, event.session, event.cwd, event.transcript)


def entries_of(event: Event) -> list[Evidence]:
    """Return the evidence in one event; where it has no id of a call, its own key stands for that."""
    found = _entries(event)
    silent = event.kind == "tool_result" and event.dialect in _UNTOLD and event.exit_code is None
    call = event.call or event.key
    return [entry._replace(call=call, executed=entry.executed and not silent) for entry in found]


def _entries(event: Event) -> list[Evidence]:
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


def settle(spool: Spool, capture: Capture, conclude: Conclude | None = None, *, over: bool, about: _About | None = None) -> int:
    """Capture the failures of a session that have ended, and return how many were new; each is captured once a session.

    Then conclude on the lessons that the session was given, each once.
    """
    lines = spool.lines()
    known = about or _kept(lines)
    if known is None or not (lines or known.transcript):
        return 0
    entries, first_seq = _evidence(known, lines)
    done = {str(line.get("settled")) for line in lines}
    ended = _Ended(spool, known, entries, done, over)
    count = ended.capture(first_seq, lines, capture)
    if conclude is not None:
        ended.conclude(lines, conclude)
    if over and count <= _MOST:
        spool.close()
    return min(count, _MOST)


class _Ended(NamedTuple):
    """A session at one of its ends: what is kept of it, its evidence, and what was settled at an earlier end."""

    spool: Spool
    known: _About
    entries: list[Evidence]
    done: set[str]
    over: bool

    def capture(self, first_seq: int, lines: list[dict[str, Any]], capture: Capture) -> int:
        """Capture the failures that have ended, at most `_MOST` of them; return how many there are."""
        if not any(entry.failed for entry in self.entries):
            return 0
        from .places import place_of
        from .terminations import Session, terminations

        session = Session(self.known.dialect, self.known.session, place_of(self.known.cwd), self._given(lines))
        found = terminations(self.entries, session, over=self.over, first_seq=first_seq)
        new = [one for one in found if f"{one['failure_id']} {one['outcome']}" not in self.done]
        # What was captured before the one that fails is captured for good; the others stay with the session, for its next end
        # or for the sweep.
        for one in islice(new, _MOST):
            with _marked():
                capture(one)
            self._settled(f"{one['failure_id']} {one['outcome']}")
        return len(new)

    def conclude(self, lines: list[dict[str, Any]], conclude: Conclude) -> None:
        """Hand over what the evidence says of each lesson; that nothing can be said is noted at the end."""
        if not any("given" in line for line in lines):
            return
        from .giving import read
        from .outcomes import ended
        from .sessions import note

        for given in read(lines):
            name = f"outcome {given.lesson}"
            found = None if name in self.done else ended(self.entries, given, over=self.over)
            if found is None:
                continue
            told = {**self.known._asdict(), "given": given._asdict(), **found._asdict()}
            if found.after is not None:
                with _marked():
                    conclude(told)
                self._settled(name)
            note(told)

    def _given(self, lines: list[dict[str, Any]]) -> tuple[tuple[str, int | None], ...]:
        """Return the lessons of the session, with their places where they were given to this agent of it."""
        names = Spool.of(Event(self.known.dialect, "", "other", self.known.session)).given()
        if not names:
            return ()
        from .giving import placed, read

        places = {one.lesson: placed(self.entries, one) for one in read(lines) if not one.withheld}
        return tuple((name, places.get(name)) for name in names)

    def _settled(self, name: str) -> None:
        self.spool.add({"key": f"settled {name}", **self.known._asdict(), "settled": name})


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
