"""Capturing a failure: switches, then the queue, and back to the turn (R-t1, R-q2, R-q9).

Nothing here waits for a model or a worker. What is not to be reflected on is recorded as that at once (R-P1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from ..config import Limits
from ..errors import ReflectGateError
from .intake import Taken, read_termination, take
from .route import Route, chosen_route
from .settings import VARIABLES, Settings, read_settings
from .tally import count

if TYPE_CHECKING:
    from reflect_store.queue import Job

__all__ = ["TRIGGERS", "Captured", "Outcome", "Trigger", "capture", "job_of", "switched_off"]

Trigger: TypeAlias = Literal["error", "hallucination", "low_quality", "manual"]
TRIGGERS: Final[tuple[Trigger, ...]] = ("error", "hallucination", "low_quality", "manual")

Outcome: TypeAlias = Literal["queued", "started", "duplicate", "dead", "done", "full", "off"]
"""What became of a capture: it waits in the queue; it runs at once, without a queue; it waits already; it is a dead letter; it
was worked off before; the queue had no room; a switch is off."""

_PREVIEW: Final = 200
_FROM_PUT: Final[Mapping[str, Outcome]] = {
    "enqueued": "queued",
    "duplicate": "duplicate",
    "dead": "dead",
    "done": "done",
    "full": "full",
}


class Captured(NamedTuple):
    """What became of one capture; `reason` says why it is not reflected on, `dropped` which jobs made room for it."""

    job_id: str
    outcome: Outcome
    failure_id: str
    trigger: Trigger
    route: Route
    reason: str = ""
    secrets: int = 0
    cut: int = 0
    dropped: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data (`capture-report.schema.json`)."""
        return {**self._asdict(), "dropped": list(self.dropped)}


def capture(
    termination: Mapping[str, Any] | bytes,
    trigger: Trigger = "error",
    *,
    settings: Settings | None = None,
    route: Route | None = None,
    name: str = "termination",
    limits: Limits | None = None,
) -> Captured:
    """Take a failure in, durably, and return without waiting for what becomes of it.

    Args:
        termination: `termination.schema.json`, as a document or as the bytes of one.
        trigger: why it is captured.
        settings: those of the environment unless given.
        route: the one that the environment names unless given.
        name: what errors call the document.
        limits: of the document.

    Raises:
        ReflectGateError: the termination or a setting is not valid.
        StoreError: queue or store cannot be written; nothing was kept.
    """
    settings, route = settings or read_settings(), route or chosen_route()
    taken = read_termination(termination, name, limits) if isinstance(termination, bytes) else take(termination, limits)
    job = job_of(taken, trigger, route)
    done = Captured(job.id, "queued", taken.termination["failure_id"], trigger, route, "", taken.secrets, taken.cut)
    reason = switched_off(trigger, settings)
    if reason:
        _not_reflected(taken, route, reason)
        return done._replace(outcome="off", reason=reason)
    if not settings.queue_enabled:
        from .legacy import start

        start(job, settings)
        return done._replace(outcome="started")
    from reflect_store.queue import open_at

    place = settings.place
    with open_at(place, settings.queue()) as queue:
        put = queue.put(job)
    count(settings.tallied, put, make=isinstance(place, str))
    if not put.kept:
        reason = f"queue-full: no room for {settings.queue_block_timeout:g} s"
        _not_reflected(taken, route, reason)
    return done._replace(outcome=_FROM_PUT[put.outcome], reason=reason, dropped=put.dropped)


def switched_off(trigger: Trigger, settings: Settings) -> str:
    """Return which switch forbids a trigger, empty where none does; `manual` is always on."""
    if trigger == "manual":
        return ""
    if not settings.enabled:
        return f"switch-off: {VARIABLES['enabled']}"
    switches = {"error": "on_error", "hallucination": "on_hallucination", "low_quality": "on_low_quality"}
    if trigger not in switches:
        raise ReflectGateError("trigger-unknown", f"no trigger `{trigger}`: expected one of {', '.join(TRIGGERS)}")
    field = switches[trigger]
    return "" if getattr(settings, field) else f"switch-off: {VARIABLES[field]}"


def job_of(taken: Taken, trigger: Trigger, route: Route) -> Job:
    """Return the job of a failure; the same failure, trigger and outcome are the same job (R-q2)."""
    from reflect_store.queue import Job

    termination = taken.termination
    payload = {"termination": termination, "trigger": trigger, "route": route}
    return Job(_task(termination), trigger, termination["failure_id"], termination["outcome"] or "", payload)


def _task(termination: Mapping[str, Any]) -> str:
    """Return what the job is about: the task, else the error, else what was seen first."""
    said = [termination.get("task", ""), (termination.get("error") or {}).get("message", "")]
    said += [item["text"] for item in termination["traces"][:1]]
    return next((" ".join(text.split())[:_PREVIEW] for text in said if text.strip()), "")


def _not_reflected(taken: Taken, route: Route, reason: str) -> None:
    from reflect_store import open_store

    from .noting import note_not_reflected, request_of
    from .route import store_of

    with open_store(store_of(route), create=True) as store:
        note_not_reflected(store, request_of(taken.termination), reason)
