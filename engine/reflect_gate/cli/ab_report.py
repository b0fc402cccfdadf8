"""`reflect-gate ab report`: a comparison that was made, as a page, as Markdown or as text."""

from __future__ import annotations

from typing import Any

import click

from .._canonical import canonical_bytes
from ..errors import ReflectGateError, Source
from ..report._paint import Paint
from ._input import open_input
from ._options import examples, format_option, output_option
from ._output import OK, open_output, warn

__all__ = ["print_report", "report", "write_page"]


@click.command
@click.argument("result", metavar="RESULT|-")
@click.option("--ablation", metavar="FILE", help="What `ablate --format json` wrote, to stand in the report too.")
@click.option("--html", metavar="FILE", type=click.Path(dir_okay=False), help="Write one page of HTML, whole or not at all.")
@format_option("text", "markdown", "json")
@output_option
@examples(
    "reflect-gate ab report ab.json --html ab.html -o ab.txt",
    "reflect-gate ab report ab.json --ablation ablation.json --format markdown -o ab.md",
)
def report(result: str, ablation: str | None, html: str | None, format_: str, output: str | None) -> int:
    """Report a comparison that `ab --format json` wrote.

    The page holds the decision with every input, the key measure with its intervals, what each mechanism is worth, the curves
    of thresholds, why candidates were refused, examples, and what none of it proves. It fetches nothing and runs no script.
    Plots need the extra `report`; without it the page has its tables alone. With `--html` nothing is printed unless `-o` says
    where.
    """
    document = _read(result, "ab")
    beside = _read(ablation, "ablation") if ablation else None
    if beside and beside["bundle"]["digest"] != document["arms"]["a"]["digest"]:
        warn(ReflectGateError("ablation-other", _OTHER))
        if format_ != "json":
            document = {**document, "caveats": [*document["caveats"], f"{_OTHER[:1].upper()}{_OTHER[1:]}."]}
    if html:
        write_page(html, document, beside)
    if not html or output:
        print_report(document, format_, output, beside)
    return OK


_OTHER = "the ablation is of another bundle, or another version of it, than what is compared as a"


def _read(path: str, name: str) -> dict[str, Any]:
    from .. import documents, schemas
    from ..config import Limits

    with open_input(path) as (stream, shown):
        limits = Limits()
        data = stream.read(limits.request_bytes + 1)
        document = documents.read_json(data, shown, limits)
    schemas.check(name, document, shown)
    if not isinstance(document, dict):
        raise ReflectGateError("schema", "expected an object", Source(shown))
    return document


def write_page(path: str, document: dict[str, Any], ablation: dict[str, Any] | None = None) -> None:
    """Write the page of a comparison; without its plots, and with a warning, where they cannot be drawn."""
    from ..report.ab_page import ab_page

    try:
        page = ab_page(document, ablation)
    except ReflectGateError as error:
        if error.code != "plots-missing":
            raise
        warn(error)
        page = ab_page(document, ablation, drawn=False)
    with open_output(path) as sink:
        sink.text(page)


def print_report(document: dict[str, Any], format_: str, output: str | None, ablation: dict[str, Any] | None = None) -> None:
    """Print a comparison, and the ablation after it where there is one; as JSON the comparison alone."""
    from ..report.ab import ab_markdown, ab_text
    from ..report.ab_beside import cleaned
    from ..report.ablation import ablation_markdown, ablation_text

    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(document) + b"\n")
            return
        document, ablation = cleaned(document), cleaned(ablation)
        if format_ == "markdown":
            sink.text("\n".join([ab_markdown(document), *([ablation_markdown(ablation)] if ablation else [])]))
        else:
            paint = Paint(sink.coloured)
            sink.text("\n".join([ab_text(document, paint), *([ablation_text(ablation, paint)] if ablation else [])]))
