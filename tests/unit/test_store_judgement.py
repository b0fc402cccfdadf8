"""A candidate judged against a store view: merged, held, narrowed, broadened, borne out (R-d1, R-e1, R-f1, R-g2, R-P6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reflect_gate import Bundle, Decision, evaluate, load_bundle, schemas

Build = Callable[..., dict[str, Any]]

OTHER = (
    "When a price is read from a stale mirror, pin the currency before summing, because a mirror may answer in another currency."
)
COPY = (
    "Check the result of a loader such as load_cart() before subscripting it when it may return None for a new session, because "
    "the assumption of the plan that it always returns a dict does not hold for empty state."
)
OPPOSITE = (
    "When a loader such as load_cart() may return None for a new session, do not check its result before subscripting it, "
    "because the caller handles empty state."
)
BLAMING = {
    "failed_assumption": "The plan assumed that load_cart() always returns a dict, but the test is wrong to expect a total.",
}


@pytest.fixture
def signature(structured: Bundle, request_document: dict[str, Any]) -> str:
    """The signature of the request's failure."""
    return evaluate(request_document, structured).signature


@pytest.fixture
def entry(structured: Bundle, request_document: dict[str, Any], signature: str) -> Build:
    """Return a lesson of a view, by default one that explains the failure and was learned elsewhere."""
    lesson = evaluate(request_document, structured).lesson
    assert lesson is not None

    def build(name: str, statement: str, scope: str = "task:checkout", **more: Any) -> dict[str, Any]:
        told = {"id": name, "lesson": {**lesson, "statement": statement, "scope": scope}, "signature": signature}
        return {**told, "origins": [{"repository": "acme/api", "session": "s-2"}], **more}

    return build


def failure(signature: str, name: str, *recalled: str, **origin: str) -> dict[str, Any]:
    """Return an earlier failure of a view."""
    told = {"failure_id": name, "signature": signature, "outcome": "escalated", "recalled": list(recalled), "scope": ""}
    return {**told, "origin": origin}


def held(name: str, statement: str, **origin: str) -> dict[str, Any]:
    """Return a held candidate of a view."""
    told = {"candidate_id": f"c-{name}", "decision_id": "d", "failure_id": name, "statement": statement, "scope": ""}
    return {**told, "origin": origin, "reason": "thin_evidence"}


def judged(
    request: dict[str, Any], bundle: Bundle, lessons: list[dict[str, Any]], *, recalled: tuple[str, ...] = (), **view: Any
) -> Decision:
    """Judge a request beside a view; both and the decision meet their schemas."""
    edges = [{"signature": lesson["signature"], "lesson_id": lesson["id"]} for lesson in lessons]
    request = {**request, "store_view": {"version": 3, "lessons": lessons, "edges": edges, **view}}
    if recalled:
        request["recalled"] = list(recalled)
    schemas.check("request", request, "request")
    decision = evaluate(request, bundle)
    schemas.check("decision", decision.to_json(), "decision")
    return decision


def reasons(decision: Decision, stage: str) -> list[tuple[str, str]]:
    """Return reason and subject of a stage's findings."""
    return [(str(found["reason"]), str(found["about"])) for found in decision.findings if found["stage"] == stage]


def output(decision: Decision, stage: str) -> dict[str, Any]:
    """Return the output of a stage."""
    return dict(decision.stages[stage] or {})


# -- dedupe ----------------------------------------------------------------------------------------------------------------------


def test_a_near_copy_is_merged(structured: Bundle, request_document: dict[str, Any], entry: Build) -> None:
    """It is admitted under the id of the lesson that says the same (R-P6)."""
    decision = judged(request_document, structured, [entry("l1", COPY)])
    assert (decision.status, output(decision, "calibrate")["deduped"]) == ("admitted", "merge")
    assert output(decision, "admit")["lesson_id"] == decision.envelope["lesson_id"] == "l1"  # type: ignore[index]


def test_another_lesson_for_the_same_failure_is_new(structured: Bundle, request_document: dict[str, Any], entry: Build) -> None:
    """One failure may have several causes (R-e1)."""
    decision = judged(request_document, structured, [entry("l1", OTHER)])
    assert (decision.status, output(decision, "calibrate")["deduped"]) == ("admitted", "new")
    assert output(decision, "admit")["lesson_id"] != "l1"


def test_the_likest_lesson_is_the_target_then_the_first_by_id(
    structured: Bundle, request_document: dict[str, Any], entry: Build
) -> None:
    """However the view is ordered."""
    exact = request_document["reflection"]["candidate_lesson"]
    lessons = [entry("l3", exact), entry("l2", exact), entry("l1", COPY + " The mirror of a price may be stale as well.")]
    ids = {output(judged(request_document, structured, found), "admit")["lesson_id"] for found in (lessons, lessons[::-1])}
    assert ids == {"l2"}


