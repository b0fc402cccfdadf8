"""An ablation as text and as Markdown. Pure functions: an `ablation` document in, lines out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._paint import Paint
from ._safe import plain
from ._table import percent
from .sheets import Sheet, markdown, text

__all__ = ["ablation_markdown", "ablation_sheets", "ablation_text", "chains_sheet"]

Document = Mapping[str, Any]

_MEASURES = ("precision", "rejected", "harm", "recall")
_COLUMNS_NOTE = (
    "said: records on which it had a say; changed: decisions that are others without it; noise: the 95 % band of the change of"
    " precision"
)
_CHAIN_MEASURES = ("helped", "hurt", "shown")
_CHAIN_COLUMNS_NOTE = (
    "helped and hurt: of all that was recalled, in per cent; shown: tasks that were shown a lesson; lessons: in use at the end"
)
_CHAIN_LOG_NOTE = (
    "the attempts of a log never saw what is recalled here, so that these figures show what has a say, not what lessons cause"
)
_CHAIN_TITLE = "replayed in the order of the requests through a store"
_QUIET = ("ADDITIVE", "unexercised")
_FOUR = ("with", "without_first", "without_second", "without_both")
_PAIRS_NOTE = (
    "per cent; interaction: what both together change beyond the sum of each alone, in percentage points, shown where that is"
    " beyond noise; SUBSTITUTES: each stands in for the other,"
    " so that only one may go; COMPLEMENTS: each needs the other; CONDITIONAL: what one is worth depends on the other; it stands"
    " beside the measures that it follows from"
)
_TITLES = {"mechanism": "mechanisms", "ruleset": "other rule sets", "rule": "rules, one left out at a time"}


def ablation_text(document: Document, paint: Paint | None = None) -> str:
    """Return the whole report as text."""
    return "\n\n".join("\n".join(text(sheet, paint or Paint())) for sheet in ablation_sheets(document)) + "\n"


def ablation_markdown(document: Document, level: int = 2) -> str:
    """Return the whole report as Markdown; `level` is that of its headings."""
    return "\n\n".join("\n".join(markdown(sheet, level)) for sheet in ablation_sheets(document)) + "\n"


def ablation_sheets(document: Document) -> list[Sheet]:
    """Return a table for the mechanisms, one for other rule sets, one for rules."""
    bundle, judged, plan = document["bundle"], document["requests"], document["plan"]
    part = "the part that is kept apart" if document["frozen"] else "without the part that is kept apart"
    invalid = f", {judged['invalid']} invalid" if judged["invalid"] else ""
    notes = (
        f"bundle {plain(bundle['name'])} {bundle['digest'][:12]} as of {bundle['as_of']}; {part}",
        f"{judged['judged']} requests of {judged['groups']} groups, {judged['scored']} with both outcomes{invalid}",
        f"seed {plan['seed']}, {plan['resamples']} resamples of groups; with → without, in per cent",
        _COLUMNS_NOTE,
        *_inert(document),
    )
    sheets = [Sheet(f"ablation of {plain(bundle['name'])}", (), (), notes=notes)]
    for kind, title in _TITLES.items():
        found = [row for row in document["rows"] if row["kind"] == kind]
        rows = [_row(row) for row in found if kind != "rule" or row["verdict"] != "unexercised"]
        if found:
            columns = ("left out", "verdict", "said", "changed", *_MEASURES, "noise", "why")
            sheets.append(Sheet(title, columns, rows, (2, 3), _silent(found) if kind == "rule" else ()))
    if document["pairs"] is not None:
        sheets.append(_pairs(document["pairs"]))
    return [*sheets, *([chains_sheet(document["chains"])] if document["chains"] is not None else [])]


def _pairs(told: Document) -> Sheet:
    """Return the pairs in which something shows, a line for each measure in which it does, and how many show nothing."""
    rows = [line for row in told["rows"] if row["verdict"] not in _QUIET for line in _pair(row)]
    counts = [f"{sum(row['verdict'] == verdict for row in told['rows'])} {verdict}" for verdict in _QUIET]
    notes = [_PAIRS_NOTE, f"not shown: {', '.join(counts)}"]
    if told["left_out"]:
        notes.append(f"{told['left_out']} more pairs were not tried")
    columns = (
        "left out",
        "and",
        "verdict",
        "said",
        "measure",
        "with",
        "first out",
        "second out",
        "both out",
        "interaction, 95 %",
    )
    return Sheet("two left out at a time", columns, rows, (3, 5, 6, 7, 8), notes)


def _pair(row: Document) -> Iterator[tuple[str, ...]]:
    for name in _MEASURES:
        ends = row[name]["cluster"]
        if ends is not None and _beyond(ends):
            cells = [percent(row[name][key]) for key in _FOUR]
            # Where it does not follow from a measure, that one need not say the same.
            verdict = row["verdict"] if name in row["of"] else "-"
            yield plain(row["first"]), plain(row["second"]), verdict, str(row["fired"]), name, *cells, _points(row[name])


def _beyond(ends: Sequence[float]) -> bool:
    return ends[0] > 0 or ends[1] < 0


def _points(measure: Document) -> str:
    low, high = measure["cluster"]
    return f"{measure['value'] * 100:+.1f} ({low * 100:+.1f} to {high * 100:+.1f})"


def chains_sheet(rows: Sequence[Document], title: str = _CHAIN_TITLE, notes: Sequence[str] = (_CHAIN_LOG_NOTE,)) -> Sheet:
    """Return the table of a replay in the order of time; `notes` say what it cannot show."""
    shown = []
    for row in rows:
        cells = [f"{percent(row[name]['with']).strip()} → {percent(row[name]['without']).strip()}" for name in _CHAIN_MEASURES]
        lessons = f"{row['lessons']['with']} → {row['lessons']['without']}"
        inert = "inert; " if row["inert"] else ""
        shown.append((plain(row["name"]), row["verdict"], str(row["fired"]), *cells, lessons, inert + row["why"]))
    columns = ("left out", "verdict", "said", *_CHAIN_MEASURES, "lessons", "why")
    return Sheet(title, columns, shown, (2,), (_CHAIN_COLUMNS_NOTE, *notes))


def _inert(document: Document) -> list[str]:
    names = [plain(row["name"]) for row in document["rows"] if row["inert"]]
    return [f"inert, no decision is another one without them: {', '.join(names)}"] if names else []


def _silent(rows: Sequence[Document]) -> list[str]:
    """Return the rules that had too little to say, by rule set, each with the number of records."""
    told: dict[str, list[str]] = {}
    for row in rows:
        if row["verdict"] == "unexercised":
            ruleset, _, rule = plain(row["name"]).partition("/")
            told.setdefault(ruleset, []).append(f"{rule} {row['fired']}" if row["fired"] else rule)
    return [f"unexercised in {ruleset}: {', '.join(names)}" for ruleset, names in told.items()]


def _row(row: Document) -> tuple[str, ...]:
    shares = [f"{percent(row[name]['with']).strip()} → {percent(row[name]['without']).strip()}" for name in _MEASURES]
    ends = row["precision"]["cluster"]
    noise = "-" if ends is None else f"{ends[0] * 100:+.1f} to {ends[1] * 100:+.1f}"
    return plain(row["name"]), row["verdict"], str(row["fired"]), str(row["changed"]), *shares, noise, row["why"]
