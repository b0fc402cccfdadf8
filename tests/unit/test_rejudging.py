"""Judging stored decisions again: the same bytes, or the names of what changed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from reflect_gate import Bundle, ReflectGateError, load_bundle
from reflect_gate.memory.applying import apply
from reflect_gate.memory.rejudging import kept, replay
from reflect_store import EventStore, draft


@pytest.fixture
def decided(store: EventStore, bundle: Bundle, request_document: dict[str, Any]) -> list[str]:
    """Apply the same failure in two repositories, and return the ids of the decisions."""
    ids = []
    for number in (1, 2):
        request = copy.deepcopy(request_document)
        request["record"]["failure_id"] = f"failure-{number}"
        request["project"] = {"repository": f"acme/shop-{number}", "task": f"t-{number}"}
        ids.append(apply(store, request, bundle).decision.decision_id)
    return ids


def changed(store: EventStore, name: str, bundle: Bundle, **options: Any) -> dict[str, tuple[str, str]]:
    """Return what a replay says has changed."""
    return {found.what: (found.was, found.now) for found in replay(store, name, bundle, **options).changed}


def test_a_replay_has_the_same_bytes(store: EventStore, bundle: Bundle, decided: list[str]) -> None:
    """R-P5: a decision follows from what is kept with it, also once the store has moved on."""
    for name in decided:
        found = replay(store, name, bundle)
        assert found.identical
        assert found.changed == ()


def test_a_diagnosis_that_came_with_the_record_is_kept(
    store: EventStore, bundle: Bundle, request_document: dict[str, Any]
) -> None:
    """The record is replayed as it came, with its own diagnosis or without one."""
    diagnosis = {"id": "cause", "component": 13, "kind": "diagnosis", "seq": 9, "text": "load_cart() returned None"}
    diagnosis |= {"symptom": "not subscriptable", "error_class": "TypeError", "site": "cart.py:total", "root_cause": "unknown"}
    request_document["record"]["diagnosis"] = {**diagnosis, "cited": ["test"]}
    name = apply(store, request_document, bundle).decision.decision_id
    assert replay(store, name, bundle).identical
    assert kept(store, name).request["record"] == request_document["record"]


def test_another_setting_is_named(store: EventStore, decided: list[str]) -> None:
    """The bundle's digest tells that the policies are not the same, and the verdict tells what came of it."""
    stricter = load_bundle("structured", set_=["calibration.min_words=60"], cache=False)
    found = changed(store, decided[0], stricter._replace(engine="compiled", cross_check=False))
    assert {"bundle digest", "status", "stage calibrate", "findings"} <= set(found)
    assert found["status"] == ("admitted", "refused")
    assert "engine" not in found


def test_another_engine_is_named(store: EventStore, bundle: Bundle, decided: list[str]) -> None:
    """The same verdict by another engine is not the same bytes."""
    crossed = bundle._replace(cross_check=True)
    assert changed(store, decided[0], crossed) == {"cross-check": ("False", "True")}


def test_another_measure_is_named(store: EventStore, bundle: Bundle, decided: list[str]) -> None:
    """The version of a measure stands in the decision."""
    name = next(iter(bundle.measures))
    newer = bundle._replace(measures={**bundle.measures, name: "999.0.0"}, digest="f" * 64)
    found = changed(store, decided[0], newer)
    assert found.pop("bundle digest") == (bundle.digest, "f" * 64)
    assert found == {f"measure {name}": (bundle.measures[name], "999.0.0")}


def test_the_store_as_it_is_now_is_named(store: EventStore, bundle: Bundle, decided: list[str]) -> None:
    """Judged against today's store, the first decision is a merge with the lesson that it once was."""
    found = changed(store, decided[0], bundle, on_current_view=True)
    assert {"store view", "stage calibrate", "findings"} <= set(found)
    assert "bundle digest" not in found


def test_a_store_that_moved_elsewhere_is_no_other_view(
    store: EventStore, bundle: Bundle, request_document: dict[str, Any]
) -> None:
    """The version of the store moves with every event; what it shows of this failure need not."""
    refused = copy.deepcopy(request_document)
    refused["reflection"]["evidence_ids"] = ["no-such-item"]
    name = apply(store, refused, bundle).decision.decision_id
    first = {found.what for found in replay(store, name, bundle, on_current_view=True).changed}
    store.append([draft("not-reflected", {"failure_id": "f", "reason": "switched off"})])
    assert {found.what for found in replay(store, name, bundle, on_current_view=True).changed} == first


def test_what_is_not_there_is_an_error(store: EventStore, bundle: Bundle, decided: list[str]) -> None:
    """An unknown decision, and one whose payload was erased."""
    with pytest.raises(ReflectGateError) as caught:
        replay(store, "no-such", bundle)
    assert caught.value.code == "decision-unknown"
    store.redact(events=[kept(store, decided[0]).event], reason="test")
    with pytest.raises(ReflectGateError) as caught:
        kept(store, decided[0])
    assert caught.value.code in {"decision-unknown", "decision-redacted"}
