"""A lesson that a session was given, or that was withheld from it: what is kept of that, and where in the evidence it was.

A transcript and the events have no clock in common. So the place is found by the call that the event was about, by the words of
the prompt, or by counting how often the command had failed by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from .._hashing import sha256
from .collecting import entries_of
from .event import Event
from .transcripts._evidence import Evidence, bounded

__all__ = ["START", "Given", "about", "given_of", "placed", "read"]

START: Final = -1
"""The place before the first entry."""


class Given(NamedTuple):
    """A lesson that was given or withheld.

    Attributes:
        lesson: its id.
        retrieval: the retrieval that the store logged; empty where it could not.
        withheld: it was not said, to compare.
        kind: that of the event: `failure`, `prompt` or `session_start`.
        call: the call that failed; by the harness's id, else by the event's own.
        about: the digest of the failing command, or of the prompt.
        times: how often that command, or any, was known to have failed by then.
        signatures: of the failures that the lesson explains, and of the one that it was given for.
        repository: where the session worked.
        commit: at which revision.
    """

    lesson: str
    retrieval: str
    withheld: bool
    kind: str
    call: str
    about: str
    times: int
    signatures: tuple[str, ...]
    repository: str = ""
    commit: str = ""


def about(text: str) -> str:
    """Return the digest by which a command or a prompt is known again; no text of it is kept."""
    return sha256(bounded(text).encode("utf-8", "replace")).hex()[:32] if text.strip() else ""


def given_of(event: Event, lines: Iterable[Mapping[str, Any]]) -> Given:
    """Return what an event says of a lesson that is given for it, given what was kept before; the lesson itself is left out."""
    kept = [Evidence(*parts) for line in lines for parts in line.get("entries", ())]
    if event.kind != "failure":
        count = sum(bool(entry.failed) for entry in kept)
        return Given("", "", False, event.kind, event.call or event.key, about(event.said), count, ())
    entry = entries_of(event)[-1:]
    named = about(entry[0].action) if entry else ""
    count = sum(bool(one.failed) and about(one.action) == named for one in kept)
    return Given("", "", False, event.kind, event.call or event.key, named, count, ())


def read(lines: Iterable[Mapping[str, Any]]) -> list[Given]:
    """Return what a session was given and what was withheld from it, from what was kept of it, in order."""
    found = []
    for line in lines:
        told = line.get("given")
        if isinstance(told, dict):
            with suppress(TypeError, KeyError):
                found.append(Given(**{**told, "signatures": tuple(told["signatures"])}))
    return found


def placed(entries: Sequence[Evidence], given: Given) -> int | None:
    """Return the entry after which a lesson was given, `START` where it was before all of them, None where it cannot be told."""
    for at in range(len(entries) - 1, -1, -1):
        entry = entries[at]
        if entry.call and entry.call == given.call and (entry.returned or entry.kind == "user"):
            return at
    if given.kind == "failure":
        shown = [at for at, entry in enumerate(entries) if entry.returned and entry.failed and about(entry.action) == given.about]
        return shown[given.times - 1] if 0 < given.times <= len(shown) else None
    said = [at for at, entry in enumerate(entries) if entry.kind == "user" and about(entry.text) == given.about]
    if said:
        return said[-1]
    return None if given.times else START
