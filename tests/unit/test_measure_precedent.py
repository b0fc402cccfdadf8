"""What a store knows that bears on a candidate: independence, counts, and the scope that counterexamples leave (R-d1, R-g2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure.precedent import (
    COUNT_LIMIT,
    ORIGIN_FIELDS,
    Candidate,
    Precedents,
    independent,
    many_independent,
    place_of,
)
from reflect_gate.measure.scope import Scope

SAID = "When a cookie may be missing, check the session before reading its cart, because a new visitor has none."
ELSE = "Retry a failed upload with a longer pause, because the gateway sheds load."
OWN = {"repository": "acme/shop", "task": "cart-1", "session": "s1", "language": "python"}
SIGNATURE = "a" * 64
ORIGINS = st.dictionaries(
    st.sampled_from(["task", "repository", "commit", "session", "language"]), st.sampled_from(["a", "b", ""]), max_size=5
)


def lesson(name: str, statement: str = SAID, scope: str = "lang:python", **more: Any) -> dict[str, Any]:
    """Return a lesson of the view."""
    return {"id": name, "lesson": {"statement": statement, "scope": scope}, "signature": SIGNATURE, **more}


def failure(name: str, recalled: tuple[str, ...] = (), scope: str = "", **origin: str) -> dict[str, Any]:
    """Return an earlier failure."""
    return {"failure_id": name, "signature": SIGNATURE, "origin": origin, "recalled": list(recalled), "scope": scope}


def held(name: str, statement: str = SAID, **origin: str) -> dict[str, Any]:
    """Return a held candidate."""
    return {"candidate_id": f"c-{name}", "failure_id": name, "statement": statement, "origin": origin}


def known(
    scope: str = "lang:python", recalled: tuple[str, ...] = (), origin: dict[str, str] | None = None, **view: Any
) -> Precedents:
    """Return the candidate that says `SAID` beside a view."""
    record = {
        "failure_id": "own",
        "diagnosis": {"error_class": "http.KeyError"},
        "traces": [{"path": "src/cart.py"}, {"path": "src/total.py"}],
    }
    candidate = Candidate(SAID, Scope.parse(scope), SIGNATURE, record, OWN if origin is None else origin, frozenset(recalled))
    return Precedents(candidate, {"lessons": [], "edges": [], **view}, 75)


# -- independence ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"task": "a"}, {"task": "b"}, True),
        ({"task": "a", "session": "s"}, {"task": "b", "session": "s"}, False),
        ({"task": "a", "session": "s"}, {"task": "a", "session": "t"}, True),
        ({"repository": "https://h/a/b.git"}, {"repository": "A/B"}, False),
        ({"commit": "1"}, {"task": "b"}, False),
        ({"language": "go"}, {"language": "python"}, False),
        ({}, {}, False),
    ],
)
def test_independence_needs_a_known_difference(one: dict[str, str], other: dict[str, str], expected: bool) -> None:
    """Another task, repository, commit or session, known of both, and never the same session."""
    assert independent(one, other) is expected


@given(ORIGINS, ORIGINS)
def test_independence_is_mutual_and_never_of_oneself(one: dict[str, str], other: dict[str, str]) -> None:
    """It has no direction."""
    assert independent(one, other) == independent(other, one)
    assert not independent(one, one)


@given(ORIGINS, st.lists(ORIGINS, max_size=6))
def test_repeats_never_raise_the_count(own: dict[str, str], others: list[dict[str, str]]) -> None:
    """What was counted once is not counted again."""
    assert many_independent(own, others) == many_independent(own, others * 3) <= len(others)


def test_the_count_is_bounded() -> None:
    """More than enough is not counted on."""
    assert many_independent(OWN, ({"session": f"x{number}"} for number in range(500))) == COUNT_LIMIT


# -- counts ----------------------------------------------------------------------------------------------------------------------


def test_independent_failures_are_counted_once_a_session() -> None:
    """Repeats of one session, of the own session and of nowhere count nothing (R-P6)."""
    failures = [
        failure("f1", task="cart-2", session="s2"),
        failure("f2", task="cart-3", session="s2"),
        failure("f3", task="cart-4", session="s1"),
        failure("f4"),
        failure("own", task="cart-9", session="s9"),
        failure("f5", task="cart-5", session="s5"),
    ]
    assert known(failures=failures).independent == 2


def test_a_failure_after_the_recall_of_a_lesson_alike_is_no_precedent() -> None:
    """Nor one after the recall of a lesson that the view does not hold; after another lesson it is."""
    view: dict[str, Any] = {
        "lessons": [lesson("alike"), lesson("other", ELSE)],
        "failures": [
            failure("f1", ("alike",), task="b", session="s2"),
            failure("f2", ("gone",), task="c", session="s3"),
            failure("f3", ("other",), task="d", session="s4"),
        ],
    }
    assert known(**view).independent == 1


def test_only_candidates_that_say_the_same_agree() -> None:
    """Another lesson, the opposite, the own failure and repeats of a recall are left out."""
    view: dict[str, Any] = {
        "lessons": [lesson("alike")],
        "failures": [failure("f5", ("alike",), task="f", session="s5")],
        "candidates": [
            held("f1", task="b", session="s2"),
            held("f2", ELSE, task="c", session="s3"),
            held("f3", SAID.replace("check", "do not check"), task="d", session="s4"),
            held("own", task="e", session="s6"),
            held("f5", task="f", session="s5"),
        ],
    }
    assert known(**view).agreeing == 1


def test_other_repositories_are_those_where_the_same_is_said() -> None:
    """Of lessons and held candidates, red-flagged and recalled lessons left out, the own repository under any of its names."""
    view: dict[str, Any] = {
        "lessons": [
            lesson("l1", origins=[{"repository": "acme/api"}, {"repository": "git@host:acme/shop.git"}]),
            lesson("l2", ELSE, origins=[{"repository": "acme/web"}]),
            lesson("l3", red_flag=True, origins=[{"repository": "acme/red"}]),
            lesson("l4", origins=[{"repository": "acme/recalled"}]),
        ],
        "candidates": [held("f1", repository="acme/cli", session="s2"), held("f2", repository="acme/api", session="s3")],
    }
    assert known(recalled=("l4",), **view).repositories == 2


def test_without_a_repository_of_its_own_no_other_can_be_told() -> None:
    """What is not known does not count."""
    assert known(origin={}, lessons=[lesson("l1", origins=[{"repository": "acme/api"}])]).repositories == 0


def test_corroborations_of_blame_are_independent_failures() -> None:
    """Of lessons of this signature, red-flagged or not, and held candidates; one session counts once (R-g2)."""
    view: dict[str, Any] = {
        "lessons": [
            lesson("l1", red_flag=True, origins=[{"session": "s2"}, {"session": "s2"}, {"session": "s3"}]),
            {**lesson("l2", origins=[{"session": "s4"}]), "signature": "b" * 64},
        ],
        "candidates": [held("f1", session="s3"), held("f2", session="s5")],
    }
    assert known(**view).corroborating == 3


# -- peers -----------------------------------------------------------------------------------------------------------------------


def test_a_peer_is_joined_by_an_edge_or_by_any_of_its_signatures() -> None:
    """The ledger's joins, not only the signature that the lesson was learned from."""
    other = "b" * 64
    view: dict[str, Any] = {
        "lessons": [{**lesson(name), "signature": other} for name in ("l1", "l2", "l3")],
        "edges": [{"signature": SIGNATURE, "lesson_id": "l1"}],
    }
    view["lessons"][1]["signatures"] = [other, SIGNATURE]
    assert [peer.same_signature for peer in known(**view).peers] == [True, True, False]


