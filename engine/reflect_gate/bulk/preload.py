"""What a worker process of this machine does first; Dask imports this module by its name."""

from __future__ import annotations

import signal

__all__ = ["dask_setup"]


def dask_setup(_worker: object) -> None:
    """Leave an interrupt to the driver, which ends its workers; a traceback of each would bury its message."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
