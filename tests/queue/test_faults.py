"""EIO, ENOSPC, EROFS, EACCES and EINTR at every call of every operation, before and after its effect; none is left out."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from reflect_store.queue import FileQueue, QueueSettings, StoreError

from .model import FakeClock, FaultFs, ModelFs, guaranteed
from .queues import job, model_queue, where

ERRORS = (errno.EIO, errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EINTR)
SETTINGS = QueueSettings(max_attempts=3, block_timeout=0.0)


class Case(NamedTuple):
    """An operation on job 0: what is done first, what is failed, and where the job is before and after."""

    prepare: Callable[[FileQueue], Any]
    act: Callable[[FileQueue, Any], object]
    before: str
    after: str


def _claim(queue: FileQueue) -> Any:
    queue.put(job())
    return queue.claim()


def _dead(queue: FileQueue) -> None:
    _claim(queue).dead("no use")


CASES: Mapping[str, Case] = {
    "put": Case(lambda _: None, lambda queue, _: queue.put(job()), "absent", "waiting:0"),
    "put again": Case(lambda queue: queue.put(job()), lambda queue, _: queue.put(job()), "waiting:0", "waiting:0"),
    "ack": Case(_claim, lambda _, claim: claim.ack(), "waiting:0", "done"),
    "retry": Case(_claim, lambda _, claim: claim.retry("busy"), "waiting:0", "waiting:1"),
    "dead": Case(_claim, lambda _, claim: claim.dead("no use"), "waiting:0", "dead"),
    "retry dead": Case(_dead, lambda queue, _: queue.retry_dead(job().id), "dead", "waiting:0"),
    "purge": Case(_dead, lambda queue, _: queue.purge_dead(job().id), "dead", "absent"),
    "claim": Case(lambda queue: queue.put(job()), lambda queue, _: queue.claim(), "waiting:0", "waiting:0"),
    "release": Case(_claim, lambda _, claim: claim.release(), "waiting:0", "waiting:0"),
    "replay": Case(lambda queue: queue.put(job()), lambda queue, _: queue.drain(), "waiting:0", "waiting:0"),
}


def _calls(case: Case) -> int:
    fs = FaultFs()
    queue = model_queue(fs, settings=SETTINGS)
    prepared = case.prepare(queue)
    fs.arm(0, 0, after=False)
    case.act(queue, prepared)
    return fs.calls


def _check(case: Case, fs: FaultFs, said: object, files: Mapping[str, bytes], what: str) -> list[str]:
    after = model_queue(ModelFs(files), settings=SETTINGS)
    after.replay()
    place = where(after, job().id)
    sure = said is not None and said != "unsaved"
    allowed = {case.after} if sure else {case.before, case.after}
    if case.after == "done":
        # Where the note could not be made, the record itself is gone for good.
        allowed.add("absent")
    wrong = [] if place in allowed else [f"{what} of {fs.felt}: the job is {place}, not {sorted(allowed)}"]
    if after.counters.wal_corruption:
        wrong.append(f"{what} of {fs.felt}: a torn record")
    return wrong


def _run(case: Case, at: int, error: int, *, after: bool) -> list[str]:
    fs = FaultFs()
    queue = model_queue(fs, settings=SETTINGS)
    prepared = case.prepare(queue)
    fs.arm(at, error, after=after)
    said: object
    try:
        said = case.act(queue, prepared) or "returned"
    except StoreError:
        said = None
    felt = fs.felt
    fs.disarm()
    wrong = [] if felt else [f"call {at} was not made"]
    wrong += _check(case, fs, said, fs.files(), "live")
    if case.after != "done" or said is None:
        wrong += _check(case, fs, said, guaranteed(fs.log), "after a power cut")
    elif said is not None:
        later = model_queue(ModelFs(guaranteed(fs.log)), settings=SETTINGS)
        if later.claim() is not None:
            wrong.append(f"{felt}: an acknowledged job runs again")
    queue.close()
    if fs.locks:
        wrong.append(f"{felt}: a lock was left behind")
    # A process that comes later can work.
    late = model_queue(fs, settings=SETTINGS)
    if late.put(job(9)).outcome != "enqueued" or late.claim(500) is None:
        wrong.append(f"{felt}: the queue cannot be used afterwards")
    late.close()
    if fs.handles:
        wrong.append(f"{felt}: {len(fs.handles)} handles were left open")
    return wrong


@pytest.mark.parametrize("name", CASES)
def test_a_fault_at_any_call_loses_nothing(name: str) -> None:
    """R-q8: whatever fails, the operation says so or is done; the job is where it was or where it should be."""
    case = CASES[name]
    calls = _calls(case)
    wrong = []
    for at in range(1, calls + 1):
        for error in ERRORS:
            for after in (False, True):
                wrong += [f"{errno.errorcode[error]}: {text}" for text in _run(case, at, error, after=after)]
    print(f"{name}: {calls} calls, {calls * len(ERRORS) * 2} runs, {len(wrong)} violations")  # noqa: T201 - the figure
    assert wrong == []
    assert calls > 3


def _tried(case: Case, queue: FileQueue, prepared: Any) -> tuple[object, str]:
    """Return what an operation said, and the code of its error or none."""
    try:
        return case.act(queue, prepared) or "returned", ""
    except StoreError as error:
        return None, error.code


@pytest.mark.parametrize("name", ["put", "ack", "retry", "dead", "retry dead"])
def test_the_operation_can_be_repeated(name: str) -> None:
    """After a fault the same queue does it at the next try, unless it says that it takes in nothing any more."""
    case = CASES[name]
    for at in range(1, _calls(case) + 1):
        fs = FaultFs()
        queue = model_queue(fs, settings=SETTINGS)
        prepared = case.prepare(queue)
        fs.arm(at, errno.EIO, after=False)
        said, code = _tried(case, queue, prepared)
        if said == "unsaved":
            prepared = queue.claim(500)
            if prepared is not None:
                said, code = _tried(case, queue, prepared)
        elif code:
            said, code = _tried(case, queue, prepared)
        latched = code == "queue-latched" or said == "unsaved"
        assert not code or code in {"queue-latched", "queue-claim", "queue-unknown"}, fs.felt
        place = where(queue, job().id).replace("waiting:2", "waiting:1")
        allowed = {case.after, "absent"} if name == "ack" else {case.after, case.before} if latched else {case.after}
        assert place in allowed, (fs.felt, said, code)


def test_open_fails_cleanly_at_any_call() -> None:
    """A queue that cannot be opened says why and leaves no handle and no lock."""
    probe = FaultFs()
    probe.arm(0, 0, after=False)
    model_queue(probe)
    for at in range(1, probe.calls + 1):
        fs = FaultFs()
        fs.arm(at, errno.EIO, after=False)
        with pytest.raises(StoreError, match="queue-io"):
            model_queue(fs)
        assert (fs.handles, fs.locks) == ({}, {}), fs.felt
        assert model_queue(fs, FakeClock()).put(job()).outcome == "enqueued"
