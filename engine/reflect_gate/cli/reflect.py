"""`reflect-gate reflect`: the queue at a glance, its dead letters, and lessons in a person's own words (R-k1, R-k4, R-t2)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from .._canonical import canonical_bytes
from ..errors import ReflectGateError, did_you_mean
from ..report._safe import plain
from ._errors import store_errors
from ._options import examples, format_option, policies_option
from ._output import OK, REFUSED, note, open_output, warn
from ._store import opened, store_option

if TYPE_CHECKING:
    from reflect_store.queue import Listed, Queue

    from ..capture.settings import Settings
    from ..capture.teaching import Taught

__all__ = ["REFLECT_SCHEMA", "chosen_verb", "reflect"]

REFLECT_SCHEMA = "urn:reflect-gate:schema:reflect-report:1"

VERBS: Final[Mapping[str, str]] = {
    "list": "Show pending jobs, dead letters and expired jobs.",
    "failed": "Show dead letters with their last error.",
    "retry": "Let a dead letter or an expired job run again.",
    "purge": "Remove a dead letter for good.",
    "drain": "Look at every record anew, and take in what was copied into the queue.",
    "quarantine": "Show damaged files.",
}
_WITH_ID: Final = frozenset({"retry", "purge"})

_ID: Final = re.compile(r"[0-9a-f]{16}")
# A part of an id, or a longer one: a slip of whoever typed it, and no sentence.
_NEARLY_ID: Final = re.compile(r"(?=.*[0-9])[0-9a-fA-F]{2,64}")
_PREVIEW: Final = 160


def chosen_verb(words: Sequence[str]) -> str:
    """Return the verb that the words are, `status` where there are none, empty where they are a lesson.

    A word that is both is a verb only if its arguments fit (R-k4).

    Raises:
        UsageError: one word that is no verb; no lesson is as short, so it is a slip.
    """
    if not words:
        return "status"
    first, rest = words[0], words[1:]
    if first in _WITH_ID:
        if len(rest) == 1 and (_ID.fullmatch(rest[0]) or _NEARLY_ID.fullmatch(rest[0])):
            return first
        if not rest:
            raise click.UsageError(f"`{first}` needs the id of a job, as `reflect-gate reflect list` shows it")
    elif first in VERBS and not rest:
        return first
    if len(" ".join(words).split()) < 2:
        near = did_you_mean(first, VERBS)
        raise click.UsageError(f"no such command `{first}`{near}; a lesson has more than one word")
    return ""


def _complete(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the verbs, and after `retry` and `purge` the ids of the jobs that they could take."""
    words = tuple(ctx.params.get("words") or ())
    if not words:
        return [CompletionItem(verb, help=text) for verb, text in VERBS.items() if verb.startswith(incomplete)]
    if len(words) > 1 or words[0] not in _WITH_ID:
        return []
    from ..report.queue import preview

    jobs = _takeable(expired=words[0] == "retry")
    return [CompletionItem(job.id, help=preview(job, _PREVIEW)) for job in jobs if job.id.startswith(incomplete)]


def _takeable(*, expired: bool) -> list[Listed]:
    from reflect_store.errors import StoreError
    from reflect_store.queue import open_at

    from ..capture.settings import read_settings

    try:
        settings = read_settings()
        place = settings.place
        if isinstance(place, Path) and not place.is_dir():
            return []
        # A queue that is busy must not hold up a prompt.
        with open_at(place, settings.queue()._replace(lock_timeout=0.5)) as queue:
            return [*queue.dead_letters(), *(queue.expired() if expired else ())]
    except (ReflectGateError, StoreError, OSError):
        return []


@click.command
@click.argument("words", nargs=-1, metavar="[COMMAND|LESSON...]", shell_complete=_complete)
@click.option("--scope", default="", metavar="TEXT", help="Where the lesson applies, as lang:go path:pkg/engine.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A keyword of the lesson; may be repeated.")
@store_option
@policies_option
@format_option("text", "json")
@examples(
    "reflect-gate reflect",
    "reflect-gate reflect when editing large Go files use Edit, not full rewrite",
    "reflect-gate reflect list",
    "reflect-gate reflect retry 9e2c51d07ab3447a",
    "reflect-gate reflect -- list the callers of a function before changing its signature",
)
def reflect(words: tuple[str, ...], **options: Any) -> int:
    """Look after the queue, or teach a lesson in your own words.

    Without words: how the queue stands. Commands are `list`, `failed`, `retry ID`, `purge ID`, `drain` and `quarantine`. Any
    other words are a lesson, which is stored at once, without a model; what the gate would criticise is shown as warnings, and
    only what looks like an attack on its readers is refused (exit code 5). `list the callers first` is a lesson too: a word is a
    command only if what follows it fits.
    """
    verb = chosen_verb(words)
    format_ = options["format_"]
    if not verb:
        return _teach(" ".join(words), options)
    for name in ("scope", "tags", "store_file", "policies"):
        if options[name]:
            raise click.UsageError(f"`--{_OPTIONS[name]}` is for a lesson, and `{verb}` is none")
    with _queue() as (queue, settings):
        _DONE[verb](_Job(queue, settings, words[1] if len(words) > 1 else "", format_))
    return OK


