"""What only a file can do: be missing, foreign, newer, damaged, read-only, full, shared, copied."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from reflect_store import TABLES, EventStore, SearchQuery, StoreError, open_store
from reflect_store._sql import migrations, queries, statements
from reflect_store._sqlite_errors import APPLICATION_ID
from reflect_store._sqlite_file import LAYOUT
from reflect_store.sqlite import SqliteBackend

from .stores import Told

POSIX = pytest.mark.skipif(os.name != "posix", reason="modes and limits of POSIX")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a store will be."""
    return tmp_path / "home" / "store.db"


def filled(path: Path, *names: str) -> Path:
    """Make a store that holds these failures, close it, and return its file."""
    with open_store(path, create=True) as store:
        store.append([Told.skipped(name) for name in names or ("f-1",)])
    return path


def refused(path: Path, code: str, **options: bool) -> str:
    """Return what is said when the file cannot be opened; the file must be as it was."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError) as caught:
        open_store(path, **options)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert caught.value.source is not None
    assert (path.read_bytes() if path.is_file() else None) == before
    return caught.value.message


def connection_of(store: EventStore) -> sqlite3.Connection:
    """Return the connection of a store in a file."""
    assert isinstance(store.backend, SqliteBackend)
    return store.backend._connection


@POSIX
def test_only_the_owner_can_read_a_store(path: Path) -> None:
    """What agents saw may hold secrets: folder 0700, file and log 0600, whatever the umask."""
    before = os.umask(0)
    try:
        with open_store(path, create=True) as store:
            store.append([Told.skipped("f-1")])
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}


def test_every_commit_is_synced_to_a_log(path: Path) -> None:
    """Write-ahead log, full synchronization, foreign keys: what durability rests on is really on."""
    with open_store(path, create=True) as store:
        connection = connection_of(store)
        names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]
    assert found == ["wal", 2, 1, 1]


def test_there_is_no_store_until_one_is_made(path: Path) -> None:
    """Reading never makes a store; the message says what does."""
    assert "reflect-gate store init" in refused(path, "store-missing")
    path.parent.mkdir()
    path.touch()
    refused(path, "store-missing")
    assert open_store(path, create=True).verify().sound


def test_a_foreign_file_is_left_alone(path: Path) -> None:
    """A text, another program's database, a folder: none becomes a store."""
    path.parent.mkdir()
    path.write_text("# notes\n")
    refused(path, "store-foreign", create=True)
    assert path.read_text() == "# notes\n"
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE notes (text)")
        other.commit()
    refused(path, "store-foreign", create=True)
    path.unlink()
    path.mkdir()
    refused(path, "store-io")


