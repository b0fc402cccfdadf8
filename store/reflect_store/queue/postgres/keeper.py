"""Beside a worker: its signs of life, news of jobs that others put, and what becomes of the jobs of workers that died.

A worker is dead when its last sign of life did not change for a while *as this process saw it*: neither a calendar that jumps nor
a server that was away for an hour makes the living look dead.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

import psycopg

from ...postgres._pool import Connection
from ..policy import QueueSettings
from ..record import CorruptError, NewerError, decode, encode
from .link import Link, rows

__all__ = ["Keeper", "Lease", "reap", "reap_long_silent"]

_TROUBLE: Final = 0.5
_LONG: Final = 10.0
"""Times `stalled` after which a worker is dead without having been watched."""


class Lease(NamedTuple):
    """How long a worker keeps its jobs; seconds. `beat` is between two signs of life, `stalled` without one is death."""

    beat: float = 10.0
    stalled: float = 30.0


def reap(link: Link, settings: QueueSettings, worker: int, sign: str) -> int:
    """Give the jobs of a dead worker back, a job that killed too many of them to the dead letters; return how many it had.

    Args:
        link: to the server.
        settings: how many workers a job may kill.
        worker: the dead one, 0 for jobs whose worker is gone.
        sign: its last sign of life; if it gave another one since, nothing happens.
    """
    with link.transaction() as connection:
        if worker and not rows(connection, "lock_worker", (worker, sign)):
            return 0
        found = rows(connection, "in_work", (worker,))
        for handle, id_, data, attempts, strikes in found:
            if id_ is None:
                rows(connection, "forget_row", (handle,))
            elif strikes + 1 >= settings.max_attempts:
                dead = _poisoned(connection, data, strikes + 1)
                rows(connection, "bury", (id_, handle, None, dead, attempts, "poison"))
            else:
                rows(connection, "strike", (id_,))
                rows(connection, "defer_again", (handle, rows(connection, "moment")[0][0]))
                rows(connection, "tell", (handle,))
        if worker:
            rows(connection, "unregister", (worker,))
    return len(found)


def _poisoned(connection: Connection, data: bytes, deaths: int) -> bytes:
    try:
        record = decode(bytes(data))
    except (CorruptError, NewerError):
        return data
    ((died,),) = rows(connection, "epoch")
    return encode(record._replace(error=f"its worker died {deaths} times", reason="poison", died=died))


def reap_long_silent(link: Link, settings: QueueSettings, stalled: float) -> None:
    """Give back the jobs of workers that were silent for so long that nobody needs to have watched them."""
    for worker, sign in link.ask("long_silent", (_LONG * stalled,)):
        reap(link, settings, worker, sign)


class Keeper:
    """The thread beside a worker, with a connection of its own.

    Args:
        link: to the server.
        settings: of the queue.
        lease: how long workers keep their jobs.
        worker: returns the number of this worker.
        lost: is called when the server does not know this worker any more.
        tell: is called when there may be something to do.
    """

    def __init__(
        self,
        link: Link,
        settings: QueueSettings,
        lease: Lease,
        worker: Callable[[], int],
        lost: Callable[[int], None],
        tell: Callable[[], None],
    ) -> None:
        self.listening = False
        self._link, self._settings, self._lease = link, settings, lease
        self._worker, self._lost, self._tell = worker, lost, tell
        self._seen: dict[int, tuple[str, float]] = {}
        self._stopping = threading.Event()
        self._connection: Connection | None = self._connected()
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="queue-keeper", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._wake.send(b".")
        self._thread.join()
        self._wake.close()
        self._woken.close()

    def _connected(self) -> Connection:
        connection = self._link.apart()
        try:
            with self._link.listening():
                rows(connection, "listen")
        except BaseException:
            connection.close()
            raise
        self.listening = True
        return connection

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._connection is None:
                    self._connection = self._connected()
                with self._link.listening():
                    self._watch(self._connection)
            except Exception:  # noqa: BLE001 - whatever it is: a worker that gives no signs of life would lose its jobs
                # What was not seen because the server was away is no sign of death.
                self._seen.clear()
                self._drop()
                self._stopping.wait(_TROUBLE)
        self._drop()

    def _drop(self) -> None:
        self.listening = False
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                connection.close()
        self._tell()

    def _watch(self, connection: Connection) -> None:
        """Give a sign of life, look after others, and listen until the next one is due."""
        me = self._worker()
        if not rows(connection, "beat", (me,)):
            self._lost(me)
        self._look(connection, me)
        self._tell()
        end = time.monotonic() + self._lease.beat
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while not self._stopping.is_set() and (left := end - time.monotonic()) > 0:
                # Reading raises where the connection was closed.
                if selector.select(left) and not self._stopping.is_set() and any(True for _ in connection.notifies(timeout=0)):
                    self._tell()

    def _look(self, connection: Connection, me: int) -> None:
        now, seen = time.monotonic(), {}
        for worker, sign in rows(connection, "holders", {"me": me}):
            known = self._seen.get(worker)
            since = known[1] if known is not None and known[0] == sign else now
            if now - since >= self._lease.stalled:
                reap(self._link, self._settings, worker, sign)
            else:
                seen[worker] = (sign, since)
        self._seen = seen
