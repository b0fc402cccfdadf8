"""What a queue on a server does beyond what every queue does: dead workers, transactions of others, roles, damage."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reflect_store.queue import Claim, Job, PermanentError, QueueSettings, StoreError, TransientError, open_at
from reflect_store.queue.pool import Pool, PoolSettings
from reflect_store.queue.record import decode, encode, frame

from .queues import job, middle, where

if TYPE_CHECKING:
    from reflect_store.queue.postgres.server import ServerQueue

    from .servers import Database

PATIENCE = 20.0
CORRUPT, NEWER = b"LSN1 and nothing more", b'{"v": 2}'


@pytest.fixture
def database(queue_server: Database) -> Database:
    """The database of the queue, without jobs; the server goes by its own calendar."""
    queue_server.empty()
    return queue_server


def _claimed(queue: ServerQueue, timeout: float = PATIENCE) -> Claim:
    claim = queue.claim(timeout)
    assert claim is not None
    return claim


def _die(queue: ServerQueue) -> None:
    """Let a worker give no further sign of life, and give nothing back."""
    keeper, queue._keeper = queue._keeper, None
    assert keeper is not None
    keeper.stop()
    queue.held.clear()
    queue._worker = None
    queue.close()


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def _lease(beat: float = 0.02, stalled: float = 0.15) -> Any:
    from reflect_store.queue.postgres.keeper import Lease

    return Lease(beat, stalled)


def test_the_job_of_a_dead_worker_is_given_to_another(database: Database) -> None:
    """R-q8: whoever gives no sign of life loses the job; it runs as the attempt that it was."""
    with database.open(lease=_lease()) as heir:
        heir.put(job())
        dead = database.open(lease=_lease())
        _claimed(dead)
        _die(dead)
        claim = _claimed(heir)
        assert (claim.id, claim.attempt) == (job().id, 1)
        claim.ack()
        assert where(heir, job().id) == "done"


def test_a_worker_that_lives_keeps_its_job(database: Database) -> None:
    """A job that takes many times as long as a worker may be silent is given to nobody else."""
    with database.open(lease=_lease()) as holder, database.open(lease=_lease()) as other:
        holder.put(job())
        claim = _claimed(holder)
        assert other.claim(0.6) is None
        claim.ack()
        assert where(other, job().id) == "done"


def test_a_job_that_kills_five_workers_is_a_dead_letter(database: Database) -> None:
    """R-q5: the deaths are counted, not the attempts, and the fifth one is the last."""
    with database.open(lease=_lease()) as looker:
        looker.put(job())
        for deaths in range(1, 6):
            worker = database.open(lease=_lease())
            assert _claimed(worker).attempt == 1
            _die(worker)
            if deaths < 5:
                claim = _claimed(looker)
                # Giving it back in order would forget the deaths.
                looker.held.clear()
                with database.connected() as connection:
                    connection.execute(
                        "SELECT reflect_gate_queue.procrastinate_retry_job_v2(id, now(), NULL, NULL, NULL) "
                        "FROM reflect_gate_queue.procrastinate_jobs WHERE status = 'doing'"
                    )
                assert claim.attempt == 1
        _until(lambda: bool(looker.dead_letters()))
        (letter,) = looker.dead_letters()
    assert (letter.reason, letter.attempts, letter.error) == ("poison", 0, "its worker died 5 times")


def test_a_worker_that_was_thought_dead_learns_it(database: Database) -> None:
    """The heir's answer counts: the first worker is told that the job is no longer its own, and goes on under a new number."""
    with database.open(lease=_lease()) as heir, database.open(lease=_lease(beat=PATIENCE)) as slow:
        heir.put(job())
        late = _claimed(slow)
        claim = _claimed(heir)
        with pytest.raises(StoreError, match="queue-claim"):
            late.retry("busy")
        claim.ack()
        heir.put(job(1))
        slow._lost(slow._me())
        assert _claimed(slow).id == job(1).id


