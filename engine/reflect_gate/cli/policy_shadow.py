"""`reflect-gate policy shadow`: what bundles and rules that only looked on would have decided."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from .._canonical import canonical_bytes
from ..config import Limits
from ..errors import ReflectGateError, Source, raise_all
from ..report._paint import Paint
from ..report._safe import plain
from ..report._table import table
from ..shadowing import by_count
from ._app import LazyGroup
from ._input import open_input
from ._options import examples, format_option, output_option, policies_option
from ._output import open_output, warn

if TYPE_CHECKING:
    from ..shadowing import Moved, Summary

__all__ = ["shadow"]

_SHOWN = 40


@click.group(cls=LazyGroup, no_args_is_help=False)
def shadow() -> None:
    """Summarize what bundles and experimental rules that only looked on would have decided.

    `reflect-gate evaluate --shadow BUNDLE` keeps it in each decision under `shadow`; what experimental rules say is kept without
    asking, under `experimental`.
    """


@shadow.command("report")
@click.argument("file", default="-", metavar="[FILE|-]")
@policies_option
@format_option("text", "json")
@output_option
@examples(
    "reflect-gate evaluate requests.ndjson --shadow ours --format ndjson -o decisions.ndjson",
    "reflect-gate policy shadow report decisions.ndjson",
)
def report_(file: str, policies: str | None, format_: str, output: str | None) -> None:
    """Summarize the shadows of a log of decisions.

    FILE holds decisions as `evaluate --format ndjson` or `json` writes them; `-` or nothing reads stdin. Told are other bundles
    that looked on (`evaluate --shadow`), and what the experimental rules of the deciding bundle would have changed. Rules that
    the policies have renamed since are counted under their new names.
    """
    from ..shadowing import summarize, summary_document

    gc.enable()
    found = summarize(_decisions(file), _names(policies))
    for old, now in sorted(found.renamed.items()):
        warn(ReflectGateError("policy-old-name", f"rule `{old}` of the log is counted as `{now}`, which it is now called"))
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(summary_document(found)) + b"\n")
        else:
            sink.text(_text(found, Paint(sink.coloured)))


def _names(policies: str | None) -> Mapping[str, str]:
    """Return the live names of renamed rules; a log can be read whatever became of the policies."""
    from ._policies import renamed_rules

    try:
        return renamed_rules(policies)
    except ReflectGateError as error:
        for leaf in error.errors:
            warn(leaf)
        return {}


def _decisions(file: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each decision with its place; entries that stand for requests which could not be judged are passed over."""
    from ..documents import read_documents
    from .evaluate import ERROR_SCHEMA

    with open_input(file) as (stream, name):
        for place, document in read_documents(stream, name, Limits()):
            if isinstance(document, ReflectGateError):
                raise_all([document])
            elif not isinstance(document, dict):
                raise ReflectGateError("document-type", f"expected a decision at `{place}`", Source(name))
            elif document.get("schema") != ERROR_SCHEMA:
                yield place, document


def _text(found: Summary, paint: Paint) -> str:
    lines = []
    if found.shadowed or not found.tried:
        bundles = ", ".join(f"{plain(name)} {digest[:12]}" for name, digest in found.bundles) or "none"
        lines += [
            paint(f"{len(found.shadow.differing)} of {found.shadowed} decisions differ from their shadow", "bold"),
            f"  decisions {found.decisions}, shadows by {bundles}",
            "",
            *_moved(found.shadow, ("shadow", "said only by the deciding bundle", "said only by the shadow"), paint),
        ]
    if found.tried:
        lines += [
            paint(f"{len(found.experimental.differing)} of {found.tried} decisions would differ by experimental rules", "bold"),
            f"  decisions {found.decisions}",
            "",
            *_rules(found, paint),
            *_moved(found.experimental, ("with them", "said only without them", "said only with them"), paint),
        ]
    return "\n".join(lines).rstrip() + "\n"


def _rules(found: Summary, paint: Paint) -> list[str]:
    ordered = sorted(found.rules.items(), key=lambda entry: (-entry[1][0], entry[0]))
    rows = [[plain(rule), str(fired), str(differing)] for rule, (fired, differing) in ordered]
    if not rows:
        return ["  none of them fired", ""]
    return [*table(("experimental rule", "fired", "of these would differ"), rows, paint, right=(1, 2)), ""]


def _moved(found: Moved, titles: tuple[str, str, str], paint: Paint) -> list[str]:
    other, gone, added = titles
    rows = [[own, theirs, str(count)] for (own, theirs), count in sorted(found.moves.items())]
    lines = [*table(("decided", other, "decisions"), rows, paint, right=(2,)), ""] if rows else []
    for title, counted in ((gone, found.gone), (added, found.added)):
        if counted:
            shown = [[plain(rule), str(n)] for rule, n in by_count(counted)]
            lines += [*table((title, "decisions"), shown, paint, right=(1,)), ""]
    for place, failure, own, theirs in found.differing[:_SHOWN]:
        lines.append(f"  {plain(f'{place} {failure}'.strip())}: {_outcome(own)} → {_outcome(theirs)}")
    if len(found.differing) > _SHOWN:
        lines.append(paint(f"  and {len(found.differing) - _SHOWN} more; `--format json` lists them", "dim"))
    return [*lines, ""]


def _outcome(outcome: tuple[str, str | None]) -> str:
    status, reason = outcome
    return plain(f"{status} ({reason})" if reason else status)
