"""What every queue does, whatever keeps its jobs."""

from __future__ import annotations

import pytest

from reflect_store.queue import Claim, Job, Queue, QueueSettings, StoreError
from reflect_store.queue.counters import Gauges

from .model import FakeClock
from .queues import Make, job, where

DAY = 86_400.0


def _claimed(queue: Queue, timeout: float = 0.0) -> Claim:
    claim = queue.claim(timeout)
    assert claim is not None
    return claim


def test_a_job_comes_out_as_it_went_in(queue: Queue) -> None:
    """R-q1: payload, parts and id survive."""
    given = Job("Fix  the\ttest", "error", "t-1", "failed", {"a": [1, 2.5, None, "ü€😀"], "b": {"c": True}})
    assert queue.put(given).outcome == "enqueued"
    claim = _claimed(queue)
    assert (claim.job, claim.id, claim.attempt) == (given, given.id, 1)


def test_an_empty_queue_gives_nothing(queue: Queue, clock: FakeClock) -> None:
    """A claim returns None after its time, not before."""
    start = clock.monotonic()
    assert queue.claim(3.0) is None
    assert 3.0 <= clock.monotonic() - start < 4.0


def test_the_earliest_due_comes_first(queue: Queue, clock: FakeClock) -> None:
    """R-q3: of jobs that are due, the one that was due first."""
    for number in range(3):
        queue.put(job(number))
        clock.sleep(1)
    assert [_claimed(queue).id for _ in range(3)] == [job(number).id for number in range(3)]


@pytest.mark.parametrize("state", ["waiting", "claimed"])
def test_a_job_in_flight_is_not_queued_twice(queue: Queue, state: str) -> None:
    """R-q2: put again while it waits or is worked on, it is a duplicate."""
    queue.put(job())
    if state == "claimed":
        _claimed(queue)
    assert (queue.put(job()).outcome, queue.depth()) == ("duplicate", 1)


def test_a_done_job_does_not_run_again(make: Make) -> None:
    """A job that was acknowledged is known as done, also to a queue that is opened later."""
    queue = make()
    queue.put(job())
    _claimed(queue).ack()
    assert (queue.depth(), where(queue, job().id)) == (0, "done")
    assert make().put(job()).outcome == "done"


def test_a_dead_job_is_not_queued_again(queue: Queue) -> None:
    """A put of a dead letter says so; else replay, where the dead letter wins, would lose the put."""
    queue.put(job())
    _claimed(queue).dead("no use")
    assert (queue.put(job()).outcome, where(queue, job().id)) == ("dead", "dead")


def test_a_claimed_job_is_given_to_nobody_else(make: Make) -> None:
    """Two queues on the same folder never work on the same job."""
    first, second = make(), make()
    first.put(job())
    held = _claimed(first)
    assert (first.claim(), second.claim(2.0)) == (None, None)
    held.release()
    assert _claimed(second, 2.0).attempt == 1


def test_a_job_put_by_another_is_found(make: Make) -> None:
    """A worker that waits finds what another process puts."""
    worker = make()
    assert worker.claim() is None
    make().put(job())
    assert _claimed(worker, 2.0).id == job().id


def test_retries_follow_the_seed(queue: Queue, clock: FakeClock) -> None:
    """R-q4: 1, 2, 4, 8 seconds, and the fifth failure is dead."""
    queue.put(job())
    gaps = []
    settled = []
    for _ in range(5):
        start = clock.monotonic()
        claim = _claimed(queue, 400)
        gaps.append(round(clock.monotonic() - start, 2))
        settled.append(claim.retry("busy"))
    assert gaps == [0, 1, 2, 4, 8]
    assert settled == ["scheduled"] * 4 + ["dead"]
    (letter,) = queue.dead_letters()
    assert (letter.attempts, letter.error, letter.reason) == (5, "busy", "exhausted")
    assert queue.counters.retries == {1: 1, 2: 1, 3: 1, 4: 1}


def test_attempts_survive_a_restart(make: Make) -> None:
    """R-q4: the count goes on where it was."""
    queue = make()
    queue.put(job())
    _claimed(queue).retry("busy")
    queue.close()
    assert _claimed(make(), 5.0).attempt == 2


def test_another_waits_as_long_as_was_said(make: Make, clock: FakeClock) -> None:
    """R-q4: a delay that one process chose holds for the others."""
    first, second = make(), make()
    first.put(job())
    assert second.depth() == 1
    _claimed(first).retry("busy", after=60)
    start = clock.monotonic()
    _claimed(second, 400)
    assert 59.9 <= clock.monotonic() - start <= 61


def test_release_costs_no_attempt(queue: Queue) -> None:
    """A shutdown gives the job back as it was."""
    queue.put(job())
    for _ in range(9):
        claim = _claimed(queue)
        assert claim.attempt == 1
        claim.release()


