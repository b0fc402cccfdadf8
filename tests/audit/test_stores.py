"""The six audits of a store (S2 7.5): each is tripped by a store in which that is wrong, and by no sound one (R-m7)."""

from __future__ import annotations

import pytest

from reflect_gate import Bundle, load_bundle
from reflect_gate.auditing.stores import CHECKS, StoreAudit, audit_store
from reflect_gate.errors import ReflectGateError

from .planted import BLAMING, PLANTED, STATEMENT, Shelf


def failed(found: StoreAudit) -> list[str]:
    """Return the checks that failed."""
    return [check.name for check in found.checks if check.failed]


def check_of(found: StoreAudit, name: str) -> dict[str, float]:
    """Return what a check measured."""
    return dict(next(check.measured for check in found.checks if check.name == name))


@pytest.mark.parametrize("name", CHECKS)
def test_each_audit_is_tripped(name: str, shelf: Shelf, naive: Bundle) -> None:
    """A planted store trips the audit that is meant for it, and names what it fails by."""
    PLANTED[name](shelf, naive)
    found = audit_store(shelf.store, shelf.bundle)
    check = next(check for check in found.checks if check.name == name)
    assert check.failed
    assert check.examples


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "introspection-in-disguise"])
def test_each_plant_trips_little_else(name: str, shelf: Shelf, naive: Bundle) -> None:
    """What is planted past the gate is ungrounded as well, and trips nothing besides."""
    PLANTED[name](shelf, naive)
    assert set(failed(audit_store(shelf.store, shelf.bundle))) == {name, "introspection-in-disguise"}


def test_a_sound_store_passes(shelf: Shelf) -> None:
    """Lessons that the gate admitted, that helped, and that are found again trip nothing."""
    name = shelf.learns("f-1")
    shelf.ends(name, "resolved", 10)
    found = audit_store(shelf.store, shelf.bundle)
    assert failed(found) == []
    assert check_of(found, "confabulated-cause") == {"judged": 1, "unfaithful": 0.0}
    assert check_of(found, "retrieval-miss")["asked"] == 1


def test_an_empty_store_passes(shelf: Shelf) -> None:
    """Nothing is wrong with nothing."""
    found = audit_store(shelf.store, shelf.bundle)
    assert (failed(found), found.lessons, found.sampled) == ([], 0, 0)


def test_a_red_flag_excuses_blame(shelf: Shelf) -> None:
    """Blame that is flagged and capped is a share of the lessons, and not unflagged."""
    shelf.plants("lesson-0", BLAMING, red_flag=True, confidence=0.1)
    found = check_of(audit_store(shelf.store, shelf.bundle), "blame-deflection")
    assert (found["unflagged"], found["blaming"]) == (0, 1.0)


def test_a_recalled_lesson_is_seen(shelf: Shelf, naive: Bundle) -> None:
    """Failures into which the lesson was recalled, or in whose session it was shown, are no misses."""
    PLANTED["retrieval-miss"](shelf, naive)
    for number in range(7):
        shelf.fails(f"seen-{number}", recalled=["lesson-0"])
    found = check_of(audit_store(shelf.store, shelf.bundle), "retrieval-miss")
    assert (found["repeats"], found["unseen"]) == (10, 0.3)


def test_a_lesson_out_of_reach_is_missed(shelf: Shelf) -> None:
    """A lesson whose scope does not hold for the failure that it comes from is never shown for it."""
    for number in range(3):
        shelf.plants(f"lesson-{number}", STATEMENT, "abc"[number], scope="repo:acme/elsewhere")
    found = next(check for check in audit_store(shelf.store, shelf.bundle).checks if check.name == "retrieval-miss")
    assert (found.failed, found.measured["missed"], found.rules) == (True, 1.0, ("audit/not-found",))


def test_retired_harm_is_revised(shelf: Shelf, naive: Bundle) -> None:
    """A harmful lesson that was taken out of use is what a store that learns has."""
    from reflect_gate.memory.curating import retire

    PLANTED["unfalsifiable-store"](shelf, naive)
    retire(shelf.store, "lesson-0", reason="it hurts")
    found = audit_store(shelf.store, shelf.bundle)
    assert "unfalsifiable-store" not in failed(found)
    assert check_of(found, "unfalsifiable-store") == {"harmful": 1, "revised": 1.0}


def test_thresholds_are_settings(shelf: Shelf, naive: Bundle) -> None:
    """A policy that allows one restatement in any share does not fail by it."""
    PLANTED["shallow-restatement"](shelf, naive)
    lax = load_bundle("structured", set_=["audit.max_shallow=1.0"], cache=False)
    assert "shallow-restatement" not in failed(audit_store(shelf.store, lax))


def test_the_sample_is_bounded_and_the_same(shelf: Shelf) -> None:
    """The setting bounds how many lessons are looked at; which ones does not depend on order."""
    for number in range(5):
        shelf.plants(f"lesson-{number}", STATEMENT, "abcde"[number])
    few = load_bundle("structured", set_=["audit.sample=2"], cache=False)
    first, again = (audit_store(shelf.store, few) for _ in range(2))
    assert (first.lessons, first.sampled) == (5, 2)
    assert first == again


def test_a_bundle_without_the_rules_says_so(shelf: Shelf) -> None:
    """Silence of rules that are off is no clean bill."""
    off = load_bundle("structured", disable=["audit"], cache=False)
    with pytest.raises(ReflectGateError, match="audit-off"):
        audit_store(shelf.store, off)