def test_a_copy_under_another_signature_is_merged_where_scopes_meet(
    structured: Bundle, request_document: dict[str, Any], entry: Build
) -> None:
    """And is new where they do not."""
    exact = request_document["reflection"]["candidate_lesson"]
    found = [
        output(judged(request_document, structured, [entry("l1", exact, scope, signature="f" * 64)]), "calibrate")["deduped"]
        for scope in ("lang:python", "task:refund")
    ]
    assert found == ["merge", "new"]


def test_without_dedupe_a_copy_is_new(request_document: dict[str, Any], entry: Build) -> None:
    """The ablation of the mechanism (R-m5)."""
    decision = judged(request_document, load_bundle("ablate-dedupe", cache=False), [entry("l1", COPY)])
    assert output(decision, "calibrate")["deduped"] == "new"
    assert output(decision, "admit")["lesson_id"] != "l1"


def test_introspect_neither_merges_nor_holds(request_document: dict[str, Any], entry: Build) -> None:
    """The naive baseline stores what the model says."""
    bundle = load_bundle("introspect", cache=False)
    decision = judged(request_document, bundle, [entry("l1", COPY), entry("l2", OPPOSITE)])
    assert (decision.status, output(decision, "calibrate")["deduped"]) == ("admitted", "new")
    assert output(decision, "generalize")["adjusted_scope"] == "task:checkout"


# -- contradiction ---------------------------------------------------------------------------------------------------------------


def test_a_contradiction_is_held_and_names_the_lesson(structured: Bundle, request_document: dict[str, Any], entry: Build) -> None:
    """Both are flagged, the candidate waits, the lesson stays as it is (R-d1)."""
    decision = judged(request_document, structured, [entry("l1", OPPOSITE), entry("l2", OTHER)])
    assert (decision.status, decision.reason, decision.exit_code) == ("undecided", "contradicts_store", 4)
    assert output(decision, "admit")["unattached_candidate"] is True
    assert output(decision, "calibrate")["deduped"] == "flag_contradiction"
    generalized = output(decision, "generalize")
    assert (generalized["generalized"], generalized["contradicts_lesson_id"]) == (False, "l1")


def test_the_other_course_admits_with_a_flag(request_document: dict[str, Any], entry: Build) -> None:
    """S2 to the letter: the contradicted lesson is named, the candidate passes."""
    decision = judged(request_document, load_bundle("contradictions-flagged", cache=False), [entry("l1", OPPOSITE)])
    generalized = output(decision, "generalize")
    assert (decision.status, generalized["generalized"], generalized["contradicts_lesson_id"]) == ("admitted", True, "l1")
    assert output(decision, "calibrate")["deduped"] == "flag_contradiction"


def test_a_flood_leaves_the_lesson_in_use(structured: Bundle, with_reflection: Build, entry: Build, signature: str) -> None:
    """As many candidates as a view can hold, and as many failures, overrule nothing (R-d1)."""
    request = with_reflection(candidate_lesson=OPPOSITE)
    origins = [{"repository": f"acme/r{number}", "session": f"x-{number}"} for number in range(200)]
    failures = [failure(signature, f"f{number}", **origin) for number, origin in enumerate(origins)]
    candidates = [held(f"f{number}", OPPOSITE, **origin) for number, origin in enumerate(origins[:50])]
    request["project"] = {"repository": "acme/shop", "session": "x-own"}
    decision = judged(request, structured, [entry("l1", COPY)], failures=failures, candidates=candidates)
    assert (decision.status, output(decision, "generalize")["contradicts_lesson_id"]) == ("undecided", "l1")
    assert reasons(decision, "admit") == [("contradicts_store", "candidate_lesson")]


def test_without_generalization_a_contradiction_passes(request_document: dict[str, Any], entry: Build) -> None:
    """The ablation of the mechanism; the ledger's side of it still says so (R-m5)."""
    decision = judged(request_document, load_bundle("ablate-generalization", cache=False), [entry("l1", OPPOSITE)])
    assert (decision.status, output(decision, "generalize")["contradicts_lesson_id"]) == ("admitted", None)
    assert output(decision, "calibrate")["deduped"] == "flag_contradiction"


# -- scope -----------------------------------------------------------------------------------------------------------------------


def test_a_counterexample_narrows_the_scope(
    structured: Bundle, request_document: dict[str, Any], entry: Build, signature: str
) -> None:
    """The lesson was recalled elsewhere in the scope and did not help there (R-d1)."""
    request_document["reflection"]["scope"] = "error:TypeError"
    request_document["project"] = {"repository": "acme/shop", "session": "s-1"}
    against = failure(signature, "f1", "l1", repository="acme/api", session="s-2")
    against["scope"] = "error:typeerror"
    decision = judged(request_document, structured, [entry("l1", COPY)], failures=[against])
    generalized = output(decision, "generalize")
    assert (generalized["adjusted_scope"], generalized["counterexample_ids"]) == ("error:typeerror repo:acme/shop", ["f1"])
    assert decision.lesson is not None
    assert (decision.lesson["scope"], decision.lesson["counterexamples"]) == (generalized["adjusted_scope"], ["f1"])


