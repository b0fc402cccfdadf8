"""What a comparison holds beside its figures where it was asked for: curves of thresholds, and candidates as examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ._safe import one_line, plain
from ._table import percent
from .sheets import Sheet

__all__ = ["calls_notes", "cleaned", "curve_sheet", "curve_sheets", "example_sheets", "flat_note", "interval_text"]

Document = Mapping[str, Any]

_SHOWN: Final = 400
_CURVES_NOTE: Final = (
    "per cent, of the records with both outcomes; one setting moves, the others stay; a value that is chosen by such a table is"
    " fitted to these records"
)


def cleaned(value: Any) -> Any:
    """Return a document with every text made safe: one that is read from a file may hold anything its schema allows."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, Mapping):
        return {plain(key): cleaned(inner) for key, inner in value.items()}
    return [cleaned(inner) for inner in value] if isinstance(value, list) else value


def interval_text(share: Document) -> str:
    """Return the interval of a share over groups, in per cent."""
    ends = share["cluster"]
    return "-" if ends is None else f"{percent(ends[0]).strip()}–{percent(ends[1]).strip()}"


def curve_sheets(document: Document) -> list[Sheet]:
    """Return a table for each curve, and what moved nothing; none where no curves were asked for."""
    sweep = document["sweep"]
    if sweep is None:
        return []
    notes = [_CURVES_NOTE, *flat_note(document)]
    return [Sheet("thresholds", (), (), notes=notes), *(curve_sheet(curve) for curve in sweep["curves"])]


def flat_note(document: Document) -> list[str]:
    """Return which settings change no decision here, whichever of their values is in force."""
    flat = (document["sweep"] or {"flat": []})["flat"]
    return [f"no decision changes with: {', '.join(map(plain, flat))}"] if flat else []


def curve_sheet(curve: Document) -> Sheet:
    """Return one curve: a line for each value, the one in force marked."""
    rows = []
    for point in curve["points"]:
        shares = [percent(point[name]["share"]) for name in ("precision", "harm", "recall")]
        held = "in force" if point["value"] == curve["value"] else ""
        rows.append((f"{point['value']:g}", held, str(point["admitted"]), *shares, interval_text(point["precision"])))
    columns = ("value", "now", "admits", "precision", "harm", "recall", "precision, 95 %")
    return Sheet(f"threshold {plain(curve['setting'])}", columns, rows, (0, 2, 3, 4, 5))


def example_sheets(document: Document) -> list[Sheet]:
    """Return the candidates that are shown; none where no examples were asked for."""
    rows = []
    for one in document["examples"]:
        decided = one["status"] + (f" ({one['reason']})" if one["reason"] else "")
        rules = ", ".join(map(plain, one["rules"])) or "-"
        made = one["calibrated_lesson"]
        same = "as it stands" if made == one["lesson"] else one_line(made, _SHOWN) or "-"
        lesson = one_line(one["lesson"], _SHOWN)
        rows.append((one["calibration"], one_line(one["id"], 40), lesson, same, rules, plain(decided), one["outcome"]))
    columns = ("level", "record", "candidate", "what was made of it", "rules", "decided", "next attempt")
    note = "drawn by hash, not chosen; the level is judged whatever other stages say"
    return [Sheet("examples of calibration", columns, rows, (), (note,))] if rows else []


def calls_notes(document: Document) -> list[str]:
    """Return what asking a model for the candidates came to and cost; nothing where they stood in the requests."""
    told = document["calls"]
    if told is None:
        return []
    kinds = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in told["kinds"].items() if count)
    why = ", ".join(f"{plain(code)} {count}" for code, count in told["reasons"].items())
    tokens = f"{told['prompt_tokens']} tokens in ({told['cached_tokens']} cached), {told['completion_tokens']} out"
    unknown = [
        f"{told[key]} {what}" for key, what in (("uncounted", "without a count"), ("unpriced", "without a price")) if told[key]
    ]
    models = ", ".join(one_line(name, 80) for name in told["models"]) or "no model"
    notes = [f"asked {models}: {kinds or 'nothing'}" + (f" ({why})" if why else "") + f"; {told['left']} not asked about"]
    return [*notes, "; ".join([f"{told['calls']} calls, {tokens}, ${told['cost']}", *unknown])]
