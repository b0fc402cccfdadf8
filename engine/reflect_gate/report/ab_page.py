"""A comparison as one self-contained page of HTML: no script, no address, nothing fetched; every plot has its table beside it.

Pure functions: an `ab` document and, where there is one, an `ablation` document in, a page out. Texts of others are escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from . import ab_plots as plots
from ._safe import plain
from .ab import (
    adopted,
    caveats_sheet,
    decision_sheet,
    folds_sheet,
    frozen_sheets,
    gates_sheet,
    head_sheet,
    labels_sheet,
    paired_sheet,
    rejected_sheet,
    targets_sheet,
)
from .ab_beside import cleaned, curve_sheet, curve_sheets, example_sheets
from .ablation import ablation_sheets
from .sheets import Sheet

__all__ = ["ab_page"]

Document = Mapping[str, Any]

_STYLE: Final = """
:root{--ink:#1b1b1b;--muted:#6a6a6a;--line:#c9c9c9;--soft:#f3f3f1;--page:#fff;--a:#0b5c8a;--b:#a5540b;--good:#2d7a33;--bad:#b3261e}
@media screen and (prefers-color-scheme:dark){:root{--ink:#ebebe8;--muted:#a3a3a0;--line:#4a4a48;--soft:#262625;--page:#171716;
--a:#6cbcec;--b:#eba35c;--good:#7cc982;--bad:#ff8a80}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,"DejaVu Sans",sans-serif;color:var(--ink);background:var(--page);margin:0 auto;max-width:76rem;
padding:1.5rem 1.25rem 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.25rem;margin:2.4rem 0 .6rem;border-bottom:1px solid var(--line);
padding-bottom:.25rem}h3{font-size:1rem;margin:1.4rem 0 .4rem}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;list-style:none;padding:0;margin:.8rem 0}
a{color:var(--a)}
.verdict{border:2px solid var(--bad);border-radius:.4rem;padding:.7rem 1rem;margin:1rem 0;background:var(--soft)}
.verdict.wins{border-color:var(--good)}.verdict strong{font-size:1.15rem}.verdict p{margin:.3rem 0 0}
.scroll{overflow-x:auto;margin:.6rem 0}
table{border-collapse:collapse;font-size:.87rem;min-width:40%}caption{text-align:left;color:var(--muted);padding-bottom:.25rem}
th,td{border-bottom:1px solid var(--line);padding:.28rem .45rem;text-align:left;vertical-align:top;overflow-wrap:break-word}
thead th{background:var(--soft);border-bottom:2px solid var(--line);vertical-align:bottom}
tbody th{font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td.yes{color:var(--good);font-weight:600}td.no{color:var(--bad);font-weight:600}
.pair{display:flex;flex-wrap:wrap;gap:.2rem 2rem;align-items:flex-start;margin:.8rem 0}.pair>*{min-width:0;max-width:100%}
td.s,th.s{white-space:nowrap}figure{margin:.6rem 0}figcaption{color:var(--muted);font-size:.87rem;contain:inline-size}
svg{max-width:100%;height:auto;display:block}
.notes{color:var(--muted);font-size:.87rem;margin:.4rem 0;padding-left:1.1rem}
@media print{body{font-size:10pt;max-width:none;padding:0}nav{display:none}.scroll{overflow:visible}h2,h3{break-after:avoid}
figure,tr,.verdict,.pair{break-inside:avoid}table{font-size:8pt;min-width:0}th,td{padding:.2rem .35rem}a{color:inherit}}
"""
_SHORT: Final = 22
"""Characters of a cell that is never broken: figures with their intervals, names."""

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


class _Figure(NamedTuple):
    svg: str
    said: str


class _Part(NamedTuple):
    title: str
    blocks: Sequence[str]


def ab_page(document: Document, ablation: Document | None = None, *, drawn: bool = True) -> str:
    """Return the page; `drawn` false leaves the plots out and says so.

    Raises:
        ReflectGateError: `plots-missing`, where matplotlib cannot be imported.
    """
    document, ablation = cleaned(document), cleaned(ablation)
    parts = [part for part in _parts(document, ablation, drawn) if part.blocks]
    names = [plain(document["arms"][key]["name"]) for key in "ab"]
    title = html.escape(f"{names[0]} against {names[1]}")
    contents = "".join(f'<li><a href="#{_anchor(part.title)}">{html.escape(part.title)}</a></li>' for part in parts)
    body = "\n".join(
        f'<section>\n<h2 id="{_anchor(part.title)}">{html.escape(part.title)}</h2>\n{"".join(part.blocks)}</section>'
        for part in parts
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n"
        f"{_verdict(document)}{_notes(head_sheet(document).notes)}"
        f'<nav aria-label="Contents"><ul>{contents}</ul></nav>\n</header>\n<main>\n{body}\n</main>\n</body>\n</html>\n'
    )


def _parts(document: Document, ablation: Document | None, drawn: bool) -> Iterator[_Part]:
    section = document["main"]
    # The rule stands above the contents already.
    yield _Part("Decision", [_table(decision_sheet(document)._replace(notes=())), *([] if drawn else [_MISSING])])
    yield _Part("Key measure", [_pair(_precision(document, drawn), gates_sheet(section, document))])
    yield _Part("Beside the other gates", [_pair(_differences(section, drawn), paired_sheet(section))])
    yield _Part("Rejected, swapped, spent", [_reasons(document, drawn), _table(rejected_sheet(section, document))])
    yield _Part("Thresholds", list(_curves(document, drawn)))
    yield _Part("What each mechanism is worth", list(_ablated(ablation, drawn)) if ablation else [])
    yield _Part("Examples of calibration", [_table(sheet) for sheet in example_sheets(document)])
    more = [targets_sheet(document["targets"]), folds_sheet(section), *([labels_sheet(section)] if section["labels"] else [])]
    yield _Part("Targets, folds, labels of people", [_table(sheet) for sheet in more])
    yield _Part("What this can prove", [_notes(caveats_sheet(document).notes)])
    yield _Part("Kept apart", list(_apart(document, drawn)))


# -- parts -----------------------------------------------------------------------------------------------------------------------


_MISSING: Final = '<p class="notes">Plots are left out: they need the extra <code>report</code>.</p>\n'


def _verdict(document: Document) -> str:
    decision = document["decision"]
    failed = [one["what"] for one in decision["inputs"] if not one["holds"]]
    outcome = "a wins" if decision["wins"] else "a does not win"
    why = "every input of the rule holds" if not failed else f"what does not hold: {', '.join(failed)}"
    return (
        f'<div class="verdict{" wins" if decision["wins"] else ""}"><strong>{outcome}: use '
        f"{html.escape(adopted(document))}</strong>; {html.escape(why)}<p>{html.escape(decision['rule'])}.</p></div>\n"
    )


def _precision(document: Document, drawn: bool, where: str = "main") -> str:
    section = document["main"] if where == "main" else document["frozen"]["section"]
    names = {key: plain(document["arms"][key]["name"]) for key in "ab"}
    marks = [_mark(f"{key}  {names[key]}", section["gates"][key]["precision"], strong=key == "a") for key in "ab"]
    marks += [_mark(f"text-blind {plain(row['gate'])}", row["precision"]) for row in section["blind"]]
    lots = section["random"]["precision"]
    marks.append(plots.Mark("random, as many (middle of draws)", lots["expected"], lots["middle"]))
    if not drawn:
        return ""
    svg = plots.forest(marks, "lesson-admission precision, per cent", f"precision-{where}")
    said = "Precision of each gate with its 95 % interval over resampled groups: the share of what it admits that helped."
    return _figure(_Figure(svg, said))


def _mark(label: str, share: Document, *, strong: bool = False) -> plots.Mark:
    return plots.Mark(label, share["share"], share["cluster"], strong)


def _differences(section: Document, drawn: bool, where: str = "main") -> str:
    wanted = [
        (key, one)
        for key, one in section["compared"].items()
        if key.startswith("above_") or key.endswith("_difference") or key == _REAL
    ]
    marks = [
        plots.Mark(plain(one["what"]), one["value"], one["cluster"], key == "precision_difference")
        for key, one in sorted(wanted, key=lambda one: (one[0] != "precision_difference", one[0]))
    ]
    if not drawn or not marks:
        return ""
    svg = plots.forest(marks, "difference, percentage points", f"differences-{where}", reference=0.0)
    return _figure(
        _Figure(svg, "Paired differences of a to the gates beside it, with 95 % intervals; the broken line is no difference.")
    )


_REAL: Final = "in_real_failures"


def _reasons(document: Document, drawn: bool) -> str:
    told = document["main"]["statuses"]
    counts = {
        key: {**told[key]["reasons"], "admitted": told[key]["admitted"], "undecided": told[key]["undecided"]} for key in "ab"
    }
    order = ["admitted", "undecided", *sorted({reason for key in "ab" for reason in told[key]["reasons"]})]
    rows = [plots.Bar(plain(reason), counts["a"].get(reason, 0), counts["b"].get(reason, 0)) for reason in order]
    if not drawn:
        return _table(_counted(rows))
    names = (plain(document["arms"]["a"]["name"]), plain(document["arms"]["b"]["name"]))
    svg = plots.bars(rows, names, "candidates", "reasons")
    said = "What became of the candidates: admitted, undecided, and refused by reason."
    return _pair(_figure(_Figure(svg, said)), _counted(rows))


def _counted(rows: Sequence[plots.Bar]) -> Sheet:
    return Sheet(
        "what became of the candidates", ("decided", "a", "b"), [(row.label, str(row.a), str(row.b)) for row in rows], (1, 2)
    )


def _curves(document: Document, drawn: bool) -> Iterator[str]:
    sheets = curve_sheets(document)
    if not sheets:
        return
    yield _notes(sheets[0].notes)
    for place, curve in enumerate(document["sweep"]["curves"]):
        said = f"Precision with its 95 % band, recall and harm over the values of {plain(curve['setting'])}."
        figure = _figure(_Figure(plots.curve(curve, f"curve-{place}"), said)) if drawn else ""
        yield _pair(figure, curve_sheet(curve))


def _ablated(ablation: Document, drawn: bool) -> Iterator[str]:
    head, *sheets = ablation_sheets(ablation)
    yield _notes(head.notes)
    for kind, of in (("mechanism", "mechanisms and rule sets"), ("rule", "rules")):
        rows = [row for row in ablation["rows"] if (row["kind"] == "rule") == (kind == "rule") and _moves(row)]
        if drawn and rows:
            told = [
                plots.Change(plain(row["name"]), row["verdict"], *(_shift(row[name]) for name in ("precision", "recall")))
                for row in rows
            ]
            said = f"What leaving {of} out changes of precision and recall, with 95 % intervals; the broken line is no change."
            yield _figure(_Figure(plots.changes(told, f"ablation-{kind}"), said))
    yield from map(_table, sheets)


def _moves(row: Document) -> bool:
    """Return whether a line has anything to show in a plot: a rule that had no say, or moves nothing, has not."""
    if row["kind"] != "rule":
        return True
    return row["verdict"] != "unexercised" and any(row[name]["value"] for name in ("precision", "recall"))


def _shift(measure: Document) -> plots.Mark:
    return plots.Mark("", measure["value"], measure["cluster"])


def _apart(document: Document, drawn: bool) -> Iterator[str]:
    if document["frozen"] is None:
        return
    gates, paired, *rest = frozen_sheets(document)
    yield _pair(_precision(document, drawn, "apart"), gates)
    yield _pair(_differences(document["frozen"]["section"], drawn, "apart"), paired)
    yield from map(_table, rest)


# -- elements --------------------------------------------------------------------------------------------------------------------


def _anchor(title: str) -> str:
    return "-".join("".join(char if char.isalnum() else " " for char in title.lower()).split())


def _figure(figure: _Figure) -> str:
    said = html.escape(figure.said)
    svg = figure.svg.replace("<svg ", f'<svg role="img" aria-label="{said}" ', 1)
    return f"<figure>\n{svg}\n<figcaption>{said}</figcaption>\n</figure>\n"


def _pair(figure: str, sheet: Sheet) -> str:
    """Return a plot and, beside it where there is room, the table of the same figures."""
    return f'<div class="pair">{figure}<div>{_table(sheet)}</div></div>\n' if figure else _table(sheet)


def _notes(notes: Sequence[str]) -> str:
    items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return f'<ul class="notes">{items}</ul>\n' if items else ""


def _table(sheet: Sheet) -> str:
    """Return a table under its caption and its notes; bars of characters, which have no title, are left to the plots."""
    title = html.escape(f"{sheet.title[:1].upper()}{sheet.title[1:]}")
    if not sheet.columns:
        return f"<h3>{title}</h3>\n{_notes(sheet.notes)}"
    places = [place for place, column in enumerate(sheet.columns) if column]
    head = "".join(f'<th scope="col"{_class(sheet, place)}>{html.escape(sheet.columns[place])}</th>' for place in places)
    rows = "\n".join(f"<tr>{''.join(_cell(sheet, row, place) for place in places)}</tr>" for row in sheet.rows)
    return (
        f'<div class="scroll"><table>\n<caption>{title}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n'
        f"</table></div>\n{_notes(sheet.notes)}"
    )


def _class(sheet: Sheet, place: int, said: str = "") -> str:
    if sheet.columns[place] == "holds" and said in {"yes", "no"}:
        return f' class="{said}"'
    if place in sheet.right:
        return ' class="n"'
    return ' class="s"' if len(said) <= _SHORT else ""


def _cell(sheet: Sheet, row: Sequence[str], place: int) -> str:
    said = row[place].strip()
    shown = html.escape(said)
    if place == 0:
        return f'<th scope="row"{_class(sheet, place, said)}>{shown}</th>'
    return f"<td{_class(sheet, place, said)}>{shown}</td>"
