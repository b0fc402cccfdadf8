"""Workers as real processes, over real HTTP: what they do, how they end, and what a kill leaves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import pipeline
from reflect_gate.capture.capturing import capture
from reflect_gate.capture.settings import Settings
from reflect_gate.capture.working import Worker, is_parked, note_unreflected
from reflect_gate.errors import ReflectGateError
from reflect_gate.jobs import handle
from reflect_gate.llm.journal import open_journal
from reflect_store import StoreError
from reflect_store.queue import FileQueue, Job, Parked, PermanentError, Skip, SystemClock, open_queue

from ..llm.server import SKIP, ModelServer, saying
from .dying_worker import POINTS
from .world import ANSWER, World, failure

PATIENCE = 60.0
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals")


def until(condition: Callable[[], object]) -> None:
    """Return when the condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def queue_of(world: World) -> FileQueue:
    """Open the world's queue."""
    return open_queue(world.home / "queue")


def not_reflected(world: World) -> list[Any]:
    """Return what the store says was not reflected on; nothing while the store is being made."""
    try:
        return world.rows("not_reflected")
    except StoreError:
        return []


def ended(text: str) -> dict[str, Any]:
    """Return what a worker said last of how it ended, as data."""
    found: dict[str, Any] = json.loads(text.splitlines()[-1])["summary"]
    return found


# -- from capture to lesson --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_captured_failures_are_worked_off(world: World) -> None:
    """R-q3, R-x3: a lesson, a skip and the baseline's lesson, each in its place; the journal is empty, and nothing waits."""
    with ModelServer(saying(ANSWER), saying(SKIP), saying(ANSWER)) as server:
        world.asks(server)
        for name, route in (("cart-1", "15reflect"), ("cart-2", "15reflect"), ("cart-3", "introspect")):
            assert world.run("capture", "-", stdin=failure(name), env={"REFLECT": route}).code == 0
        done = world.run("worker", "--once", "--workers", "1", "--error-format", "json")
        assert (done.code, len(server.asked)) == (0, 3)
    assert ended(done.err)["attempts"] == {"success": 2, "skipped": 1, "transient": 0, "permanent": 0}
    assert [len(world.rows("lessons", name)) for name in ("store.db", "introspect.db")] == [1, 1]
    assert [row["reason"] for row in world.rows("not_reflected")] == ["skip"]
    assert open_journal().keys() == []
    with queue_of(world) as queue:
        assert queue.depth() == 0


@pytest.mark.slow
def test_a_violation_is_acknowledged(world: World) -> None:
    """R-L2: never dead-lettered, never asked again."""
    with ModelServer("truncated JSON") as server:
        world.asks(server)
        capture(failure())
        done = world.run("worker", "--once", "--error-format", "json")
        assert len(server.asked) == 1
    assert (ended(done.err)["dead"], ended(done.err)["waiting"]) == (0, 0)
    assert [row["code"] for row in world.rows("violations")] == ["not-json"]


