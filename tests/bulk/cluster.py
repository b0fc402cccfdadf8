"""A Dask cluster of two workers on the loopback interface, as somebody else runs one; ends when its standard input does.

It prints one line of JSON: the scheduler's address and the process ids of the workers.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile

__all__ = ["main"]


def main() -> None:
    """Run until the input ends."""
    from distributed import LocalCluster

    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            local_directory=folder,
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):
        workers = [worker.pid for worker in cluster.workers.values()]
        sys.stdout.write(json.dumps({"address": cluster.scheduler_address, "workers": workers}) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