def test_parking_costs_no_attempt(make: Make, clock: FakeClock) -> None:
    """R-L3: a job that may not run now waits as long as it is told to, with the reason, however often that happens."""
    queue = make(QueueSettings(max_attempts=1))
    queue.put(job())
    for day in (1, 2):
        assert _claimed(queue, 2 * DAY).park(f"no money on day {day}", DAY) == "scheduled"
        (row,) = queue.jobs()
        assert (row.attempts, row.error) == (0, f"no money on day {day}")
        assert queue.claim(DAY - 1) is None
        clock.sleep(1)
    assert queue.counters.retries == {}
    assert _claimed(queue).attempt == 1


def test_a_parked_job_is_looked_at_soon_after_a_restart(make: Make) -> None:
    """Whoever raises a limit and starts again waits for the longest delay of a retry at most."""
    first = make()
    first.put(job())
    _claimed(first).park("no money", DAY)
    first.close()
    settings = QueueSettings()
    assert _claimed(make(settings), settings.longest + 1).attempt == 1


def test_close_gives_jobs_back(make: Make) -> None:
    """R-q8: what was in work when the queue was closed runs again, as its first attempt."""
    queue = make()
    queue.put(job())
    _claimed(queue)
    queue.close()
    assert _claimed(make()).attempt == 1


def test_a_claim_is_settled_once(queue: Queue) -> None:
    """A second answer is refused; a second release is harmless."""
    queue.put(job())
    claim = _claimed(queue)
    claim.ack()
    for again in (claim.ack, lambda: claim.retry("x"), lambda: claim.park("x", 1), lambda: claim.dead("x")):
        with pytest.raises(StoreError, match="queue-claim"):
            again()
    claim.release()
    assert where(queue, job().id) == "done"


def test_a_dead_letter_is_retried_from_the_start(queue: Queue) -> None:
    """R-q5: retry resets the attempts."""
    queue.put(job())
    _claimed(queue).retry("busy")
    _claimed(queue, 5.0).dead(ValueError("bad"))
    (letter,) = queue.dead_letters()
    assert (letter.attempts, letter.error, letter.reason) == (2, "ValueError: bad", "permanent")
    queue.retry_dead(letter.id)
    assert (queue.dead_letters(), _claimed(queue).attempt) == ((), 1)


def test_purge_removes_for_good(make: Make) -> None:
    """R-q5: one, or all."""
    queue = make()
    for number in range(3):
        queue.put(job(number))
        _claimed(queue).dead("x")
    assert queue.purge_dead(job(1).id) == 1
    assert sorted(row.id for row in queue.dead_letters()) == sorted([job(0).id, job(2).id])
    assert queue.purge_dead(None) == 2
    assert (make().dead_letters(), queue.depth()) == ((), 0)


def test_unknown_ids_are_refused(queue: Queue) -> None:
    """R-q5: an id that names nothing, or no id at all, is an error."""
    for id_ in ("0" * 16, "../wal/x", ""):
        with pytest.raises(StoreError, match="queue-unknown"):
            queue.retry_dead(id_)
        with pytest.raises(StoreError, match="queue-unknown"):
            queue.restore_expired(id_)
        with pytest.raises(StoreError, match="queue-unknown"):
            queue.purge_dead(id_)


def test_a_full_queue_waits_and_then_refuses(make: Make, clock: FakeClock) -> None:
    """R-q6: block with timeout, 5 seconds, by default."""
    queue = make(QueueSettings(capacity=2))
    for number in range(2):
        queue.put(job(number))
    start = clock.monotonic()
    refused = queue.put(job(2))
    assert (refused.outcome, refused.kept, queue.depth()) == ("full", False, 2)
    assert 5.0 <= clock.monotonic() - start < 5.1
    assert queue.counters.enqueue == {"accepted": 2, "rejected_full": 1, "deduped": 0, "dropped_oldest": 0}


def test_the_capacity_counts_what_others_put(make: Make) -> None:
    """R-q6: the limit is that of the folder, not of a process."""
    settings = QueueSettings(capacity=4, block_timeout=0)
    one, two = make(settings), make(settings)
    outcomes = [(one, two)[number % 2].put(job(number)).outcome for number in range(6)]
    assert outcomes == ["enqueued"] * 4 + ["full"] * 2


def test_drop_oldest_makes_a_dead_letter(make: Make, clock: FakeClock) -> None:
    """R-q6: the job that makes room was acknowledged, so it is not lost; one in work is not dropped."""
    queue = make(QueueSettings(capacity=2, drop_oldest=True))
    for number in range(2):
        queue.put(job(number))
        clock.sleep(1)
    held = _claimed(queue)
    put = queue.put(job(2))
    assert (held.id, put.outcome, put.dropped) == (job(0).id, "enqueued", (job(1).id,))
    assert [(row.id, row.reason) for row in queue.dead_letters()] == [(job(1).id, "dropped")]
    assert (queue.depth(), queue.counters.enqueue["dropped_oldest"]) == (2, 1)