@pytest.mark.slow
def test_a_worker_without_a_model_touches_no_job(world: World) -> None:
    """What would park every job is said before one is begun."""
    capture(failure())
    done = world.run("worker", "--once")
    assert (done.code, "[model-unset]" in done.err) == (3, True)
    with queue_of(world) as queue:
        assert [row.attempts for row in queue.jobs()] == [0]


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["REFLECT_GATE_DAILY_COST_LIMIT", "REFLECT_GATE_JOB_COST_LIMIT"])
def test_a_limit_needs_a_price(world: World, limit: str) -> None:
    """R-L3: a limit that cannot be kept is no limit, and that is said."""
    world.environ |= {"REFLECT_GATE_MODEL": "tiny", "REFLECT_GATE_BASE_URL": "http://127.0.0.1:1/v1", limit: "1"}
    done = world.run("worker", "--once")
    assert (done.code, "[model-unpriced]" in done.err) == (3, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "limit", "said"),
    [
        (
            "REFLECT_GATE_DAILY_COST_LIMIT",
            "0.001",
            "DailyLimit: daily-limit: $0 of $0.001 are spent today and the call may cost $",
        ),
        ("REFLECT_GATE_JOB_COST_LIMIT", "0.001", "Parked: cost-limit: the call could cost more than one may: up to $"),
    ],
)
def test_what_costs_too_much_is_parked(world: World, variable: str, limit: str, said: str) -> None:
    """R-L3, R-P1: nobody is asked, no attempt is counted, and the job waits where it can be seen."""
    with ModelServer() as server:
        world.asks(server)
        world.priced()
        capture(failure())
        done = world.run("worker", "--once", "--error-format", "json", env={variable: limit})
        assert server.asked == []
    found = ended(done.err)
    assert (found["waiting"], found["parked"], found["dead"], sum(found["attempts"].values())) == (1, 1, 0, 0)
    with queue_of(world) as queue:
        (row,) = queue.jobs()
    assert (row.attempts, is_parked(row), (row.error or "").startswith(said)) == (0, True, True)
    assert row.next > row.created
    assert len(world.rows("not_reflected")) == 1


def test_what_waited_too_long_is_recorded(world: World) -> None:
    """R-q7, R-P1: a stale job is parked beside the queue, and the store says that it was not reflected on."""

    class LastMonth(SystemClock):
        def wall(self) -> float:
            return time.time() - 30 * 86_400

    capture(failure())
    with queue_of(world) as queue:
        (row,) = queue.jobs()
        claim = queue.claim()
        assert claim is not None
        claim.dead("to make room")
        queue.purge_dead(row.id)
    with open_queue(world.home / "queue", clock=LastMonth()) as queue:
        queue.put(row.job)
    for _ in range(2):
        with Worker(Settings()) as worker:
            worker.queue.replay()
            worker.look()
    assert [(row["failure_id"], row["reason"]) for row in world.rows("not_reflected")] == [("cart-1", "stale")]


def test_what_is_no_failure_is_noted_nowhere(world: World) -> None:
    """A record that was copied in and holds something else does not end a worker."""
    for payload in (None, {}, {"termination": {}, "route": "15reflect"}, {"termination": {"failure_id": "a"}, "route": "x"}):
        job = Job("t", "error", "a", "", payload)
        assert not note_unreflected(job, "stale")
        with pytest.raises(PermanentError):
            handle(job)
    assert not world.home.joinpath("calls").exists()


def test_a_broken_policy_parks_and_buries_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with the policies, or with the model's settings, is no fault of a job."""
    capture(failure())
    with queue_of(world) as queue:
        (row,) = queue.jobs()
    with pytest.raises(Parked, match="model-unset"):
        handle(row.job)
    monkeypatch.setenv("REFLECT_GATE_BUNDLE", "no-such-bundle")
    with pytest.raises(Parked, match=r"policies: .*no-such-bundle"):
        handle(row.job)


def test_an_incomplete_record_is_skipped(world: World) -> None:
    """R-a1: nobody is asked; the job is acknowledged."""
    capture(failure(outcome=None))
    with queue_of(world) as queue:
        (row,) = queue.jobs()
    with pytest.raises(Skip, match="incomplete-record"):
        handle(row.job)
    assert [row["reason"] for row in world.rows("not_reflected")] == ["incomplete-record"]


def test_a_worker_needs_a_queue(world: World) -> None:
    """R-q9: with the queue switched off there is nothing to work off."""
    with pytest.raises(ReflectGateError, match="queue-off"):
        Worker(Settings(queue_enabled=False))
    done = world.run("worker", "--once", env={"REFLECT_GATE_QUEUE_ENABLED": "false"})
    assert (done.code, "[queue-off]" in done.err) == (3, True)