def test_a_peer_without_origins_is_not_independent() -> None:
    """What is not known does not count."""
    origins = [[], [OWN], [OWN, {"session": "s2"}]]
    view: dict[str, Any] = {"lessons": [lesson(f"l{number}", origins=found) for number, found in enumerate(origins)]}
    assert [peer.independent for peer in known(**view).peers] == [False, False, True]


# -- counterexamples -------------------------------------------------------------------------------------------------------------


def test_the_scope_is_narrowed_by_the_widest_term_that_shuns_the_counterexample() -> None:
    """Only terms of the own record and project are added, and only those that take a counterexample out."""
    view: dict[str, Any] = {
        "lessons": [lesson("alike")],
        "failures": [failure("f1", ("alike",), repository="acme/api", language="python", task="b")],
    }
    seen = known(scope="lang:python", **view)
    assert (seen.counterexamples, str(seen.narrowed), seen.uncovered) == (("f1",), "repo:acme/shop lang:python", True)


def test_each_counterexample_may_need_its_own_term() -> None:
    """Until none is covered."""
    view: dict[str, Any] = {
        "lessons": [lesson("alike")],
        "failures": [
            failure("f1", ("alike",), repository="acme/api", language="python", task="b"),
            failure("f2", ("alike",), repository="acme/shop", language="python", task="cart-2"),
        ],
    }
    seen = known(**view)
    assert (str(seen.narrowed), seen.uncovered) == ("task:cart-1 repo:acme/shop lang:python", True)


