"""`reflect-gate store`: keep, check, copy, merge and redact what the gate remembers."""

from __future__ import annotations

import gc
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..config import Limits
from ..errors import ReflectGateError
from ._app import LazyGroup
from ._input import open_input
from ._options import examples, format_option
from ._output import INVALID, OK, Sink, note, open_output
from ._store import bar, opened, say, schema_check, store_option
from .store_server import index, roles

if TYPE_CHECKING:
    from reflect_store import Head, Report

__all__ = ["store"]


@click.group(cls=LazyGroup, no_args_is_help=False)
def store() -> None:
    """Keep, check, copy, merge and redact what the gate remembers.

    A store is a chain of events, the only truth, and projections that are folded from it. docs/store.md has the guarantees.
    """


@store.command
@store_option
@format_option("text", "json")
@examples("reflect-gate store init", "reflect-gate store init --store ./lessons/store.db")
def init(store_file: str | None, format_: str) -> None:
    """Make a store, or bring one of an older layout up to date.

    The folder gets mode 0700 and the file 0600. A store that is there already is kept as it is.
    """
    with opened(store_file, create=True) as kept:
        status = kept.status()
        text = f"ok: {status.place}: layout {status.layout}, {status.head.seq} events"
        say(format_, text, "init", status.place, status.head, layout=status.layout)


@store.command
@store_option
@format_option("text", "json")
@examples("reflect-gate store status", "reflect-gate store status --format json")
def status(store_file: str | None, format_: str) -> None:
    """Say what a store holds.

    The head names the whole history: note it, and `store verify --head` tells later whether that history is still there.
    """
    with opened(store_file, read_only=True) as kept:
        found = kept.status()
    lines = [f"store     {found.place}", f"layout    {found.layout} ({found.backend})", f"head      {found.head}"]
    lines += [f"bytes     {found.size}", f"redacted  {found.redacted}"]
    if found.indexed is not None:
        lines.append(f"indexed   {found.indexed} ({found.head.seq - found.indexed} behind)")
    lines += [f"{count:9} {table}" for table, count in found.rows.items() if count]
    fields = {"layout": found.layout, "bytes": found.size, "redacted": found.redacted, "rows": dict(found.rows)}
    fields |= {} if found.indexed is None else {"indexed": found.indexed}
    say(format_, "\n".join(lines), "status", found.place, found.head, **fields)


