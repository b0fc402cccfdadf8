"""`reflect-gate corpus labels`: what became of each logged reflection, apart from the request that is judged."""

from __future__ import annotations

import click

from .._canonical import canonical_bytes
from ..config import Limits
from ..errors import ReflectGateError, Source, raise_all
from ._input import open_input
from ._options import examples, output_option
from ._output import INVALID, OK, open_output, report
from ._summary import lines_document, needs_file, summarise, summary_option

__all__ = ["labels", "read_labels"]

_FORMS = ("reflexion",)


@click.command
@click.argument("file", default="-", metavar="[FILE|-]")
@click.option("--from", "form", type=click.Choice(_FORMS), required=True, help="The form of the rows.")
@click.option("--by-hand", metavar="FILE", help="Labels of people to join by id: one object a line with `id` and `label`.")
@click.option(
    "--label-key", metavar="KEY", default="label", show_default=True, help="The key under which that file has its labels."
)
@output_option
@summary_option()
@examples(
    "reflect-gate corpus labels --from reflexion runs.jsonl -o labels.ndjson",
    "reflect-gate corpus labels --from reflexion runs.jsonl --by-hand read.jsonl --label-key primary -o labels.ndjson",
)
def labels(
    file: str,
    form: str,  # noqa: ARG001 - one form so far
    by_hand: str | None,
    label_key: str,
    output: str | None,
    summary: str,
) -> int:
    """Write what is known of each row beyond its request: `id`, `task`, and whether the attempt before and after it passed.

    FILE holds the rows that `corpus convert` reads. The labels join a request by its `failure_id`. Exit code 0, or 3 where a line
    was no row; the others are written.
    """
    from ..corpus._rows import spending
    from ..corpus.reflexion import labels as labels_of
    from ..documents import read_ndjson

    needs_file(summary, output)
    named, written, bad = read_labels(by_hand, label_key) if by_hand else {}, 0, 0
    with open_input(file) as (stream, name), open_output(output) as sink:
        for number, row in read_ndjson(stream, name, Limits()):
            if isinstance(row, ReflectGateError) or not isinstance(row, dict) or not isinstance(row.get("id"), str):
                bad += 1
                message = f"expected an object with an `id`, found `{str(row)[:80]}`"
                bad_row = ReflectGateError("corpus-bad-row", message, Source(name, number))
                report(row if isinstance(row, ReflectGateError) else bad_row)
                continue
            known = labels_of(row)
            task = row["task_id"] if isinstance(row.get("task_id"), str) and row["task_id"] else row["id"]
            line = {"id": known["id"], "task": task, "before": known["before"], "after": known["after"], **spending(row)}
            label = named.get(known["id"])
            sink.json(canonical_bytes({**line, "label": label} if label else line) + b"\n")
            written += 1
    if output not in {None, "-"}:
        document = lines_document("corpus labels", output, written, bad)
        summarise(summary, f"{written} labels, {bad} lines left out", {"labels": written, "bad": bad}, document)
    return INVALID if bad else OK


def read_labels(path: str, key: str) -> dict[str, str]:
    """Return labels of people by id; raises every line that holds none."""
    from ..documents import read_ndjson

    found: dict[str, str] = {}
    errors: list[ReflectGateError] = []
    with open_input(path) as (stream, name):
        for number, row in read_ndjson(stream, name, Limits()):
            if isinstance(row, dict) and isinstance(row.get("id"), str) and isinstance(row.get(key), str):
                found[row["id"]] = row[key]
            else:
                message = f"expected an object with `id` and `{key}`, found `{str(row)[:80]}`"
                bad = ReflectGateError("corpus-bad-label", message, Source(name, number))
                errors.append(row if isinstance(row, ReflectGateError) else bad)
    raise_all(errors)
    return found
