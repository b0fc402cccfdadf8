"""`reflect-gate policy shadow`: what bundles that only looked on would have decided."""

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
from ._app import LazyGroup
from ._input import open_input
from ._options import examples, format_option, output_option
from ._output import open_output

if TYPE_CHECKING:
    from ..shadowing import Summary

__all__ = ["shadow"]

_SHOWN = 40


@click.group(cls=LazyGroup, no_args_is_help=False)
def shadow() -> None:
    """Summarize what bundles that only looked on would have decided.

    `reflect-gate evaluate --shadow BUNDLE` keeps it in each decision under `shadow`.
    """


@shadow.command("report")
@click.argument("file", default="-", metavar="[FILE|-]")
@format_option("text", "json")
@output_option
@examples(
    "reflect-gate evaluate requests.ndjson --shadow ours --format ndjson -o decisions.ndjson",
    "reflect-gate policy shadow report decisions.ndjson",
)
def report_(file: str, format_: str, output: str | None) -> None:
    """Summarize the shadows of a log of decisions.

    FILE holds decisions as `evaluate --format ndjson` or `json` writes them; `-` or nothing reads stdin.
    """
    from ..shadowing import summarize, summary_document

    gc.enable()
    found = summarize(_decisions(file))
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(summary_document(found)) + b"\n")
        else:
            sink.text(_text(found, Paint(sink.coloured)))


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
    bundles = ", ".join(f"{plain(name)} {digest[:12]}" for name, digest in found.bundles) or "none"
    lines = [
        paint(f"{len(found.differing)} of {found.shadowed} decisions differ from their shadow", "bold"),
        f"  decisions {found.decisions}, shadows by {bundles}",
        "",
    ]
    rows = [[own, other, str(count)] for (own, other), count in sorted(found.moves.items())]
    lines += [*table(("decided", "shadow", "decisions"), rows, paint, right=(2,)), ""] if rows else []
    for title, counted in (("said only by the deciding bundle", found.gone), ("said only by the shadow", found.added)):
        ordered = sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
        if ordered:
            lines += [*table((title, "decisions"), [[plain(rule), str(n)] for rule, n in ordered], paint, right=(1,)), ""]
    for place, failure, own, other in found.differing[:_SHOWN]:
        lines.append(f"  {plain(f'{place} {failure}'.strip())}: {_outcome(own)} → {_outcome(other)}")
    if len(found.differing) > _SHOWN:
        lines.append(paint(f"  and {len(found.differing) - _SHOWN} more; `--format json` lists them", "dim"))
    return "\n".join(lines).rstrip() + "\n"


def _outcome(outcome: tuple[str, str | None]) -> str:
    status, reason = outcome
    return plain(f"{status} ({reason})" if reason else status)
