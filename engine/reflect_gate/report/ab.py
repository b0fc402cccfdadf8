"""A comparison of two bundles as text and as Markdown. Pure functions: an `ab` document in, lines out; figures and names only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._paint import Paint
from ._safe import one_line, plain
from ._table import bar, percent
from .ab_beside import calls_notes, curve_sheets, example_sheets, interval_text
from .sheets import Sheet, markdown, text

__all__ = [
    "ab_markdown",
    "ab_sheets",
    "ab_text",
    "adopted",
    "caveats_sheet",
    "decision_sheet",
    "folds_sheet",
    "frozen_sheets",
    "gates_sheet",
    "head_sheet",
    "labels_sheet",
    "open_sheets",
    "paired_sheet",
    "rejected_sheet",
    "targets_sheet",
]

Document = Mapping[str, Any]

_ORDER = (
    "precision_ratio",
    "precision_difference",
    "harm_ratio",
    "harm_difference",
    "recall_difference",
    "rejected_difference",
    "in_real_failures",
    "above_random",
    "above_same_evidence",
)
"""In which order comparisons are shown; those with text-blind gates follow."""

_GATES_NOTE = (
    "per cent; text-blind gates are fitted to other tasks, at no less than the recall of a; in failures: precision where the"
    " attempt before did fail"
)

_PAIRED_NOTE = "minus: a difference of shares, 0.15 being 15 percentage points; by: a quotient of shares"


def ab_text(document: Document, paint: Paint | None = None) -> str:
    """Return the whole report as text."""
    paint = paint or Paint()
    return "\n\n".join("\n".join(text(sheet, paint)) for sheet in ab_sheets(document)) + "\n"


def ab_markdown(document: Document, level: int = 2) -> str:
    """Return the whole report as Markdown; `level` is that of its headings."""
    return "\n\n".join("\n".join(markdown(sheet, level)) for sheet in ab_sheets(document)) + "\n"


def ab_sheets(document: Document) -> list[Sheet]:
    """Return the tables of a comparison in the order of the report: what decides first, the part kept apart last."""
    return [*open_sheets(document), *frozen_sheets(document)]


def open_sheets(document: Document) -> list[Sheet]:
    """Return the tables of the part that is not kept apart, and what they can prove."""
    return [
        head_sheet(document),
        decision_sheet(document),
        *_section(document["main"], document, ""),
        targets_sheet(document["targets"]),
        *curve_sheets(document),
        *example_sheets(document),
        caveats_sheet(document),
    ]


def frozen_sheets(document: Document) -> list[Sheet]:
    """Return the tables of the part that is kept apart; none where it was not asked for."""
    apart, before = document["frozen"], "kept apart: "
    if apart is None:
        return []
    return [*_section(apart["section"], document, before), targets_sheet(apart["targets"], before)]


def head_sheet(document: Document) -> Sheet:
    """Return what is compared, and how figures were made."""
    arms, plan, judged = document["arms"], document["plan"], document["requests"]
    names = {key: plain(arm["name"]) for key, arm in arms.items()}
    notes = [
        f"{key}  {names[key]} {arm['digest'][:12]}  as of {arm['as_of']}  engine {arm['engine']}{_changed(arm)}"
        for key, arm in arms.items()
    ]
    invalid = f", {judged['invalid']} invalid" if judged["invalid"] else ""
    shown = "reported last" if document["frozen"] else "not looked at"
    notes.append(f"the same {judged['judged']} requests for both, {judged['digest'][:12]}{invalid}")
    notes.append(f"{judged['kept_apart']} records of one task in five are kept apart by hash, {shown}")
    notes.append(f"seed {plan['seed']}, {plan['resamples']} resamples of groups, {plan['folds']} folds by group")
    notes += calls_notes(document)
    return Sheet(f"a: {names['a']} against b: {names['b']}", (), (), notes=notes)


def decision_sheet(document: Document) -> Sheet:
    """Return the decision with every input to it."""
    decision = document["decision"]
    rows = []
    for one in decision["inputs"]:
        held = "yes" if one["holds"] else "no"
        rows.append((one["what"], _number(one["a"]), _number(one["b"]), _with_ends(one), held, one["needed"], one["note"]))
    outcome = "a wins" if decision["wins"] else "a does not win"
    title = f"decision: {outcome}; use {adopted(document)}"
    columns = ("input", "a", "b", "paired, 95 %", "holds", "needed", "note")
    return Sheet(title, columns, rows, (1, 2), (decision["rule"],))


def adopted(document: Document) -> str:
    """Return what is to be used: the bundle's name, with the settings that were changed where they are part of what won."""
    decision = document["decision"]
    return plain(decision["adopt"]) + (_changed(document["arms"]["a"]) if decision["wins"] else "")


def _changed(arm: Document) -> str:
    changed = arm.get("set", [])
    return f" with {', '.join(map(plain, changed))}" if changed else ""


def caveats_sheet(document: Document) -> Sheet:
    """Return what the figures cannot prove."""
    return Sheet("what this can prove", (), (), notes=document["caveats"])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _with_ends(compared: Document | None) -> str:
    """Return a paired figure with its interval over groups."""
    if compared is None or compared["value"] is None:
        return "-"
    ends = compared["cluster"]
    return f"{compared['value']:.2f}" + (f" ({ends[0]:.2f} to {ends[1]:.2f})" if ends else "")