def test_a_newer_store_is_refused(path: Path) -> None:
    """An older program does not guess at a layout that it does not know."""
    filled(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {LAYOUT + 1}")
    message = refused(path, "store-newer")
    assert f"layout {LAYOUT + 1}" in message
    refused(path, "store-newer", read_only=True)


@pytest.mark.parametrize("layout", range(1, LAYOUT))
def test_every_older_layout_leads_to_the_schema_of_a_fresh_store(path: Path, tmp_path: Path, layout: int) -> None:
    """An older store is migrated with its projections built from the events, and ends exactly as a fresh one."""
    old = tmp_path / "old.db"
    with open_store(path, create=True) as store:
        store.append([Told.failed("f-1"), Told.admitted("l-1"), Told.outcome("o-1", "l-1"), Told.skipped("f-2")])
        events = [tuple(event) for event in store.events()]
    with closing(sqlite3.connect(old, isolation_level=None)) as made:
        for number, script in migrations("sqlite"):
            for statement in statements(script) if number <= layout else ():
                made.execute(statement)
        made.executemany(queries("events")["add"], events)
        if layout >= 2:
            # Rows as that layout knew them: a column and fields less.
            made.execute("INSERT INTO lessons VALUES ('l-1', 't', 'e', 's', 'episodic', 'active', x'7b7d')")
            made.execute("INSERT INTO outcomes VALUES ('o-1\nl-1', 't', 'e', 'l-1', 'resolved', x'7b7d')")
        made.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        made.execute(f"PRAGMA user_version = {layout}")
    refused(old, "store-read-only", read_only=True)
    with open_store(old) as migrated, open_store(path) as fresh:
        schemas = ["SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name", "PRAGMA user_version"]
        for query in schemas:
            assert connection_of(migrated).execute(query).fetchall() == connection_of(fresh).execute(query).fetchall()
        assert migrated.verify(expected=fresh.head()).sound
        for table in TABLES:
            assert list(migrated.iterate(table)) == list(fresh.iterate(table))
        asked = SearchQuery(("generator",))
        assert migrated.search(asked) == fresh.search(asked) != []


def test_migrations_are_numbered_without_gap() -> None:
    """Number n leads from layout n - 1 to n."""
    assert [number for number, _ in migrations("sqlite")] == list(range(1, LAYOUT + 1))
    assert LAYOUT >= 3


def test_a_failed_migration_leaves_the_old_layout(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A migration is one transaction: where its second half fails, the first half is not there."""
    filled(path)
    broken = (*migrations("sqlite"), (LAYOUT + 1, "CREATE TABLE added (x);\nCREATE TABLE lessons (x);\n"))
    with monkeypatch.context() as patched:
        patched.setattr("reflect_store._sqlite_file.migrations", lambda _dialect: broken)
        patched.setattr("reflect_store._sqlite_file.LAYOUT", LAYOUT + 1)
        with pytest.raises(StoreError, match="already exists"):
            open_store(path)
    with open_store(path) as store:
        assert connection_of(store).execute("SELECT count(*) FROM sqlite_schema WHERE name = 'added'").fetchone() == (0,)
        assert store.verify().sound


@pytest.mark.parametrize("offset", [0.3, 0.6, 0.9])
def test_a_damaged_page_is_found_and_nothing_is_repaired_silently(path: Path, offset: float) -> None:
    """A page overwritten on disk: `verify` says so, or opening does; the file stays as it is for whoever rescues it."""
    filled(path, *[f"f-{number}" for number in range(400)])
    data = bytearray(path.read_bytes())
    page = int(len(data) // 4096 * offset) * 4096
    data[page : page + 4096] = b"\xa5" * 4096
    path.write_bytes(data)
    codes: list[str] = []
    problems: list[str] = []
    try:
        with open_store(path, read_only=True) as store:
            problems += store.verify().problems
    except StoreError as error:
        codes.append(error.code)
    assert problems or codes == ["store-corrupt"]
    assert path.read_bytes() == data


def test_a_change_of_the_past_is_found(path: Path) -> None:
    """R-s1: whoever edits an event by hand, past the triggers, breaks the chain; `rebuild` does not whitewash it."""
    filled(path, "f-1", "f-2", "f-3")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("DROP TRIGGER events_stay_as_they_are")
        other.execute("UPDATE events SET payload = CAST(replace(CAST(payload AS TEXT), 'f-2', 'f-9') AS BLOB) WHERE seq = 2")
    with open_store(path) as store:
        assert store.verify().problems == ("event 2: the payload is not what was recorded",)
        assert store.rebuild().changed == 0
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("DROP TRIGGER events_are_kept")
        other.execute("DELETE FROM events WHERE seq = 2")
        other.execute("UPDATE events SET payload = NULL, nonce = NULL WHERE seq = 3")
    with open_store(path) as store:
        assert store.verify().problems == (
            "event 3 follows event 1: 1 missing",
            "event 3: the hash does not follow from the event before",
            "event 3: the payload is gone and no redaction names it",
        )


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM events",
        "UPDATE events SET time = ''",
        "UPDATE events SET payload = x'7b7d'",
        "INSERT INTO events VALUES (9, 'x', 'x', 'x', 'x', 'x', NULL, NULL)",
    ],
)
def test_the_file_itself_refuses_to_rewrite_events(path: Path, change: str) -> None:
    """R-s1: append-only is a rule of the database, not only of this program."""
    filled(path)
    with closing(sqlite3.connect(path)) as other, pytest.raises(sqlite3.IntegrityError, match="an event"):
        other.execute(change)


def test_a_store_opened_for_reading_writes_nothing(path: Path) -> None:
    """A reader is refused what writes, and reads while a writer is at work."""
    filled(path)
    with open_store(path) as writer, open_store(path, read_only=True) as reader:
        writer.append([Told.skipped("f-2")])
        assert reader.version == 2
        assert reader.verify().sound
        with pytest.raises(StoreError) as caught:
            reader.append([Told.skipped("f-3")])
    assert caught.value.code == "store-read-only"


def test_a_store_can_be_read_where_nothing_may_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a read-only folder SQLite cannot make its shared memory: the file alone is read, and only where no log has more."""
    filled(path)
    monkeypatch.setattr("reflect_store._sqlite_file.os.access", lambda *_: False)
    with open_store(path, read_only=True) as reader:
        assert reader.verify().sound
        assert [file.name for file in path.parent.iterdir()] == ["store.db"]
    with open_store(path) as writer, open_store(path, read_only=True) as reader:
        writer.append([Told.skipped("f-2")])
        with open_store(path, read_only=True) as late:
            assert late.version == 2


def test_a_full_disk_loses_nothing_that_was_acknowledged(path: Path) -> None:
    """The write that finds no room is refused whole; what was there before verifies, and room makes it go on."""
    filled(path)
    with open_store(path) as store:
        connection = connection_of(store)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError) as caught:
            store.append([Told.skipped(f"more-{number}", "x" * 5_000) for number in range(40)])
        assert caught.value.code == "store-full"
        assert (store.version, store.verify().sound) == (1, True)
        connection.execute("PRAGMA max_page_count = 1000000")
        assert store.append([Told.skipped("f-2")]) == (2,)


LIMITED = """
import resource, sys
from pathlib import Path
from reflect_store import StoreError, draft, open_store
store = open_store(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
done = 0
try:
    for number in range(2_000):
        store.append([draft("not-reflected", {"failure_id": f"r-{number}", "reason": "x" * 500})])
        done += 1
except StoreError as error:
    print(done, error.code)
"""


@POSIX
def test_a_write_that_the_system_cuts_short_loses_nothing(path: Path) -> None:
    """The kernel refuses to let the log grow: every acknowledged event is there afterwards."""
    filled(path)
    ran = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True, timeout=120)
    done, code = ran.stdout.split()
    assert code in ("store-io", "store-full")
    assert int(done) > 0
    with open_store(path) as store:
        assert store.version >= 1 + int(done)
        assert store.verify().sound


