"""Two connections of one process to one file, and another process beside them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reflect_store import open_store

from .stores import Told

CHILD = """
import sys
from pathlib import Path
from reflect_store import open_store
with open_store(Path(sys.argv[1])) as store:
    print(store.head().seq)
"""


def seen_by_another(path: Path) -> int:
    """Return the version that another process sees, which opens the store and closes it."""
    done = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, timeout=60, check=True)
    return int(done.stdout)


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
@pytest.mark.parametrize("again", [{"create": True}, {}, {"read_only": True}])
def test_opening_a_store_twice_keeps_the_locks_of_the_first(tmp_path: Path, again: dict[str, bool]) -> None:
    """Another process that comes and goes does not take the log away that this one writes to: nothing acknowledged is lost."""
    path = tmp_path / "store.db"
    with open_store(path, create=True) as first:
        for number in range(3):
            first.append([Told.skipped(f"f-{number}")])
            open_store(path, **again).close()  # type: ignore[arg-type]
            assert seen_by_another(path) == number + 1
        assert path.with_name("store.db-wal").exists()
    assert seen_by_another(path) == 3


def test_a_file_is_looked_at_again_when_its_last_connection_is_closed(tmp_path: Path) -> None:
    """What is no store any more is refused as before."""
    path = tmp_path / "store.db"
    store = open_store(path, create=True)
    store.close()
    store.close()
    path.write_bytes(b"something else, of another program")
    with pytest.raises(Exception, match="the file is no store"):
        open_store(path)
