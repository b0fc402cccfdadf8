"""The durable queue: a file a job, kept before it is acknowledged, run until it succeeds or is a dead letter.

`open_queue(folder)` opens it for any number of processes at once; `pool` runs its jobs in processes that can be ended.
"""

from __future__ import annotations

from ..errors import StoreError
from .claims import FileClaim
from .clock import Clock, SystemClock
from .counters import Counters, Gauges
from .files import FileQueue, open_queue
from .fs import Fs, LocalFs
from .job import Job, job_id
from .opening import open_at
from .policy import Parked, PermanentError, PersistError, QueueSettings, Skip, TransientError, backoff, classify
from .protocol import Claim, Kept, Listed, Put, Queue, Replay
from .record import MOST_PAYLOAD, CorruptError, Record, decode, encode

__all__ = [
    "MOST_PAYLOAD",
    "Claim",
    "Clock",
    "CorruptError",
    "Counters",
    "FileClaim",
    "FileQueue",
    "Fs",
    "Gauges",
    "Job",
    "Kept",
    "Listed",
    "LocalFs",
    "Parked",
    "PermanentError",
    "PersistError",
    "Put",
    "Queue",
    "QueueSettings",
    "Record",
    "Replay",
    "Skip",
    "StoreError",
    "SystemClock",
    "TransientError",
    "backoff",
    "classify",
    "decode",
    "encode",
    "job_id",
    "open_at",
    "open_queue",
]
