"""How alike two lessons are: do they say the same of the same things, in whatever words and order?

Each text is its set of content terms (stems, so that inflection does not count). Terms are of three weights:

- *things*: what the lesson is about (`cookie`, `timezone`, `retry_after`);
- *acts*: verbs of action and words of the trade that any lesson may use (`check`, `function`, `correct`).

A paraphrase swaps acts and adds sentences; another lesson swaps things. So a thing that stands on one side while another stands
on the other counts most against likeness, a swapped act a little, and what one text only has more than the other the least:

    shared / (shared + 3 * swapped things + swapped acts / 2 + surplus / 4)

where an act that both have counts half a thing in `shared`. Copies are 1; texts without a common term are 0.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from ._english import ACTION_VERBS, word_set
from .text import terms, terms_of_words, terms_once, words

__all__ = ["SEARCH_LIMIT", "act_terms", "search_words", "similarity"]

SEARCH_LIMIT = 64
"""Distinct words of one text that are searched for."""

_TRADE = word_set(
    """
    action algorithm answer approach appropriate argument aspect attempt based behavior behaviour carefully cause check code
    command comparison condition content context correct correctly data description detail difference different directly edge
    effect entire environment error exact example execution existing expected explicitly expression fact failed failing failure
    feature final fix following function future general goal good handling idea identical implementation important incorrect
    incorrectly input instance invalid issue item kind lesson likely logic main mean method mistake multiple necessary new next
    operation option original output parameter part particular place plan point possible potential previous problem process
    program proper properly question reason relevant requirement response result return right rule second similar single
    situation solution specific state statement step strategy structure stuck success successful sure system task term test
    thorough trial unable unsuccessful usage user valid value way well work working wrong
    """
)
_THING, _ACT_SHARED = 4, 2
_SWAPPED_THING, _SWAPPED_ACT, _SURPLUS = 12, 2, 1


@cache
def act_terms() -> frozenset[str]:
    """Return the terms that are no things."""
    return terms_of_words((*ACTION_VERBS, *_TRADE))


class _Terms(NamedTuple):
    things: frozenset[str]
    acts: frozenset[str]


@lru_cache(maxsize=512)
def _split(text: str) -> _Terms:
    found = terms(text)
    acts = found & act_terms()
    return _Terms(found - acts, acts)


def similarity(one: str, other: str) -> int:
    """Return how alike two lessons are, in hundredths rounded down; the same either way round. Measure `similarity` 1.0.0."""
    a, b = _split(one), _split(other)
    shared = _THING * len(a.things & b.things) + _ACT_SHARED * len(a.acts & b.acts)
    if not shared:
        return 0
    against = 0
    for mine, theirs, weight in ((a.things, b.things, _SWAPPED_THING), (a.acts, b.acts, _SWAPPED_ACT)):
        only, others = len(mine - theirs), len(theirs - mine)
        against += weight * min(only, others) + _SURPLUS * abs(only - others)
    return shared * 100 // (shared + against)


def search_words(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text that carry content, in order, at most `SEARCH_LIMIT`; those that say most of it first.

    Words are whole and case-folded, with the parts of `snake_case` and `camelCase` names beside them left to the index.
    """
    acts = act_terms()
    things: list[str] = []
    others: list[str] = []
    for word in dict.fromkeys(words(text)):
        found = terms_once(word)
        if found:
            (others if found <= acts else things).append(word)
    return (*things, *others)[:SEARCH_LIMIT]