def test_a_lesson_recalled_in_vain_is_not_learned_again(
    structured: Bundle, request_document: dict[str, Any], entry: Build
) -> None:
    """What was recalled and did not prevent the failure is not borne out by being said again (R-g1)."""
    decision = judged(request_document, structured, [entry("l1", COPY)], recalled=("l1",))
    assert (decision.status, decision.reason) == ("undecided", "contradicts_store")
    assert reasons(decision, "generalize") == [("counterexample", "scope")]


def test_agreement_of_other_repositories_broadens_the_scope(
    structured: Bundle, request_document: dict[str, Any], entry: Build
) -> None:
    """Two others say the same: the scope is no longer bound to this task (R-d1)."""
    request_document["reflection"]["scope"] = "task:checkout error:TypeError"
    request_document["project"] = {"repository": "acme/shop", "session": "s-1"}
    origins = [{"repository": "acme/api", "session": "s-2"}, {"repository": "acme/web", "session": "s-3"}]
    decision = judged(request_document, structured, [entry("l1", COPY, "error:TypeError", origins=origins)])
    assert output(decision, "generalize")["adjusted_scope"] == "error:typeerror"
    one = judged(request_document, structured, [entry("l1", COPY, "error:TypeError", origins=origins[:1])])
    assert output(one, "generalize")["adjusted_scope"] == "task:checkout error:typeerror"


# -- evidence --------------------------------------------------------------------------------------------------------------------


def _thin(request: dict[str, Any]) -> dict[str, Any]:
    """Make the request's one check the agent's own, which does not carry a lesson alone."""
    request["record"]["traces"][2]["oracle"] = "self_written"
    request["record"]["traces"][2].pop("error_class")
    request["record"]["traces"][2] |= {"text": "load_cart('new') == {}", "expected": "{}", "actual": "[]"}
    request["project"] = {"repository": "acme/shop", "session": "s-1", "task": "checkout"}
    return request


@pytest.mark.parametrize(
    ("sessions", "recalled", "admitted"),
    [(("s-2", "s-3"), (), True), (("s-2", "s-2"), (), False), (("s-1", "s-3"), (), False), (("s-2", "s-3"), ("l1",), False)],
    ids=["independent", "one session", "own session", "recalled"],
)
def test_thin_evidence_is_earned_by_independent_failures(
    sessions: tuple[str, ...], recalled: tuple[str, ...], admitted: bool, structured: Bundle, request_document: dict[str, Any]
) -> None:
    """Not by repeats of a session, nor by failures into which a lesson was recalled (R-f1)."""
    request = _thin(request_document)
    said = request["reflection"]["candidate_lesson"]
    alone = evaluate(request, structured)
    assert (alone.status, alone.reason) == ("refused", "thin_evidence")
    failures = [failure(alone.signature, f"f{number}", *recalled, session=name) for number, name in enumerate(sessions)]
    candidates = [held(f"f{number}", said, session=name) for number, name in enumerate(sessions)]
    decision = judged(request, structured, [], failures=failures, candidates=candidates)
    assert (decision.status == "admitted") is admitted


def test_words_alone_earn_nothing(structured: Bundle, request_document: dict[str, Any]) -> None:
    """Held candidates without failures behind them are the agent's own words."""
    request = _thin(request_document)
    said = request["reflection"]["candidate_lesson"]
    candidates = [held(f"f{number}", said, session=f"x-{number}") for number in range(50)]
    assert judged(request, structured, [], candidates=candidates).reason == "thin_evidence"


def test_failures_alone_do_not_say_why(structured: Bundle, request_document: dict[str, Any]) -> None:
    """Many failures of one signature bear out that something fails, not this lesson."""
    request = _thin(request_document)
    signature = evaluate(request, structured).signature
    failures = [failure(signature, f"f{number}", session=f"x-{number}") for number in range(50)]
    assert judged(request, structured, [], failures=failures).reason == "thin_evidence"


# -- blame -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sessions", "flagged"), [(("s-2", "s-3"), False), (("s-2", "s-2"), True), ((), True)])
def test_outward_blame_is_cleared_by_independent_failures(
    sessions: tuple[str, ...], flagged: bool, structured: Bundle, with_reflection: Build, entry: Build
) -> None:
    """Repeats of one session clear nothing (R-g2)."""
    request = with_reflection(**BLAMING)
    request["project"] = {"repository": "acme/shop", "session": "s-1"}
    origins = [{"repository": "acme/shop", "session": name} for name in sessions]
    decision = judged(request, structured, [entry("l1", COPY, red_flag=True, origins=origins)])
    assert output(decision, "lifecycle")["red_flag_class"] is flagged


def test_a_red_flagged_lesson_swallows_no_other_candidate(
    structured: Bundle, request_document: dict[str, Any], entry: Build
) -> None:
    """A candidate that blames nobody is new beside a red-flagged copy; one that blames as well is merged into it."""
    lessons = [entry("l1", COPY, red_flag=True, origins=[])]
    assert output(judged(request_document, structured, lessons), "calibrate")["deduped"] == "new"
    request_document["reflection"].update(BLAMING)
    assert output(judged(request_document, structured, lessons), "calibrate")["deduped"] == "merge"
