"""What only a queue in a real folder shows: modes, foreign and damaged files, large payloads, a folder that goes away."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from reflect_store.queue import MOST_PAYLOAD, FileQueue, Job, QueueSettings, StoreError, encode, open_queue
from reflect_store.queue.ledger import line, lines
from reflect_store.queue.record import Record, frame, new_record

from .model import FakeClock
from .queues import job, middle

POSIX = pytest.mark.skipif(os.name != "posix", reason="modes, links and signals of POSIX")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a queue that is yet to be made."""
    return tmp_path / "deep" / "queue"


def _open(folder: Path, clock: FakeClock | None = None, settings: QueueSettings | None = None) -> FileQueue:
    return open_queue(folder, settings, clock=clock, rng=middle)


def _file(folder: Path, number: int = 0) -> Path:
    return folder / "wal" / f"{job(number).id}.wal"


@POSIX
def test_only_the_owner_can_read(folder: Path) -> None:
    """Files have mode 0600 and folders 0700, whatever the umask allows."""
    before = os.umask(0)
    try:
        with _open(folder) as queue:
            queue.put(job(0))
            queue.put(job(1))
            claim = queue.claim()
            assert claim is not None
            claim.dead("x")
            assert queue.claim() is not None
            paths = [folder, *folder.rglob("*")]
            modes = {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_dir()}
            assert modes == {0o700}
            assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_file()} == {0o600}
    finally:
        os.umask(before)


def test_a_job_is_a_file_and_its_end_removes_it(folder: Path) -> None:
    """R-q1: `wal/<id>.wal`; ACK is an unlink and leaves nothing but a line in the ledger."""
    with _open(folder) as queue:
        queue.put(job())
        assert [path.name for path in (folder / "wal").iterdir()] == [f"{job().id}.wal"]
        claim = queue.claim()
        assert claim is not None
        claim.ack()
    assert [*folder.rglob("*.wal"), *folder.rglob("*.tmp")] == []
    assert [id_ for id_, _ in lines((folder / "done.log").read_bytes())] == [job().id]


@pytest.mark.parametrize("size", [1, 4_085, 5_000, 1_000_000])
def test_payloads_survive_a_restart(folder: Path, size: int) -> None:
    """R-q1: also those that a short read would cut."""
    with _open(folder) as queue:
        queue.put(job(0, "x" * size))
    with _open(folder) as queue:
        claim = queue.claim()
        assert claim is not None
        assert claim.job.payload == "x" * size


def test_sixteen_mebibytes_survive_a_restart_and_a_retry(folder: Path) -> None:
    """R-q1: a record of exactly 16 MiB is taken in, tried, dies, and is put back; a byte more is refused."""
    empty = len(encode(new_record(job(0, ""), 1.8e9))) - 16
    with _open(folder, FakeClock()) as queue:
        queue.put(job(0, "x" * (MOST_PAYLOAD - empty)))
        assert _file(folder).stat().st_size == MOST_PAYLOAD + 16
        with pytest.raises(StoreError, match="queue-payload"):
            queue.put(job(1, "x" * (MOST_PAYLOAD - empty + 1)))
    for settle in ("retry", "dead"):
        with _open(folder, FakeClock(1.8e9 + 999)) as queue:
            claim = queue.claim(5.0)
            assert claim is not None
            assert len(claim.job.payload) == MOST_PAYLOAD - empty
            assert getattr(claim, settle)("e" * 5_000) in {"scheduled", "dead"}
    with _open(folder, FakeClock()) as queue:
        queue.retry_dead(job(0).id)
        assert queue.claim() is not None
        assert queue.counters.wal_corruption == 0


def _damages() -> dict[str, bytes]:
    whole = encode(new_record(job(), 1.8e9))
    flipped = bytearray(whole)
    flipped[40] ^= 1
    return {
        "zero length": b"",
        "torn": whole[:-9],
        "all zeros": bytes(len(whole)),
        "one bit flipped": bytes(flipped),
        "longer than it says": whole + b"\n",
        "another job's record": encode(new_record(job(1), 1.8e9)),
        "sound frame, no job": frame(b'{"v":1}'),
        "foreign": b"\x7fELF" + bytes(300),
    }


