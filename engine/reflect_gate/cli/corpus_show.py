"""`reflect-gate corpus show`: one candidate of a file, with everything by which its verdict can be judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .._canonical import canonical_bytes
from ..errors import ReflectGateError, Source, did_you_mean
from ..report._paint import Paint
from ._input import open_input
from ._options import BundleChoice, bundle_options, examples, format_option, output_option
from ._output import open_output

if TYPE_CHECKING:
    from ..config import Limits

__all__ = ["show"]


@click.command
@click.argument("identifier", metavar="ID")
@click.argument("file", default="-", metavar="[FILE|-]")
@click.option("--mutator", metavar="NAME", help="In a file of mutants, the one that this mutator made.")
@bundle_options
@format_option("text", "json")
@output_option
@examples(
    "reflect-gate corpus show run-81 requests.ndjson",
    "reflect-gate corpus show run-81 mutants.ndjson --mutator opposite",
    "reflect-gate corpus show run-81 requests.ndjson --set grounding.max_unfound=1 --format json",
)
def show(identifier: str, file: str, mutator: str | None, choice: BundleChoice, format_: str, output: str | None) -> None:
    """Show one candidate, so that a person can judge its verdict in seconds.

    ID is a failure's id; FILE holds requests, mutants or a corpus. Shown are the verdict with its spans, each claim beside the
    items that it cites with what was measured of both, the record, the rules that fired, and what was nearest to letting it
    pass. In JSON every measured fact stands as well. Exit code 0, whatever the verdict; 3 where there is no such candidate.
    """
    from ..corpus.show import show_document
    from ..report.show import show_text
    from .explain import near_misses

    bundle = choice.load()
    request = _find(identifier, file, mutator, bundle.limits)
    # The document comes first: it is what checks that the request can be judged at all.
    document = show_document(request, bundle, ())
    document["nearest_misses"] = near_misses(request, bundle)
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(document) + b"\n")
        else:
            sink.text(show_text(document, Paint(sink.coloured)))


def _find(identifier: str, file: str, mutator: str | None, limits: Limits) -> dict[str, Any]:
    """Return the first request of this id; `corpus-unknown-id` with the nearest where there is none."""
    from ._corpus import Corpus

    seen: list[str] = []
    with open_input(file) as (stream, name):
        for _, entry in Corpus().entries(stream, name, limits):
            if isinstance(entry, ReflectGateError):
                raise entry
            request = _request(entry, mutator)
            found = _id_of(request)
            if found == identifier and isinstance(request, dict):
                return request
            seen.append(found)
    of = f" by `{mutator}`" if mutator else ""
    message = f"no candidate `{identifier}`{of} in {len(seen)} entries{did_you_mean(identifier, seen)}"
    raise ReflectGateError("corpus-unknown-id", message, Source(file))


def _request(entry: object, mutator: str | None) -> object:
    """Return the request of an entry, which is the request itself or a mutant; `None` where another mutator made it."""
    if not isinstance(entry, dict) or (mutator is not None and entry.get("mutator") != mutator):
        return None
    return entry["request"] if "request" in entry and "record" not in entry else entry


def _id_of(request: object) -> str:
    record = request.get("record") if isinstance(request, dict) else None
    found = record.get("failure_id") if isinstance(record, dict) else None
    return found if isinstance(found, str) else ""
