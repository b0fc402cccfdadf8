"""Moving a queue between a folder and a server: all of it, once, wherever it is cut short."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from reflect_gate import schemas
from reflect_gate.cli._app import app
from reflect_store.queue import Claim, FileQueue, Queue, StoreError, open_queue
from reflect_store.queue.moving import Moved, move, side_of

from .model import ROOT, FakeClock, ModelFs
from .queues import job, middle, where

if TYPE_CHECKING:
    from .servers import Database

WEEK = 7 * 86_400.0
CHANGES = ("hide", "take_in", "forget", "learn")
STATES = {0: "waiting:0", 1: "waiting:1", 2: "dead", 3: "done", 4: "expired", 5: "waiting:0"}


@pytest.fixture(params=["to the server", "to the folder"])
def sides(request: pytest.FixtureRequest, queue_database: Database) -> Iterator[tuple[Queue, Queue]]:
    """Yield source and target, both empty."""
    clock = FakeClock()
    with (
        queue_database.going_by(clock),
        queue_database.open(clock=clock) as server,
        open_queue(ROOT, fs=ModelFs(), clock=clock, rng=middle) as folder,
    ):
        yield (folder, server) if request.param == "to the server" else (server, folder)


def _clock(queue: Queue) -> FakeClock:
    clock = queue._clock if isinstance(queue, FileQueue) else queue.clock  # type: ignore[attr-defined]
    assert isinstance(clock, FakeClock)
    return clock


def _claimed(queue: Queue, number: int) -> Claim:
    others = []
    while (claim := queue.claim()) is not None and claim.id != job(number).id:
        others.append(claim)
    assert claim is not None
    for other in others:
        other.release()
    return claim


def _filled(queue: Queue) -> None:
    """Put a job into each state of `STATES`."""
    queue.put(job(4))
    _clock(queue).sleep(WEEK + 1)
    queue.drain()
    for number in (0, 1, 2, 3, 5):
        queue.put(job(number))
        _clock(queue).sleep(1)
    _claimed(queue, 1).retry("busy", after=50)
    _claimed(queue, 2).dead(ValueError("bad"))
    _claimed(queue, 3).ack()


def _places(queue: Queue) -> dict[int, str]:
    return {number: where(queue, job(number).id) for number in STATES}


def test_everything_arrives_as_it_was(sides: tuple[Queue, Queue]) -> None:
    """States, attempts, errors, ages, delays and what was done are there; the source is empty, and again moves nothing."""
    source, target = sides
    _filled(source)
    before = [(row.id, row.job, row.attempts, row.error, round(row.created), round(row.next)) for row in source.jobs()]
    letters, late = source.dead_letters(), source.expired()
    assert move(side_of(source), side_of(target)) == Moved(waiting=3, dead=1, expired=1, done=1)
    after = [(row.id, row.job, row.attempts, row.error, round(row.created), round(row.next)) for row in target.jobs()]
    assert (after, target.dead_letters(), target.expired()) == (before, letters, late)
    assert _places(target) == STATES
    assert (source.jobs(), source.dead_letters(), source.expired()) == ((), (), ())
    assert move(side_of(source), side_of(target)) == Moved()
    assert target.put(job(3)).outcome == "done"
    target.retry_dead(job(2).id)
    assert where(target, job(2).id) == "waiting:0"


def test_there_and_back_loses_nothing(sides: tuple[Queue, Queue]) -> None:
    """What was moved away comes back, though the place knew it before."""
    source, target = sides
    _filled(source)
    move(side_of(source), side_of(target))
    move(side_of(target), side_of(source))
    assert _places(source) == STATES
    assert set(_places(target).values()) == {"absent", "done"}


class Cut(Exception):  # noqa: N818 - a power cut
    """The end of a process."""


class Cutting:
    """A side that lets the process end before or after its n-th change, over both sides."""

    def __init__(self, inner: Any, left: list[int]) -> None:
        self._inner = inner
        self._left = left

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._cut(found) if name in CHANGES else found

    def _cut(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any) -> Any:
            self._count()
            answer = change(*arguments)
            self._count()
            return answer

        return changed

    def _count(self) -> None:
        if self._left[0] == 0:
            raise Cut
        self._left[0] -= 1


def _finish(queue: Queue, ran: list[str]) -> None:
    while (claim := queue.claim(100.0)) is not None:
        ran.append(claim.id)
        claim.ack()


@pytest.mark.parametrize("between", ["nobody", "workers"])
def test_a_move_may_be_cut_short_anywhere(sides: tuple[Queue, Queue], between: str) -> None:
    """The process ends at any step, workers of both sides may run before it is done again: each job runs once, none is lost."""
    source, target = sides
    for step in range(100):
        source.purge_dead(None)
        target.purge_dead(None)
        # Other jobs each time, since what is done stays known.
        ran: list[str] = []
        names = {number: job(1000 * (step + 1) + number) for number in range(3)}
        for number, each in names.items():
            source.put(each)
            if number == 2:
                _claimed(source, 1000 * (step + 1) + 2).dead("no use")
        whole = False
        try:
            left = [step]
            move(Cutting(side_of(source), left), Cutting(side_of(target), left))
            whole = left[0] > 0
        except Cut:
            if between == "workers":
                _finish(target, ran)
                _finish(source, ran)
        assert move(side_of(source), side_of(target)).whole
        assert where(target, names[2].id) == "dead"
        _finish(source, ran)
        _finish(target, ran)
        assert sorted(ran) == sorted((names[0].id, names[1].id))
        assert (source.jobs(), source.dead_letters()) == ((), ())
        if whole:
            break
    assert 10 < step < 99


def test_a_hidden_job_is_touched_by_nobody(sides: tuple[Queue, Queue]) -> None:
    """A job on its way is not run, put again, put back or purged; it is seen among the dead letters."""
    source, _ = sides
    source.put(job())
    assert side_of(source).hide(job().id)
    assert (source.claim(), source.put(job()).outcome) == (None, "dead")
    with pytest.raises(StoreError, match="queue-conflict"):
        source.retry_dead(job().id)
    assert source.purge_dead(None) == 0
    assert [(row.id, row.reason) for row in source.dead_letters()] == [(job().id, "moving")]


def test_a_job_in_work_stays(sides: tuple[Queue, Queue]) -> None:
    """Whoever works on it finishes it where it is; the others are moved."""
    source, target = sides
    source.put(job())
    source.put(job(1))
    claim = _claimed(source, 0)
    moved = move(side_of(source), side_of(target))
    assert (moved.waiting, moved.busy, moved.whole) == (1, 1, False)
    claim.ack()
    assert (where(source, job().id), where(target, job(1).id)) == ("done", "waiting:0")


def test_the_verb_moves_and_says_so(queue_server: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`queue migrate`: the report holds to its schema, names no password, and the variable alone leads captures to the server."""
    queue_server.empty()
    monkeypatch.setenv("REFLECT_GATE_HOME", str(tmp_path))
    with open_queue(tmp_path / "queue") as folder:
        folder.put(job())
    without = CliRunner().invoke(app, ["queue", "migrate", "--from", "files", "--to", "postgres"])
    assert "REFLECT_GATE_QUEUE" in str(without.exception)
    monkeypatch.setenv("REFLECT_GATE_QUEUE", queue_server.server.url(database=queue_server.name))
    done = CliRunner().invoke(
        app, ["queue", "migrate", "--from", "files", "--to", "postgres", "--format", "json"], standalone_mode=False
    )
    report = json.loads(done.output)
    schemas.check("queue-report", report, "report")
    assert (report["waiting"], report["busy"]) == (1, 0)
    assert queue_server.server.password not in done.output
    shown = CliRunner().invoke(app, ["reflect", "list", "--format", "json"], standalone_mode=False)
    assert [row["job_id"] for row in json.loads(shown.output)["pending"]] == [job().id]