@pytest.mark.parametrize("damage", _damages())
def test_damaged_records_are_set_aside_and_counted(folder: Path, damage: str) -> None:
    """R-q7: quarantined with every byte, never deleted, never run; the jobs beside it run."""
    content = _damages()[damage]
    with _open(folder) as queue:
        queue.put(job(5))
        _file(folder).write_bytes(content)
        assert queue.replay().corrupt == 1
        (kept,) = queue.quarantined()
        assert (kept.name, kept.size, queue.counters.wal_corruption) == (job().id, len(content), 1)
        assert kept.problem
        assert (folder / "quarantine" / f"{job().id}.wal").read_bytes() == content
        claim = queue.claim()
        assert claim is not None
        assert (claim.id, queue.claim()) == (job(5).id, None)


@pytest.mark.parametrize("place", ["dlq", "expired"])
def test_damage_among_the_dead_is_set_aside_too(folder: Path, place: str) -> None:
    """R-q7: a list never deletes what it cannot read."""
    with _open(folder) as queue:
        (folder / place / f"{job().id}.wal").write_bytes(b"LSN1 and no more")
        assert (queue.dead_letters(), queue.expired()) == ((), ())
        assert [kept.size for kept in queue.quarantined()] == [16]


def test_a_purge_deletes_no_damaged_file(folder: Path) -> None:
    """R-q7: purging all dead letters sets aside what is damaged among them, and leaves what a later program wrote."""
    with _open(folder) as queue:
        (folder / "dlq" / f"{job(0).id}.wal").write_bytes(b"damaged")
        (folder / "dlq" / f"{job(1).id}.wal").write_bytes(frame(b'{"v":2}'))
        assert queue.purge_dead() == 0
        assert [kept.name for kept in queue.quarantined()] == [job(0).id]
        assert (folder / "dlq" / f"{job(1).id}.wal").exists()


def test_two_damaged_files_of_one_name_are_both_kept(folder: Path) -> None:
    """Quarantine overwrites nothing."""
    with _open(folder) as queue:
        for content in (b"first", b"second"):
            _file(folder).write_bytes(content)
            queue.drain()
        assert sorted(path.read_bytes() for path in (folder / "quarantine").iterdir()) == [b"first", b"second"]


def test_a_file_that_is_too_great_is_set_aside_unread(folder: Path) -> None:
    """A foreign file of any size is renamed, not copied."""
    with _open(folder) as queue:
        with _file(folder).open("wb") as file:
            file.truncate(MOST_PAYLOAD * 4)
        assert queue.replay().corrupt == 1
        assert not _file(folder).exists()


@POSIX
def test_what_is_no_file_is_left_alone(folder: Path, tmp_path: Path) -> None:
    """A folder, a pipe, a link out of the folder, other names: not followed, not opened, not moved, not run."""
    secret = tmp_path / "secret"
    secret.write_bytes(encode(new_record(job(3), 1.8e9)))
    with _open(folder) as queue:
        wal = folder / "wal"
        (wal / f"{'a' * 16}.wal").mkdir()
        os.mkfifo(wal / f"{'b' * 16}.wal")
        (wal / f"{job(3).id}.wal").symlink_to(secret)
        (wal / "README").write_text("x")
        (wal / ".DS_Store").write_text("x")
        names = sorted(path.name for path in wal.iterdir())
        found = queue.replay()
        assert (found.waiting, found.corrupt, found.unreadable, queue.claim()) == (0, 0, 3, None)
        queue.put(job())
        assert queue.claim() is not None
        assert sorted(path.name for path in wal.iterdir()) == sorted([*names, _file(folder).name])
        assert queue.counters.unreadable == 3


def test_a_record_of_a_later_version_is_left_alone(folder: Path) -> None:
    """A newer program's record is neither run nor moved."""
    with _open(folder) as queue:
        _file(folder).write_bytes(frame(b'{"v":2}'))
        assert (queue.replay().unreadable, queue.claim(), _file(folder).exists()) == (1, None, True)