def _head(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> Head | None:
    from reflect_store import Head

    if value is None:
        return None
    if not re.fullmatch(r"[0-9]{1,18}:[0-9a-f]{64}", value):
        raise click.BadParameter("a head is a number, a colon and 64 hexadecimal digits, as `store status` prints it")
    seq, _, hash_ = value.partition(":")
    return Head(int(seq), hash_)


def _told(report: Report, ok: str) -> str:
    return "\n".join(report.problems) if report.problems else ok


@store.command
@store_option
@click.option("--head", metavar="SEQ:HASH", callback=_head, help="A head noted earlier that must still be in the chain.")
@format_option("text", "json")
@examples("reflect-gate store verify", "reflect-gate store verify --head 42:5f0c... --format json")
def verify(store_file: str | None, head: Head | None, format_: str) -> int:
    """Check the file, the chain and the projections.

    Nothing is changed. Exit code 0 when all is sound, 3 when something is wrong; each fault is a line.
    """
    gc.enable()
    with opened(store_file, read_only=True) as kept, bar("checked") as progress:
        report, place = kept.verify(expected=head, progress=progress), kept.backend.place
    ok = f"ok: {place}: {report.head.seq} events, {report.redacted} redacted, {report.rows} rows"
    fields = {"redacted": report.redacted, "sound": report.sound, "problems": list(report.problems)}
    say(format_, _told(report, ok), "verify", place, report.head, **fields)
    return OK if report.sound else INVALID


@store.command
@store_option
@format_option("text", "json")
@examples("reflect-gate store rebuild")
def rebuild(store_file: str | None, format_: str) -> int:
    """Fold the projections anew from the events.

    What differs is named and put right. Exit code 3 when the chain itself is broken: then nothing is changed.
    """
    gc.enable()
    with opened(store_file) as kept, bar("folded") as progress:
        report, place = kept.rebuild(progress=progress), kept.backend.place
    told = _told(report, f"ok: {place}: {report.rows} rows, none differed")
    if report.changed:
        told += f"\n{report.changed} rows put right"
    fields = {"problems": list(report.problems), "changed": report.changed}
    say(format_, told, "rebuild", place, report.head, **fields)
    return INVALID if report.problems and not report.changed else OK


@store.command
@click.argument("target", type=click.Path())
@store_option
@format_option("text", "json")
@examples("reflect-gate store backup lessons-monday.db")
def backup(target: str, store_file: str | None, format_: str) -> None:
    """Copy the store to a new file while it is in use.

    TARGET must not exist. The copy holds one state, is synced, and is itself a store.
    """
    with opened(store_file, read_only=True) as kept, bar("pages") as progress:
        head, place = kept.backup(Path(target), progress=progress), kept.backend.place
    say(format_, f"ok: {target}: {head.seq} events", "backup", place, head, file=target)


@store.command
@store_option
@click.option("--event", "events", metavar="ID", multiple=True, help="Erase this event; may be repeated.")
@click.option(
    "--lesson", metavar="ID", help="Erase every event of this lesson's life, and decisions that were judged against it."
)
@click.option(
    "--text-from", metavar="FILE|-", help="Erase every event that holds the text of this file, less one line break at its end."
)
@click.option("--reason", required=True, help="Why, for the record; must not repeat what is erased.")
@click.option("--yes", is_flag=True, help="Erase; without it, only say what would be erased.")
@format_option("text", "json")
@examples(
    "reflect-gate store redact --text-from leaked.txt --reason 'leaked token'",
    "reflect-gate store redact --lesson lesson-05 --reason 'learned from a forged log' --yes",
)
def redact(
    store_file: str | None,
    events: tuple[str, ...],
    lesson: str | None,
    text_from: str | None,
    reason: str,
    yes: bool,
    format_: str,
) -> None:
    """Erase payloads for good.

    The payload goes with everything that was made of it; the chain still verifies, and the act is an event. It cannot be undone.
    Backups and exports made earlier still hold what is erased here.
    """
    if not (events or lesson or text_from):
        raise click.UsageError("give `--event`, `--lesson` or `--text-from`")
    text = None if text_from is None else _text(text_from)
    gc.enable()
    with opened(store_file) as kept, bar("read") as progress:
        found = kept.redact(events=events, lesson=lesson, text=text, reason=reason, dry_run=not yes, progress=progress)
        head, place = kept.head(), kept.backend.place
    done = "erased" if yes else "would be erased; nothing was changed without --yes"
    told = "".join(f"{name}\n" for name in found) + f"{len(found)} events {done}"
    say(format_, told, "redact", place, head, events=list(found), dry_run=not yes)


def _text(path: str) -> str:
    most = Limits().text_chars
    with open_input(path) as (stream, name):
        data = stream.read(4 * most + 1)
    try:
        text = data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ReflectGateError("document-encoding", f"`{name}` is no UTF-8") from None
    if not 0 < len(text) <= most:
        raise ReflectGateError("document-size", f"`{name}` must hold 1 to {most} characters")
    return text


class _Writer:
    """An export on its way out: a terminal gets characters that could drive it as JSON escapes."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, data: bytes, /) -> None:
        self._sink.json(data)


@store.command
@store_option
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write here, whole or not at all; else stdout."
)
@examples("reflect-gate store export -o lessons.ndjson", "reflect-gate store export | sha256sum")
def export(store_file: str | None, output: str | None) -> None:
    """Write every event, one JSON object a line.

    The same store gives the same bytes. The first line names the format, the number of events and the last hash.
    """
    with opened(store_file, read_only=True) as kept, open_output(output) as sink, bar("written") as progress:
        head = kept.export(_Writer(sink), progress=progress)
    note(f"{head.seq} events, head {head}", {"events": head.seq, "head": str(head)})


@store.command("import")
@click.argument("file", default="-", metavar="[FILE|-]")
@store_option
@click.option("--erase", is_flag=True, help="Erase here, too, what was redacted in the store that the export comes from.")
@format_option("text", "json")
@examples("reflect-gate store import lessons.ndjson", "ssh build reflect-gate store export | reflect-gate store import -")
def import_(file: str, store_file: str | None, erase: bool, format_: str) -> None:
    """Merge an export into the store.

    Whole or not at all; importing it again adds nothing. The export's own chain is checked line by line, every event is held
    to its schema, and what was erased here stays erased.
    """
    gc.enable()
    with opened(store_file, create=True) as kept, open_input(file) as (stream, name), bar("read") as progress:
        done = kept.import_(stream, name, check=schema_check, erase=erase, progress=progress)
        place = kept.backend.place
    told = f"ok: {place}: {done.added} added, {done.known} known"
    if done.withheld:
        told += f"\n{done.withheld} events are erased in the file and kept here; --erase erases them"
    fields = {field: value for field, value in done._asdict().items() if field != "head"}
    say(format_, told, "import", place, done.head, file=file, **fields)


@store.command
@store_option
@format_option("text", "json")
@examples("reflect-gate store vacuum")
def vacuum(store_file: str | None, format_: str) -> None:
    """Give back the space that projections no longer take.

    Events stay as they are: none is removed or merged.
    """
    with opened(store_file) as kept:
        before = kept.status().size
        kept.vacuum()
        after = kept.status()
    say(format_, f"ok: {after.place}: {before} bytes, now {after.size}", "vacuum", after.place, after.head, bytes=after.size)


store.add_command(index)
store.add_command(roles)
