"""`reflect-gate policy diff`: what differs between two bundles, down to which change flipped which decision."""

from __future__ import annotations

import datetime as dt
import functools
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import click

from .._canonical import canonical_bytes
from ..config import Limits
from ..errors import ReflectGateError
from ..report._paint import Paint
from ._batch import Progress
from ._input import open_input
from ._options import examples, format_option, output_option, policies_option
from ._output import INVALID, OK, REFUSED, note, open_output, report

__all__ = ["diff"]

R = TypeVar("R")


class _Demands(NamedTuple):
    """What may differ, and whether the lines are shown."""

    fail_any: bool
    allow_only: str | None
    lines: bool


_OPTIONS = (
    click.option(
        "--fail-any", is_flag=True, help="Exit code 5 when a decision differs; without a corpus, when anything in force does."
    ),
    click.option(
        "--allow-only",
        type=click.Choice(["stricter"]),
        help="Exit code 5 when a decision gets milder; without a corpus, when a change may make one.",
    ),
    click.option("--lines", is_flag=True, help="Show the lines that differ in the files."),
)


def _demand_options(function: Callable[..., R]) -> Callable[..., R]:
    """Give the verb these options; it receives them as one `demands`."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> R:
        return function(*args, demands=_Demands(*[kwargs.pop(name) for name in _Demands._fields]), **kwargs)

    for option in reversed(_OPTIONS):
        option(wrapper)
    return wrapper


@click.command
@click.argument("a")
@click.argument("b")
@policies_option
@click.option("--corpus", metavar="FILE", help="Requests or a corpus, one a line, that both bundles judge; `-` reads stdin.")
@_demand_options
@click.option("--as-of", metavar="DATE", help="The day that decides which overrides have expired; else today (UTC).")
@format_option("text", "json")
@output_option
@examples(
    "reflect-gate policy diff structured introspect --corpus requests.ndjson",
    "reflect-gate policy diff HEAD~1:policies.yaml ./policies.yaml --lines",
    "reflect-gate policy diff ours.rgb ./policies.yaml#ours --corpus requests.ndjson --allow-only stricter",
)
def diff(
    a: str,
    b: str,
    policies: str | None,
    corpus: str | None,
    demands: _Demands,
    as_of: str | None,
    format_: str,
    output: str | None,
) -> int:
    """Show what differs between two bundles.

    A and B are each a bundle of the policies file, or the place of another: a file, a folder, an archive or REF:path of git, with
    `#BUNDLE` for another bundle than its default one. Told are the files, what is in force, and with a corpus the decisions. A
    decision that differs is put down to the changes that flip it back when they, and nothing else, are taken back.
    """
    from ..diffing.behaviour import compare
    from ..diffing.changes import changes
    from ..diffing.sides import load_side
    from ..diffing.textual import file_changes
    from ..diffing.versions import suggestions
    from ..report.policy_diff import Difference, diff_document, diff_text

    day = as_of or dt.datetime.now(dt.UTC).date().isoformat()
    before, after = load_side(a, policies, day), load_side(b, policies, day)
    changed, files = changes(before, after), file_changes(before, after)
    gc.enable()
    requests = _Requests()
    behaviour = None
    if corpus:
        bar = Progress(0, "requests")
        try:
            behaviour = compare(before, after, changed, requests.of(corpus), lambda count: bar.show(count, 0))
        finally:
            bar.close()
    flips = behaviour.flips if behaviour else ()
    found = Difference(before, after, files, changed, behaviour, suggestions(before, after, changed, files, flips))
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(diff_document(found)) + b"\n")
        else:
            sink.text(diff_text(found, Paint(sink.coloured), lines=demands.lines))
    if requests.broken:
        return INVALID
    return _verdict([change.can for change in changed] if behaviour is None else [flip.way for flip in flips], demands)


def _verdict(ways: Sequence[str], demands: _Demands) -> int:
    if demands.fail_any and ways:
        note(f"{len(ways)} differ, and none may", {"differ": len(ways)})
        return REFUSED
    milder = sum(way in {"milder", "either"} for way in ways)
    if demands.allow_only and milder:
        note(f"{milder} get milder or may, and none may", {"milder": milder})
        return REFUSED
    return OK


class _Requests:
    """The requests of a corpus; what cannot be read is told, with its place, and passed over."""

    def __init__(self) -> None:
        self.broken = 0

    def of(self, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield `(place, request)`."""
        from ._corpus import Corpus

        with open_input(path) as (stream, name):
            for place, request in Corpus().entries(stream, name, Limits()):
                if isinstance(request, dict):
                    yield place, request
                elif isinstance(request, ReflectGateError):
                    self.broken += 1
                    report(request)
