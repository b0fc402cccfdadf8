"""Where chunks are judged: in this process, by worker processes of this machine, or by a Dask cluster that is there already.

Dask gives what a killed worker had begun to another, and a worker that was started here is started again. The scheduler that is
started here listens on the loopback interface alone, and speaks TLS with keys of its own: whoever can connect to a scheduler can
run code as its owner.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Final, TypeAlias

from ..errors import ReflectGateError
from . import preload
from ._arrow import missing
from .working import Done, Task, work

__all__ = ["LOCAL", "PROCESSES", "Run", "Where", "is_scheduler", "scheduler"]

LOCAL: Final = "local"
PROCESSES: Final = "processes"
_ADDRESSES: Final = ("tcp://", "tls://")

_SECONDS: Final = 30
"""How long a scheduler at an address may take to answer."""

_SETTINGS: Final = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # Looks at what a worker does a hundred times a second, for a dashboard that is not there.
    "distributed.worker.profile.enabled": False,
}

Run: TypeAlias = Callable[[Sequence[Task]], Iterator[tuple[int, Done]]]
"""Does tasks, and yields the number of each with what came of it, in whatever order they end."""

Where: TypeAlias = Callable[[], AbstractContextManager[Run]]
"""Opens what does tasks."""


def is_scheduler(name: str) -> bool:
    """Return whether `name` says where to judge."""
    return name in {LOCAL, PROCESSES} or name.startswith(_ADDRESSES)


@contextmanager
def scheduler(name: str, jobs: int) -> Iterator[Run]:
    """Yield what does tasks; `jobs` is how many worker processes are started, where any are.

    Raises:
        ReflectGateError: `bulk-extra`, `bulk-scheduler`; what a task raises; `bulk-lost` where a task ends every worker.
    """
    if name == LOCAL:
        yield _here
        return
    try:
        import distributed
    except ImportError:
        raise missing() from None
    with _quiet(), _client(distributed, name, jobs) as client:
        yield lambda tasks: _spread(distributed, client, tasks)


def _here(tasks: Sequence[Task]) -> Iterator[tuple[int, Done]]:
    return enumerate(map(work, tasks))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from logging what is told as an error of the run."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _client(distributed: Any, name: str, jobs: int) -> Iterator[Any]:
    if name != PROCESSES:
        try:
            client = distributed.Client(name, timeout=_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            told = " ".join(str(error).split()).replace("`", "'")
            raise ReflectGateError("bulk-scheduler", f"cannot reach the scheduler `{name}`: {told[:200]}") from None
        with client:
            yield client
        return
    import dask

    with (
        tempfile.TemporaryDirectory(prefix="reflect-gate-", ignore_cleanup_errors=True) as folder,
        dask.config.set(_SETTINGS),
        _cluster(distributed, jobs, folder) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _cluster(distributed: Any, jobs: int, folder: str) -> Any:
    try:
        security = distributed.Security.temporary()
    except ImportError:
        raise missing() from None
    cluster = partial(
        distributed.LocalCluster,
        n_workers=jobs,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        protocol="tls",
        security=security,
        dashboard_address=None,
        # Without a dashboard an HTTP server is there all the same: not on its own port, and with nothing to ask for.
        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        local_directory=folder,
        preload=preload.__name__,
        # Memory is bounded by the row group; a pause for what others on the machine use would only cost time.
        memory_limit=0,
        silence_logs=logging.CRITICAL,
    )
    try:
        return cluster()
    except (RuntimeError, OSError) as error:
        told = " ".join(str(error).split()).replace("`", "'")
        raise ReflectGateError("bulk-scheduler", f"cannot start {jobs} worker processes: {told[:200]}") from None


def _spread(distributed: Any, client: Any, tasks: Sequence[Task]) -> Iterator[tuple[int, Done]]:
    futures = client.map(work, tasks, pure=False)
    number = {future.key: index for index, future in enumerate(futures)}
    try:
        for future in distributed.as_completed(futures, loop=client.loop):
            try:
                yield number[future.key], future.result()
            except distributed.KilledWorker:
                chunk = tasks[number[future.key]].chunk
                message = f"row group {chunk.group} of `{chunk.file}` ended every worker that was given it"
                raise ReflectGateError("bulk-lost", message) from None
            except (distributed.CancelledError, OSError) as error:
                raise ReflectGateError("bulk-scheduler", f"the scheduler was lost: {type(error).__name__}") from None
    finally:
        client.cancel(futures)