_OPTIONS: Final = {"scope": "scope", "tags": "tag", "store_file": "store", "policies": "policies"}


@contextmanager
def _queue() -> Iterator[tuple[Queue, Settings]]:
    from reflect_store.queue import open_at

    from ..capture.settings import read_settings

    settings = read_settings()
    with store_errors(), open_at(settings.place, settings.queue()) as queue:
        yield queue, settings


class _Job:
    """What a command works on, and how it says what it did."""

    def __init__(self, queue: Queue, settings: Settings, id_: str, format_: str) -> None:
        self.queue = queue
        self.settings = settings
        self.id = id_
        self._format = format_

    def say(self, command: str, lines: Iterable[str], **fields: Any) -> None:
        """Print the result: lines for people, the report for programs."""
        _print(self._format, command, lines, **fields)


def _print(format_: str, command: str, lines: Iterable[str], **fields: Any) -> None:
    with open_output(None) as sink:
        if format_ == "json":
            sink.json(canonical_bytes({"schema": REFLECT_SCHEMA, "command": command, **fields}) + b"\n")
        else:
            sink.text("".join(f"{plain(line)}\n" for line in lines))


def _status(job: _Job) -> None:
    from ..capture.overview import status_of
    from ..report.queue import status_lines

    found = status_of(job.queue, job.settings)
    job.say("status", status_lines(found, time.time()), status=found.to_json())


def _list(job: _Job) -> None:
    from ..capture.overview import contents, entry
    from ..report.queue import table_of

    found = contents(job.queue)
    fields = {name: [entry(each) for each in jobs] for name, jobs in found._asdict().items()}
    job.say("list", table_of(found, time.time()), **fields)


def _failed(job: _Job) -> None:
    from ..capture.overview import entry
    from ..report.queue import job_lines

    found = job.queue.dead_letters()
    lines = job_lines(found, time.time()) if found else ["there are no dead letters"]
    job.say("failed", lines, dead=[entry(each) for each in found])


def _retry(job: _Job) -> None:
    from ..capture.overview import put_back

    where = put_back(job.queue, job.id)
    job.say("retry", [f"{job.id} waits again; it was among the {where}"], job_id=job.id)


def _purge(job: _Job) -> None:
    from ..capture.overview import purge

    noted = purge(job.queue, job.id)
    lines = [f"{job.id} is removed" + ("; its failure is recorded as not reflected on" if noted else "")]
    job.say("purge", lines, job_id=job.id, recorded=noted)


def _drain(job: _Job) -> None:
    from ..report.queue import replay_line

    found = job.queue.drain()
    job.say("drain", [replay_line(found)], replay=found._asdict())


def _quarantine(job: _Job) -> None:
    from ..report.queue import quarantine_lines

    found = job.queue.quarantined()
    job.say("quarantine", quarantine_lines(found), quarantine=[each._asdict() for each in found])


_DONE: Final[Mapping[str, Callable[[_Job], None]]] = {
    "status": _status,
    "list": _list,
    "failed": _failed,
    "retry": _retry,
    "purge": _purge,
    "drain": _drain,
    "quarantine": _quarantine,
}


# -- a lesson --------------------------------------------------------------------------------------------------------------


def _teach(statement: str, options: Mapping[str, Any]) -> int:
    from ..capture.teaching import teach

    with opened(options["store_file"], create=True) as store:
        done = teach(store, statement, scope=options["scope"], tags=options["tags"], policies=options["policies"])
    _print(options["format_"], "lesson", _lesson_lines(done), lesson=done.to_json())
    for remark in (*done.warnings, *done.against):
        warn(ReflectGateError(remark.rule, remark.doc.rstrip(".") or remark.reason))
    if done.secrets:
        note(f"{done.secrets} secrets were replaced by markers", {"secrets": done.secrets})
    return REFUSED if done.taken == "refused" else OK


def _lesson_lines(done: Taught) -> Iterator[str]:
    from ..report.block import lesson_block

    if done.taken == "refused":
        yield "refused: it looks like an attack on whoever reads it; nothing was stored"
        return
    yield f"{done.taken}: {done.lesson_id}"
    yield from lesson_block(done.statement, None, "manual", done.tags).splitlines()
