"""Anchors: which concrete things a text names, in one normal form, and whether another text holds them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure.anchors import ANCHOR_LIMIT, Anchor, anchors_of, compact, holds, quoted_in
from reflect_gate.measure.text import fold


def forms(text: str) -> list[str]:
    """Return the normal forms of the anchors of a text."""
    return [anchor.form for anchor in anchors_of(text).found]


def held(claim: str, text: str) -> list[bool]:
    """Return for each anchor of a claim whether a text holds it."""
    folded = fold(text)
    return [holds(compact(folded) if anchor.kind == "span" else folded, anchor) for anchor in anchors_of(claim).found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It calls load_rows() twice.", ["load_rows"]),
        ("It calls loadRows first.", ["loadrows"]),
        ("We use os.path.join here.", ["os.path.join"]),
        ("The call len(rows) fails.", ["len"]),
        ("A KeyError came up.", ["keyerror"]),
        ("See src/store/rows.py:41 for it.", ["src/store/rows.py"]),
        ("See rows.py for it.", ["rows.py"]),
        ("Pass --dry-run to it.", ["--dry-run"]),
        ("It is utf8 text.", ["utf8"]),
        ("It took 30 s and 5MB.", ["30", "5"]),
        ("It gave -1 or 2.5 or 404.", ["-1", "2.5", "404"]),
        ("The list [1, 2, 3] is sorted.", ["[1,2,3]"]),
        ("It compares with `a <= b`.", ["a<=b"]),
        ("The name `rows` is unset.", ["rows"]),
        ('It says "no such table" then.', ["no such table"]),
        ("It says 'no such table' then.", ["no such table"]),
        ("It failed in test_empty_rows.", ["test_empty_rows"]),
    ],
)
def test_what_is_an_anchor(text: str, expected: list[str]) -> None:
    """Each kind of the module's table."""
    assert forms(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Plain English words name nothing.",
        "The first of 3 values is 0.",
        "Read the element(s), the input/output and/or the rest, e.g. the others.",
        "It doesn't help, and the users' files can't be read.",
        "JavaScript and GitHub are products.",
        "",
    ],
)
def test_what_is_no_anchor(text: str) -> None:
    """English, single digits, alternatives, abbreviations and apostrophes are none."""
    assert forms(text) == []


def test_one_thing_has_one_normal_form() -> None:
    """`foo()`, `foo` and its name in prose are the same anchor."""
    assert forms("load_rows() is `load_rows` is `Load_Rows()`") == ["load_rows"]


def test_names_stand_between_word_boundaries() -> None:
    """A name is not found within a longer name."""
    assert held("`rows`", "load_rows(rowset)") == [False]


def test_a_number_is_found_whole() -> None:
    """12 is neither in 124 nor in 12.5 nor in 3.12; a unit may follow."""
    assert [held("12 ms", text) for text in ("124", "12.5", "3.12", "12ms", "(12)")] == [
        [False],
        [False],
        [False],
        [True],
        [True],
    ]


def test_whitespace_and_quotes_do_not_matter_in_a_span() -> None:
    """Code is compared in its compact form."""
    assert held("`f(1, 'a')`", 'assert f( 1,"a" ) == 2') == [True]


def test_a_span_keeps_its_word_boundaries() -> None:
    """Compact texts do not run words together."""
    assert held("It said 'no such table'.", "nosuchtable") == [False]


def test_a_dotted_name_is_held_by_its_parts() -> None:
    """An import spells a dotted name apart."""
    assert held("It needs math.sqrt there.", "from math import sqrt") == [True]


def test_quotations_are_compared_byte_for_byte() -> None:
    """The case and the spaces of a quotation count."""
    quotes = anchors_of("It printed 'No such table' at once.").quotes
    assert [quoted_in(quotes, text) for text in ("error: No such table", "error: no such table")] == [True, False]


def test_a_single_quoted_word_must_be_quoted_in_the_text_too() -> None:
    """A string literal is no quotation of prose that has the word."""
    quotes = anchors_of("The input was 'abba'.").quotes
    assert [quoted_in(quotes, text) for text in ('f("abba")', "f(abba)")] == [True, False]


def test_a_name_in_code_marks_is_no_quotation() -> None:
    """A single name is an anchor; it does not support a claim by itself."""
    assert anchors_of("It calls `load_rows` and `rows.sort()`.").quotes == ()


def test_anchors_are_bounded() -> None:
    """A text cannot name more than the limit."""
    assert len(forms(" ".join(f"name_{number}" for number in range(2 * ANCHOR_LIMIT)))) == ANCHOR_LIMIT


@pytest.mark.parametrize("piece", ["(", "[", "'", '"', "`", "a(", "'a", "[1,", "x.", "-", "_", "/", "((1,2),", "\u201c"])
def test_hostile_repetition_is_read_in_linear_time(piece: str) -> None:
    """Unclosed brackets and quotes, which make naive readers quadratic, cost well under a second."""
    started = time.perf_counter()
    anchors_of(piece * 60_000)
    assert time.perf_counter() - started < 2


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    """No text raises, and no anchor is empty."""
    assert all(anchor.form and anchor.kind in {"name", "number", "span"} for anchor in anchors_of(text).found)


@given(st.text(st.characters(codec="ascii"), max_size=60))
def test_a_code_span_is_found_in_its_own_text(content: str) -> None:
    """What stands between backticks is held by the same text without them."""
    span = anchors_of(f"x `{content}` y").found[:1]
    plain = f"x {content} y"
    if span and span[0].kind != "number" and "`" not in content and "\n" not in content and "()" not in content:
        assert holds(compact(fold(plain)) if span[0].kind == "span" else fold(plain), span[0])


def test_an_anchor_is_hashable_by_kind_and_form() -> None:
    """A number and a name of the same form are two anchors."""
    assert len({Anchor("name", "12"), Anchor("number", "12")}) == 2
