"""Lexicons in texts: counts, coverage and spans that lead back to the original."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.errors import ReflectGateError
from reflect_gate.measure.lexicon import MATCH_LIMIT, SPAN_LIMIT, LexiconHit, LexiconSet


@dataclass(frozen=True)
class Group:
    """A group of patterns."""

    id: str
    patterns: tuple[str, ...]
    atoms: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Lexicon:
    """A lexicon of groups."""

    groups: tuple[Group, ...] = field(default_factory=tuple)


LEXICONS = LexiconSet(
    {
        "fruit": Lexicon((Group("sweet", ("apples?", "ripe pears?")), Group("sour", ("lemon", "ripe")))),
        "speed": Lexicon((Group("fast", (r"\bfast(?:er)?", "Quick", "größer")),)),
    }
)


def hit(text: str, lexicon: str = "fruit") -> LexiconHit | None:
    """Return the hit of one lexicon in one text."""
    return next((found for found in LEXICONS.hits({"scope": text}) if found.lexicon == lexicon), None)


def test_nothing_is_reported_where_nothing_is_found() -> None:
    """No hit with a count of zero."""
    assert LEXICONS.hits({"scope": "stones and bread", "candidate_lesson": ""}) == ()


def test_matches_are_counted_without_overlap() -> None:
    """Of matches at one place the longest counts, and what it holds does not count again."""
    found = hit("A ripe pear and two apples")
    assert found is not None
    assert [(span.start, span.end, span.group) for span in found.spans] == [(2, 11, "sweet"), (20, 26, "sweet")]
    assert found.count == 2


def test_coverage_is_the_share_of_content_words_rounded_up() -> None:
    """Two of three content words; stop words do not count."""
    found = hit("the ripe pear is on my table")
    assert found is not None
    assert found.coverage == 67


def test_coverage_counts_all_words_where_none_has_content() -> None:
    """A text of stop words alone that holds a match is not divided by nothing."""
    lexicons = LexiconSet({"just": Lexicon((Group("g", ("just because",)),))})
    [found] = lexicons.hits({"scope": "just because"})
    assert found.coverage == 100


def test_patterns_are_bound_to_words() -> None:
    """A pattern that ends in a letter does not match within a word; case does not matter."""
    assert [hit(text) is not None for text in ("lemonade", "LEMON", "a lemon.")] == [False, True, True]


def test_capitals_and_other_letters_disregard_case_as_well() -> None:
    """Patterns that are not small ASCII letters are matched without regard to case too."""
    assert [hit(text, "speed") is not None for text in ("quick", "QUICK", "GRÖSSER", "GRÖßER")] == [True, True, False, True]


def test_spans_lead_back_to_the_original() -> None:
    """The match is made on the NFKC form, the span given in the text as written."""
    text = "\ufb01ne Ａpple tart"
    found = hit(text)
    assert found is not None
    assert [text[span.start : span.end] for span in found.spans] == ["Ａpple"]


def test_spans_are_shown_as_the_decision_shows_them() -> None:
    """Target, lexicon, group, start, end."""
    found = hit("a lemon")
    assert found is not None
    assert found.spans_json() == [{"target": "scope", "lexicon": "fruit", "group": "sour", "start": 2, "end": 7}]


def test_a_flood_of_matches_is_counted_and_covered_but_not_listed() -> None:
    """Nobody hides a platitude behind repetitions of it."""
    found = hit("lemon " * (MATCH_LIMIT + 100) + "stone " * 100)
    assert found is not None
    assert (len(found.spans), found.coverage) == (SPAN_LIMIT, 100)


def test_a_pattern_that_is_not_re2_is_refused() -> None:
    """A bundle checks its patterns at load; a set built by hand fails closed too."""
    bad = LexiconSet({"bad": Lexicon((Group("g", ("(?<=a)b",)),))})
    with pytest.raises(ReflectGateError, match="measure-lexicon"):
        bad.hits({"scope": "ab"})


def test_hits_do_not_depend_on_the_order_of_lexicons() -> None:
    """Facts are the same for any order of a mapping."""
    one, two = Lexicon((Group("g", ("alpha",)),)), Lexicon((Group("g", ("beta",)),))
    text = {"scope": "alpha beta"}
    assert LexiconSet({"one": one, "two": two}).hits(text) == LexiconSet({"two": two, "one": one}).hits(text)


def test_the_first_texts_and_later_ones_are_searched_alike() -> None:
    """The automaton, which is built when it pays, finds what the patterns find one by one."""
    lexicons = LexiconSet({"fruit": Lexicon((Group("g", ("apples?", "Lemons?", "f(?:ig|iga)s")),))})
    texts = {"scope": "Apples, lemon and figs", "candidate_lesson": "no such thing"}
    first = lexicons.hits(texts)
    assert [lexicons.hits(texts) for _ in range(30)] == [first] * 30
    assert first[0].count == 3


def test_a_long_text_is_read_in_linear_time() -> None:
    """The limit of a text is read in well under a second."""
    started = time.perf_counter()
    LEXICONS.hits({"scope": "ripe pear lemon fast " * 3_000})
    assert time.perf_counter() - started < 2


@given(st.lists(st.sampled_from(["ripe", "pear", "apples", "stone", "the", "ﬁg", "Ａpple", "\n", "'", "\ud800"]), max_size=30))
def test_spans_slice_to_text_that_holds_the_pattern(parts: list[str]) -> None:
    """Every span, cut out of the original, is a hit by itself, and the bounds hold."""
    text = " ".join(parts)
    for found in LEXICONS.hits({"scope": text}):
        assert 1 <= found.coverage <= 100
        assert found.count >= len(found.spans) >= 1
        assert all(hit(text[span.start : span.end], found.lexicon) for span in found.spans)


@given(st.text(max_size=200))
def test_any_text_is_searched(text: str) -> None:
    """No text raises, and spans are ordered and inside the text."""
    for found in LEXICONS.hits({"scope": text}):
        places = [place for span in found.spans for place in (span.start, span.end)]
        assert places == sorted(places)
        assert places[-1] <= len(text)
