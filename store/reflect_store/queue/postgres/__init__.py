"""A queue on a PostgreSQL server, kept by procrastinate (extra `postgres`): many machines put jobs and work on them.

`server.open_server` opens it. Nothing is imported here: a queue in a folder needs no driver.
"""

from __future__ import annotations

__all__: list[str] = []
