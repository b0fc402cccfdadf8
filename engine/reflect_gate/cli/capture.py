"""`reflect-gate capture`: a failure goes into the queue, and the turn goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .._canonical import canonical_bytes
from ..capture.capturing import TRIGGERS, Trigger
from ._errors import store_errors
from ._input import open_input
from ._options import examples, format_option
from ._output import COULD_NOT_RUN, OK, note, open_output
from ._server import server_option

if TYPE_CHECKING:
    from ..capture.capturing import Captured

__all__ = ["CAPTURE_SCHEMA", "capture"]

CAPTURE_SCHEMA = "urn:reflect-gate:schema:capture-report:1"

_SAID = {
    "started": "works on it now, without a queue",
    "duplicate": "waits already, or is being worked on",
    "dead": "is a dead letter: retry or purge it",
    "done": "was worked off before",
}


@click.command
@click.argument("file", default="-", metavar="[FILE|-]")
@click.option(
    "--trigger", type=click.Choice(TRIGGERS), default="error", show_default=True, help="Why it is captured; each has a switch."
)
@server_option
@format_option("text", "json")
@examples(
    "reflect-gate capture termination.json",
    "harness --last-failure | reflect-gate capture - --trigger hallucination",
    "REFLECT_GATE_ON_LOW_QUALITY=true reflect-gate capture draft.json --trigger low_quality",
    "reflect-gate capture termination.json --server https://gate.example.org",
)
def capture(file: str, trigger: Trigger, server: str | None, format_: str) -> int:
    """Take a failure in, to be reflected on later.

    FILE holds one termination (termination.schema.json). Secrets are taken out, long texts cut, and the job is on the disk when
    the command ends; its id is printed. What a switch forbids, or a full queue has no room for, is recorded as not reflected on.
    Exit code 0 where the failure was kept or is switched off, 1 where it was not kept, 3 where it is not valid.
    """
    from ..capture.capturing import capture as take_in

    limit = _limit()
    with open_input(file) as (stream, name):
        data = stream.read(limit + 1)
    if server is not None:
        done = _there(server, data, trigger, name)
    else:
        with store_errors():
            done = take_in(data, trigger, name=name)
    _print(done, format_)
    return COULD_NOT_RUN if done.outcome == "full" else OK


def _there(server: str, data: bytes, trigger: Trigger, name: str) -> Captured:
    """Let a server take it in; secrets are taken out here, before anything is sent."""
    from ..capture.capturing import Captured
    from ..capture.intake import read_termination
    from ._server import Server

    taken = read_termination(data, name)
    with Server(server, name) as there:
        told = there.post("/v1/capture", taken.termination, trigger=trigger)
    del told["schema"]
    done = Captured(**told)
    return done._replace(dropped=tuple(done.dropped), secrets=taken.secrets, cut=taken.cut)


def _limit() -> int:
    from ..config import Limits

    return Limits().request_bytes


def _print(done: Captured, format_: str) -> None:
    with open_output(None) as sink:
        if format_ == "json":
            sink.json(canonical_bytes({"schema": CAPTURE_SCHEMA, **done.to_json()}) + b"\n")
            return
        if done.outcome != "off":
            sink.text(f"{done.job_id}\n")
    for text in _remarks(done):
        note(text, {"job_id": done.job_id, "outcome": done.outcome, "remark": text})


def _remarks(done: Captured) -> Iterator[str]:
    if done.outcome in _SAID:
        yield f"{done.outcome}: job {done.job_id} {_SAID[done.outcome]}"
    if done.reason:
        yield f"not reflected on: {done.reason}"
    if done.secrets:
        yield f"{done.secrets} secrets were replaced by markers"
    if done.cut:
        yield f"{done.cut} texts were cut"
    for name in done.dropped:
        yield f"job {name} became a dead letter to make room"
