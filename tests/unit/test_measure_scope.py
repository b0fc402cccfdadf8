"""The grammar of scopes: parsing, breadth, coverage, narrowing and broadening (R-d1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure.scope import TERM_LIMIT, VALUE_LIMIT, Scope, Term

TERMS = st.builds(
    lambda key, value: f"{key}:{value}" if key else value,
    st.sampled_from(["", "repo", "lang", "path", "error", "task"]),
    st.sampled_from(["a", "b", "src", "src/a.py", "python", "KeyError", "org/tool"]),
)
SCOPES = st.lists(TERMS, max_size=6).map(lambda parts: Scope.parse(" ".join(parts)))


@pytest.mark.parametrize(
    ("text", "breadth"),
    [
        ("", "any"),
        ("parsers of binary formats", "any"),
        ("lang:python", "lang"),
        ("lang:python repo:org/tool", "repo"),
        ("repo:org/tool error:KeyError", "error"),
        ("error:KeyError path:src/a.py", "file"),
        ("task:issue-7 lang:python parsers", "task"),
        ("LANG:Python", "lang"),
        ("lang:", "any"),
        ("colour:red", "any"),
    ],
)
def test_the_narrowest_term_decides_the_breadth(text: str, breadth: str) -> None:
    """Free words and unknown keys bound nothing."""
    assert Scope.parse(text).breadth == breadth


def test_terms_have_one_order_and_no_doubles() -> None:
    """The canonical form does not depend on how a scope was written."""
    assert str(Scope.parse("parsers lang:py  TASK:x lang:python")) == "task:x lang:python parsers"


def test_a_quoted_value_may_hold_spaces() -> None:
    """And comes back quoted."""
    scope = Scope.parse('path:"My Files/a.py" fast')
    assert scope.terms == (Term("path", "my files/a.py"), Term("", "fast"))
    assert Scope.parse(str(scope)) == scope


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        ("", "task:x", True),
        ("lang:python", "lang:py repo:org/tool", True),
        ("path:src", "path:src/a.py", True),
        ("path:src/", "path:./src/sub/a.py", True),
        ("path:src", "path:srcs/a.py", False),
        ("lang:python", "lang:go", False),
        ("lang:python repo:org/tool", "lang:python", False),
        ("the parsers", "parsers lang:go", True),
    ],
)
def test_coverage_is_decidable(wide: str, narrow: str, expected: bool) -> None:
    """A scope covers another when each of its terms is implied there."""
    assert Scope.parse(wide).covers(Scope.parse(narrow)) is expected


def test_hostile_lengths_are_bounded() -> None:
    """Terms and values beyond the limits are dropped, which broadens."""
    scope = Scope.parse(" ".join(f"task:{'x' * 1_000}{number}" for number in range(500)) + " y" * 10)
    assert len(scope.terms) <= TERM_LIMIT
    assert all(len(term.value) <= VALUE_LIMIT for term in scope.terms)


@given(SCOPES, TERMS)
def test_adding_a_term_narrows(scope: Scope, term: str) -> None:
    """A scope covers whatever is narrower than itself."""
    assert scope.covers(scope.narrowed(Scope.parse(term).terms[0]))


@given(SCOPES)
def test_removing_a_term_broadens(scope: Scope) -> None:
    """Without any one of its terms a scope covers itself."""
    assert all(scope.broadened(term).covers(scope) for term in scope.terms)


@given(SCOPES, SCOPES, SCOPES)
def test_coverage_is_a_preorder(first: Scope, second: Scope, third: Scope) -> None:
    """Every scope covers itself, and coverage carries over."""
    assert first.covers(first)
    if first.covers(second) and second.covers(third):
        assert first.covers(third)


@given(st.text(max_size=200))
def test_the_canonical_form_says_the_same_scope(text: str) -> None:
    """Any text is a scope, and writing it down loses nothing."""
    scope = Scope.parse(text)
    assert Scope.parse(str(scope)) == scope
