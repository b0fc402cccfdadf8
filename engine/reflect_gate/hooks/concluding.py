"""From the end of a session to the outcome of a lesson that it was given: a job of the queue, which a worker records.

Recording judges and sweeps, so it is no work for a hook. A session and a lesson are one job, whoever ends the session and however
often, and one outcome in the store; no model is asked. A transcript that was not whole when the session ended is read again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from reflect_store import StoreError
from reflect_store.queue import Job, Skip

from ..capture.route import chosen_route
from ..capture.settings import read_settings
from ..errors import ReflectGateError
from ..memory.redacting import redact
from .giving import Given, read
from .outcomes import Ended, ended

if TYPE_CHECKING:
    from reflect_store import Store

    from ..policy import Bundle

__all__ = ["TRIGGER", "conclude", "job_of", "record_ended"]

TRIGGER: Final = "outcome"
"""Why such a job is in the queue; no trigger of a capture."""

_PARTS: Final = ("dialect", "session", "transcript", "given", "after", "before", "command", "exit_code")

_FINAL: Final = frozenset({"outcome-conflict", "lesson-unknown", "retrieval-unknown", "outcome-lessons"})
"""Why an outcome cannot be recorded, now or later: the task was recorded otherwise, or the store does not know of the lesson."""


def job_of(told: Mapping[str, Any], route: str) -> Job:
    """Return the job of a session's end for a lesson.

    `told` has `dialect`, `session`, `transcript`, `given` (`giving.Given` as plain data), and what `outcomes.Ended` has.
    """
    known = redact({key: told[key] for key in _PARTS}).request
    lesson = str(told["given"]["lesson"])
    parts = "\0".join((str(told["dialect"]), str(told["session"]), lesson))
    name = f"{told['dialect']}-{hashlib.sha256(parts.encode('utf-8', 'replace')).hexdigest()[:32]}"
    return Job(f"how a session ended for {lesson}", TRIGGER, name, "", {"ended": known, "route": route})


def conclude(told: Mapping[str, Any]) -> None:
    """Put the job into the queue, durably; without a queue, start a process that does it at once.

    Raises:
        ReflectGateError: a setting is not valid.
        StoreError: the queue has no room, or cannot be written: nothing was kept.
    """
    settings = read_settings()
    job = job_of(told, chosen_route())
    if not settings.queue_enabled:
        from ..capture.legacy import start

        start(job, settings)
        return
    from reflect_store.queue import open_at

    with open_at(settings.place, settings.queue()) as queue:
        put = queue.put(job)
    if not put.kept:
        raise StoreError("queue-full", "the queue has no room for an outcome")


def record_ended(store: Store, bundle: Bundle, told: Mapping[str, Any]) -> None:
    """Record what a job says.

    Raises:
        Skip: it cannot be recorded any more.
        ReflectGateError: the engines failed.
        StoreError: the store cannot be written.
    """
    from ..memory.recording import Outcome, Proof, record

    (given,) = read([told])
    found = _read_again(told, given) or Ended(*(told[name] for name in Ended._fields[:4]))
    if found.after is None:
        raise Skip(f"nothing executed shows it: {found.why}")
    origin = {"repository": given.repository, "commit": given.commit, "session": str(told["session"])}
    outcome = Outcome(found.after, found.before, Proof(found.exit_code, None, found.command), origin)
    lessons = () if given.withheld else (given.lesson,)
    try:
        record(store, bundle, outcome, retrieval_id=given.retrieval or None, lessons=lessons)
    except ReflectGateError as error:
        if error.code in _FINAL:
            raise Skip(f"{error.code}: {error.message}") from None
        raise


def _read_again(told: Mapping[str, Any], given: Given) -> Ended | None:
    """Return what the whole transcript says by now of what was left failing; None where it has nothing to add.

    Harnesses write it late, and a hook reads only its end.
    """
    if told["after"] != "unchanged" or not told["transcript"]:
        return None
    from .transcripts import read_transcript

    found = ended(read_transcript(told["transcript"]).entries, given, over=True)
    return found if found is not None and found.after is not None else None
