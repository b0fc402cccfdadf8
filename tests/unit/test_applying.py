"""Committing decisions: what is written for each, once only, on what was seen, and without secrets."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from reflect_gate import Bundle, ReflectGateError, evaluate, load_bundle, schemas
from reflect_gate.memory.applying import ATTEMPTS, apply, candidate_of, consider
from reflect_store import EventStore, StoreError, memory_store

Asked: TypeAlias = Callable[..., dict[str, Any]]

OPPOSITE = (
    "When a loader such as load_cart() may return None for a new session, never check its result before subscripting it, because "
    "the plan's assumption that it always returns a dict does not hold for empty state."
)
TOKEN = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.fixture
def ask(request_document: dict[str, Any]) -> Asked:
    """Make the request of one failure: its number tells repository, task and session, too."""

    def build(number: int, *, recalled: tuple[str, ...] = (), **reflection: Any) -> dict[str, Any]:
        request = copy.deepcopy(request_document)
        request["record"]["failure_id"] = f"failure-{number}"
        request["reflection"] |= reflection
        request["project"] = {"repository": f"acme/shop-{number}", "language": "python", "task": f"t-{number}"}
        request["project"]["session"] = f"s-{number}"
        return request | ({"recalled": list(recalled)} if recalled else {})

    return build


def types(store: EventStore, after: int = 0) -> list[str]:
    """Return what happened in a store, in order."""
    return [event.type for event in store.events(after)]


def test_an_admitted_candidate_becomes_a_lesson(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """R-s1: termination, decision and lesson are one transaction; the answer names what was written."""
    done = apply(store, ask(1), bundle)
    assert types(store) == ["termination-recorded", "decision-made", "lesson-admitted"]
    assert (done.action, done.version, list(done.events)) == ("admitted", 3, [event.id for event in store.events()])
    row = store.get("lessons", str(done.lesson_id))
    assert row is not None
    assert row["lesson"] == done.decision.lesson
    assert store.verify().sound


def test_judging_alone_writes_nothing(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """Without committing, the decision is the same and the store stays as it was."""
    first = consider(store, ask(1), bundle)
    assert store.version == 0
    assert first.decision.to_bytes() == apply(store, ask(1), bundle).decision.to_bytes()


def test_applying_again_writes_nothing(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """R-a1: one record a termination; the same request gets the same bytes, however the store has moved meanwhile."""
    first = apply(store, ask(1), bundle)
    apply(store, ask(2), bundle)
    version = store.version
    again = apply(store, ask(1), bundle)
    assert (again.action, again.applied, store.version) == ("known", False, version)
    assert again.decision.to_bytes() == first.decision.to_bytes()


def test_a_second_candidate_on_one_failure_records_it_once(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """R-s1: the termination is there already; only the decision is new."""
    apply(store, ask(1), bundle)
    apply(store, ask(1, confidence=0.9), bundle)
    assert types(store).count("termination-recorded") == 1
    assert types(store).count("decision-made") == 2


def test_the_same_lesson_elsewhere_is_merged(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """R-e1, R-P6: one lesson stays, with the evidence of both failures."""
    first, second = apply(store, ask(1), bundle), apply(store, ask(2), bundle)
    assert (second.action, second.lesson_id) == ("merged", first.lesson_id)
    row = store.get("lessons", str(first.lesson_id))
    assert row is not None
    assert row["lesson"]["derived_from"]["failures"] == ["failure-1", "failure-2"]
    assert store.count("lessons") == 1


def test_a_scope_that_the_store_bears_out_is_widened_by_a_successor(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """R-d1: after enough other repositories a lesson of wider scope takes its place, with its evidence and its lineage."""
    scope = "task:checkout error:TypeError"
    first = apply(store, ask(1, scope=scope), bundle)
    apply(store, ask(2, scope=scope), bundle)
    third = apply(store, ask(3, scope=scope), bundle)
    old, new = store.get("lessons", str(first.lesson_id)), store.get("lessons", str(third.lesson_id))
    assert old is not None
    assert new is not None
    assert (old["standing"], old["lesson"]["superseded_by"]) == ("superseded", new["id"])
    assert (new["standing"], new["lesson"]["scope"], new["lesson"]["supersedes"]) == ("active", "error:typeerror", old["id"])
    assert new["lesson"]["derived_from"]["failures"] == ["failure-1", "failure-2", "failure-3"]
    assert apply(store, ask(4, scope=scope), bundle).lesson_id == new["id"]


def test_the_successful_run_is_recorded(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """R-s1: the trajectory that went well is kept as an event of its own, once."""
    request = ask(1)
    request["record"]["successful_trajectory"] = [
        {"id": "good", "component": 11, "kind": "success", "seq": 0, "text": "load_cart(session) or {} was read instead."}
    ]
    apply(store, request, bundle)
    request["reflection"]["confidence"] = 0.9
    apply(store, request, bundle)
    assert types(store).count("success-recorded") == 1
    assert [row["failure_id"] for row in store.page("successes").rows] == ["failure-1"]


def test_a_thin_candidate_waits(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """R-f1: evidence too thin for the scope holds the candidate; what it says is kept with it."""
    done = apply(store, ask(1, scope=""), bundle)
    (row,) = store.page("candidates", {"status": "held"}).rows
    assert (done.action, done.lesson_id, row["reason"]) == ("held", None, "thin_evidence")
    assert (row["failure_id"], row["origin"]["task"]) == ("failure-1", "t-1")


def test_a_refused_candidate_is_on_record(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """R-s1: failure and decision are kept though nothing was learned, and nothing waits."""
    done = apply(store, ask(1, evidence_ids=["no-such-item"]), bundle)
    assert (done.action, done.decision.status) == ("refused", "refused")
    assert types(store) == ["termination-recorded", "decision-made"]


def test_a_contradiction_flags_and_overwrites_nothing(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """R-d1: the candidate waits under a flag with the lesson, which stays in use as it was."""
    lesson = str(apply(store, ask(1), bundle).lesson_id)
    before = store.get("lessons", lesson)
    done = apply(store, ask(2, candidate_lesson=OPPOSITE), bundle)
    (flag,) = store.page("flags", {"status": "open"}).rows
    assert done.action == "held"
    assert (flag["lesson_ids"], flag["withdraws"], flag["kind"]) == ([lesson], False, "contradiction")
    assert flag["rule"].startswith("generalization/")
    assert flag["candidate_id"] == store.page("candidates").rows[0]["candidate_id"]
    assert store.get("lessons", lesson) == before


def test_a_flood_of_contradictions_leaves_the_lesson_in_use(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """R-d1: nobody can switch a lesson off by contradicting it; `tests/store/flood.py` does it a thousand times."""
    lesson = str(apply(store, ask(0), bundle).lesson_id)
    for number in range(1, 21):
        apply(store, ask(number, candidate_lesson=f"{OPPOSITE} Seen {number} times."), bundle)
    row = store.get("lessons", lesson)
    assert row is not None
    assert (row["standing"], row["lesson"]["counterexamples"]) == ("active", [])
    assert store.count("flags") == 20
    assert [found["id"] for found in store.view(row["signature"]).lessons] == [lesson]


def test_admitting_with_a_flag_is_a_setting(store: EventStore, ask: Asked) -> None:
    """R-d1: `admit_flagged` is S2 to the letter: both lessons are in use under one flag."""
    flagging = load_bundle("structured", set_=["generalization.on_contradiction=admit_flagged"], cache=False)
    flagging = flagging._replace(engine="compiled", cross_check=False)
    first = apply(store, ask(1), flagging)
    second = apply(store, ask(2, candidate_lesson=OPPOSITE), flagging)
    (flag,) = store.page("flags").rows
    assert flag["lesson_ids"] == [first.lesson_id, second.lesson_id]
    assert store.count("lessons", {"standing": "active"}) == 2


def test_a_failure_after_recall_retires_the_lesson_at_once(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """R-g1: an executed failure of its signature in its scope, after it was recalled, falsifies a lesson."""
    lesson = str(apply(store, ask(1), bundle).lesson_id)
    failing = ask(2, recalled=(lesson,))
    failing["project"]["task"] = "checkout"
    done = apply(store, failing, bundle)
    row = store.get("lessons", lesson)
    assert row is not None
    assert (row["standing"], row["lesson"]["counterexamples"]) == ("retired", ["failure-2"])
    assert set(done.events) == {event.id for event in store.events(after=3)}
    assert {"evidence-added", "lesson-retired"} <= set(types(store, after=3))


def test_a_failure_outside_its_scope_is_no_counterexample(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """R-g1: a lesson says nothing of other tasks than those it is scoped to."""
    lesson = str(apply(store, ask(1), bundle).lesson_id)
    apply(store, ask(2, recalled=(lesson,)), bundle)
    row = store.get("lessons", lesson)
    assert row is not None
    assert (row["standing"], row["lesson"]["counterexamples"]) == ("active", [])


def test_a_retired_lesson_does_not_come_back_by_being_said_again(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """R-g1: its evidence is kept and a flag asks a person; the lesson stays out of use."""
    from reflect_gate.memory.curating import retire

    lesson = str(apply(store, ask(1), bundle).lesson_id)
    retire(store, lesson, reason="it misled")
    done = apply(store, ask(2), bundle)
    row = store.get("lessons", lesson)
    assert row is not None
    assert (done.action, done.lesson_id, row["standing"]) == ("merged", lesson, "retired")
    assert [flag["kind"] for flag in store.page("flags").rows] == ["recurrence"]


def test_held_candidates_are_attached_when_their_lesson_is_admitted(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """A candidate that waited for evidence counts for the lesson that says the same, and waits no longer."""
    apply(store, ask(1, scope=""), bundle)
    lesson = str(apply(store, ask(2), bundle).lesson_id)
    row = store.get("lessons", lesson)
    assert row is not None
    assert row["lesson"]["derived_from"]["failures"] == ["failure-2", "failure-1"]
    assert [found["status"] for found in store.page("candidates").rows] == ["released"]


def test_a_held_candidate_that_says_the_opposite_goes_on_waiting(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """Alike in words is not alike in advice."""
    apply(store, ask(1, scope="", candidate_lesson=OPPOSITE), bundle)
    apply(store, ask(2), bundle)
    assert [found["status"] for found in store.page("candidates").rows] == ["held"]


def test_every_event_holds_to_its_schema(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """R-s1: what a commit writes can be exported and taken in elsewhere, whatever came of the candidate."""
    scope = "task:checkout error:TypeError"
    apply(store, ask(0, scope=""), bundle)
    lesson = str(apply(store, ask(1, scope=scope), bundle).lesson_id)
    for number in (2, 3):
        lesson = str(apply(store, ask(number, scope=scope), bundle).lesson_id)
    apply(store, ask(4, candidate_lesson=OPPOSITE), bundle)
    falsifying = ask(5, recalled=(lesson,))
    falsifying["record"]["successful_trajectory"] = [
        {"id": "s", "component": 11, "kind": "success", "seq": 0, "text": "went well"}
    ]
    apply(store, falsifying, bundle)
    assert {
        *("termination-recorded", "success-recorded", "decision-made", "lesson-admitted", "lesson-merged", "lesson-superseded"),
        *("candidate-held", "candidate-released", "evidence-added", "flag-raised", "lesson-retired"),
    } <= set(types(store))
    for event in store.events():
        schemas.check("event", event.to_json(), event.type)


# -- what was seen ---------------------------------------------------------------------------------------------------------


def test_a_view_that_moved_is_judged_again(
    store: EventStore, bundle: Bundle, ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two evaluations of one new signature at once: one lesson and one merge."""
    looked: list[Any] = []
    real = store.view

    def interrupted(query: Any) -> Any:
        view = real(query)
        if not looked:
            looked.append(query)
            apply(store, ask(2), bundle)
        return view

    monkeypatch.setattr(store, "view", interrupted)
    done = apply(store, ask(1), bundle)
    assert (done.action, store.count("lessons")) == ("merged", 1)
    assert types(store).count("decision-made") == 2