def test_records_that_were_removed_by_hand_are_forgotten(folder: Path) -> None:
    """A worker that knew many jobs whose files someone deleted goes on with the others."""
    with _open(folder) as queue:
        for number in range(250):
            (folder / "wal" / f"{job(number).id}.wal").write_bytes(encode(new_record(job(number), queue._clock.wall())))
        assert queue.drain().waiting == 250
        for path in (folder / "wal").iterdir():
            path.unlink()
        assert queue.claim() is None
        assert queue.put(job(300)).outcome == "enqueued"
        assert (queue.claim() is not None, queue.claim(), queue.depth()) == (True, None, 1)


def test_leftovers_of_a_killed_writer_are_swept(folder: Path) -> None:
    """An unfinished file is removed at replay, and in nobody's way before."""
    with _open(folder) as queue:
        leftover = folder / "wal" / f".{job().id}.tmp"
        leftover.write_bytes(b"half")
        assert queue.put(job()).outcome == "enqueued"
        leftover.write_bytes(b"half")
        assert queue.replay().swept == 1
        assert not leftover.exists()


def test_a_record_from_another_machine_is_taken_in(folder: Path) -> None:
    """R-k4: what is copied into `wal/` is found by drain."""
    with _open(folder) as queue:
        assert queue.claim() is None
        _file(folder, 7).write_bytes(encode(new_record(job(7), 1.0)._replace(created=queue._clock.wall())))
        assert queue.claim() is None
        assert queue.drain().waiting == 1
        assert queue.claim() is not None


def test_a_record_of_a_done_job_does_not_run(folder: Path) -> None:
    """A record that comes back with a power cut after its ACK is removed, at replay and at claim."""
    with _open(folder) as queue:
        queue.put(job())
        whole = _file(folder).read_bytes()
        claim = queue.claim()
        assert claim is not None
        claim.ack()
        _file(folder).write_bytes(whole)
        assert (queue.drain().done, queue.claim(), _file(folder).exists()) == (1, None, False)


def test_a_torn_line_of_the_ledger_does_no_harm(folder: Path) -> None:
    """The line after a torn one is read, and a line with a wrong checksum is not."""
    with _open(folder) as queue:
        queue.put(job(0))
        forged = line(job(1).id, 5).replace(b"5\n", b"6\n")
        (folder / "done.log").write_bytes(forged + line(job(2).id, 5)[:20])
        claim = queue.claim()
        assert claim is not None
        claim.ack()
    with _open(folder) as queue:
        assert [queue.done(job(number).id) for number in range(3)] == [True, False, False]


def test_the_ledger_is_compacted_by_age(folder: Path) -> None:
    """Lines older than 30 days go once they are many; the latest 10,000 stay, also when the calendar jumps."""
    now = 1.8e9
    old = b"".join(line(f"{number:016x}", int(now) - 90 * 86_400) for number in range(25_000))
    with _open(folder, FakeClock(now)) as queue:
        (folder / "done.log").write_bytes(old + line(job().id, int(now)))
        queue.replay()
        assert len(list(lines((folder / "done.log").read_bytes()))) == 10_000
        assert (queue.done(job().id), queue.put(job()).outcome) == (True, "done")
    with _open(folder, FakeClock(now + 9e9)) as queue:
        queue.replay()
        assert queue.done(job().id)


def test_other_processes_see_a_compacted_ledger(folder: Path) -> None:
    """A queue that has the old file open reads the new one."""
    one, two = _open(folder), _open(folder)
    two.put(job(0))
    assert not one.done(job(0).id)
    two._core.ledger._rewrite({job(1).id: 5})
    assert one.done(job(1).id)
    claim = one.claim()
    assert claim is not None
    claim.ack()
    assert two.done(job(0).id)
    one.close()
    two.close()