def test_an_answer_that_was_lost_is_not_asked_for_twice(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the server did what it was asked and nobody heard: an acknowledgement can be repeated, a job taken is given back."""
    with database.open() as queue:
        queue.put(job())
        ask = queue.link.ask
        _deaf(monkeypatch, queue, "take")
        with pytest.raises(StoreError, match="queue-unreachable"):
            queue.claim()
        monkeypatch.setattr(queue.link, "ask", ask)
        claim = _claimed(queue)
        _deaf(monkeypatch, queue, "ack")
        with pytest.raises(StoreError, match="queue-unreachable"):
            claim.ack()
        monkeypatch.setattr(queue.link, "ask", ask)
        claim.ack()
        assert where(queue, job().id) == "done"


def _deaf(monkeypatch: pytest.MonkeyPatch, queue: ServerQueue, name: str) -> None:
    ask = queue.link.ask

    def deaf(said: str, parameters: Any = None) -> Any:
        answer = ask(said, parameters)
        if said == name:
            raise StoreError("queue-unreachable", "the connection was lost")
        return answer

    monkeypatch.setattr(queue.link, "ask", deaf)


def test_a_job_is_there_if_the_callers_transaction_is(database: Database) -> None:
    """Put within a transaction: rolled back it never was; committed it waits, and an equal one is a duplicate."""
    from psycopg.rows import dict_row

    with database.open() as queue, database.connected() as connection:
        with suppress(KeyError), connection.transaction():
            assert queue.put_within(connection, job()).outcome == "enqueued"
            raise KeyError
        assert (queue.depth(), queue.done(job().id)) == (0, False)
        with connection.transaction():
            queue.put_within(connection, job())
            assert queue.claim() is None
        assert queue.put(job()).outcome == "duplicate"
        _claimed(queue).ack()
        connection.row_factory = dict_row  # type: ignore[assignment]
        with connection.transaction():
            assert queue.put_within(connection, job()).outcome == "done"


def test_racing_puts_keep_the_capacity(database: Database) -> None:
    """R-q6: writers that put at the same moment do not exceed it, and the same job is taken in once."""
    settings = QueueSettings(capacity=5, block_timeout=0)
    outcomes: list[str] = []

    def put(first: int) -> None:
        with database.open(settings) as queue:
            outcomes.extend(queue.put(job((first + number) % 8)).outcome for number in range(8))

    threads = [threading.Thread(target=put, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.open() as queue:
        assert (queue.depth(), outcomes.count("enqueued")) == (5, 5)


def test_who_waits_is_told_of_a_job(database: Database) -> None:
    """A claim that waits is woken by a put of another, long before it would look by itself."""
    found: list[Claim | None] = []
    with database.open(lease=_lease(beat=2 * PATIENCE)) as worker, database.open() as other:
        worker.claim()
        thread = threading.Thread(target=lambda: found.append(worker.claim(2 * PATIENCE)))
        thread.start()
        other.put(job())
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert [claim.id for claim in found if claim is not None] == [job().id]


def test_a_pool_works_on_a_server(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-q3, R-q4: every outcome ends where it should, as in a folder."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))  # type: ignore[no-untyped-call,unused-ignore]
    names = ["succeed", "skip", "busy", "refuse", "park"]
    jobs = [Job(name, "error", name, "failed", {"do": name, "note": str(tmp_path / "note")}) for name in names]
    with database.open() as queue:
        for each in jobs:
            queue.put(each)
        Pool(queue, "queue_handlers:obey", PoolSettings(workers=1)).once()
        assert [where(queue, each.id) for each in jobs] == ["done", "done", "waiting:1", "dead", "waiting:0"]
        assert queue.counters.attempts == {"success": 1, "skipped": 1, "transient": 1, "permanent": 1}


def test_a_pool_that_stops_gives_back_what_does_not_end(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-q8: after the drain a job is ended and given back at once, not when the worker is thought dead; this costs no attempt."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))  # type: ignore[no-untyped-call,unused-ignore]
    note = tmp_path / "note"
    hanging = Job("hang", "error", "hang", "failed", {"do": "hang", "note": str(note)})
    with database.open() as queue, database.open() as other:
        queue.put(hanging)
        pool = Pool(queue, "queue_handlers:obey", PoolSettings(workers=1))
        pool.start()
        _until(note.exists)
        assert pool.stop(0.1) == (0, 1)
        assert _claimed(other, 0.0).attempt == 1


@pytest.mark.parametrize(("data", "place"), [(CORRUPT, "quarantine"), (NEWER, "waiting")])
def test_what_is_no_record_is_kept(database: Database, data: bytes, place: str) -> None:
    """Damage goes to quarantine with every byte, a record of a later version stays and is no job; the next one runs."""
    written = frame(data) if data == NEWER else data
    with database.open() as queue:
        queue.put(job())
        with database.connected() as connection:
            connection.execute("UPDATE reflect_gate_queue.jobs SET record = %s", (written,))
        queue.put(job(1))
        assert _claimed(queue).id == job(1).id
        quarantined = [(each.name, each.size) for each in queue.quarantined()]
        assert quarantined == ([(job().id, len(written))] if place == "quarantine" else [])
        assert queue.depth() == (1 if place == "quarantine" else 2)
        assert (queue.counters.wal_corruption, queue.counters.unreadable) == ((1, 0) if place == "quarantine" else (0, 1))


def test_roles_may_what_they_need(database: Database) -> None:
    """A member of the writers puts and works; another role is told that it may not, and makes nothing."""
    import psycopg

    with psycopg.connect(database.server.local(), autocommit=True) as connection:
        for role in ("reflect_gate_writer", "queue_writer", "queue_stranger"):
            with suppress(psycopg.errors.DuplicateObject):
                connection.execute(f"CREATE ROLE {role} LOGIN".encode())
        connection.execute("GRANT reflect_gate_writer TO queue_writer")
    database.grant()
    with open_at(database.server.local("queue_writer", database.name)) as queue:
        queue.put(job())
        claim = queue.claim()
        assert claim is not None
        claim.retry("busy", after=0)
    with pytest.raises(StoreError, match="queue-denied"):
        open_at(database.server.local("queue_stranger", database.name))


@pytest.mark.parametrize(
    ("change", "back", "code"),
    [
        ("UPDATE reflect_gate_queue.layout SET number = 99", "UPDATE reflect_gate_queue.layout SET number = 1", "queue-newer"),
        (
            "ALTER TABLE reflect_gate_queue.layout RENAME TO other",
            "ALTER TABLE reflect_gate_queue.other RENAME TO layout",
            "queue-foreign",
        ),
    ],
)
def test_what_this_version_does_not_know_is_left_alone(database: Database, change: str, back: str, code: str) -> None:
    """A newer layout, and a schema of another program, are refused."""
    with database.connected() as connection:
        connection.execute(change.encode())
        try:
            with pytest.raises(StoreError, match=code):
                database.open()
        finally:
            connection.execute(back.encode())


def test_no_password_is_told(database: Database) -> None:
    """Neither the place of a queue nor an error holds the password of its address."""
    url = database.server.url(password="s3cret-word")  # noqa: S106 - what must not be told
    with pytest.raises(StoreError, match="queue-denied") as caught:
        open_at(url)
    assert "s3cret-word" not in str(caught.value)
    with open_at(database.server.url(database=database.name)) as queue:
        assert database.server.password not in queue.place
        assert queue.place.startswith("postgresql://postgres@127.0.0.1")


def test_an_address_that_is_none_is_refused() -> None:
    """It is not repeated, since it may hold a password."""
    pytest.importorskip("procrastinate")
    with pytest.raises(StoreError, match="queue-settings") as caught:
        open_at("postgresql://%%%?x")
    assert "%%%" not in str(caught.value)


def test_the_retry_strategy_is_the_seeds() -> None:
    """R-q4: as procrastinate sees it: 1, 2, 4, 8 seconds and no more; none after a permanent error; what was asked for counts."""
    pytest.importorskip("procrastinate")
    from reflect_store.queue.postgres.engine import SeedRetry, decide

    strategy = SeedRetry(QueueSettings(), middle, lambda: 1000.0)
    told = [decide(strategy, TransientError("busy"), 1, failed) for failed in range(5)]
    assert [moment.timestamp() - 1000.0 if moment else None for moment in told] == [1.0, 2.0, 4.0, 8.0, None]
    asked = decide(strategy, TransientError("busy", retry_after=60.0), 1, 0)
    assert asked is not None
    assert asked.timestamp() == 1060.0
    assert decide(strategy, PermanentError("no"), 1, 0) is None


def test_a_record_is_the_same_bytes_as_in_a_folder(database: Database) -> None:
    """What a move carries over is the record of the folder, byte for byte."""
    with database.open() as queue:
        queue.put(job())
        with database.connected() as connection:
            ((data,),) = connection.execute("SELECT record FROM reflect_gate_queue.jobs").fetchall()
    record = decode(bytes(data))
    assert (encode(record), record.job) == (bytes(data), job())


def test_sizes_do_not_read_what_was_done(database: Database) -> None:
    """A job is known for ever; how many wait is asked of indexes that hold no other."""
    from reflect_store.queue.postgres.link import SQL

    with database.connected() as connection:
        connection.execute(
            "INSERT INTO reflect_gate_queue.jobs (id, state, created, ended)"
            " SELECT substr(md5(number::text), 1, 16), 'done', number, number FROM generate_series(1, 20000) AS number"
        )
        connection.execute("ANALYZE reflect_gate_queue.jobs")
        for name in ("depth", "sizes"):
            plan = "\n".join(line for (line,) in connection.execute(f"EXPLAIN {SQL[name]}".encode()))
            assert "Seq Scan on jobs" not in plan, plan
            assert "jobs_waiting" in plan
    with database.open() as queue:
        assert (queue.depth(), queue.gauges()) == (0, (0, 0, 0, 0, 0, 0.0))
