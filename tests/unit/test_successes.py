"""Runs that went well as evidence: for a candidate that comes later, and for a lesson that was there before (R-d1, R-P6)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from reflect_gate import Bundle, load_bundle
from reflect_gate.measure.achieved import MOST_TEXTS, done, texts_of
from reflect_gate.memory import revisiting
from reflect_gate.memory.applying import apply, consider
from reflect_gate.memory.tracing import history
from reflect_store import EventStore

Told: TypeAlias = Callable[..., dict[str, Any]]

ADVICE = (
    "When a loader may return None for a new session, check its result before subscripting it, because there is no dict then."
)
DID = "Checked the result of load_cart() for None before subscripting it; a new session now totals 0."
ELSE = "Raised the timeout of the mirror to ten seconds."
VAGUE = "Be more careful next time."
SCOPE = "error:TypeError"


@pytest.fixture
def tell(request_document: dict[str, Any]) -> Told:
    """Make the request of one failure: its number tells repository, task and session; `did` is what went well in the end."""

    def build(number: int, *did: str, recalled: tuple[str, ...] = (), session: str = "", **reflection: Any) -> dict[str, Any]:
        request = copy.deepcopy(request_document)
        request["record"] |= {"failure_id": f"failure-{number}", "outcome": "resolved"}
        request["record"]["successful_trajectory"] = [
            {"id": f"good-{place}", "component": 11, "kind": "success", "seq": place, "text": text}
            for place, text in enumerate(did)
        ]
        request["reflection"] |= {"scope": SCOPE, **reflection}
        request["project"] = {"repository": f"acme/shop-{number}", "language": "python", "task": f"t-{number}"}
        request["project"]["session"] = session or f"s-{number}"
        return request | ({"recalled": list(recalled)} if recalled else {})

    return build


def learned(store: EventStore, bundle: Bundle, tell: Told) -> str:
    """Return the id of a lesson that failure 1 taught."""
    done_ = apply(store, tell(1), bundle)
    assert done_.action == "admitted"
    return str(done_.lesson_id)


def successes(store: EventStore, name: str) -> list[str]:
    """Return the successes that a lesson comes from."""
    row = store.get("lessons", name)
    assert row is not None
    return list(row["lesson"]["derived_from"]["successes"])


def reasons(request: dict[str, Any], store: EventStore, bundle: Bundle) -> list[str]:
    """Return what the rules of the store say of a request that is applied."""
    return [str(found["reason"]) for found in apply(store, request, bundle).decision.findings if found["stage"] == "generalize"]


# -- what was done ---------------------------------------------------------------------------------------------------------------


def test_what_was_done_is_told_from_something_else() -> None:
    """The likest text counts; one shared word is none."""
    assert done(ADVICE, [ELSE, DID]) == done(ADVICE, [DID]) > 30
    assert done(ADVICE, [ELSE]) == done(ADVICE, ["session"]) == done(ADVICE, []) == 0


def test_doing_the_opposite_bears_nothing_out() -> None:
    """However many words are shared."""
    against = ADVICE.replace("check its result", "never check its result")
    assert done(ADVICE, [DID, against]) == 0


def test_the_end_of_a_run_is_read() -> None:
    """A long run is told by its last texts, each cut short."""
    texts = texts_of([*(["x" * 10_000] * 50), "last"])
    assert (len(texts), texts[-1], max(map(len, texts))) == (MOST_TEXTS, "last", 600)


# -- a lesson that was there -----------------------------------------------------------------------------------------------------


def test_a_success_bears_a_lesson_out(store: EventStore, bundle: Bundle, tell: Told) -> None:
    """Whatever becomes of the candidate that came with it; its history names the rule, and it is there once."""
    name = learned(store, bundle, tell)
    refused = apply(store, tell(2, DID, candidate_lesson=VAGUE), bundle)
    assert refused.action == "refused"
    (row,) = store.page("successes").rows
    assert successes(store, name) == [row["success_id"]]
    told = [entry for entry in history(store, name)[0] if entry["type"] == "evidence-added"]
    assert [(entry["rule"], entry["successes"]) for entry in told] == [("generalization/borne-out", [row["success_id"]])]
    apply(store, tell(2, DID, candidate_lesson=VAGUE, confidence=0.9), bundle)
    assert successes(store, name) == [row["success_id"]]
    assert store.verify().sound


def test_its_place_is_one_that_the_lesson_comes_from(store: EventStore, bundle: Bundle, tell: Told) -> None:
    """So helping there later is not helping elsewhere (R-g1)."""
    name = learned(store, bundle, tell)
    apply(store, tell(2, DID, candidate_lesson=VAGUE), bundle)
    (spoke,) = store.page("corroborations", {"lesson_id": name}).rows
    assert spoke["origin"]["repository"] == "acme/shop-2"


@pytest.mark.parametrize(
    "case",
    [
        pytest.param({"did": ELSE}, id="something-else-was-done"),
        pytest.param({"did": DID, "session": "s-1"}, id="the-session-it-comes-from"),
        pytest.param({"did": DID, "recall": True}, id="it-was-recalled"),
    ],
)
def test_a_success_that_is_no_evidence(store: EventStore, bundle: Bundle, tell: Told, case: dict[str, Any]) -> None:
    """Independent or it does not count, and never by its own recall."""
    name = learned(store, bundle, tell)
    recalled = (name,) if case.get("recall") else ()
    apply(store, tell(2, case["did"], session=case.get("session", ""), recalled=recalled, candidate_lesson=VAGUE), bundle)
    assert successes(store, name) == []
    assert store.count("successes") == 1


def test_what_the_session_was_given_beside_is_no_evidence_either(store: EventStore, bundle: Bundle, tell: Told) -> None:
    """A lesson that the session saw for another task may be why it went well."""
    name = learned(store, bundle, tell)
    apply(store, {**tell(2, DID, candidate_lesson=VAGUE), "recalled_beside": [name]}, bundle)
    assert successes(store, name) == []


def test_a_merged_candidate_brings_its_success_with_it(store: EventStore, bundle: Bundle, tell: Told) -> None:
    """It is not told a second time."""
    name = learned(store, bundle, tell)
    assert apply(store, tell(2, DID), bundle).lesson_id == name
    assert successes(store, name) == ["good-0"]
    assert "evidence-added" not in [event.type for event in store.events()]


def test_a_success_out_of_scope_is_no_evidence(store: EventStore, bundle: Bundle, tell: Told) -> None:
    """A lesson bound to another task did not say what to do here."""
    bound = apply(store, tell(1, scope="task:t-1"), bundle)
    apply(store, tell(2, DID, candidate_lesson=VAGUE), bundle)
    assert bound.action == "admitted"
    assert successes(store, str(bound.lesson_id)) == []


def test_a_run_that_was_given_up_is_no_success(store: EventStore, bundle: Bundle, tell: Told) -> None:
    """What a model tried in an escalated run may be told as a contrast, but it did not resolve anything."""
    name = learned(store, bundle, tell)
    request = tell(2, DID, candidate_lesson=VAGUE)
    request["record"]["outcome"] = "escalated"
    apply(store, request, bundle)
    assert successes(store, name) == []


def test_without_the_rules_nothing_is_evidence(store: EventStore, tell: Told) -> None:
    """The ablation of the mechanism (R-m5)."""
    bundle = load_bundle("ablate-generalization", cache=False)._replace(engine="compiled", cross_check=False)
    name = learned(store, bundle, tell)
    apply(store, tell(2, DID, candidate_lesson=VAGUE), bundle)
    assert successes(store, name) == []


# -- a candidate that comes later ------------------------------------------------------------------------------------------------


def test_an_earlier_success_corroborates_a_candidate(store: EventStore, bundle: Bundle, tell: Told) -> None:
    """The store bears it out before there is any lesson; the lesson names the success."""
    apply(store, tell(1, DID, candidate_lesson=VAGUE), bundle)
    assert store.count("lessons") == 0
    done_ = apply(store, tell(2), bundle)
    assert (done_.action, done_.decision.stages["generalize"]["generalized"]) == ("admitted", True)  # type: ignore[index]
    assert "agreeing_successes" in [found["reason"] for found in done_.decision.findings]
    (row,) = store.page("successes").rows
    assert successes(store, str(done_.lesson_id)) == [row["success_id"]]


def test_successes_of_two_other_repositories_widen_a_scope(store: EventStore, bundle: Bundle, tell: Told) -> None:
    """R-d1: what the store bears out may be broader than what was declared; one other repository is not enough."""
    widened = []
    for number in (1, 2):
        apply(store, tell(number, DID, candidate_lesson=VAGUE), bundle)
        asked = tell(9, scope="repo:acme/shop-9 error:TypeError")
        widened.append(consider(store, asked, bundle).decision.stages["generalize"])
    assert [found and found["adjusted_scope"] for found in widened] == ["error:typeerror repo:acme/shop-9", "error:typeerror"]


def test_a_success_under_another_condition_says_nothing(store: EventStore, bundle: Bundle, tell: Told) -> None:
    """The same failure in another language than the candidate speaks of."""
    apply(store, tell(1, DID, candidate_lesson=VAGUE), bundle)
    assert "agreeing_successes" not in reasons(tell(2, scope="lang:go error:TypeError"), store, bundle)


@pytest.mark.parametrize("recall", [False, True])
def test_a_success_after_a_recall_only_repeats_the_lesson(store: EventStore, bundle: Bundle, tell: Told, recall: bool) -> None:
    """What was recalled cannot corroborate itself, through a later candidate neither."""
    name = learned(store, bundle, tell)
    apply(store, tell(2, DID, recalled=(name,) if recall else (), candidate_lesson=VAGUE), bundle)
    assert ("agreeing_successes" in reasons(tell(3), store, bundle)) is not recall


def test_ones_own_success_corroborates_nothing(store: EventStore, bundle: Bundle, tell: Told) -> None:
    """A second candidate on the same failure meets the success that came with the first."""
    apply(store, tell(1, DID, candidate_lesson=VAGUE), bundle)
    assert "agreeing_successes" not in reasons(tell(1, DID), store, bundle)


def test_a_held_candidate_is_looked_at_again_after_a_success(
    store: EventStore, bundle: Bundle, tell: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for evidence need not wait for good; what did nothing of it changes nothing (R-f1)."""
    assert apply(store, tell(1, scope=""), bundle).action == "held"
    tried: list[str] = []
    monkeypatch.setattr(revisiting, "admission", lambda _store, row, _bundle: tried.append(row["failure_id"]))
    request = tell(2, DID, candidate_lesson=VAGUE, session="s-1")
    apply(store, request, bundle)
    revisiting.revisit(store, bundle)
    assert tried == []
    apply(store, tell(3, DID, candidate_lesson=VAGUE), bundle)
    revisiting.revisit(store, bundle)
    assert tried == ["failure-1"]
