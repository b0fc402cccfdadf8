"""The loop of every dialect: failure, capture, worker, lesson, another session, hand-over, outcome (R-P1, R-P4, R-i1)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from reflect_gate.hooks import wiring
from reflect_gate.hooks.running import Options, respond
from reflect_gate.jobs import handle
from reflect_store.queue import Skip, open_queue

from ..capture.world import World
from ..llm.server import ModelServer
from .harness import HARNESSES, Harness
from .loop import by_process, expected, loop, model, worked

PROCESSES: Final = frozenset({"codex"})
"""The dialects whose hooks and worker are processes here; `loop.py` does so for all."""


@pytest.fixture(scope="module")
def asked() -> Iterator[ModelServer]:
    """A model on loopback that answers every failure with the same lesson."""
    with ModelServer(model) as server:
        yield server


@pytest.fixture
def world(asked: ModelServer, tmp_path: Path, bundle_cache: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A home of its own, which is the environment of this process too."""
    made = World(tmp_path, bundle_cache)
    made.asks(asked)
    for name in ("REFLECT_GATE_HOME", "REFLECT", "NO_PROXY", "no_proxy", "REFLECT_GATE_MODEL", "REFLECT_GATE_BASE_URL"):
        monkeypatch.setenv(name, made.environ[name])
    return made


def here(dialect: str, payload: dict[str, Any]) -> str:
    """Be a hook in this process."""
    event = "session.created" if isinstance(payload.get("event"), dict) else ""
    return respond(payload, Options(dialect, event), wiring.collect, wiring.recall).decode("ascii")


def work(world: World) -> None:
    """Be a worker in this process."""
    with open_queue(world.home / "queue") as queue:
        while claim := queue.claim():
            try:
                handle(claim.job)
            except Skip as skip:
                pytest.fail(f"skipped: {skip}")
            claim.ack()


@pytest.mark.parametrize("harness", HARNESSES, ids=lambda harness: harness.name)
def test_a_lesson_comes_back_and_its_outcome_is_counted(harness: Harness, world: World) -> None:
    """As far as each dialect can: Goose takes no text, and where a lesson comes before anything fails it is only applied."""
    if harness.name in PROCESSES:
        came = loop(harness, world, by_process(world), lambda: worked(world))
    else:
        came = loop(harness, world, here, lambda: work(world))
    assert (came.captured, came.admitted) == (1, 1)
    assert (came.told, came.recorded) == expected(harness)
    assert came.standing == "active"


def test_a_recalled_lesson_does_not_corroborate_itself(world: World) -> None:
    """The second session fails likewise and teaches the same: it is evidence, but no other place that says so (R-e1)."""
    harness = next(one for one in HARNESSES if one.name == "claude-code")
    loop(harness, world, here, lambda: work(world))
    (merged,) = world.rows("corroborations")
    assert merged["failures"]
    assert merged["origin"] == {}
    assert [row["origin"].get("repository") for row in world.rows("successes")] == ["acme/shop", None]
    (lesson,) = world.rows("lessons")
    assert lesson["lesson"]["counterexamples"] == []


def test_without_a_recall_the_same_failure_corroborates(world: World) -> None:
    """The counterpart: a session that was told nothing is another place where the lesson was learned."""
    harness = next(one for one in HARNESSES if one.name == "claude-code")

    def untold(dialect: str, payload: dict[str, Any]) -> str:
        return respond(payload, Options(dialect), wiring.collect, lambda _event: "").decode("ascii")

    loop(harness, world, untold, lambda: work(world))
    assert [row["origin"].get("repository") for row in world.rows("corroborations")] == ["acme/blog"]


def test_the_outcome_keeps_what_shows_it(world: World) -> None:
    """The command and its exit code stand in the event; the session's end told twice adds nothing."""
    harness = next(one for one in HARNESSES if one.name == "claude-code")

    def twice(dialect: str, payload: dict[str, Any]) -> str:
        said = here(dialect, payload)
        if payload["hook_event_name"] in {"Stop", "SessionEnd"}:
            here(dialect, payload)
        return said

    loop(harness, world, twice, lambda: work(world))
    with world.store() as store:
        (told,) = [event.data() or {} for event in store.events() if event.type == "outcome-recorded"]
    assert told["evidence"] == {"exit_code": 0, "report": "pytest -q tests/test_cart.py"}
    assert (told["origin"]["session"], told["origin"]["repository"]) == ("s-2", "acme/blog")
    noted = [json.loads(line) for line in (world.home / "hooks" / "outcomes.ndjson").read_text("utf-8").splitlines()]
    assert [(one["after"], one["before"], one["exit_code"]) for one in noted] == [("resolved", "failing", 0)]
