"""Coverage of rules by their cases: as text, as data, as LCOV, and as an annotated listing of the rule files.

No share is rounded up: 100.0 % means everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._paint import Paint
from ._places import place, relative
from ._safe import plain
from ._table import table

if TYPE_CHECKING:
    from ..policy.coverage import Boundary, Condition, Coverage

__all__ = ["annotated", "coverage_document", "coverage_text", "lcov_text"]

_TITLES = {
    "rules": "rules fired",
    "conditions": "conditions both ways",
    "boundaries": "thresholds at and beside",
    "patterns": "lexicon patterns hit",
    "toggles": "rule sets on and off",
}


def coverage_text(found: Coverage, paint: Paint | None = None) -> str:
    """Return the shares as a table, and what is missing with its place."""
    from ..policy.coverage import floored

    paint = paint or Paint()
    shares = {kind: found.share(kind) for kind in _TITLES}
    rows = [[title, *map(str, shares[kind]), floored(shares[kind])] for kind, title in _TITLES.items()]
    lines = [*table(("coverage", "of", "all", "%"), rows, paint, right=(1, 2, 3))]
    missing = list(_missing(found))
    if missing:
        lines += [
            "",
            paint("not covered", "bold"),
            *(f"  {plain(text)}  {paint(plain(where), 'dim')}" for text, where in missing),
        ]
    return "\n".join(lines) + "\n"


def _missing(found: Coverage) -> Iterator[tuple[str, str]]:
    for rule in found.rules.values():
        if not rule.fired:
            yield f"{rule.ruleset}/{rule.rule}: never fires", place(rule.source)
    for part in found.conditions.values():
        if lacking := _condition_lacks(part):
            yield f"{part.ruleset}/{part.rule}: {lacking}: {part.text}", place(part.source)
    for boundary in found.boundaries.values():
        if lacking := _boundary_lacks(boundary):
            yield f"{boundary.ruleset}/{boundary.rule}: {lacking}: {boundary.text}", place(boundary.source)
    for pattern in found.patterns:
        if not pattern.found:
            yield f"{pattern.lexicon}/{pattern.group}: finds no text: {pattern.pattern}", place(pattern.source)
    for toggle in found.toggles.values():
        if not toggle.on or not toggle.off:
            yield f"{toggle.ruleset}: never {'off' if toggle.on else 'on'} in a case", place(toggle.source)


def _condition_lacks(part: Condition) -> str:
    lacks = [way for way, seen in (("true", part.true), ("false", part.false)) if not seen]
    return f"never {' or '.join(lacks)}" if lacks else ""


def _boundary_lacks(part: Boundary) -> str:
    lacks = [] if part.at else ["at"]
    if part.wants_beside and not part.beside:
        lacks.append("right beside")
    return f"no case {' or '.join(lacks)} the threshold" if lacks else ""


def coverage_document(found: Coverage) -> dict[str, Any]:
    """Return the coverage as `policy-test.schema.json` has it under `coverage`."""
    from ..policy.coverage import floored

    return {
        "shares": [
            {"kind": kind, "covered": share.covered, "total": share.total, "percent": floored(share)}
            for kind, share in ((kind, found.share(kind)) for kind in _TITLES)
        ],
        "rules": [
            {"ruleset": rule.ruleset, "rule": rule.rule, **_place(rule.source), "fired": rule.fired}
            for rule in found.rules.values()
        ],
        "conditions": [{**_named(part), "true": part.true, "false": part.false} for part in found.conditions.values()],
        "boundaries": [
            {**_named(part), "at": part.at, "beside": part.beside, "wants_beside": part.wants_beside}
            for part in found.boundaries.values()
        ],
        "patterns": [
            {
                "lexicon": pattern.lexicon,
                "group": pattern.group,
                "pattern": pattern.pattern,
                **_place(pattern.source),
                "hits": pattern.found,
            }
            for pattern in found.patterns
        ],
        "toggles": [{"ruleset": toggle.ruleset, "on": toggle.on, "off": toggle.off} for toggle in found.toggles.values()],
    }


def _place(source: Any) -> dict[str, Any]:
    return {"file": source.file, "line": source.line}


def _named(part: Condition | Boundary) -> dict[str, Any]:
    return {"ruleset": part.ruleset, "rule": part.rule, "condition": part.text, **_place(part.source)}


def lcov_text(found: Coverage) -> str:
    """Return the coverage as an LCOV trace: rules as functions, conditions as branches (taken is true), lines as both."""
    lines: list[str] = []
    for file in found.files:
        rules = [rule for rule in found.rules.values() if rule.source.file == file]
        conditions = [part for part in found.conditions.values() if part.source.file == file]
        counts: dict[int, int] = {}
        for rule in rules:
            counts[rule.source.line] = counts.get(rule.source.line, 0) + rule.fired
        branches = []
        for number, part in enumerate(conditions):
            counts[part.source.line] = counts.get(part.source.line, 0) + part.true + part.false
            branches += [(part.source.line, number, way, seen) for way, seen in ((0, part.true), (1, part.false))]
        lines += ["TN:", f"SF:{file}"]
        lines += [f"FN:{rule.source.line},{rule.ruleset}/{rule.rule}" for rule in rules]
        lines += [f"FNDA:{rule.fired},{rule.ruleset}/{rule.rule}" for rule in rules]
        lines += [f"FNF:{len(rules)}", f"FNH:{sum(rule.fired > 0 for rule in rules)}"]
        lines += [f"BRDA:{line},{number},{way},{seen}" for line, number, way, seen in branches]
        lines += [f"BRF:{len(branches)}", f"BRH:{sum(branch[3] > 0 for branch in branches)}"]
        lines += [f"DA:{line},{count}" for line, count in sorted(counts.items())]
        lines += [f"LF:{len(counts)}", f"LH:{sum(count > 0 for count in counts.values())}", "end_of_record"]
    return "\n".join(lines) + "\n"


def annotated(found: Coverage, paint: Paint | None = None) -> str:
    """Return each rule file with counts beside its lines (fired, or true and false) and a note under what lacks."""
    paint = paint or Paint()
    out: list[str] = []
    for file in found.files:
        counts, notes = _gutter(found, file)
        out.append(paint(plain(relative(file)), "bold"))
        for number, line in enumerate(Path(file).read_text(encoding="utf-8").splitlines(), 1):
            mark = "!" if number in notes else " "
            out.append(f"{mark} {counts.get(number, ''):>11} {number:>4} | {plain(line)}")
            out += [paint(f"{'':>19}| ^ {plain(note)}", "red") for note in notes.get(number, ())]
    return "\n".join(out) + "\n"


def _gutter(found: Coverage, file: str) -> tuple[Mapping[int, str], Mapping[int, Sequence[str]]]:
    """Return by line the counts to show, those of the condition that was seen least, and what lacks."""
    counts: dict[int, str] = {}
    least: dict[int, tuple[int, int]] = {}
    notes: dict[int, list[str]] = {}
    for rule in found.rules.values():
        if rule.source.file == file:
            counts[rule.source.line] = f"fired {rule.fired}"
            if not rule.fired:
                notes.setdefault(rule.source.line, []).append("never fires")
    for part in found.conditions.values():
        if part.source.file == file:
            line, seen = part.source.line, (part.true, part.false)
            least[line] = min(least.get(line, seen), seen, key=min)
            if lacking := _condition_lacks(part):
                notes.setdefault(line, []).append(f"{lacking}: {part.text}")
    for boundary in found.boundaries.values():
        if boundary.source.file == file and (lacking := _boundary_lacks(boundary)):
            notes.setdefault(boundary.source.line, []).append(f"{lacking}: {boundary.text}")
    counts |= {line: f"{true}T {false}F" for line, (true, false) in least.items()}
    return counts, notes
