"""One of everything that changes a queue, and what each step makes of which job: the oracle of the fault tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from reflect_store.queue import FileClaim, FileQueue, QueueSettings

from .model import FakeClock, ModelFs
from .queues import job, model_queue, places

__all__ = ["CAPACITY", "SETTINGS", "STEPS", "Build", "Step", "judge", "perform"]

CAPACITY = 3
SETTINGS = QueueSettings(capacity=CAPACITY, drop_oldest=True, max_attempts=3)
WEEK = 7 * 86_400.0

Build: TypeAlias = Callable[[ModelFs, FakeClock], FileQueue]


class Step(NamedTuple):
    """What is done, and where the jobs are that it touches, once it has returned."""

    name: str
    do: Callable[[FileQueue, FakeClock], object]
    after: Mapping[int, str]


def _claimed(queue: FileQueue, number: int) -> FileClaim:
    held: list[FileClaim] = []
    while (claim := queue.claim(400.0)) is not None:
        if claim.id == job(number).id:
            for other in held:
                other.release()
            return claim
        held.append(claim)
    raise AssertionError(f"job {number} is not there")


def _put(number: int) -> Callable[[FileQueue, FakeClock], object]:
    return lambda queue, _: queue.put(job(number))


def _claim_and(number: int, what: str, *arguments: object) -> Callable[[FileQueue, FakeClock], object]:
    def step(queue: FileQueue, _: FakeClock) -> object:
        return getattr(_claimed(queue, number), what)(*arguments)

    return step


def _age(queue: FileQueue, clock: FakeClock) -> object:
    clock.now += WEEK + 1
    return queue.drain()


STEPS: Sequence[Step] = (
    Step("put 0", _put(0), {0: "waiting:0"}),
    Step("put 1", _put(1), {1: "waiting:0"}),
    Step("put 1 again", _put(1), {1: "waiting:0"}),
    Step("park 1", _claim_and(1, "park", "no money", 60.0), {1: "waiting:0"}),
    Step("retry 0", _claim_and(0, "retry", "busy"), {0: "waiting:1"}),
    Step("ack 1", _claim_and(1, "ack"), {1: "done"}),
    Step("dead 0", _claim_and(0, "dead", "no use"), {0: "dead"}),
    Step("put 2", _put(2), {2: "waiting:0"}),
    Step("retry dead 0", lambda queue, _: queue.retry_dead(job(0).id), {0: "waiting:0"}),
    Step("put 3", _put(3), {3: "waiting:0"}),
    Step("retry 2", _claim_and(2, "retry", "busy"), {2: "waiting:1"}),
    Step("retry 2 again", _claim_and(2, "retry", "busy"), {2: "waiting:2"}),
    Step("retry 2 for the last time", _claim_and(2, "retry", "busy"), {2: "dead"}),
    Step("put 4", _put(4), {4: "waiting:0"}),
    Step("put 5, which drops 0 or another", _put(5), {5: "waiting:0", 0: "dead"}),
    Step("purge 2", lambda queue, _: queue.purge_dead(job(2).id), {2: "absent"}),
    Step("ack 3", _claim_and(3, "ack"), {3: "done"}),
    Step("purge all", lambda queue, _: queue.purge_dead(None), {0: "absent"}),
    Step("a week", _age, {4: "expired", 5: "expired"}),
    Step("restore 4", lambda queue, _: queue.restore_expired(job(4).id), {4: "waiting:0"}),
    Step("put 6", _put(6), {6: "waiting:0"}),
    Step("ack 4", _claim_and(4, "ack"), {4: "done"}),
)


def perform(fs: ModelFs, steps: Sequence[Step] = STEPS, build: Build | None = None) -> list[float]:
    """Do the steps, marking in the log of the file system when each has returned; return the calendar at each mark."""
    clock = FakeClock()
    queue = build(fs, clock) if build else model_queue(fs, clock, SETTINGS)
    times = [clock.now]
    for step in steps:
        step.do(queue, clock)
        fs.mark(step.name)
        times.append(clock.now)
        # A job that is put later is younger.
        clock.sleep(1.0)
    return times


def judge(queue: FileQueue, done: int, steps: Sequence[Step] = STEPS) -> list[str]:
    """Return what is wrong with the queue of someone to whom the first `done` steps were acknowledged, and maybe one more."""
    sure: dict[int, str] = {}
    for step in steps[:done]:
        sure.update(step.after)
    maybe = steps[done].after if done < len(steps) else {}
    wrong = []
    found = places(queue)
    for number in {**sure, **maybe}:
        id_ = job(number).id
        place = found.get(id_) or ("done" if queue.done(id_) else "absent")
        allowed = {sure.get(number, "absent"), maybe.get(number, sure.get(number, "absent"))}
        if place not in allowed:
            wrong.append(f"job {number} is {place}, not {' or '.join(sorted(allowed))}")
    waits = {id_ for id_, place in found.items() if place.startswith("waiting")}
    claims = [queue.claim(400.0) for _ in waits] + [queue.claim()]
    runs = {claim.id for claim in claims if claim is not None}
    wrong += [f"job {id_} waits and does not run" for id_ in waits - runs]
    wrong += [f"job {id_} runs and is {found.get(id_, 'done')}" for id_ in runs - waits]
    if queue.quarantined() or queue.counters.wal_corruption:
        wrong.append("a torn record is to be seen")
    return wrong
