"""The stage: one call a termination at most, bounded before, read from the journal after."""

from __future__ import annotations

import dataclasses
import pickle
import sys
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import Bundle, evaluate, schemas
from reflect_gate.errors import ReflectGateError
from reflect_gate.llm.call import most_expensive
from reflect_gate.llm.client import Client
from reflect_gate.llm.errors import ModelError
from reflect_gate.llm.journal import Journal, open_journal
from reflect_gate.llm.prompt import build_prompt
from reflect_gate.llm.settings import ModelSettings, Price
from reflect_gate.stages.reflect import NOT_REFLECTED, Reflected, reflect

from .faults import settings_for
from .server import GOOD, ModelServer

PRICE = Price(Decimal("0.4"), Decimal("0.1"), Decimal("1.6"))
NOWHERE = Client(ModelSettings("tiny", "http://127.0.0.1:1/v1"))


def test_a_candidate_with_its_call(record: Any, context: Any, journal: Journal) -> None:
    """R-L1, R-L3: what was proposed, and what it cost."""
    with ModelServer() as server:
        found = reflect(record, context, Client(settings_for(server, price=PRICE, parameters={"seed": "omit"})), journal)
    assert (found.kind, found.failure_id, list(found.tags)) == ("reflection", "run-81", GOOD["tags"])
    assert found.reflection == GOOD["reflection"]
    assert found.call is not None
    call = found.call.to_json()
    assert (call["model"], call["answered_by"], call["cost"], call["deviations"], call["replayed"]) == (
        "tiny",
        "tiny-2026",
        "0.00066",
        ["seed omitted"],
        False,
    )
    schemas.check("reflected", found.to_json(), "reflected")
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - a job may run in a process of its own


def test_it_proposes_and_the_gate_disposes(record: Any, context: Any, journal: Journal, structured: Bundle) -> None:
    """R-L1: a candidate is a request like any other, and may well be refused."""
    with ModelServer() as server:
        found = reflect(record, context, Client(settings_for(server)), journal)
    decision = evaluate({"record": record, "reflection": found.reflection}, structured)
    assert decision.status in {"admitted", "undecided", "refused"}
    assert decision.failure_id == found.failure_id


@pytest.mark.parametrize("behaviour", ["ok", "skip", "truncated JSON", "HTML page", "huge body", "unknown evidence"])
def test_a_received_response_is_the_last_one(behaviour: str, record: Any, context: Any, journal: Journal) -> None:
    """R-L2: candidate, skip or violation, a termination that was answered is never asked about again."""
    with ModelServer(behaviour, "ok") as server:
        client = Client(settings_for(server))
        first, *later = (reflect(record, context, client, open_journal(journal.folder)) for _ in range(3))
        assert len(server.asked) == 1
    for again in later:
        assert again.call is not None
        assert first.call is not None
        assert dataclasses.replace(again, call=None, cut=None) == dataclasses.replace(first, call=None, cut=None)
        assert again.call == dataclasses.replace(first.call, replayed=True)


@pytest.mark.parametrize("behaviour", ["429 Retry-After", "503", "drop in body", "401"])
def test_what_was_not_received_may_be_asked_again(behaviour: str, record: Any, context: Any, journal: Journal) -> None:
    """R-L2: by whoever calls the stage again, which is the queue; the stage itself asks once."""
    with ModelServer(behaviour, "ok") as server:
        client = Client(settings_for(server))
        with pytest.raises(ModelError):
            reflect(record, context, client, journal)
        assert len(server.asked) == 1
        found = reflect(record, context, client, journal)
        assert found.call is not None
        assert (found.kind, found.call.replayed, len(server.asked)) == ("reflection", False, 2)


