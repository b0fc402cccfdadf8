"""Atoms are a necessary condition: whatever a pattern matches holds one of them."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate import Bundle
from reflect_gate.measure.lexicon import LexiconSet
from reflect_gate.policy.atoms import BEYOND, atoms, searched

EXAMPLES = {
    "be more careful": (("be more careful",),),
    "careful(?:ly)?": (("careful",),),
    "tests? (?:is|are) wrong": ((" wrong",), ("test",), ("are", "is"), (" ",)),
    "(?:always|never) forget": ((" forget",), ("always", "never")),
    "(?:typo|slip)": (("slip", "typo"),),
    r"line \d+": (("line ",),),
    "colou?r": (("colo",), ("r",)),
    "a*": (),
    "[abc]+": (),
    "(?P<x>abc)": (),
    r"\p{L}x": (),
    "ab{2}c": (("ab",), ("c",)),
    "x|": (),
    "Straße": (("stra",), ("e",)),
    "naïve": ((BEYOND,), ("ve",), ("na",)),
    "(?:игнорируй|забудь) (?:prompt|всё)": ((BEYOND,), ("prompt", BEYOND), (" ",)),
    "忽略": (("忽略",),),
    "\u212a": (),
}


@pytest.mark.parametrize(("pattern", "expected"), EXAMPLES.items())
def test_examples(pattern: str, expected: tuple[tuple[str, ...], ...]) -> None:
    """The most telling literals of each pattern, and none where nothing is certain."""
    assert atoms(pattern) == expected


LETTERS = ["a", "b", "cc", " ", "é", "Ж", "ß", "ſ", "\u212a", "忽"]
PARTS = ["(?:a|bb)", "(?:ab)?", "[ab]", "[^a]", r"\w", r"\b", ".", "c+", "b*", "a?", "(?:b|)", "a{2}", "b{0,2}"]
PIECES = st.sampled_from([*LETTERS, *PARTS])


@given(
    st.lists(st.lists(PIECES, min_size=1, max_size=5).map("".join), min_size=1, max_size=3).map("|".join),
    st.text("abc éÉжЖßſsk忽", max_size=12),
)
def test_a_match_holds_an_atom(pattern: str, text: str) -> None:
    """For any pattern and lowered text: a match, of any case, implies an atom in the text that is searched."""
    if re2.search(f"(?i){pattern}", text):
        assert all(any(atom in searched(text) for atom in need) for need in atoms(pattern))


def test_shipped_patterns_are_told_apart(structured: Bundle) -> None:
    """Nearly every shipped pattern has atoms, so that one request compiles few of them."""
    every = [atoms(pattern) for lexicon in structured.lexicons.values() for group in lexicon.groups for pattern in group.patterns]
    assert sum(map(bool, every)) >= 0.95 * len(every)


def test_literals_and_automaton_find_the_same(structured: Bundle) -> None:
    """A process that has judged a few requests answers as one that has judged none."""
    texts = {
        "candidate_lesson": "Be more careful: perhaps the tests are wrong, there is a typo on line 4 and the framework is broken."
    }
    warm = LexiconSet(structured.lexicons)
    first = warm.hits(texts)
    later = [warm.hits(texts) for _ in range(20)]
    assert later == [first] * 20
    assert len(first) == 4