@POSIX
@pytest.mark.parametrize("what", ["put", "claim", "ack", "jobs"])
def test_a_folder_that_is_removed_is_a_clear_error(folder: Path, what: str) -> None:
    """The folder goes while a queue is open: every use says so, also when someone makes a new one there."""
    queue = _open(folder)
    queue.put(job())
    claim = queue.claim()
    assert claim is not None
    shutil.rmtree(folder)
    uses = {"put": lambda: queue.put(job(1)), "claim": lambda: queue.claim(1.0), "ack": claim.ack, "jobs": queue.jobs}
    if what == "claim":
        queue._core.look_again()
        queue._core.loaded = None
    with pytest.raises(StoreError, match="queue-gone"):
        uses[what]()
    with _open(folder) as other:
        other.put(job(2))
        with pytest.raises(StoreError, match="queue-gone"):
            queue.put(job(3))
    queue.close()


@POSIX
def test_a_worker_that_waits_sees_that_the_folder_is_gone(folder: Path) -> None:
    """A claim that waits ends with an error, not with its timeout."""
    queue = _open(folder, FakeClock())
    assert queue.claim() is None
    shutil.rmtree(folder)
    with pytest.raises(StoreError, match="queue-gone"):
        queue.claim(100.0)
    queue.close()


def test_a_job_whose_workers_die_is_poison(folder: Path) -> None:
    """R-q3: five holders that died with the job make it a dead letter; one that gave it back does not count."""
    clock = FakeClock()
    with _open(folder, clock) as queue:
        queue.put(job())
    lease = folder / "lease" / f"{job().id}.wal"
    lease.write_bytes(bytes([4]))
    with _open(folder, clock) as queue:
        claim = queue.claim()
        assert claim is not None
        assert lease.read_bytes() == bytes([5])
        # As if it had been killed: the file stays, the lock goes.
        os.close(claim._lease.handle)
        queue._core.held.clear()
    with _open(folder, clock) as queue:
        assert queue.claim() is None
        (letter,) = queue.dead_letters()
        assert (letter.reason, letter.error) == ("poison", "its worker died 5 times")
        assert not lease.exists()


def test_a_put_needs_no_heavy_module(folder: Path) -> None:
    """R-P1: what a hook imports to put a job is the standard library's light part."""
    code = (
        "import sys\nfrom reflect_store.queue import Job, open_queue\n"
        f"print(open_queue({str(folder)!r}).put(Job('t', 'error', 'a', 'failed')).outcome)\n"
        "print([name for name in ('sqlite3', 'orjson', 'jsonschema_rs', 'multiprocessing', 'dataclasses', 'pathlib', 'random',"
        " 'subprocess', 'asyncio', 'inspect', 'reflect_gate') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=_paths())
    assert done.stdout.split("\n")[:2] == ["enqueued", "[]"]


def _paths() -> dict[str, str]:
    # Without `site`, whose own imports (of editable installs) are not the queue's.
    import reflect_store

    return {**os.environ, "PYTHONPATH": str(Path(reflect_store.__file__).parents[1])}


def test_a_replay_beyond_the_capacity_is_taken_in(folder: Path) -> None:
    """R-q6: a limit of new jobs, not of those that are there."""
    with _open(folder) as queue:
        for number in range(4):
            queue.put(job(number))
    with _open(folder, settings=QueueSettings(capacity=2, block_timeout=0)) as queue:
        assert (queue.replay().waiting, queue.put(job(9)).outcome) == (4, "full")


def test_records_are_what_the_docs_say(folder: Path) -> None:
    """The document inside a frame has these fields."""
    with _open(folder, FakeClock()) as queue:
        queue.put(Job("t", "error", "a", "failed", {"x": 1}))
    (path,) = (folder / "wal").iterdir()
    assert path.read_bytes()[12:-4].decode() == (
        f'{{"v":1,"id":"{path.stem}","job":{{"task":"t","trigger":"error","attempt":"a","outcome":"failed","payload":{{"x":1}}}},'
        '"created":1800000000.0,"next":1800000000.0,"attempts":0,"error":null,"reason":null,"died":null}'
    )
    assert Record._fields == ("id", "job", "created", "next", "attempts", "error", "reason", "died")
