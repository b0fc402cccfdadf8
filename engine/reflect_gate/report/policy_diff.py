"""What differs between two bundles, as text and as `policy-diff.schema.json` has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ._paint import Paint
from ._safe import one_line, plain
from ._table import table

if TYPE_CHECKING:
    from ..diffing.behaviour import Behaviour, Flip, Outcome
    from ..diffing.changes import Change
    from ..diffing.sides import Side
    from ..diffing.textual import FileChange
    from ..diffing.versions import Suggestion

__all__ = ["DIFF_SCHEMA", "Difference", "diff_document", "diff_text", "tallies"]

DIFF_SCHEMA = "urn:reflect-gate:schema:policy-diff:1"

_WAY_STYLE = {"milder": "red", "either": "yellow", "stricter": "green", "sideways": "yellow", "neither": "dim"}
_SHOWN = 40
_LISTED = 200_000
"""What the schema lets a document list."""


class Difference(NamedTuple):
    """All that was found; `behaviour` is `None` where no corpus was given."""

    before: Side
    after: Side
    files: Sequence[FileChange]
    changes: Sequence[Change]
    behaviour: Behaviour | None
    versions: Sequence[Suggestion]


def tallies(flips: Sequence[Flip]) -> dict[str, int]:
    """Return how many flips there are each way, and how many have a cause."""
    ways = Counter(flip.way for flip in flips)
    return {
        "flips": len(flips),
        "milder": ways["milder"],
        "stricter": ways["stricter"],
        "sideways": ways["sideways"],
        "attributed": sum(flip.cause is not None for flip in flips),
    }


# -- JSON ---------------------------------------------------------------------------------------------------------------------


def diff_document(found: Difference) -> dict[str, Any]:
    """Return the difference as data; a flip names its causes by their places in `changes`."""
    numbers = {change: place for place, change in enumerate(found.changes)}
    behaviour = found.behaviour
    return {
        "schema": DIFF_SCHEMA,
        "before": _side(found.before),
        "after": _side(found.after),
        "files": [{"path": file.path, "added": file.added, "removed": file.removed} for file in found.files],
        "changes": [change._asdict() for change in found.changes],
        "behaviour": None
        if behaviour is None
        else {
            "judged": behaviour.judged,
            "otherwise": behaviour.otherwise,
            **tallies(behaviour.flips),
            "decisions": [_flip(flip, numbers) for flip in behaviour.flips[:_LISTED]],
        },
        "versions": [{**one._asdict(), "why": list(one.why)} for one in found.versions],
    }


def _side(side: Side) -> dict[str, str]:
    return {"named": side.label, "bundle": side.bundle.name, "digest": side.bundle.digest, "as_of": side.bundle.as_of}


def _flip(flip: Flip, numbers: dict[Change, int]) -> dict[str, Any]:
    return {
        "place": flip.place,
        "failure_id": flip.failure_id,
        "before": flip.before._asdict(),
        "after": flip.after._asdict(),
        "way": flip.way,
        "changes": None if flip.cause is None else [numbers[change] for change in flip.cause.changes],
        "rules": [] if flip.cause is None else list(flip.cause.rules),
    }


# -- text ---------------------------------------------------------------------------------------------------------------------


def diff_text(found: Difference, paint: Paint | None = None, *, lines: bool = False) -> str:
    """Return the difference for people; with `lines` also the text of the files that differ."""
    paint = paint or Paint()
    head = [
        f"{paint('-', 'red')} {_named(found.before)}",
        f"{paint('+', 'green')} {_named(found.after)}",
        "",
    ]
    parts = [*head, *_files(found, paint, lines), *_changes(found.changes, paint), *_decisions(found, paint)]
    return "\n".join([*parts, *_versions(found.versions, paint)]) + "\n"


def _named(side: Side) -> str:
    return f"{plain(side.label)}  {side.bundle.name} {side.bundle.digest[:12]}"


def _files(found: Difference, paint: Paint, lines: bool) -> Iterator[str]:
    if not found.files:
        yield paint("files: the same", "bold")
    else:
        yield paint(f"files: {len(found.files)} differ", "bold")
        for file in found.files:
            yield f"  {plain(file.path)}  +{file.added} -{file.removed}"
            for line in file.lines if lines else ():
                style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
                yield f"    {paint(plain(line), style)}"
    yield ""


def _changes(changes: Sequence[Change], paint: Paint) -> Iterator[str]:
    if not changes:
        yield paint("in force: the same", "bold")
    else:
        yield paint(f"in force: {len(changes)} changes", "bold")
        rows = [
            [
                change.kind,
                change.name,
                one_line(change.before, 60) or "-",
                one_line(change.after, 60) or "-",
                change.can,
                change.place,
            ]
            for change in changes
        ]
        yield from table(("what", "name", "before", "after", "can get", "place"), rows, paint)
    yield ""


def _decisions(found: Difference, paint: Paint) -> Iterator[str]:
    behaviour = found.behaviour
    if behaviour is None:
        return
    counts = tallies(behaviour.flips)
    yield paint(f"decisions: {counts['flips']} of {behaviour.judged} differ", "bold")
    yield (
        f"  {counts['milder']} milder, {counts['stricter']} stricter, {counts['sideways']} with another reason; "
        f"{behaviour.otherwise} more with other findings"
    )
    yield f"  {counts['attributed']} of {counts['flips']} flip back when the changes below, and only they, are taken back"
    yield ""
    causes = Counter(_cause(flip) for flip in behaviour.flips)
    rows = [[str(count), way, changes, rules] for (way, changes, rules), count in causes.most_common()]
    if rows:
        yield from table(("decisions", "way", "changes", "by the rules"), rows, paint, right=(0,))
        yield ""
    for flip in behaviour.flips[:_SHOWN]:
        place = plain(f"{flip.place} {flip.failure_id}".strip())
        moved = f"{_outcome(flip.before)} → {_outcome(flip.after)}"
        yield f"  {paint(flip.way, _WAY_STYLE[flip.way])}  {place}: {moved}"
    if len(behaviour.flips) > _SHOWN:
        yield paint(f"  and {len(behaviour.flips) - _SHOWN} more; `--format json` lists all", "dim")
    if rows:
        yield ""


def _cause(flip: Flip) -> tuple[str, str, str]:
    if flip.cause is None:
        return flip.way, "none found", "-"
    changes = ", ".join(f"{change.kind} {change.name}" for change in flip.cause.changes)
    return flip.way, changes, ", ".join(flip.cause.rules) or "the stage's default"


def _outcome(outcome: Outcome) -> str:
    return plain(f"{outcome.status} ({outcome.reason})" if outcome.reason else outcome.status)


def _versions(versions: Sequence[Suggestion], paint: Paint) -> Iterator[str]:
    for one in versions:
        moved = f" {one.before} → {one.after}" if one.ruleset else ""
        short = "" if one.enough else paint(" too little", "red")
        yield f"{paint('version', 'bold')} {one.ruleset or 'of the whole'}{moved}: {one.bump}{short}"
        for reason in one.why[:5]:
            yield f"  {plain(reason)}"
        if len(one.why) > 5:
            yield paint(f"  and {len(one.why) - 5} more", "dim")
