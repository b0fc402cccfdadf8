"""One failure, from the record to the store, over real HTTP: every way in which that can end, and that it ends once."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from reflect_gate import Bundle, load_bundle, schemas
from reflect_gate.capture import reflecting
from reflect_gate.capture.reflecting import Means, Ran, run
from reflect_gate.capture.spending import Calls, Capped, DailyLimit
from reflect_gate.llm.client import Client
from reflect_gate.llm.errors import ModelError
from reflect_gate.llm.journal import open_journal
from reflect_gate.llm.settings import ModelSettings, Price
from reflect_store import EventStore, StoreError, memory_store

from ..llm.server import SKIP, Behaviour, ModelServer, saying
from .world import ANSWER, World, failure, shown

PRICE = Price(Decimal("0.4"), Decimal("0.1"), Decimal("1.6"))


@pytest.fixture
def store() -> Iterator[EventStore]:
    """An empty store."""
    with memory_store() as made:
        yield made


class Gate:
    """Everything that a run needs, around one store and one server."""

    def __init__(self, world: World, store: EventStore, bundle: Bundle) -> None:
        self.world, self.store, self.bundle = world, store, bundle
        self.limit: Decimal | None = None
        self.day = dt.datetime(2031, 4, 2, 12, tzinfo=dt.UTC)

    @property
    def calls(self) -> Calls:
        """The calls of this world."""
        return Calls(self.world.home / "calls", self.limit, lambda: self.day)

    def run(self, server: ModelServer, termination: dict[str, Any], *, persist: bool = True, **settings: Any) -> Ran:
        """Run once."""
        client = Capped(Client(ModelSettings("tiny", server.base_url, price=PRICE, **settings)), self.calls)
        means = Means(self.store, self.bundle, client, open_journal(), self.calls, persist)
        return run(termination, means)

    def events(self) -> list[str]:
        """The types of all events."""
        return [event.type for event in self.store.events()]


@pytest.fixture
def gate(world: World, store: EventStore, structured: Bundle) -> Gate:
    """The gate with every mechanism on."""
    return Gate(world, store, structured)


def test_a_failure_becomes_a_lesson(gate: Gate) -> None:
    """R-P1, R-L1, R-s1: evidence, ledger, one call, gate, store; tags and trigger stay with the decision."""
    with ModelServer(saying(ANSWER)) as server:
        done = gate.run(server, failure())
        assert len(server.asked) == 1
    assert (done.kind, done.status, done.action, done.tags) == ("reflection", "admitted", "admitted", ("none-check", "session"))
    (lesson,) = gate.store.iterate("lessons")
    assert (lesson["id"], lesson["lesson"]["statement"]) == (done.lesson_id, ANSWER["reflection"]["candidate_lesson"])
    (row,) = gate.store.iterate("decisions")
    event = gate.store.event(row["event"])
    assert event is not None
    inputs = (event.data() or {})["inputs"]
    assert (inputs["trigger"], inputs["tags"]) == ("error", ["none-check", "session"])
    assert inputs["project"] == {
        "repository": "acme/shop",
        "language": "python",
        "task": "make total() work for new sessions",
        "session": "monday",
    }


def test_the_model_is_shown_what_the_ledger_knows(gate: Gate) -> None:
    """R-b1, R-P6: the second failure of a signature is asked about as one that was explained before."""
    with ModelServer(saying(ANSWER)) as server:
        first = gate.run(server, failure())
        second = gate.run(server, failure("cart-2", session="tuesday"))
        contexts = [shown(asked).partition("signature_context")[2] for asked in server.asked]
    assert (second.kind, second.action) == ("reflection", "merged")
    assert '"reflected_before":false' in contexts[0].replace(" ", "")
    assert f'"prior_reflection_id":"{first.lesson_id}"' in contexts[1].replace(" ", "")


@pytest.mark.parametrize(
    ("behaviour", "kind", "reason", "types"),
    [
        (saying(ANSWER), "reflection", "", ["termination-recorded", "decision-made", "lesson-admitted"]),
        (saying(SKIP), "skip", "skip", ["termination-recorded", "not-reflected"]),
        ("truncated JSON", "violation", "not-json", ["termination-recorded", "violation-recorded"]),
        ("HTML page", "violation", "response-not-json", ["termination-recorded", "violation-recorded"]),
        (
            saying({**ANSWER, "reflection": {**ANSWER["reflection"], "evidence_ids": ["plan", "nine"]}}),
            "violation",
            "unknown-evidence",
            ["termination-recorded", "violation-recorded"],
        ),
    ],
)
def test_every_end_is_recorded_once(gate: Gate, behaviour: str | Behaviour, kind: str, reason: str, types: list[str]) -> None:
    """R-P1, R-L2: whatever was received, the failure and what came of it are recorded, and nobody is asked again."""
    with ModelServer(behaviour) as server:
        first = gate.run(server, failure())
        again = [gate.run(server, failure()) for _ in range(2)]
        open_journal().forget("cart-1")
        later = gate.run(server, failure())
        assert len(server.asked) == 1
    assert (first.kind, first.reason) == (kind, reason)
    assert {done.kind for done in (*again, later)} == {"known"}
    assert {(done.status, done.decision_id) for done in (*again, later)} == {(first.status, first.decision_id)}
    assert gate.events() == types
    (line,) = gate.calls.outcomes()
    assert (line["kind"], line["reason"]) == (kind, reason)
    assert Decimal(line["call"]["cost"] or 0) == gate.calls.spent().settled or line["call"]["cost"] is None
    schemas.check("call", line["call"], "call")


def test_what_the_model_said_is_kept_with_a_violation(gate: Gate) -> None:
    """R-L2: a violation can be looked into; what is no candidate is free of secrets as well."""
    body = b"<html>Please log in with ghp_16C7e42F292c6912E7710c838347Ae178B4a</html>"
    with ModelServer(lambda handler: handler.send(200, body, "text/html")) as server:
        gate.run(server, failure())
    (row,) = gate.store.iterate("violations")
    event = gate.store.event(row["event"])
    assert event is not None
    assert (event.data() or {})["response"] == "<html>Please log in with [secret-1 redacted]</html>"


@pytest.mark.parametrize("change", [{"outcome": None}, {"traces": []}])
def test_an_incomplete_record_is_said_and_not_asked_about(gate: Gate, change: dict[str, Any]) -> None:
    """R-a1, R-P1: no call; the reason stands in the store."""
    with ModelServer() as server:
        done = gate.run(server, failure(**change))
        assert server.asked == []
    assert (done.kind, done.reason) == ("not_reflected", "incomplete-record")
    assert gate.events() == ["termination-recorded", "not-reflected"]


def test_what_was_not_received_leaves_no_trace(gate: Gate) -> None:
    """R-L2: the queue tries again, and then it goes as if it were the first time."""
    with ModelServer("503", saying(ANSWER)) as server:
        with pytest.raises(ModelError):
            gate.run(server, failure())
        assert (gate.events(), list(gate.calls.outcomes()), gate.calls.spent().total) == ([], [], Decimal(0))
        assert gate.run(server, failure()).status == "admitted"


def test_log_only_keeps_no_lesson(gate: Gate) -> None:
    """R-P1: with lessons switched off the decision stands in the log of calls, and the store says why there is none."""
    with ModelServer(saying(ANSWER)) as server:
        done = gate.run(server, failure(), persist=False)
        again = gate.run(server, failure())
        assert len(server.asked) == 1
    assert (done.status, done.action, again.kind, again.reason) == ("admitted", "", "known", "log-only")
    assert gate.events() == ["termination-recorded", "not-reflected"]
    assert [line["status"] for line in gate.calls.outcomes()] == ["admitted"]


def test_a_job_over_its_limit_asks_nobody(gate: Gate) -> None:
    """R-L3: recorded once, noted once; with a higher limit it goes on."""
    with ModelServer(saying(ANSWER)) as server:
        for _ in range(2):
            done = gate.run(server, failure(), cost_limit=Decimal("0.000001"))
            assert (done.kind, done.reason) == ("not_reflected", "cost-limit")
        assert server.asked == []
        assert gate.run(server, failure(), cost_limit=Decimal(1)).status == "admitted"
    assert [line["kind"] for line in gate.calls.outcomes()] == ["not_reflected", "reflection"]
    assert gate.events().count("not-reflected") == 1


def test_the_days_limit_stops_before_the_call(gate: Gate) -> None:
    """R-L3: the call that does not fit is not made and recorded; on the next day it is."""
    gate.limit = Decimal("0.0045")
    with ModelServer(saying(ANSWER)) as server:
        assert gate.run(server, failure()).status == "admitted"
        with pytest.raises(DailyLimit) as caught:
            gate.run(server, failure("cart-2"))
        assert caught.value.retry_after == 12 * 3600
        assert len(server.asked) == 1
        assert [row["reason"] for row in gate.store.iterate("not_reflected")] == ["daily-limit"]
        gate.day += dt.timedelta(days=1)
        assert gate.run(server, failure("cart-2")).action == "merged"


def test_the_baseline_stores_whatever_comes_back(world: World, store: EventStore) -> None:
    """R-x3: the same call, and no mechanism in the way."""
    told = {**ANSWER, "reflection": {**ANSWER["reflection"], "candidate_lesson": "Be more careful.", "scope": ""}}
    with ModelServer(saying(told)) as server:
        done = Gate(world, store, load_bundle("introspect")).run(server, failure())
        refused = Gate(world, memory_store(), load_bundle("structured")).run(server, failure("cart-2"))
    assert (done.status, done.action) == ("admitted", "admitted")
    assert refused.status != "admitted"


def test_a_crash_after_the_store_loses_no_call(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-L3: the store had it, the log of calls had not: it is noted when the job comes back, with what it cost."""

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    with ModelServer(saying(ANSWER)) as server:
        with monkeypatch.context() as patch:
            patch.setattr(Calls, "outcome", broken)
            with pytest.raises(KeyboardInterrupt):
                gate.run(server, failure())
        assert list(gate.calls.outcomes()) == []
        assert gate.run(server, failure()).kind == "known"
        (line,) = gate.calls.outcomes()
        assert (line["kind"], line["status"], line["call"]["cost"], len(server.asked)) == ("reflection", "admitted", "0.00066", 1)


def test_a_store_that_cannot_be_written_costs_no_second_call(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-L2: what was received waits in the journal until it can be stored."""

    def full(*_: object, **__: object) -> None:
        raise StoreError("store-full", "no room")

    with ModelServer(saying(ANSWER)) as server:
        with monkeypatch.context() as patch:
            patch.setattr(reflecting, "apply", full)
            with pytest.raises(StoreError):
                gate.run(server, failure())
        assert gate.run(server, failure()).status == "admitted"
        assert len(server.asked) == 1


def test_what_is_noted_is_plain(gate: Gate) -> None:
    """A line of the log is JSON with the call in it, and no text of the failure."""
    with ModelServer(saying(ANSWER)) as server:
        done = gate.run(server, failure())
    text = json.dumps(done.to_json())
    assert "subscript" not in text
    assert done.call is not None
    assert json.loads(text)["call"]["model"] == "tiny"