def _section(section: Document, document: Document, before: str) -> list[Sheet]:
    return [
        gates_sheet(section, document, before),
        paired_sheet(section, before),
        rejected_sheet(section, document, before),
        folds_sheet(section, before),
        *([labels_sheet(section, before)] if section["labels"] else []),
    ]


def gates_sheet(section: Document, document: Document, before: str = "") -> Sheet:
    """Return the rates of both bundles and of the gates beside them."""
    names = [(f"{key} {plain(document['arms'][key]['name'])}", section["gates"][key]) for key in "ab"]
    rows = []
    for name, row in [*names, *((f"text-blind {row['gate']}", row) for row in section["blind"])]:
        shares = [percent(row[column]["share"]) for column in ("precision", "harm", "recall", "in_real_failures")]
        rows.append(
            (name, str(row["admitted"]["hits"]), *shares, bar(row["precision"]["share"]), interval_text(row["precision"]))
        )
    drawn = section["random"]
    expected = [drawn[column]["expected"] if drawn["admitted"] else None for column in ("precision", "harm", "recall")]
    middle = drawn["precision"]["middle"]
    ends = "-" if middle is None else f"{percent(middle[0]).strip()}–{percent(middle[1]).strip()}"
    rows.append(("random, as many", str(drawn["admitted"]), *map(percent, expected), "-", bar(expected[0]), ends))
    columns = ("gate", "admits", "precision", "harm", "recall", "in failures", "", "precision, 95 %")
    title = f"{before}{section['scored']} records with both outcomes of {section['groups']} groups"
    return Sheet(title, columns, rows, (1, 2, 3, 4, 5), (_GATES_NOTE,))


def paired_sheet(section: Document, before: str = "") -> Sheet:
    """Return the paired comparisons with their intervals."""
    ordered = sorted(
        section["compared"].items(), key=lambda one: (_ORDER.index(one[0]) if one[0] in _ORDER else len(_ORDER), one[0])
    )
    rows = [(one["what"], _with_ends(one)) for _, one in ordered]
    return Sheet(f"{before}a compared, over resampled groups", ("what", "value, 95 %"), rows, (), (_PAIRED_NOTE,))


def rejected_sheet(section: Document, document: Document, before: str = "") -> Sheet:
    """Return what was rejected and why, with the control for reading and what candidates cost."""
    rows = []
    for key in "ab":
        name = f"{key} {plain(document['arms'][key]['name'])}"
        whole, bare, told = section["rejected"][key], section["bare"][key], section["statuses"][key]
        why = ", ".join(f"{plain(reason)} {count}" for reason, count in told["reasons"].items())
        without = f"{bare['hits']} of {bare['n']}" if bare["n"] else "-"
        rows.append((name, percent(whole["share"]), interval_text(whole), without, str(told["undecided"]), why))
    swapped = section["swapped"]
    own, other = swapped["own"], swapped["swapped"]
    notes = [
        f"a admits {own['hits']} of {own['n']} own reflections, {other['hits']} of {other['n']} of other tasks in their place",
        *(
            f"{name} a candidate: {'not carried' if spent['mean'] is None else format(spent['mean'], 'g')} ({spent['note']})"
            for name, spent in section["spending"].items()
        ),
    ]
    columns = ("bundle", "rejected as ungrounded", "95 %", "of those without evidence", "undecided", "refused for")
    return Sheet(f"{before}rejection, swapped reflections, spending", columns, rows, (1, 3, 4), notes)


def folds_sheet(section: Document, before: str = "") -> Sheet:
    """Return each group of tasks apart."""
    rows = []
    for fold in section["folds"]:
        a, b = fold["a"], fold["b"]
        shares = [percent(a["precision"]), percent(b["precision"]), percent(a["harm"]), percent(b["harm"]), percent(a["recall"])]
        rows.append((str(fold["fold"]), str(fold["groups"]), str(fold["records"]), str(a["admitted"]), *shares))
    columns = ("fold", "groups", "records", "a admits", "precision a", "b", "harm a", "b", "recall a")
    return Sheet(f"{before}each group of tasks apart", columns, rows, tuple(range(9)))


def labels_sheet(section: Document, before: str = "") -> Sheet:
    """Return what either bundle admits of each label of people."""
    rows = []
    for one in section["labels"]:
        counts = [f"{one[key]['hits']} of {one[key]['n']}" for key in "ab"]
        rows.append((one_line(one["label"], 24), *counts, percent(one["a"]["share"]), bar(one["a"]["share"])))
    return Sheet(f"{before}labels of people: share that is admitted", ("label", "a", "b", "a, %", ""), rows, (1, 2, 3))


def targets_sheet(targets: Sequence[Document], before: str = "") -> Sheet:
    """Return the targets beyond the rule."""
    rows = [(one["what"], one["needed"], _with_ends(one), "yes" if one["holds"] else "no") for one in targets]
    return Sheet(f"{before}targets, none of which decides", ("target", "needed", "found, 95 %", "holds"), rows)
