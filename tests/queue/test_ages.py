"""Sizes of a folder at a cost that does not grow with its jobs."""

from __future__ import annotations

import pytest

from reflect_store.queue.ages import MOST_LOOKED_AT
from reflect_store.queue.folder import Folders

from .model import FakeClock, ModelFs
from .queues import job, model_queue


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The records that are read from now on."""
    found: list[str] = []
    plain = Folders.read

    def noted(self: Folders, folder: str, name: str, most: int) -> bytes | None:
        found.append(name)
        return plain(self, folder, name, most)  # type: ignore[arg-type] # the same as was given

    monkeypatch.setattr(Folders, "read", noted)
    return found


def test_a_look_reads_a_bounded_number_of_records(read: list[str]) -> None:
    """However many jobs wait; while nothing changes, none at all."""
    fs, clock = ModelFs(), FakeClock()
    queue = model_queue(fs, clock)
    for number in range(MOST_LOOKED_AT + 20):
        queue.put(job(number))
    read.clear()
    clock.sleep(60)
    found = queue.gauges()
    assert (found.queue_depth, found.queue_ready) == (MOST_LOOKED_AT + 20, MOST_LOOKED_AT + 20)
    assert found.oldest_job_age_seconds == 60
    assert len(read) == MOST_LOOKED_AT
    assert queue.gauges() == found
    assert len(read) == MOST_LOOKED_AT


def test_damage_is_passed_over(read: list[str]) -> None:
    """A record that cannot be read counts as before, and a look neither moves it nor fails on it."""
    fs, clock = ModelFs(), FakeClock()
    queue = model_queue(fs, clock)
    queue.put(job(0))
    queue.put(job(1))
    with queue.core.mutex:
        queue.core.folders.write("wal", job(1).id, b"LSN1 and no more")
        queue.core.mutex.advance()
    clock.sleep(5)
    assert queue.gauges()[:4] == (2, 2, 0, 2)
    assert queue.gauges().oldest_job_age_seconds == 5
    assert read
    assert queue.quarantined() == ()