def test_a_writer_that_waits_too_long_says_so(path: Path) -> None:
    """Another process holds the store: a typed error, and nothing half written."""
    filled(path)
    with open_store(path) as first, open_store(path, timeout=0.05) as second, first.backend.writing():
        with pytest.raises(StoreError) as caught:
            second.append([Told.skipped("f-2")])
        assert caught.value.code == "store-busy"
        assert second.version == 1


def test_a_backup_is_one_state_while_others_write(path: Path, tmp_path: Path) -> None:
    """R-s1: the copy holds the chain up to its head and verifies; a writer at work neither waits nor shows in it."""
    target = tmp_path / "copy.db"
    filled(path, *[f"f-{number}" for number in range(600)])
    with open_store(path) as store, open_store(path) as writer:
        heard: list[tuple[int, int]] = []

        def step(done: int, whole: int) -> None:
            heard.append((done, whole))
            writer.append([Told.skipped(f"meanwhile-{len(heard)}")])

        head = store.backup(target, progress=step)
        assert writer.version > head.seq == 600
    assert heard[-1][0] == heard[-1][1] > 0
    with open_store(target) as copy:
        assert copy.head() == head
        assert copy.verify().sound
    if os.name == "posix":
        assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_backup_needs_no_links(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems have none; the copy gets its name all the same."""

    def no_links(*_: object) -> None:
        raise OSError(95, "not supported")

    monkeypatch.setattr("reflect_store.sqlite.os.link", no_links)
    with open_store(filled(path)) as store:
        assert store.backup(tmp_path / "copy.db") == store.head()
    with open_store(tmp_path / "copy.db") as copy:
        assert copy.verify().sound


def test_a_backup_overwrites_nothing(path: Path, tmp_path: Path) -> None:
    """An older backup is not lost to a newer one; nothing is left of the attempt."""
    target = tmp_path / "copy.db"
    target.write_text("older")
    with open_store(filled(path)) as store, pytest.raises(StoreError) as caught:
        store.backup(target)
    assert (caught.value.code, target.read_text()) == ("store-exists", "older")
    assert [file.name for file in tmp_path.glob("copy*")] == ["copy.db"]


def test_what_was_redacted_is_in_no_byte_of_the_files(path: Path) -> None:
    """R-s1: erased pages, free pages and the log are overwritten or cut, not only unlinked."""
    with open_store(path, create=True) as store:
        drafts = [Told.failed(f"f-{number}", "the password is hunter2-" * 50) for number in range(20)]
        store.append([*drafts, Told.failed("g", "harmless")])
        assert b"hunter2" in b"".join(file.read_bytes() for file in path.parent.iterdir())
        store.redact(text="hunter2", reason="a credential")
        assert b"hunter2" not in b"".join(file.read_bytes() for file in path.parent.iterdir())
        assert store.verify().sound


def test_a_redaction_that_a_reader_keeps_from_finishing_says_so(path: Path) -> None:
    """While another process reads, the log still holds the page: the payload is erased, and the rest is named."""
    filled(path, "hunter2")
    with open_store(path, timeout=0.05) as store, open_store(path, read_only=True) as reader:
        with reader.backend.reading() as transaction:
            assert transaction.head().seq == 1
            with pytest.raises(StoreError, match="erased, but the files may show traces") as caught:
                store.redact(text="hunter2", reason="a credential")
        assert caught.value.code == "store-busy"
        assert store.status().redacted == 1
        store.vacuum()
    assert b"hunter2" not in b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_vacuum_gives_back_what_projections_no_longer_take(path: Path) -> None:
    """Rows that are gone leave free pages; events stay, to the byte."""
    with open_store(path, create=True) as store:
        store.append([Told.failed(f"f-{number}", "x" * 4_000) for number in range(100)])
        events = list(store.events())
        connection = connection_of(store)
        connection.execute("CREATE TABLE bulk (x)")
        connection.execute("INSERT INTO bulk SELECT randomblob(100000) FROM events")
        connection.execute("DROP TABLE bulk")
        before = connection.execute("PRAGMA page_count").fetchone()[0]
        store.vacuum()
        assert connection.execute("PRAGMA page_count").fetchone()[0] < before / 2
        assert list(store.events()) == events
        assert store.verify().sound
