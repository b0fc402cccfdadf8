"""A view shows how earlier failures of its signature went well in the end: bounded, the newest first, and part of its digest."""

from __future__ import annotations

from typing import Any

from reflect_store import Draft, Store, StoreView, draft
from reflect_store.viewing import MOST_LETTERS, MOST_SUCCESSES, MOST_TEXTS

from .stores import Told


def failed(told: type[Told], name: str, outcome: str | None = "resolved", **more: Any) -> Draft:
    """A run fails, and ends in some way."""
    record: dict[str, Any] = {"failure_id": name, "outcome": outcome, "traces": [], "diagnosis": None, "repair_delta": None}
    return told.failed(name, record={**record, "successful_trajectory": []}, **more)


def succeeded(failure: str, *texts: str) -> Draft:
    """It goes well in the end."""
    trajectory = [
        {"id": f"t-{place}", "component": 11, "kind": "success", "seq": place, "text": text} for place, text in enumerate(texts)
    ]
    payload = {
        "success_id": f"s-{failure}",
        "trajectory": trajectory,
        "origin": {"repository": "acme/shop"},
        "failure_id": failure,
    }
    return draft("success-recorded", payload)


def test_the_newest_come_first_and_are_bounded(store: Store, told: type[Told]) -> None:
    """R-d1: a view costs what a view of a small store costs."""
    for number in range(MOST_SUCCESSES + 2):
        store.append([failed(told, f"f-{number}"), succeeded(f"f-{number}", "Done.")])
    successes = store.view(told.SIGNATURE).successes
    assert [entry["failure_id"] for entry in successes] == [f"f-{number}" for number in range(9, 1, -1)]
    assert successes[0] == {"success_id": "s-f-9", "failure_id": "f-9", "origin": {"repository": "acme/shop"}, "said": ["Done."]}


def test_only_what_was_resolved_and_of_this_signature_is_shown(store: Store, told: type[Told]) -> None:
    """A contrast of a run that was given up shows nothing that helped."""
    store.append([failed(told, "f-1", "escalated"), failed(told, "f-2", None), failed(told, "f-3", signature="c" * 64)])
    store.append([succeeded(f"f-{number}", "Done.") for number in (1, 2, 3)])
    assert store.view(told.SIGNATURE).successes == ()


def test_a_long_run_is_told_by_its_end(store: Store, told: type[Told]) -> None:
    """A decision keeps all that it saw, so what it sees of a run is short."""
    store.append([failed(told, "f-1"), succeeded("f-1", *["x" * 5_000] * 30, "Done.")])
    (success,) = store.view(told.SIGNATURE).successes
    assert (len(success["said"]), success["said"][-1], len(success["said"][0])) == (MOST_TEXTS, "Done.", MOST_LETTERS)


def test_a_success_makes_another_view(store: Store, told: type[Told]) -> None:
    """What a decision was made on has changed; the view's document says all of it."""
    store.append([failed(told, "f-1")])
    before = store.view(told.SIGNATURE)
    store.append([succeeded("f-1", "Done.")])
    after = store.view(told.SIGNATURE)
    assert before.digest != after.digest
    assert StoreView.from_json(after.to_json()) == after
