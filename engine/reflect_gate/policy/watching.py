"""Waits for policy files to change, by looking at them again and again: no dependency, and the same on every file system."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

__all__ = ["PERIOD", "Snapshot", "changes", "snapshot"]

PERIOD: Final = 0.5
"""Seconds between two looks."""

Snapshot: TypeAlias = Mapping[str, tuple[int, int]]
"""Of each file its time of change in nanoseconds and its size in bytes."""


def snapshot(paths: Iterable[str | Path]) -> Snapshot:
    """Return what the YAML files at `paths` (files, or folders of them) look like now; what cannot be read is not there."""
    found: dict[str, tuple[int, int]] = {}
    for path in map(Path, paths):
        for file in sorted(path.rglob("*.yaml")) if path.is_dir() else [path]:
            try:
                status = file.stat()
            except OSError:
                continue
            found[str(file)] = (status.st_mtime_ns, status.st_size)
    return found


def changes(
    paths: Callable[[], Iterable[str | Path]],
    sleep: Callable[[float], None] = time.sleep,
    period: float = PERIOD,
    seen: Snapshot | None = None,
) -> Iterator[list[str]]:
    """Yield the files that changed, appeared or vanished, each time that some did and then stayed as they were for one period.

    `paths` is asked at each look, so that a folder that the policies name later is watched too. `seen` is how the files looked
    before whoever asks began to read them: what was saved since is a change. As they look now where it is left out.
    """
    seen = snapshot(paths()) if seen is None else seen
    while True:
        sleep(period)
        now = snapshot(paths())
        if now == seen:
            continue
        while True:
            sleep(period)
            later = snapshot(paths())
            if later == now:
                break
            now = later
        different = {file for file in {*seen, *now} if seen.get(file) != now.get(file)}
        seen = now
        if different:
            yield sorted(different)
