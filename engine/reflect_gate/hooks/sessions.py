"""What is kept of a running session: its failures until they have ended, and the lessons that it was given.

A file a session, to which each hook adds a line in one write, so that hooks that run at once lose nothing; a lesson is given by
whoever makes its mark first. Nothing here is read, changed and written back. Secrets are taken out before a line is written.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from .._hashing import sha256
from .event import Event

__all__ = ["MOST_LESSONS", "Spool", "abandoned", "note", "spools"]

MOST_LESSONS: Final = 3
"""Lessons that a session is given at most."""

_MOST_BYTES: Final = 4 * 1_048_576
_NOTES: Final = "outcomes.ndjson"
_MOST_NOTES: Final = 1_048_576
_NOTED: Final = ("dialect", "session", "after", "before", "exit_code", "command", "why")
_OF_GIVEN: Final = ("lesson", "retrieval", "withheld")
_ABANDONED: Final = 24 * 3_600.0
"""Seconds without a word after which a session is taken to be over: no harness promises to say that it ended."""


def spools() -> Path:
    """Return the folder of what is kept, which need not exist."""
    from ..config import home_dir

    return home_dir() / "hooks"


class Spool:
    """What is kept of one session."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._marks = file.with_suffix(".given")

    @classmethod
    def of(cls, event: Event) -> Spool:
        """Return the spool of an event's session; a subagent has one of its own."""
        name = f"{event.dialect}\0{event.session}\0{event.agent}".encode("utf-8", "replace")
        return cls(spools() / f"{sha256(name).hex()[:40]}.jsonl")

    @property
    def exists(self) -> bool:
        """Whether anything is kept."""
        return self.file.exists()

    def add(self, document: Mapping[str, Any]) -> None:
        """Add a line of plain data, without secrets; a session that has said too much is not listened to any more."""
        from ..memory.redacting import redact

        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        line = json.dumps(redact(dict(document)).request, separators=(",", ":")).encode("ascii") + b"\n"
        handle = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if os.fstat(handle).st_size < _MOST_BYTES:
                os.write(handle, line)
        finally:
            os.close(handle)

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines, each event once; half a line is none."""
        try:
            with self.file.open("rb") as stream:
                data = stream.read(_MOST_BYTES * 2)
        except OSError:
            return []
        found: dict[str, dict[str, Any]] = {}
        for number, line in enumerate(data.splitlines()):
            with suppress(ValueError):
                document = json.loads(line)
                if isinstance(document, dict):
                    found.setdefault(str(document.get("key", number)), document)
        return list(found.values())

    def close(self) -> None:
        """Forget the session's failures; the marks of its lessons stay until they are swept, since a session may go on."""
        self.file.unlink(missing_ok=True)

    def given(self) -> tuple[str, ...]:
        """Return the ids of the lessons that the session was given."""
        return self._marked("lesson-")

    def withheld(self) -> tuple[str, ...]:
        """Return the ids of the lessons that were withheld from the session."""
        return self._marked("held-")

    def _marked(self, kind: str) -> tuple[str, ...]:
        try:
            names = sorted(entry.path for entry in os.scandir(self._marks) if entry.name.startswith(kind))
            return tuple(Path(name).read_text("utf-8") for name in names)
        except OSError:
            return ()

    @property
    def full(self) -> bool:
        """Whether the session has been given all that it may be."""
        return (self._marks / f"slot-{MOST_LESSONS}").exists()

    def give(self, lesson_id: str) -> bool:
        """Return whether the session may be given a lesson, and mark it as given: once, and at most `MOST_LESSONS` in all."""
        if self.full or not self._mark("lesson-", lesson_id):
            return False
        return any(_made(self._marks / f"slot-{number}", "") for number in range(1, MOST_LESSONS + 1))

    def withhold(self, lesson_id: str) -> bool:
        """Return whether this is the first time that a lesson is withheld from the session, and mark it as withheld."""
        return self._mark("held-", lesson_id)

    def _mark(self, kind: str, lesson_id: str) -> bool:
        self._marks.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _made(self._marks / f"{kind}{sha256(lesson_id.encode()).hex()[:32]}", lesson_id)

    def forget(self) -> None:
        """Remove everything that is kept."""
        self.close()
        with suppress(OSError):
            for entry in list(os.scandir(self._marks)):
                Path(entry.path).unlink()
            self._marks.rmdir()


def note(told: Mapping[str, Any]) -> None:
    """Add a line on what became of a lesson that a session was given, for people; of a long file the older half goes."""
    from ..memory.redacting import redact

    file = spools() / _NOTES
    known = {**{key: told["given"][key] for key in _OF_GIVEN}, **{key: told[key] for key in _NOTED}}
    document = {"time": int(time.time()), **{key: value for key, value in known.items() if value not in {None, ""}}}
    line = json.dumps(redact(document).request, separators=(",", ":")).encode("ascii") + b"\n"
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if file.exists() and file.stat().st_size > _MOST_NOTES:
            file.replace(file.with_suffix(".old"))
        handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)


def _made(file: Path, text: str) -> bool:
    """Return whether this process made a file: of several that try, one."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    return True


def abandoned(most: int, now: float | None = None) -> Iterator[Spool]:
    """Yield up to `most` sessions of which nothing was heard for a day."""
    latest = (time.time() if now is None else now) - _ABANDONED
    with suppress(OSError):
        old = [
            entry.path
            for entry in os.scandir(spools())
            if entry.name.endswith((".jsonl", ".given")) and entry.stat().st_mtime < latest
        ]
        yield from (Spool(Path(path).with_suffix(".jsonl")) for path in sorted(old)[:most])