@pytest.mark.slow
def test_without_a_queue_a_failure_is_worked_on_at_once(world: World) -> None:
    """R-q9: fire and forget: a process of its own, no file of the queue, and the turn does not wait."""
    with ModelServer(saying(ANSWER)) as server:
        world.asks(server)
        done = world.run("capture", "-", stdin=failure(), env={"REFLECT_GATE_QUEUE_ENABLED": "false"})
        assert (done.code, done.err) == (0, f"started: job {done.out.strip()} works on it now, without a queue\n")
        until(world.noted)
    assert len(world.rows("lessons")) == 1
    assert not (world.home / "queue").exists()


@pytest.mark.slow
def test_the_pipeline_runs_and_starts_from_python(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-x1: `pipeline.run` does all of it at once, `pipeline.start` works off the queue beside the program; never twice."""
    with ModelServer(saying(ANSWER)) as server:
        world.asks(server)
        for name in ("REFLECT_GATE_MODEL", "REFLECT_GATE_BASE_URL"):
            monkeypatch.setenv(name, world.environ[name])
        assert pipeline.run(failure()).action == "admitted"
        for name in ("cart-1", "cart-2"):
            capture(failure(name))
        worker = pipeline.start()
        until(lambda: worker.queue.depth() == 0)
        worker.close()
        worker.close()
        assert len(server.asked) == 2
    assert [row["failure_id"] for row in world.rows("decisions")] == ["cart-1", "cart-2"]


@pytest.mark.slow
def test_without_a_queue_a_failed_attempt_is_recorded(world: World) -> None:
    """R-q9, R-P1: nobody tries again, and the store says so."""
    with ModelServer("503") as server:
        world.asks(server)
        world.run("capture", "-", stdin=failure(), env={"REFLECT_GATE_QUEUE_ENABLED": "false"})
        until(lambda: not_reflected(world))
        assert len(server.asked) == 1
    (row,) = world.rows("not_reflected")
    assert row["reason"].startswith("not-retried: ")


# -- how it ends -------------------------------------------------------------------------------------------------------


def _slowly(seconds: float) -> Any:
    def answer(handler: Any) -> None:
        handler.server.owner.ended.wait(seconds)
        saying(ANSWER)(handler)

    return answer


@pytest.mark.slow
@POSIX
def test_a_signal_drains(world: World) -> None:
    """R-q8: the job in work is finished, the next one is left, and the worker says so; well within 30 seconds."""
    with ModelServer(_slowly(1.0)) as server:
        world.asks(server)
        for name in ("cart-1", "cart-2"):
            capture(failure(name))
        with world.running("worker", "--workers", "1", "--error-format", "json") as worker:
            until(lambda: server.asked)
            worker.send_signal(signal.SIGTERM)
            begun = time.monotonic()
            _, err = worker.communicate(timeout=PATIENCE)
            assert time.monotonic() - begun < 30.0
        assert (worker.returncode, len(server.asked)) == (0, 1)
    found = ended(err.decode())
    assert (found["finished"], found["released"], found["waiting"]) == (1, 0, 1)
    assert len(world.rows("lessons")) == 1


@pytest.mark.slow
@POSIX
def test_a_second_signal_does_not_wait(world: World) -> None:
    """R-q8: what does not end is given back, which costs no attempt."""
    with ModelServer("hang") as server:
        world.asks(server)
        capture(failure())
        with world.running("worker", "--workers", "1", "--error-format", "json") as worker:
            until(lambda: server.asked)
            worker.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            worker.send_signal(signal.SIGTERM)
            _, err = worker.communicate(timeout=20.0)
    found = ended(err.decode())
    assert (worker.returncode, found["released"], found["waiting"]) == (0, 1, 1)
    with queue_of(world) as queue:
        assert [row.attempts for row in queue.jobs()] == [0]


@pytest.mark.slow
@POSIX
def test_a_job_that_takes_too_long_is_ended(world: World) -> None:
    """R-q3: the limit ends the job, whatever the model's own patience; its attempts are used up, and it is a dead letter."""
    with ModelServer("hang") as server:
        world.asks(server)
        capture(failure())
        limits = {"REFLECT_GATE_QUEUE_JOB_TIMEOUT": "6s", "REFLECT_GATE_QUEUE_MAX_ATTEMPTS": "1"}
        done = world.run("worker", "--once", "--error-format", "json", env=limits)
        assert len(server.asked) == 1
    assert (done.code, ended(done.err)["dead"]) == (0, 1)
    with queue_of(world) as queue:
        (row,) = queue.dead_letters()
    assert (row.reason, "more than 6 s" in (row.error or "")) == ("exhausted", True)


@pytest.mark.slow
def test_two_workers_share_a_queue(world: World) -> None:
    """R-q3: started at once, they ask about each failure once, and everything is worked off."""
    names = [f"cart-{number}" for number in range(6)]
    with ModelServer(saying(ANSWER)) as server:
        world.asks(server)
        for name in names:
            capture(failure(name))
        alone = ("worker", "--once", "--workers", "1")
        with world.running(*alone) as first, world.started(*alone) as second:
            for worker in (first, second):
                worker.communicate(timeout=PATIENCE)
        assert (first.returncode, second.returncode) == (0, 0)
        assert len(server.asked) == len(names)
    assert sorted(row["failure_id"] for row in world.rows("decisions")) == names
    with queue_of(world) as queue:
        assert (queue.depth(), queue.dead_letters()) == (0, ())


@POSIX
@pytest.mark.slow
def test_a_folder_that_is_removed_ends_the_worker(world: World) -> None:
    """A worker without a queue says so and leaves with exit code 1, so that a service manager starts it anew."""
    with ModelServer() as server:
        world.asks(server)
        capture(failure("cart-0", outcome=None))
        with world.running("worker", "--workers", "1") as worker:
            until(world.noted)
            shutil.rmtree(world.home / "queue")
            _, err = worker.communicate(timeout=PATIENCE)
    assert (worker.returncode, "[queue-gone]" in err.decode()) == (1, True)


# -- kill -9 -----------------------------------------------------------------------------------------------------------


def work(world: World, point: str = "") -> subprocess.CompletedProcess[str]:
    """Run a worker that is killed at a point."""
    script = Path(__file__).with_name("dying_worker.py")
    return subprocess.run(
        [sys.executable, str(script), *([point] if point else [])],
        capture_output=True,
        text=True,
        env=world.environ,
        timeout=PATIENCE,
        check=False,
    )


@POSIX
@pytest.mark.slow
@pytest.mark.parametrize(
    ("behaviour", "point"),
    [*(("lesson", point) for point in POINTS), ("violation", "received"), ("violation", "stored"), ("skip", "stored")],
)
def test_a_kill_costs_no_second_call_and_makes_no_second_lesson(world: World, behaviour: str, point: str) -> None:
    """R-L2, R-q8: wherever the worker dies once the answer is there, the next one goes on from there: one call, one lesson."""
    answer: Any = {"lesson": saying(ANSWER), "violation": "truncated JSON", "skip": saying(SKIP)}[behaviour]
    with ModelServer(answer) as server:
        world.asks(server)
        job = capture(failure())
        first = work(world, point)
        assert (first.returncode == -signal.SIGKILL) == (point != "alone"), first.stderr
        with queue_of(world) as queue:
            if point == "alone":
                assert [row.reason for row in queue.dead_letters()] == ["poison"]
                queue.retry_dead(job.job_id)
        second = work(world)
        assert second.returncode == 0, second.stderr
        assert len(server.asked) == 1
    with queue_of(world) as queue:
        assert (queue.depth(), queue.dead_letters(), queue.done(job.job_id)) == (0, (), True)
    counts = [len(world.rows(table)) for table in ("terminations", "decisions", "lessons", "violations", "not_reflected")]
    assert counts == {"lesson": [1, 1, 1, 0, 0], "violation": [1, 0, 0, 1, 0], "skip": [1, 0, 0, 0, 1]}[behaviour]
    calls = [json.loads(line) for line in next((world.home / "calls").glob("*")).read_text().splitlines()]
    assert len({(line["failure_id"], line["kind"]) for line in calls if line["what"] == "outcome"}) == 1
