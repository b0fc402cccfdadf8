"""The process that runs jobs for a pool: it calls the handler, says what came of it, and is killed when it takes too long."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from typing import Any, Final, TypeAlias

from .job import Job
from .policy import Parked, PersistError, Skip, classify, retry_after
from .record import short

__all__ = ["Answer", "Handler", "load", "serve"]

Handler: TypeAlias = Callable[[Job], object]
Answer: TypeAlias = tuple[str, str, float | None]
"""The outcome (`ready`, `unusable`, or `success`, `skipped`, `parked`, `persist`, `transient`, `permanent`), its text, and the
seconds to wait."""

_ORPHAN: Final = 70


def load(name: str) -> Handler:
    """Return the callable that `package.module:name` names.

    Raises:
        ImportError, AttributeError, TypeError: where there is none.
    """
    module, _, attribute = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"`{name}` cannot be called")
    handler: Handler = found
    return handler


def serve(jobs: Connection, life: Connection, name: str, path: list[str]) -> None:
    """Run jobs until the pool hangs up.

    Args:
        jobs: brings a job, and whether the handle of its lease follows; takes an `Answer`.
        life: nothing comes over it; its end says that the pool is gone.
        name: the handler.
        path: where the pool finds modules.
    """
    # A terminal or a service manager signals every process; the pool decides when a job ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if hasattr(os, "setsid"):
        # What the handler starts is ended with it.
        with contextlib.suppress(OSError):
            os.setsid()
    threading.Thread(target=_die_with, args=(life,), daemon=True).start()
    sys.path[:] = path
    try:
        handler = load(name)
    except Exception as error:  # noqa: BLE001 - whatever a module raises when it is imported
        jobs.send(("unusable", short(error), None))
        return
    jobs.send(("ready", "", None))
    with contextlib.suppress(EOFError, OSError):
        while True:
            parts, leased = jobs.recv()
            lease = recv_handle(jobs) if leased else None
            answer = _answer(handler, Job(*parts))
            if lease is not None:
                os.close(lease)
            jobs.send(answer)


def _answer(handler: Handler, job: Job) -> Answer:
    try:
        handler(job)
    except Skip as error:
        return "skipped", short(error), None
    except Parked as error:
        return "parked", short(error), retry_after(error)
    except PersistError as error:
        return "persist", short(error), retry_after(error)
    except Exception as error:  # noqa: BLE001 - a handler may raise anything, and its kind says what follows
        return classify(error), short(error), retry_after(error)
    return "success", "", None


def _die_with(life: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        life.recv_bytes()
    # Not `sys.exit`: that ends this thread only.
    os._exit(_ORPHAN)