def test_a_counterexample_that_cannot_be_placed_is_not_shunned() -> None:
    """Nothing is known of where it happened, so every scope may cover it."""
    seen = known(lessons=[lesson("alike")], failures=[failure("f1", ("alike",))])
    assert (seen.counterexamples, str(seen.narrowed), seen.uncovered) == (("f1",), "lang:python", False)


def test_a_failure_outside_the_declared_scope_is_no_counterexample() -> None:
    """It falsifies nothing that the candidate says."""
    seen = known(lessons=[lesson("alike")], failures=[failure("f1", ("alike",), scope="lang:go")])
    assert (seen.counterexamples, seen.uncovered) == ((), True)


def test_a_lesson_recalled_in_vain_makes_its_copy_a_counterexample_of_itself() -> None:
    """The own failure cannot be shunned by terms of its own record (R-g1)."""
    seen = known(recalled=("alike",), lessons=[lesson("alike")])
    assert (seen.counterexamples, seen.uncovered) == (("own",), False)


def test_a_lesson_that_came_beside_the_attempt_is_neither_falsified_nor_borne_out() -> None:
    """It was given when the failure had shown: it could not prevent it, and what repeats it adds nothing (R-e1, R-g1)."""
    seen = known(lessons=[lesson("alike", origins=[{"repository": "acme/other", "task": "t-2"}])])
    assert (seen.repositories, seen.counterexamples) == (1, ())
    beside = Precedents(seen.candidate._replace(beside=frozenset({"alike"})), seen.view, 75)
    assert (beside.repositories, beside.counterexamples) == (0, ())


def test_another_lesson_recalled_is_no_counterexample() -> None:
    """It is not what the candidate says."""
    assert known(recalled=("other",), lessons=[lesson("other", ELSE)]).counterexamples == ()


@given(
    st.lists(st.sampled_from(["acme/api", "acme/shop", ""]), max_size=4), st.sampled_from(["", "lang:python", "error:keyerror"])
)
def test_the_narrowed_scope_stays_within_the_declared_one(repositories: list[str], scope: str) -> None:
    """It says what the declared scope says, and more; and it holds for the own failure wherever the declared one does."""
    failures = [failure(f"f{number}", ("alike",), repository=name) for number, name in enumerate(repositories)]
    seen = known(scope=scope, lessons=[lesson("alike")], failures=failures)
    assert Scope.parse(scope).covers(seen.narrowed)
    assert seen.narrowed.fit(seen.place).fit == "holds"


# -- broadening ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("repo:acme/shop task:cart-1 path:src/cart.py error:KeyError carts", "error:keyerror carts"),
        ("repo:acme/shop", "lang:python"),
        ("lang:python", "lang:python"),
    ],
)
def test_broadening_drops_repository_task_and_paths(scope: str, expected: str) -> None:
    """Where nothing would bound the scope then, the language of the project does."""
    assert str(known(scope=scope).broadened) == expected


def test_an_unbounded_scope_is_not_made() -> None:
    """Without a language the scope stays as it is."""
    assert str(known(scope="repo:acme/shop", origin={"repository": "acme/shop"}).broadened) == "repo:acme/shop"


def test_a_counterexample_keeps_the_scope_from_being_broadened() -> None:
    """It would be covered then."""
    view: dict[str, Any] = {
        "lessons": [lesson("alike", origins=[{"repository": "acme/web"}])],
        "failures": [failure("f1", ("alike",), repository="acme/api", language="python")],
    }
    assert known(scope="repo:acme/shop", **view).broader is False


def test_a_scope_is_broader_where_others_agree() -> None:
    """And nothing stands against it."""
    assert known(scope="repo:acme/shop", lessons=[lesson("l1", origins=[{"repository": "acme/web"}])]).broader is True


def test_the_place_of_a_failure_is_read_off_its_record_and_project() -> None:
    """Task, repository, language, error class with and without its module, and the paths of the traces."""
    record = {"diagnosis": {"error_class": "http.KeyError"}, "traces": [{"path": "src/cart.py"}, {"text": "none"}]}
    place = place_of(record, OWN)
    assert str(place) == "task:cart-1 path:src/cart.py error:http.keyerror error:keyerror repo:acme/shop lang:python"


ORIGINS = st.fixed_dictionaries({field: st.sampled_from(["", "a", "b", "c"]) for field in ORIGIN_FIELDS})


@given(ORIGINS, st.lists(ORIGINS, max_size=40))
def test_the_count_is_that_of_comparing_every_pair(own: dict[str, str], others: list[dict[str, str]]) -> None:
    """Whatever is known, the events that are kept are those that are independent of all kept before them."""
    kept = [own]
    for other in others:
        if len(kept) <= COUNT_LIMIT and all(independent(other, known) for known in kept):
            kept.append(other)
    assert many_independent(own, others) == len(kept) - 1
