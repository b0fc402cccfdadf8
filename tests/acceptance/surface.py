"""What can be counted on the surface of a reflection, and how many of its words its evidence holds, for baselines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from reflect_gate.corpus.blind import features
from reflect_gate.measure.index import RecordIndex
from reflect_gate.measure.stray import STRAY_FIELDS
from reflect_gate.measure.text import terms, words

__all__ = ["FIELDS", "NAMES", "both", "cited", "overlap", "surface", "text_of"]

FIELDS: Final = STRAY_FIELDS

_SENTENCE = re.compile(r"[.!?](?:\s|$)")
_KINDS: Final = {
    "hedges": frozenset("may might could possibly perhaps probably likely seems maybe".split()),
    "duties": frozenset("should must need needs ensure always never have".split()),
    "negations": frozenset("not no never without cannot cant didnt doesnt wasnt isnt dont".split()),
    "first-person": frozenset("i my me mine".split()),
    "reasons": frozenset("because since so therefore thus due caused causes reason".split()),
    "conditions": frozenset("if when whenever where case cases".split()),
    "checks": frozenset("test tests case cases expected assertion assert output outputs result results".split()),
    "form": frozenset("syntax indentation typo missing incomplete truncated unfinished bracket colon import line lines".split()),
}
"""Kinds of words that are counted as shares of all."""

NAMES: Final = (
    "words",
    "sentences",
    "word-length",
    "numbers",
    "code",
    "quotes",
    "lesson-words",
    "fields",
    "citations",
    *_KINDS,
)
"""What `surface` returns, in order."""


def text_of(reflection: Mapping[str, Any]) -> str:
    """Return what a reflection says, a line for each field that says something other than those before it."""
    return "\n".join(dict.fromkeys(reflection[field].strip() for field in FIELDS if reflection[field].strip()))


def surface(request: Mapping[str, Any]) -> tuple[float, ...]:
    """Return what is counted of a reflection without a look at its record; shares are of its words."""
    reflection = request["reflection"]
    said = text_of(reflection)
    found = words(said)
    size = len(found) or 1
    return (
        len(found),
        len(_SENTENCE.findall(said)),
        sum(map(len, found)) / size,
        sum(any(map(str.isdigit, word)) for word in found) / size,
        (said.count("(") + said.count("_") + said.count("[")) / size,
        (said.count('"') + said.count("'") + said.count("`")) / size,
        len(words(reflection["candidate_lesson"])),
        sum(bool(reflection[field].strip()) for field in FIELDS),
        len(reflection["evidence_ids"]),
        *(sum(word in kind for word in found) / size for kind in _KINDS.values()),
    )


def cited(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the text of each item that a reflection cites and its record holds."""
    items = RecordIndex(request["record"]).items
    yield from (items[name].original for name in request["reflection"]["evidence_ids"] if name in items)


def overlap(request: Mapping[str, Any]) -> float:
    """Return the share of a reflection's content terms that the items hold which it cites."""
    own = terms(text_of(request["reflection"]))
    held = set().union(*map(terms, cited(request)))
    return len(own & held) / (len(own) or 1)


def both(request: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the surface of a reflection, how far its words stand in what it cites, and what a text-blind gate sees."""
    return (*surface(request), overlap(request), *features(request["record"]))
