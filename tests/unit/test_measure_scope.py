"""The grammar of scopes: parsing, breadth, coverage, narrowing and broadening (R-d1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure.scope import KEYS, TERM_LIMIT, VALUE_LIMIT, Scope, Term, implied

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


# -- algebra ---------------------------------------------------------------------------------------------------------------------

PLACES = st.lists(
    st.tuples(
        st.sampled_from(KEYS), st.sampled_from(["a", "src", "src/a.py", "src/b.py", "python", "KeyError", "org/tool", "/etc/x"])
    ),
    max_size=6,
).map(Scope.place)
MIRRORED = {"equal": "equal", "covers": "covered", "covered": "covers", "overlapping": "overlapping", "disjoint": "disjoint"}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("lang:python repo:a/b", "repo:a/b lang:py", "equal"),
        ("lang:python", "lang:python error:KeyError", "covers"),
        ("path:src/a.py", "path:src", "covered"),
        ("lang:python", "repo:a/b", "overlapping"),
        ("repo:a/b", "repo:a/c", "disjoint"),
        ("path:src/a.py", "path:src/b.py lang:go", "disjoint"),
        ("parsers", "caches", "overlapping"),
        ("", "", "equal"),
    ],
)
def test_two_scopes_stand_in_one_relation(one: str, other: str, expected: str) -> None:
    """Two scopes that name a key differently are disjoint; free words keep none apart."""
    assert Scope.parse(one).relation(Scope.parse(other)) == expected


@given(SCOPES, SCOPES)
def test_the_relation_is_mirrored(one: Scope, other: Scope) -> None:
    """What covers from one side is covered from the other."""
    assert MIRRORED[one.relation(other)] == other.relation(one)


@given(SCOPES, SCOPES)
def test_the_relation_follows_coverage(one: Scope, other: Scope) -> None:
    """`equal`, `covers` and `covered` say what `covers` says."""
    said = (one.covers(other), other.covers(one))
    assert (one.relation(other) in {"equal", "covers"}, one.relation(other) in {"equal", "covered"}) == said


@given(SCOPES, PLACES)
def test_a_scope_fits_where_its_typed_terms_cover(scope: Scope, place: Scope) -> None:
    """`holds` and coverage of the place are one thing, and then every typed term is matched."""
    fit = scope.fit(place)
    assert (fit.fit == "holds") == Scope(scope.typed).covers(place)
    assert (fit.matched == scope.typed) == (fit.fit == "holds")


@given(SCOPES, PLACES)
def test_what_a_place_implies_decides_the_fit(scope: Scope, place: Scope) -> None:
    """A scope holds for a place exactly where all its typed terms are among those that the place implies."""
    assert (scope.fit(place).fit == "holds") == {str(term) for term in scope.typed}.issubset(implied(place))


@given(SCOPES, PLACES, PLACES)
def test_no_two_disjoint_scopes_hold_for_a_plain_place(one: Scope, place: Scope, other: Scope) -> None:
    """Where a place names each key once, scopes that both hold for it are not disjoint."""
    once = Scope.of({term.key: term for term in place.typed}.values())
    both = Scope(other.typed)
    if one.fit(once).fit == both.fit(once).fit == "holds":
        assert one.relation(both) != "disjoint"


@given(SCOPES, PLACES)
def test_narrowing_never_widens_the_fit(scope: Scope, place: Scope) -> None:
    """A term more leaves a scope that does not hold as it is."""
    order = ("holds", "unknown", "fails")
    for term in place.typed:
        assert order.index(scope.narrowed(term).fit(place).fit) >= order.index(scope.fit(place).fit)


@pytest.mark.parametrize(
    ("scope", "place", "expected", "matched"),
    [
        ("lang:python path:src", "lang:py path:src/a.py", "holds", 2),
        ("lang:python error:KeyError", "lang:python", "unknown", 1),
        ("path:src/a.py", "path:src", "unknown", 0),
        ("lang:go error:KeyError", "lang:python", "fails", 0),
        ("lang:python parsers", "lang:python", "holds", 1),
        ("", "", "holds", 0),
    ],
)
def test_a_fit_is_held_unknown_or_failed(scope: str, place: str, expected: str, matched: int) -> None:
    """What a place does not say cannot be told; what it says otherwise fails."""
    fit = Scope.parse(scope).fit(Scope.parse(place))
    assert (fit.fit, len(fit.matched)) == (expected, matched)


@pytest.mark.parametrize(
    "written", ["acme/shop", "https://github.com/Acme/Shop.git", "git@github.com:acme/shop.git", "ssh://git@host/acme/shop/"]
)
def test_a_repository_has_one_name(written: str) -> None:
    """Whoever cloned it from where."""
    assert str(Scope.parse(f"repo:{written}")) == str(Scope.place([("repo", written)])) == "repo:acme/shop"


def test_a_place_keeps_a_task_statement_as_one_term() -> None:
    """With its spaces, and quotation marks taken out so that it can be printed and read again."""
    place = Scope.place([("task", 'make the "fast" path  fast'), ("lang", ""), ("repo", " ")])
    assert (str(place), Scope.parse(str(place))) == ('task:"make the fast path fast"', place)