def test_the_journal_needs_no_server(record: Any, context: Any, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-x1: what was received is read without network and without openai."""
    with ModelServer() as server:
        reflect(record, context, Client(settings_for(server)), journal)
    monkeypatch.setitem(sys.modules, "openai", None)
    assert reflect(record, context, NOWHERE, journal).kind == "reflection"


def test_two_failures_are_two_calls(record: Any, context: Any, journal: Journal) -> None:
    """R-P1: one call a termination, not one a signature."""
    with ModelServer() as server:
        client = Client(settings_for(server))
        reflect(record, context, client, journal)
        record["failure_id"] = "run-82"
        reflect(record, context, client, journal)
        assert len(server.asked) == 2


def test_eight_threads_make_one_call(record: Any, context: Any, tmp_path: Path) -> None:
    """R-L2: all at once on one termination: one asks, the others are told to come back or read what it received."""
    folder, found, barrier = tmp_path / "journal", list[Reflected | ModelError](), threading.Barrier(8)
    with ModelServer("latency") as server:

        def run() -> None:
            barrier.wait()
            try:
                found.append(reflect(record, context, Client(settings_for(server)), open_journal(folder)))
            except ModelError as error:
                found.append(error)

        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.asked) == 1
    assert len(found) == 8
    assert all(each.code == "journal-busy" for each in found if isinstance(each, ModelError))
    assert any(isinstance(each, Reflected) for each in found)


@pytest.mark.parametrize("change", [{"outcome": None}, {"traces": [], "diagnosis": None}])
def test_an_incomplete_record_does_not_reach_the_model(
    change: dict[str, Any], record: Any, context: Any, journal: Journal
) -> None:
    """R-a1, R-P1: it is said why nobody was asked; the record is judged without a candidate."""
    record.update(change)
    found = reflect(record, context, NOWHERE, journal)
    assert (found.kind, found.reason, found.call) == ("not_reflected", "incomplete-record", None)
    schemas.check("reflected", found.to_json(), "reflected")
    assert not journal.folder.exists()


def test_a_call_that_could_cost_too_much_is_not_made(record: Any, context: Any, journal: Journal) -> None:
    """R-L3: bounded before the call, to the last digit."""
    prompt = build_prompt(record, context, 24_000)
    assert prompt is not None
    most = most_expensive(prompt.tokens, PRICE)
    with ModelServer() as server:
        dear = Client(settings_for(server, price=PRICE, cost_limit=most - Decimal("0.0000001")))
        found = reflect(record, context, dear, journal)
        assert (found.kind, found.reason, len(server.asked)) == ("not_reflected", "cost-limit", 0)
        assert f"the limit is ${most - Decimal('0.0000001'):f}" in found.message
        assert reflect(record, context, Client(settings_for(server, price=PRICE, cost_limit=most)), journal).kind == "reflection"


def test_a_record_of_too_many_ids_is_not_sent(record: Any, context: Any, journal: Journal) -> None:
    """R-L1: bounded payload; no id is dropped to make room."""
    record["traces"] += [{**record["traces"][0], "id": f"more-{number}", "seq": 9} for number in range(900)]
    found = reflect(record, context, Client(ModelSettings("tiny", "http://127.0.0.1:1/v1", prompt_tokens=9_000)), journal)
    assert (found.kind, found.reason) == ("not_reflected", "prompt-limit")
    schemas.check("reflected", found.to_json(), "reflected")


def test_what_was_cut_is_told(record: Any, context: Any, journal: Journal) -> None:
    """R-L3: the outcome names the items that the model saw in part."""
    record["traces"][1]["text"] = "line\n" * 13_000
    with ModelServer() as server:
        found = reflect(record, context, Client(settings_for(server, prompt_tokens=4_000)), journal)
    assert set(found.cut or {}) == {"test-1"}
    assert found.to_json()["cut"] == [{"id": "test-1", "characters": (found.cut or {})["test-1"]}]
    schemas.check("reflected", found.to_json(), "reflected")


@pytest.mark.parametrize(
    ("which", "change"),
    [("record", {"outcome": "lost"}), ("record", {"more": 1}), ("context", {"signature": "x"}), ("context", {"site": None})],
)
def test_what_is_not_valid_is_refused_before_anything(
    which: str, change: dict[str, Any], record: Any, context: Any, journal: Journal
) -> None:
    """Nothing but a checked record and context is sent anywhere."""
    given = {"record": record, "context": context}
    given[which] = {**given[which], **change}
    with pytest.raises(ReflectGateError) as caught:
        reflect(given["record"], given["context"], NOWHERE, journal)
    assert {error.code for error in caught.value.errors} == {"schema"}


def test_every_reason_is_in_the_schema() -> None:
    """What can be returned can be written down."""
    reason = schemas.schema("reflected")["properties"]["reason"]["anyOf"][0]
    assert reason["enum"] == list(NOT_REFLECTED)
