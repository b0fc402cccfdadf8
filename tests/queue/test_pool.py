"""Workers: every way in which a job can end, and how a pool does."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_store.queue import FileQueue, Job, LocalFs, QueueSettings, StoreError, open_queue
from reflect_store.queue.pool import Detached, Pool, PoolSettings

from .queues import places

PATIENCE = 30.0
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals")
NO_DELAY = QueueSettings(initial_delay=0.0, capacity=2000, poll=0.02)


@pytest.fixture(autouse=True)
def _handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))  # type: ignore[no-untyped-call,unused-ignore]


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """Return the file in which handlers note what they do."""
    return tmp_path / "note"


def _job(name: str, note: Path, what: str = "succeed", **more: object) -> Job:
    return Job(name, "error", name, "failed", {"do": what, "note": str(note), **more})


def _noted(note: Path) -> list[list[str]]:
    return [line.split() for line in note.read_text().splitlines()] if note.exists() else []


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def _pool(queue: FileQueue, settings: PoolSettings | None = None, handler: str = "queue_handlers:obey") -> Pool:
    return Pool(queue, handler, settings or PoolSettings(workers=1))


def test_every_outcome_ends_where_it_should(tmp_path: Path, note: Path) -> None:
    """R-q3, R-q4: success and skip are acknowledged, transient waits, permanent and a crash are dead; the next job runs."""
    seen: list[str] = []
    order = ["succeed", "crash", "skip", "busy", "refuse", "parse", "unkept", "succeed"]
    with open_queue(tmp_path / "q") as queue:
        jobs = [_job(f"{number}", note, what) for number, what in enumerate(order)]
        for job in jobs:
            queue.put(job)
        pool = Pool(queue, "queue_handlers:obey", PoolSettings(workers=1), lambda outcome, _: seen.append(outcome))
        pool.once()
        found = places(queue)
        letters = {row.id: (row.reason, row.error) for row in queue.dead_letters()}
        waits = {row.id: row.next - row.created for row in queue.jobs()}
        assert [found.get(job.id, "done" if queue.done(job.id) else "absent") for job in jobs] == [
            "done", "dead", "done", "waiting:1", "dead", "dead", "waiting:1", "done",
        ]  # fmt: skip
        assert letters == {
            jobs[1].id: ("poison", "its process ended with 9"),
            jobs[4].id: ("permanent", "PermanentError: no"),
            jobs[5].id: ("permanent", "ValueError: no JSON"),
        }
        assert waits[jobs[3].id] >= 7.0
        counters = queue.counters
        assert counters.attempts == Counter(seen) == {"success": 2, "skipped": 1, "transient": 2, "permanent": 3}
        assert (counters.persist_failures, counters.retries) == (1, {1: 2})


def test_a_parked_job_is_counted_nowhere(tmp_path: Path, note: Path) -> None:
    """R-L3: it waits, and is no attempt, no success and no failure; a job that is done is told of once it is acknowledged."""
    told: list[str] = []
    with open_queue(tmp_path / "q", NO_DELAY._replace(max_attempts=1)) as queue:
        for name, what in (("a", "park"), ("b", "succeed"), ("c", "skip"), ("d", "refuse")):
            queue.put(_job(name, note, what))

        def acknowledged(job: Job) -> None:
            assert queue.done(job.id)
            told.append(job.task)

        Pool(queue, "queue_handlers:obey", PoolSettings(workers=1), acknowledged=acknowledged).once()
        (row,) = queue.jobs()
        assert (row.job.task, row.attempts, row.error) == ("a", 0, "Parked: no money")
        assert queue.counters.attempts == {"success": 1, "skipped": 1, "transient": 0, "permanent": 1}
    assert told == ["b", "c"]


def test_a_job_that_takes_too_long_is_ended(tmp_path: Path, note: Path) -> None:
    """R-q3: the limit ends the job and what it started, the attempt counts, and the worker goes on."""
    with open_queue(tmp_path / "q", NO_DELAY._replace(max_attempts=2)) as queue:
        queue.put(_job("hang", note, "hang with a child"))
        queue.put(_job("next", note))
        _pool(queue, PoolSettings(workers=1, job_timeout=0.7)).once()
        (letter,) = queue.dead_letters()
        assert (letter.reason, letter.attempts) == ("exhausted", 2)
        assert "more than 0.7 s" in (letter.error or "")
        assert queue.done(_job("next", note).id)
    pids = [int(line[-1]) for line in _noted(note) if line[0] in {"begin", "child"} and line[1] != _job("next", note).id]
    assert len(pids) == 4
    _until(lambda: not any(map(_runs, pids)))


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] not in {"Z", ""}
    return False


def test_a_handler_that_cannot_be_imported_touches_no_job(tmp_path: Path, note: Path) -> None:
    """A wrong name is an error of the pool; the jobs wait."""
    with open_queue(tmp_path / "q") as queue:
        queue.put(_job("a", note))
        for handler in ("queue_handlers:nothing", "no_such_module:f", "queue_handlers:LONG"):
            with pytest.raises(StoreError, match="queue-handler"):
                _pool(queue, handler=handler).start()
        assert list(places(queue).values()) == ["waiting:0"]


def test_stop_waits_for_jobs_in_work(tmp_path: Path, note: Path) -> None:
    """R-q8: what is in work is finished, what is not is left."""
    with open_queue(tmp_path / "q", NO_DELAY) as queue:
        for number in range(3):
            queue.put(_job(f"{number}", note, "nap", seconds=0.3))
        pool = _pool(queue)
        pool.start()
        _until(lambda: len(_noted(note)) > 0)
        stopped = pool.stop()
        ended = [line for line in _noted(note) if line[0] == "end"]
        assert (stopped.finished, stopped.released) == (len(ended), 0)
        assert queue.depth() == 3 - len(ended) > 0


def test_stop_gives_back_what_does_not_end(tmp_path: Path, note: Path) -> None:
    """R-q8: after the drain a job is ended and given back; this costs no attempt."""
    with open_queue(tmp_path / "q", NO_DELAY) as queue:
        queue.put(_job("hang", note, "hang"))
        pool = _pool(queue)
        pool.start()
        _until(lambda: len(_noted(note)) == 1)
        begun = time.monotonic()
        assert pool.stop(0.2) == (0, 1)
        assert time.monotonic() - begun < 5.0
        assert list(places(queue).values()) == ["waiting:0"]
        assert queue.counters.attempts == dict.fromkeys(queue.counters.attempts, 0)


def test_a_job_that_comes_later_is_found(tmp_path: Path, note: Path) -> None:
    """A pool that waits takes what another process puts."""
    with open_queue(tmp_path / "q", NO_DELAY) as queue, _pool(queue), open_queue(tmp_path / "q") as other:
        other.put(_job("late", note))
        _until(lambda: queue.done(_job("late", note).id))


class Unsynced(LocalFs):
    """A file system without power cuts: a test of counts need not wait for the disk."""

    def sync(self, handle: int) -> None:
        """Skip it."""

    def sync_folder(self, handle: int) -> None:
        """Skip it."""


@pytest.mark.slow
def test_a_thousand_flaky_jobs_all_end(tmp_path: Path, note: Path) -> None:
    """R-q8: 1,000 jobs, 30 % of the calls fail: each ends in success, skip or as a dead letter, once, and the counts add up."""
    with open_queue(tmp_path / "q", NO_DELAY, fs=Unsynced()) as queue:
        jobs = [_job(f"{number}", note) for number in range(1000)]
        for job in jobs:
            queue.put(job)
        pool = Pool(queue, "queue_handlers:flaky", PoolSettings(workers=2))
        while queue.depth():
            pool.once()
        succeeded = Counter(line[0] for line in _noted(note))
        dead = {row.id for row in queue.dead_letters()}
        done = {job.id for job in jobs if queue.done(job.id)}
        counted, retries = queue.counters.attempts, sum(queue.counters.retries.values())
        assert set(succeeded.values()) == {1}
        assert done | dead == {job.id for job in jobs}
        assert not done & dead
        assert succeeded.keys() <= done
        assert (counted["success"], counted["success"] + counted["skipped"]) == (len(succeeded), len(done))
        exhausted = sum(row.reason == "exhausted" for row in queue.dead_letters())
        assert counted["permanent"] + exhausted == len(dead)
        assert counted["transient"] == retries + exhausted
        assert counted["skipped"] > 0
        assert counted["permanent"] > 0


@POSIX
def test_a_killed_worker_leaves_its_job_to_one_heir(tmp_path: Path, note: Path) -> None:
    """R-q8: kill -9 of the worker: its process ends, and only then someone else gets the job, as its first attempt."""
    with open_queue(tmp_path / "q", NO_DELAY) as queue:
        queue.put(_job("orphan", note))
        code = (
            "import sys; sys.path[:0] = [sys.argv[2]]\n"
            "from reflect_store.queue import open_queue\nfrom reflect_store.queue.pool import Pool, PoolSettings\n"
            "if __name__ == '__main__':\n"
            "    Pool(open_queue(sys.argv[1]), 'queue_handlers:slow_start', PoolSettings(workers=1)).once()\n"
        )
        script = tmp_path / "worker.py"
        script.write_text(code)
        with subprocess.Popen([sys.executable, str(script), str(tmp_path / "q"), str(Path(__file__).parent)]) as worker:
            _until(lambda: len(_noted(note)) == 1)
            assert [row.busy for row in queue.jobs()] == [True]
            worker.kill()
        claim = queue.claim(PATIENCE)
        assert claim is not None
        assert not _runs(int(_noted(note)[0][2]))
        assert claim.attempt == 1
        claim.ack()


def test_threads_share_a_queue(tmp_path: Path, note: Path) -> None:
    """Several threads put and several workers run at once; every job is run once."""
    with open_queue(tmp_path / "q", NO_DELAY) as queue, _pool(queue, PoolSettings(workers=2)):

        def put(first: int) -> None:
            for number in range(first, first + 20):
                queue.put(_job(f"{number}", note))

        threads = [threading.Thread(target=put, args=(first,)) for first in (0, 20, 40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        _until(lambda: queue.depth() == 0)
        assert Counter(line[1] for line in _noted(note) if line[0] == "begin") == {
            _job(f"{number}", note).id: 1 for number in range(60)
        }


def test_without_a_queue_a_job_is_tried_once(tmp_path: Path, note: Path) -> None:
    """R-q9: fire and forget: no file, no second try; a crash, a hang and a wrong handler are counted, not raised."""
    detached = Detached("queue_handlers:obey", PoolSettings(job_timeout=1.5))
    for what in ("succeed", "busy", "crash", "hang"):
        assert detached.put(_job(what, note, what)).outcome == "enqueued"
    detached.wait()
    assert detached.counters.attempts == {"success": 1, "skipped": 0, "transient": 2, "permanent": 1}
    broken = Detached("no_such_module:f")
    broken.put(_job("x", note))
    broken.wait()
    assert broken.counters.attempts["permanent"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["note"]
