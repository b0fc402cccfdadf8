"""How well a lesson fits what a task says: the measure that retrieval ranks by and abstains on.

A task is told in parts (its text, its error, hints, a hypothesis), and a lesson is as like the task as it is like the part that
it is most like. A long statement so never drowns a short error text, and a hypothesis can only bring a lesson nearer.

A part and a lesson are sets of content terms. Verbs of action and words of the trade count `ACT` hundredths of any other term:
almost every lesson has them. Likeness is the cosine of the two sets:

    shared weight / square root (weight of the part * weight of the lesson)

It depends on the two texts alone, never on what else a store holds: a threshold means the same in a store of one lesson and in
one of a million.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isqrt
from typing import NamedTuple

from .similarity import act_terms
from .text import terms_once

__all__ = ["ACT", "LESSON_LIMIT", "Asked", "Likeness", "Part", "asked", "said"]

ACT = 40
"""Weight of a verb of action or a word of the trade, where any other term weighs 100."""

LESSON_LIMIT = 8_192
"""Characters of a lesson that are read."""

_TERM = 100


class Part(NamedTuple):
    """The content terms of a text, those of them that are acts, and what they weigh together."""

    terms: frozenset[str]
    acts: frozenset[str]
    weight: int


class Likeness(NamedTuple):
    """`share` in hundredths, rounded down; `words` are the content terms that the nearest part and the lesson share."""

    share: int
    words: int


def _part(text: str) -> Part:
    found = terms_once(text)
    acts = found & act_terms()
    return Part(found, acts, _TERM * len(found) - (_TERM - ACT) * len(acts))


def said(lesson: str) -> Part:
    """Return what a lesson's text says, of which `LESSON_LIMIT` characters are read."""
    return _part(lesson[:LESSON_LIMIT])


class Asked(NamedTuple):
    """What a task says, part by part."""

    parts: tuple[Part, ...]

    def likeness(self, lesson: str) -> Likeness:
        """Return how like the task a lesson's text is. Measure `likeness` 1.0.0, linear."""
        return self.like(said(lesson))

    def like(self, mine: Part) -> Likeness:
        """Return how like the task it is what a lesson says."""
        best, most = 0, 0
        for part in self.parts:
            shared = part.terms & mine.terms
            if shared:
                count = len(shared)
                got = _TERM * count - (_TERM - ACT) * len(shared & mine.acts)
                # floor(100 * got / sqrt(x)) is floor(sqrt(10000 * got * got / x)), and so exact.
                share = isqrt(10_000 * got * got // (part.weight * mine.weight))
                if share > best or (share == best and count > most):
                    best, most = share, count
        return Likeness(min(100, best), most)


def asked(texts: Iterable[str]) -> Asked:
    """Return what a task says in these parts; a part without a content term says nothing."""
    return Asked(tuple(dict.fromkeys(part for text in texts if (part := _part(text)).terms)))
