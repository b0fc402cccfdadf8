"""Every state that POSIX lets a power cut leave, after every call of a workload; and broken queues, which this must catch."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import pytest

from reflect_store.queue import FileQueue, shelves
from reflect_store.queue.core import Core
from reflect_store.queue.folder import Folders
from reflect_store.queue.ledger import Ledger
from reflect_store.queue.record import Reason, Record, encode

from .model import FakeClock, ModelFs, crash_states
from .queues import model_queue
from .workload import SETTINGS, STEPS, judge, perform

Break = Callable[[pytest.MonkeyPatch], type[ModelFs]]


def _recovered(files: dict[str, bytes], now: float) -> FileQueue:
    queue = model_queue(ModelFs(files), FakeClock(now), SETTINGS)
    queue.replay()
    return queue


def _judged(log: list[tuple[Any, ...]], times: list[float], stop: str = "nowhere") -> tuple[int, Counter[str]]:
    """Return how many states a cut may leave, and what is wrong with how many of them; stop at the damage `stop`."""
    states, wrong = 0, Counter[str]()
    for marks, files in crash_states(log):
        states += 1
        # Half a second into the next step.
        queue = _recovered(files, times[len(marks)] + 0.5)
        wrong.update(judge(queue, len(marks)))
        queue.close()
        if any(stop in text for text in wrong):
            break
    return states, wrong


def test_no_state_loses_or_doubles_a_job() -> None:
    """R-q1, R-q5, R-q7, R-q8: whatever a cut leaves, every job is where the last acknowledged step put it, and nowhere else."""
    fs = ModelFs()
    times = perform(fs)
    states, wrong = _judged(fs.log, times)
    print(f"crash states {states}, violations {sum(wrong.values())}")  # noqa: T201 - the figure
    assert wrong == {}
    assert states > 300


def test_a_second_crash_during_recovery_loses_nothing() -> None:
    """Replay is cut short at every call as well, from each state in which it has something to move."""
    fs = ModelFs()
    times = perform(fs)
    states, wrong = 0, Counter[str]()
    for marks, files in crash_states(fs.log):
        first = ModelFs(files)
        start = len(first.log)
        queue = model_queue(first, FakeClock(times[len(marks)] + 0.5), SETTINGS)
        queue.replay()
        if len(first.log) > start:
            for _, again in crash_states(first.log, start):
                states += 1
                wrong.update(judge(_recovered(again, times[len(marks)] + 0.5), len(marks)))
    print(f"crash states of recovery {states}, violations {sum(wrong.values())}")  # noqa: T201 - the figure
    assert wrong == {}
    assert states > 300


# -- broken queues -----------------------------------------------------------------------------------------------------


def _no_sync(_: pytest.MonkeyPatch) -> type[ModelFs]:
    class NoSync(ModelFs):
        def sync(self, handle: int) -> None:
            """Forget it."""

    return NoSync


def _no_folder_sync(_: pytest.MonkeyPatch) -> type[ModelFs]:
    class NoFolderSync(ModelFs):
        def sync_folder(self, handle: int) -> None:
            """Forget it."""

    return NoFolderSync


def _in_place(patch: pytest.MonkeyPatch) -> type[ModelFs]:
    def write_file(self: Folders, path: str, _: str, data: bytes) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.fs.unlink(path)
        handle = self.fs.create(path)
        self.fs.write(handle, memoryview(data))
        self.fs.sync(handle)
        self.fs.close(handle)

    patch.setattr(Folders, "write_file", write_file)
    return ModelFs


def _unlink_before_append(patch: pytest.MonkeyPatch) -> type[ModelFs]:
    def bury(self: Core, record: Record, error: object, reason: Reason) -> None:
        self.remove(record.id)
        dead = record._replace(error=str(error), reason=reason, died=self.clock.wall())
        self.folders.write("dlq", record.id, encode(dead))

    patch.setattr(Core, "bury", bury)
    return ModelFs


def _rename_to_the_dead(patch: pytest.MonkeyPatch) -> type[ModelFs]:
    def bury(self: Core, record: Record, error: object, reason: Reason) -> None:
        self.save(record._replace(error=str(error), reason=reason, died=self.clock.wall()))
        with self.changing() as names:
            names.discard(record.id)
            name = f"{record.id}.wal"
            self.folders.fs.rename(self.folders.path("wal", name), self.folders.path("dlq", name))
        self.folders.sync("dlq")

    patch.setattr(Core, "bury", bury)
    return ModelFs


def _no_ledger(patch: pytest.MonkeyPatch) -> type[ModelFs]:
    patch.setattr(Ledger, "add", lambda *_: None)
    return ModelFs


def _ledger_without_sync(_: pytest.MonkeyPatch) -> type[ModelFs]:
    class NoLedgerSync(ModelFs):
        def sync(self, handle: int) -> None:
            if not self.handles[handle].path.endswith(".log"):
                super().sync(handle)

    return NoLedgerSync


def _wal_never_synced(patch: pytest.MonkeyPatch) -> type[ModelFs]:
    real = Folders.sync

    def sync(self: Folders, folder: str) -> None:
        if folder != "wal":
            real(self, folder)  # type: ignore[arg-type]

    patch.setattr(Folders, "sync", sync)
    return ModelFs


def _purge_without_sync(patch: pytest.MonkeyPatch) -> type[ModelFs]:
    def purge_dead(core: Core, id_: str | None) -> None:
        for each in core.folders.ids("dlq") if id_ is None else [id_]:
            core.folders.remove("dlq", each)
        core.folders.sync("dlq")

    patch.setattr(shelves, "purge_dead", purge_dead)
    return ModelFs


def _retry_without_sync(patch: pytest.MonkeyPatch) -> type[ModelFs]:
    def put_back(core: Core, folder: Literal["dlq", "expired"], id_: str) -> None:
        record = core.load(folder, id_)
        assert record is not None
        core.save(record._replace(attempts=0, reason=None, died=None))
        core.folders.remove(folder, id_)

    patch.setattr(shelves, "put_back", put_back)
    return ModelFs


def _dead_letter_does_not_win(patch: pytest.MonkeyPatch) -> type[ModelFs]:
    patch.setattr(Core, "settled_already", lambda self, id_: "done" if id_ in self.ledger else None)
    return ModelFs


BROKEN: dict[str, tuple[Break, str]] = {
    "no fsync of files": (_no_sync, "torn record"),
    "no fsync of folders": (_no_folder_sync, "absent"),
    "written in place": (_in_place, "torn record"),
    "unlink before append": (_unlink_before_append, "absent"),
    "rename to the dead letters": (_rename_to_the_dead, "absent"),
    "no ledger": (_no_ledger, "waiting:"),
    "ledger not synced": (_ledger_without_sync, "waiting:"),
    "wal/ not synced": (_wal_never_synced, "absent"),
    "purge before the removal is durable": (_purge_without_sync, "job 0 is waiting:0, not absent"),
    "retry of the dead not synced": (_retry_without_sync, "job 0 is dead, not waiting:0"),
    "the dead letter does not win": (_dead_letter_does_not_win, "+dead"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_queue_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rule that is left out shows in some state, as the damage that it is there to prevent."""
    break_, damage = BROKEN[name]
    fs = break_(monkeypatch)()
    with contextlib.suppress(AssertionError):
        # A broken queue may lose a job that a later step wants; what was logged up to there is judged.
        perform(fs)
    states, wrong = _judged(fs.log, [1.8e9 + 10 * number for number in range(len(STEPS) + 1)], damage)
    print(f"{name}: caught in state {states}")  # noqa: T201 - the figure
    assert any(damage in text for text in wrong), wrong
