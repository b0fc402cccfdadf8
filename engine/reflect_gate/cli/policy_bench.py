"""`reflect-gate policy bench`: what each rule costs, and whether that grew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from .._canonical import canonical_bytes
from ..errors import ReflectGateError, Source
from ..report._paint import Paint
from ._options import examples, format_option, output_option, policies_option
from ._output import OK, REFUSED, note, open_output

if TYPE_CHECKING:
    from ..policy.costs import Cost

__all__ = ["bench"]


@click.command
@policies_option
@click.option("--corpus", metavar="FILE", help="Requests, one a line, in place of the cases of facts.")
@click.option("--save", metavar="FILE", type=click.Path(dir_okay=False), help="Keep the figures as JSON, to compare with later.")
@click.option("--compare", metavar="FILE", type=click.Path(dir_okay=False), help="Compare with figures that were kept.")
@click.option(
    "--threshold",
    type=click.IntRange(0, 100_000),
    default=10,
    show_default=True,
    help="With --compare, the growth in per cent from which a rule has become too dear.",
)
@format_option("text", "json")
@output_option
@examples(
    "reflect-gate policy bench",
    "reflect-gate policy bench --save costs.json",
    "reflect-gate policy bench --compare costs.json --threshold 20",
)
def bench(
    policies: str | None,
    corpus: str | None,
    save: str | None,
    compare: str | None,
    threshold: int,
    format_: str,
    output: str | None,
) -> int:
    """Say what each rule costs.

    The cost is how many conditions are looked at while a rule is bound to the facts of the cases of its rule set, or of requests:
    a count, the same on every machine. Exit code 5 when a rule costs more a run than before by more than the threshold.
    """
    from ..policy.costs import compared
    from ..report.costs import changes_text, costs_document, costs_text

    before = _kept(compare) if compare else {}
    costs = _costs(policies, corpus)
    document = canonical_bytes(costs_document(costs)) + b"\n"
    if save:
        with open_output(save) as sink:
            sink.json(document)
    changes = compared(before, costs) if compare else []
    dearer = [change for change in changes if change.percent > threshold]
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(document)
        elif compare:
            sink.text(changes_text(changes, threshold, Paint(sink.coloured)))
        else:
            sink.text(costs_text(costs, Paint(sink.coloured)))
    if dearer:
        names = [change.rule for change in dearer]
        note(f"{len(dearer)} rules cost over {threshold} % more a run", {"dearer": names, "threshold": threshold})
    return REFUSED if dearer else OK


def _costs(policies: str | None, corpus: str | None) -> Sequence[Cost]:
    from ..policy.costs import costs_of_cases, costs_of_requests
    from ._policies import case_folders

    if corpus is None:
        return costs_of_cases(policies, case_folders(policies))
    from .policy_mutate import read_requests

    return costs_of_requests(policies, read_requests(corpus))


def _kept(path: str) -> Mapping[str, tuple[int, int]]:
    """Return `(conditions, runs)` by rule, as `--save` kept them."""
    from pathlib import Path

    from .. import documents, schemas
    from ..config import Limits

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or "unknown").lower()
        raise ReflectGateError("cannot-read", f"the figures cannot be read: {reason}", Source(path)) from None
    kept: Any = schemas.checked("policy-bench", documents.read_json(data, path, Limits()), path)
    return {entry["rule"]: (entry["conditions"], entry["runs"]) for entry in kept["rules"]}
