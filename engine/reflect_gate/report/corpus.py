"""What an imported corpus holds, and how it was split, as text. Pure functions: a document in, lines out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ._paint import Paint
from ._safe import one_line, plain
from ._table import table

__all__ = ["description_text", "split_text"]

Document = Mapping[str, Any]

_WIDTH = 32
_TITLES = (
    ("importers", "read by"),
    ("terminations", "failures that ended"),
    ("evidence", "records that hold evidence of a kind"),
    ("missing", "records without"),
    ("should_admit", "should be admitted"),
    ("outcomes", "how the later outcome is known"),
    ("trials", "what came later"),
    ("transitions", "attempt before and after"),
    ("controls", "retries without a reflection"),
)


def description_text(document: Document, paint: Paint | None = None) -> str:
    """Return the whole description: counts first, what they can prove last."""
    paint = paint or Paint()
    groups = document["groups"]
    invalid = f", {document['invalid']} lines that are none" if document["invalid"] else ""
    lines = [
        paint(f"{document['records']} records{invalid}", "bold"),
        f"  groups      {groups['count']} of {groups['tasks']} tasks, the largest with {groups['largest']} records",
        f"  candidates  {_candidates(document['candidates'])}",
        "",
    ]
    for key, title in _TITLES:
        lines += _counts(title, document[key].items(), paint)
    lines += _counts("labels of people", ((one["label"], one["count"]) for one in document["labels"]), paint)
    lines += [paint("what this can prove", "bold"), *(f"  - {plain(said)}" for said in document["caveats"])]
    return "\n".join(lines) + "\n"


def _candidates(counts: Mapping[str, int]) -> str:
    cited = f"{counts['count']}, of which {counts['citing_nothing']} cite nothing"
    return f"{cited}; {counts['copies']} copies, {counts['across_groups']} lessons in several groups"


def _counts(title: str, counts: Iterable[tuple[str, int]], paint: Paint) -> Iterator[str]:
    rows = [(one_line(name, _WIDTH), str(count)) for name, count in counts]
    if rows:
        yield from table((title, "records"), rows, paint, (1,))
        yield ""


def split_text(document: Document, paths: Mapping[str, str], paint: Paint | None = None) -> str:
    """Return both parts with their files."""
    paint = paint or Paint()
    rows = [(part, str(document[part]["groups"]), str(document[part]["records"]), plain(path)) for part, path in paths.items()]
    lines = [paint(f"split by group, seed {document['seed']}, share {document['share']:g}", "bold")]
    lines += table(("part", "groups", "records", "file"), rows, paint, (1, 2))
    if document["invalid"]:
        lines.append(f"  {document['invalid']} lines are no record and in neither part")
    return "\n".join(lines) + "\n"
