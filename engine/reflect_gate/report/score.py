"""The score of a gate on a corpus as text: tables with bars. Pure functions: a score document in, lines out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._paint import Paint
from ._safe import one_line, plain
from ._table import bar, percent, table

__all__ = ["score_text"]

Document = Mapping[str, Any]


def score_text(score: Document, paint: Paint | None = None) -> str:
    """Return the whole report; parts of which nothing was given are left out."""
    paint = paint or Paint()
    parts = [_head(score, paint)]
    if "mutants" in score:
        parts.append("\n".join(_mutants(score["mutants"], paint)))
    if "outcomes" in score:
        parts.append("\n".join(_outcomes(score["outcomes"], paint)))
        if score["outcomes"]["labels"]:
            parts.append("\n".join(_labels(score["outcomes"]["labels"], paint)))
    parts += ["\n".join(_sweep(sweep, paint)) for sweep in score["sweeps"]]
    parts.append("\n".join([paint("what this can prove", "bold"), *(f"  - {line}" for line in score["caveats"])]))
    return "\n\n".join(parts) + "\n"


def _head(score: Document, paint: Paint) -> str:
    bundle, judged = score["bundle"], score["requests"]
    counts = ", ".join(f"{count} {status}" for status, count in judged["statuses"].items())
    reasons = ", ".join(f"{plain(reason)} {count}" for reason, count in judged["reasons"].items())
    invalid = f", {judged['invalid']} invalid" if judged["invalid"] else ""
    lines = [
        paint(f"{judged['judged']} judged: {counts}{invalid}", "bold"),
        f"  bundle   {plain(bundle['name'])} {bundle['digest'][:12]}  as of {bundle['as_of']}",
        f"  seed     {score['seed']}, {score['resamples']} resamples of tasks",
    ]
    return "\n".join([*lines, f"  refused  {reasons}"] if reasons else lines)


def _interval(share: Document) -> str:
    """Return both intervals: of records as independent, and of tasks."""
    told = [share["wilson"], share["cluster"]]
    return "  ".join("      -     " if ends is None else f"{percent(ends[0])}–{percent(ends[1])}" for ends in told)


def _mutants(mutants: Document, paint: Paint) -> Iterator[str]:
    yield paint("mutants: share that is not admitted, of those whose original is", "bold")
    rows = []
    for row in mutants["mutators"]:
        found = row["detected"]
        why = ", ".join(f"{reason} {count}" for reason, count in row["reasons"].items())
        rows.append(
            (
                plain(row["mutator"]),
                str(row["made"]),
                str(found["n"]),
                percent(found["share"]),
                bar(found["share"]),
                _interval(found),
                percent(row["by_its_stage"]["share"]),
                plain(why),
            )
        )
    yield from table(
        ("mutator", "made", "n", "found", "", "records      tasks", "by stage", "why"), rows, paint, right=(1, 2, 3, 6)
    )
    own = mutants["originals_refused"]
    missing = f"; {mutants['originals_missing']} originals were not given" if mutants["originals_missing"] else ""
    yield f"  originals refused: {own['hits']} of {own['n']} ({percent(own['share']).strip()}){missing}"


def _outcomes(outcomes: Document, paint: Paint) -> Iterator[str]:
    yield paint(f"outcomes: {outcomes['records']} records with both known, {outcomes['unlabelled']} without", "bold")
    columns = ("precision", "harm", "recall", "in_real_failures")
    rows = []
    for row in outcomes["rows"]:
        cells = [percent(row[column]["share"]) for column in columns]
        rows.append(
            (row["gate"], str(row["admitted"]["hits"]), *cells, bar(row["precision"]["share"]), _interval(row["precision"]))
        )
    titles = ("gate", "admits", "precision", "harm", "recall", "in failures", "", "precision: records  tasks")
    yield from table(titles, rows, paint, right=(1, 2, 3, 4, 5))
    for row in outcomes["rows"]:
        if row["asks"]:
            yield paint(f"  {row['gate']}: {plain(row['asks'])}", "dim")
    for contrast in outcomes["compared"]:
        ends = contrast["cluster"]
        interval = f" ({ends[0]:.2f} to {ends[1]:.2f})" if ends else ""
        yield f"  {contrast['what']}: {'-' if contrast['value'] is None else format(contrast['value'], '.2f')}{interval}"


def _labels(labels: Sequence[Document], paint: Paint) -> Iterator[str]:
    yield paint("labels of people: share that is admitted", "bold")
    rows = []
    for row in labels:
        found = row["admitted"]
        why = ", ".join(f"{reason} {count}" for reason, count in row["refused"].items())
        counted = f"{found['hits']} of {found['n']}"
        rows.append(
            (one_line(row["label"], 24), counted, percent(found["share"]), bar(found["share"]), _interval(found), plain(why))
        )
    yield from table(("label", "admitted", "", "", "records      tasks", "refused"), rows, paint, right=(1, 2))


def _sweep(sweep: Document, paint: Paint) -> Iterator[str]:
    yield paint(f"threshold curve: {plain(sweep['setting'])}", "bold")
    columns = ("precision", "harm", "recall", "mutants_detected", "originals_refused")
    rows = [
        (
            one_line(point["value"], 24),
            str(point["admitted"]),
            *(percent(point[column]) for column in columns),
            bar(point["precision"]),
        )
        for point in sweep["points"]
    ]
    titles = ("value", "admits", "precision", "harm", "recall", "mutants found", "originals refused", "")
    yield from table(titles, rows, paint, right=(0, 1, 2, 3, 4, 5, 6))
