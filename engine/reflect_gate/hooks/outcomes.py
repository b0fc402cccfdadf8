"""What the end of a session says of a lesson that it was given, by what was executed alone (R-i1).

A lesson is held to commands: the one whose failure it was given for, those that were failing with a signature that it explains,
and, where it came before any of these failed, those that failed so after it. How such a command ended is how the task did. A
command that passed before the lesson and fails after it, with its signature, got worse. Of everything else nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from .giving import Given, placed
from .terminations import answered
from .transcripts._evidence import Evidence

__all__ = ["Ended", "Why", "ended", "signature_of"]

After: TypeAlias = Literal["resolved", "unchanged", "worse"]
Before: TypeAlias = Literal["failing", "passing", "unknown"]

Why: TypeAlias = Literal["unplaced", "not-executed", "an-answer", "nothing-failed", "no-exit-code"]
"""Why nothing is recorded: where in the session the lesson came cannot be told; what failed was no command, or only its words say
how it ended; its exit code is an answer; nothing failed that the lesson is about; the failure that is left has no exit code."""

_SUCCESS: Final = 0


class Ended(NamedTuple):
    """What can be said of a lesson: how the task ended and stood before, by which command and exit code; or why nothing can."""

    after: After | None
    before: Before = "unknown"
    command: str = ""
    exit_code: int = _SUCCESS
    why: Why | Literal[""] = ""


def ended(entries: Sequence[Evidence], given: Given, *, over: bool) -> Ended | None:
    """Return what a session's evidence says of a lesson, None where the session goes on and may say more.

    Only what passes ends a lesson's task while the session goes on.
    """
    found = _ended(entries, given)
    return found if over or found.after == "resolved" else None


def _ended(entries: Sequence[Evidence], given: Given) -> Ended:
    at = placed(entries, given)
    if at is None:
        return Ended(None, why="unplaced")
    before, later = _standing(entries[: at + 1]), _standing(entries[at + 1 :])
    if given.kind == "failure":
        failed = entries[at]
        if not failed.executed or answered(failed):
            return Ended(None, why="an-answer" if failed.executed else "not-executed")
        watched = {failed.action: failed}
    else:
        watched = _explained(before.values(), given)
    worse = _explained((entry for name, entry in later.items() if _passed(before.get(name)) and name not in watched), given)
    if worse:
        return _failing(next(iter(worse.values())), "worse", "passing")
    if watched:
        return _left(watched, later, "failing")
    # Nothing was failing when it came: what failed since was seen with the lesson at hand.
    met = _explained((entry for entry in _first_failures(entries[at + 1 :]) if entry.action not in before), given)
    return _left(met, later, "unknown") if met else Ended(None, why="nothing-failed")


def _standing(entries: Iterable[Evidence]) -> dict[str, Evidence]:
    """Return how each command ended that was executed, by its last run."""
    return {entry.action: entry for entry in entries if entry.returned and entry.executed and not answered(entry)}


def _first_failures(entries: Iterable[Evidence]) -> Iterator[Evidence]:
    for entry in entries:
        if entry.returned and entry.executed and entry.failed and not answered(entry):
            yield entry


def _explained(entries: Iterable[Evidence], given: Given) -> dict[str, Evidence]:
    """Return the failures that have a signature of the lesson, by their commands."""
    return {entry.action: entry for entry in entries if entry.failed and signature_of(entry.text) in given.signatures}


def _passed(entry: Evidence | None) -> bool:
    return entry is not None and entry.failed is False and not entry.exit_code


def _left(watched: Mapping[str, Evidence], later: Mapping[str, Evidence], before: Before) -> Ended:
    """Return how the commands ended that a lesson is held to: resolved where all have passed."""
    last = {name: later.get(name, entry) for name, entry in watched.items()}
    failing = next((entry for entry in last.values() if not _passed(entry)), None)
    if failing is not None:
        return _failing(failing, "unchanged", before)
    entry = next(iter(last.values()))
    # Of a command a harness says that it succeeded where its exit code is 0.
    return Ended("resolved", before, entry.action, _SUCCESS)


def _failing(entry: Evidence, after: After, before: Before) -> Ended:
    if not entry.exit_code:
        return Ended(None, why="no-exit-code")
    return Ended(after, before, entry.action, entry.exit_code)


def signature_of(text: str) -> str:
    """Return the signature of an error text, as a retrieval reads it; empty where it tells of no error."""
    from ..measure._errortext import read_error
    from ..stages._signature import signature

    read = read_error(text)
    return signature(read.error_class, read.message, read.site)["signature"] if read.error_class or read.message else ""
