"""What a run that went well did, against what a lesson advises: a success bears out what was done in it (R-d1).

A success is told by the texts of its items. It does what a lesson says as far as the likest of these texts is like the lesson
(`likeness`), and not at all where that shares a single word, or where any text says the opposite of the lesson.

A success is held to what a failure is held to: it counts where it is independent, and one into which a lesson alike was recalled
repeats that lesson and does not bear it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["MOST_LETTERS", "MOST_TEXTS", "Witness", "done", "texts_of"]

MOST_TEXTS = 6
"""Texts of a success that are read, the last ones: the end of the run is what went well."""

MOST_LETTERS = 600
"""Characters of each."""

_FEWEST_WORDS = 2


class Witness(NamedTuple):
    """A lesson that explains this failure beside the run that went well in the end, in the fields of the `witness` fact."""

    lesson: str
    fit: str
    done: int
    recalled: bool
    red_flag: bool
    independent: bool


def texts_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Return what is read of the texts of a success."""
    return tuple(text[:MOST_LETTERS] for text in texts[-MOST_TEXTS:])


def done(statement: str, texts: Sequence[str]) -> int:
    """Return in hundredths, rounded down, how far what was done is what a lesson advises."""
    # Most failures have no lesson and no success beside them, and a start pays for each import.
    from .likeness import asked
    from .stance import stance

    likeness = asked(texts).likeness(statement)
    if likeness.words < _FEWEST_WORDS or any("conflict" in stance(statement, text)[:2] for text in texts):
        return 0
    return likeness.share