def test_expired_jobs_are_parked_and_come_back(make: Make, clock: FakeClock) -> None:
    """R-q7: older than 7 days at replay: moved, counted, restorable, and not expired again at once."""
    make().put(job())
    clock.sleep(7 * DAY + 1)
    queue = make()
    assert queue.replay().expired == 1
    assert (queue.claim(), queue.depth(), queue.counters.stale_discarded) == (None, 0, 1)
    assert [row.id for row in queue.expired()] == [job().id]
    queue.restore_expired(job().id)
    later = make()
    assert (later.replay().expired, later.expired()) == (0, ())
    assert _claimed(later).job == job()


def test_an_expired_job_that_is_dead_too_is_refused(make: Make, clock: FakeClock) -> None:
    """Restoring would lose it to the dead letter; the error says what to do."""
    make().put(job())
    clock.sleep(7 * DAY + 1)
    queue = make()
    queue.replay()
    queue.put(job())
    _claimed(queue).dead("x")
    with pytest.raises(StoreError, match="queue-conflict"):
        queue.restore_expired(job().id)


def test_a_jump_ahead_loses_nothing(make: Make, clock: FakeClock) -> None:
    """R-q7: a calendar that jumps by a year parks jobs and runs none of them early; the steady clock rules what is loaded."""
    queue = make()
    queue.put(job())
    _claimed(queue).retry("busy", after=100)
    clock.now += 365 * DAY
    assert queue.claim(50) is None
    assert _claimed(queue, 60).attempt == 2


def test_a_jump_back_stalls_nothing(make: Make, clock: FakeClock) -> None:
    """A job that seems to be due in a year is due in 360 seconds at the latest, also for another process."""
    queue = make()
    queue.put(job())
    _claimed(queue).retry("busy")
    queue.put(job(1))
    clock.now -= 365 * DAY
    assert _claimed(queue).id == job(1).id
    assert _claimed(queue, 1.5).attempt == 2
    queue.close()
    late = make()
    start = clock.monotonic()
    _claimed(late, 400)
    assert clock.monotonic() - start <= 360.5


def test_drain_leaves_jobs_in_work_alone(queue: Queue) -> None:
    """R-k4: a replay in the middle of work hands nothing out twice."""
    for number in range(2):
        queue.put(job(number))
    held = _claimed(queue)
    assert queue.drain().waiting == 1
    other = _claimed(queue)
    assert (other.id != held.id, queue.claim()) == (True, None)


def test_lists_say_who_is_at_work(make: Make) -> None:
    """The list shows what another process works on."""
    worker, viewer = make(), make()
    worker.put(job(0))
    worker.put(job(1))
    held = _claimed(worker)
    assert {row.id: row.busy for row in viewer.jobs()} == {job(0).id: held.id == job(0).id, job(1).id: held.id == job(1).id}
    assert viewer.gauges()[:3] == (2, 2, 0)
    assert worker.gauges()[:3] == (1, 2, 0)


def test_sizes_say_what_is_due_and_how_old(make: Make, clock: FakeClock) -> None:
    """To another process too: what waits for its next attempt or is worked on is not ready; ages are those of the jobs."""
    worker, viewer = make(), make()
    assert viewer.gauges() == Gauges(0, 0, 0)
    for number in range(4):
        worker.put(job(number))
        clock.sleep(10)
    _claimed(worker).retry("busy", after=100)
    _claimed(worker).dead("no use")
    held = _claimed(worker)
    found = viewer.gauges()
    assert found._replace(oldest_job_age_seconds=0.0) == Gauges(3, 3, 1, queue_ready=1)
    assert round(found.oldest_job_age_seconds) == 40
    held.release()
    clock.sleep(200)
    assert viewer.gauges().queue_ready == 3
    clock.sleep(7 * DAY)
    worker.replay()
    assert viewer.gauges() == Gauges(0, 0, 1, expired_size=3)


@pytest.mark.parametrize("payload", [float("nan"), {1, 2}, object(), "x" * (16 * 1024 * 1024)])
def test_what_cannot_be_kept_is_refused(queue: Queue, payload: object) -> None:
    """A payload that is no JSON, or too great, is an error and leaves nothing."""
    with pytest.raises(StoreError, match="queue-payload"):
        queue.put(job(0, payload))
    assert queue.depth() == 0


def test_a_closed_queue_says_so(make: Make) -> None:
    """After close every operation is an error; closing twice is none."""
    queue = make()
    queue.close()
    queue.close()
    for use in (lambda: queue.put(job()), queue.claim, queue.depth, queue.jobs, queue.replay):
        with pytest.raises(StoreError, match="queue-closed"):
            use()