def test_the_same_request_at_once_is_applied_once(
    store: EventStore, bundle: Bundle, ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes second finds the decision that the first has made meanwhile."""
    looked: list[Any] = []
    real = store.view
    # The failure is known, so that the view does not move: what is decided changes nothing that it shows.
    apply(store, ask(1, evidence_ids=["no-such-item"]), bundle)
    refused = ask(1, evidence_ids=["no-other-item"])

    def interrupted(query: Any) -> Any:
        view = real(query)
        if not looked:
            looked.append(query)
            apply(store, refused, bundle)
        return view

    monkeypatch.setattr(store, "view", interrupted)
    assert apply(store, refused, bundle).action == "known"
    assert types(store).count("decision-made") == 2


def test_a_candidate_is_never_starved(store: EventStore, bundle: Bundle, ask: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others move the view every time, it is judged in the end while they wait."""
    tried = []

    def moved(*_arguments: Any, **_options: Any) -> Any:
        tried.append(1)
        raise StoreError("store-moved", "the view moved")

    monkeypatch.setattr(store, "append", moved)
    done = apply(store, ask(1), bundle)
    assert (done.action, len(tried), types(store)[-1]) == ("admitted", ATTEMPTS, "lesson-admitted")


def test_a_store_that_cannot_be_written_keeps_nothing(
    store: EventStore, bundle: Bundle, ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error other than a moved view is not tried again."""

    def full(*_arguments: Any, **_options: Any) -> Any:
        raise StoreError("store-full", "no space")

    monkeypatch.setattr(store, "append", full)
    with pytest.raises(StoreError, match="no space"):
        apply(store, ask(1), bundle)
    assert store.version == 0


def test_a_view_of_ones_own_is_refused(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """What the store holds is not for a request to say."""
    request = ask(1) | {"store_view": {"version": 0, "lessons": [], "edges": []}}
    with pytest.raises(ReflectGateError, match="no `store_view` of its own") as caught:
        apply(store, request, bundle)
    assert caught.value.code == "request-view"
    assert store.version == 0


def test_an_invalid_request_writes_nothing(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """Whatever cannot be judged is an error, and nothing of it is kept."""
    request = ask(1)
    del request["reflection"]["scope"]
    with pytest.raises(ReflectGateError, match="scope"):
        apply(store, request, bundle)
    assert store.version == 0


def test_the_id_of_a_decision_does_not_depend_on_the_view(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """It is the id that the request has without a store, before and after the store has moved."""
    alone = evaluate(ask(1), bundle).decision_id
    assert candidate_of(ask(1), bundle).decision_id == alone
    apply(store, ask(2), bundle)
    assert consider(store, ask(1), bundle).decision.decision_id == alone


def test_two_stores_that_applied_one_request_still_merge(bundle: Bundle, ask: Asked) -> None:
    """Event ids are each store's own, so an import finds no two events of one id."""
    here, there = memory_store(), memory_store()
    for store in (here, there):
        apply(store, ask(1), bundle)
    exported = io.BytesIO()
    there.export(exported)
    here.import_(io.BytesIO(exported.getvalue()), "there")
    assert (here.count("lessons"), here.count("decisions")) == (1, 1)
    assert here.verify().sound


# -- secrets -----------------------------------------------------------------------------------------------------------------


def test_a_secret_is_neither_judged_nor_kept(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """No event holds it; the failure has the signature that it has without the secret."""
    request = ask(1)
    request["record"]["traces"][0]["text"] += f" token={TOKEN}"
    request["reflection"]["counterfactual"] += f" The token was {TOKEN}."
    done = apply(store, request, bundle)
    assert done.decision.status == "admitted"
    assert not [event.id for event in store.events() if TOKEN.encode() in (event.payload or b"")]


def test_a_signature_made_from_a_secret_is_made_anew(store: EventStore, bundle: Bundle, ask: Asked) -> None:
    """A context that was computed before the secret was taken out does not stand in the way."""
    request = ask(1)
    request["record"]["traces"][2]["text"] += f"\nTypeError: no session for {TOKEN}"
    context = candidate_of(ask(1), bundle).context
    request["signature_context"] = {**context, "signature": "0" * 64, "reflected_before": False, "prior_reflection_id": None}
    assert apply(store, request, bundle).decision.status == "admitted"
