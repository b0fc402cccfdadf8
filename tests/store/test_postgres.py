"""A store on a server beyond what every back end does: opening, refusing, losing the connection, migrating, many at once."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors

from reflect_store import Draft, EventStore, Place, SearchQuery, StoreError, ViewQuery, open_store
from reflect_store.addresses import shown
from reflect_store.postgres._address import read_address
from reflect_store.postgres._errors import translated
from reflect_store.postgres._session import Session
from reflect_store.postgres._store import PostgresStore

from ..postgres_server import Server
from .stores import Told
from .tenants import Tenants

pytestmark = pytest.mark.usefixtures("cached")

_NUMBERS = itertools.count()


def code_of(place: str, **options: Any) -> tuple[str, str]:
    """Return code and text of the error that opening a store ends with."""
    with pytest.raises(StoreError) as caught:
        open_store(place, **options)
    return caught.value.code, str(caught.value)


@pytest.mark.parametrize(("begun", "told"), [("", ""), ("logging.basicConfig(); ", "WARNING:psycopg:lost\n")])
def test_the_driver_says_nothing_beside_an_error(begun: str, told: str) -> None:
    """What it warns of is raised too; only a program that set up logging hears it from the driver as well."""
    code = f"import logging, reflect_store.postgres._pool; {begun}logging.getLogger('psycopg').warning('lost')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("", told)


# -- opening and refusing ----------------------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_said() -> None:
    """Where, and by whom it was looked for, without the password."""
    code, text = code_of("postgresql://gate:hunter2@127.0.0.1:1/lessons", timeout=0.1)
    assert (code, "postgresql://gate@127.0.0.1:1/lessons" in text, "hunter2" in text) == ("store-unreachable", True, False)


def test_a_wrong_password_is_said_and_never_shown(postgres: Server, tenants: Tenants) -> None:
    """R-o1: neither the one that was tried nor where it came from stands in an error."""
    code, text = code_of(postgres.url("postgres", "hunter2", tenants.database))
    assert (code, "hunter2" in text, postgres.password in text) == ("store-denied", False, False)


@pytest.mark.parametrize("url", ["postgresql://u:hunter2@h:5/x?nonsense=1", "postgresql://u:hunter2@h:5/%zz"])
def test_what_is_no_address_is_not_repeated(url: str) -> None:
    """What cannot be read may hold a password anywhere."""
    code, text = code_of(url)
    assert (code, "hunter2" in text) == ("store-unknown", False)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://u:hunter2@h:5/db?sslmode=require", "postgresql://u@h:5/db"),
        ("postgres:///db?password=hunter2", "postgresql:///db"),
        ("postgresql://[broken:hunter2@/db", "postgresql://"),
        ("postgresql://u:hunter2/a@h/db", "postgresql://"),
        ("postgresql://u:hunter2#a@h/db", "postgresql://"),
        ("postgresql://u:hunter2?a@h/db", "postgresql://"),
        (Path("/a/store.db"), "/a/store.db"),
    ],
)
def test_a_place_is_shown_without_its_password(url: str | Path, told: str) -> None:
    """What a configuration report may print, without a driver."""
    assert shown(url) == told


def test_what_is_sent_into_silence_is_given_up(kept: EventStore) -> None:
    """Signs of life are no help while something that was sent is not acknowledged; an address may say how long it is."""
    assert isinstance(kept, PostgresStore)
    assert kept.backend.address.parameters["tcp_user_timeout"] == "120000"
    assert read_address("postgresql://h/db?tcp_user_timeout=7", 1).parameters["tcp_user_timeout"] == "7"


def test_an_unknown_database_holds_no_store(postgres: Server) -> None:
    """The message is the server's, the code the one of a file that is not there."""
    assert code_of(postgres.local("postgres", "nowhere"))[0] == "store-missing"


def test_an_empty_database_holds_no_store(tenants: Tenants) -> None:
    """Only whoever asks for it makes one, and reading alone never does."""
    url = tenants.fresh()
    assert code_of(url)[0] == code_of(url, create=True, read_only=True)[0] == "store-missing"


def test_another_programs_schema_is_left_alone(tenants: Tenants) -> None:
    """A name that is taken is no store."""
    url = tenants.fresh()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(b"CREATE SCHEMA reflect_gate; CREATE TABLE reflect_gate.things (n integer)")
    assert code_of(url, create=True)[0] == "store-foreign"


def test_a_newer_layout_is_refused(tenants: Tenants) -> None:
    """At opening, and at writing where a newer version migrated the store under an open one."""
    url = tenants.fresh()
    with open_store(url, create=True) as store, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(b"UPDATE reflect_gate.layout SET number = 99")
        assert "layout 99" in code_of(url)[1]
        assert code_of(url)[0] == "store-newer"
        with pytest.raises(StoreError) as caught:
            store.append([Told.skipped("f-1")])
    assert caught.value.code == "store-newer"


def test_tls_that_is_asked_for_and_not_there_is_refused(postgres: Server, tenants: Tenants) -> None:
    """`sslmode` is libpq's: no password travels in the clear where encryption is required."""
    code, text = code_of(postgres.url(database=tenants.database, sslmode="require"))
    assert (code, "SSL" in text) == ("store-unreachable", True)


def test_a_database_in_another_encoding_is_refused(tenants: Tenants) -> None:
    """Texts are compared by code point, which only UTF8 keeps in that order."""
    with tenants.connected(database="postgres") as connection:
        connection.execute(b"CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    assert code_of(tenants.server.local("postgres", "latin"), create=True)[0] == "store-unsupported"


def test_a_role_that_may_not_write_says_so(tenants: Tenants) -> None:
    """A session that the administrator made read-only reads, and says why it does not write."""
    role = tenants.role(f"tenant {next(_NUMBERS)} of reading", tenants.owner)
    with open_store(tenants.url(role)) as store:
        store.append([Told.skipped("f-1")])
    with tenants.connected() as connection:
        connection.execute(f"ALTER ROLE {role} SET default_transaction_read_only = on".encode())
    with open_store(tenants.url(role)) as store:
        assert store.count("not_reflected") == 1
        with pytest.raises(StoreError) as caught:
            store.append([Told.skipped("f-2")])
    assert caught.value.code == "store-read-only"


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing and how it is had, instead of a failed import."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    code, text = code_of("postgresql://u:hunter2@h/db")
    assert (code, "reflect-gate[postgres]" in text, "hunter2" in text) == ("store-unsupported", True, False)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.DiskFull("could not extend file"), "store-full"),
        (errors.TooManyConnections("sorry"), "store-busy"),
        (errors.QueryCanceled("statement timeout"), "store-busy"),
        (errors.DataCorrupted("invalid page"), "store-corrupt"),
        (errors.UniqueViolation("twice"), "store-corrupt"),
        (errors.StringDataRightTruncation("too long"), "store-payload"),
        (psycopg.DataError("cannot contain NUL"), "store-payload"),
        (errors.UndefinedFunction("what"), "store-io"),
        (errors.AdminShutdown("terminating connection"), "store-unreachable"),
        (psycopg.OperationalError("server closed the connection"), "store-unreachable"),
    ],
)
def test_what_the_server_says_has_a_code(error: psycopg.Error, code: str) -> None:
    """Whoever alerts on a code need not read the server's words."""
    with pytest.raises(StoreError) as caught, translated(read_address("postgresql://h/db", 1)):
        raise error
    assert (caught.value.code, caught.value.source) == (code, Place("postgresql://h/db"))


def test_what_a_server_is_asked_that_it_cannot_do(kept: EventStore, tmp_path: Path) -> None:
    """A backup is the server's own; the error names the tool."""
    with pytest.raises(StoreError, match="pg_dump") as caught:
        kept.backup(tmp_path / "copy.db")
    assert caught.value.code == "store-unsupported"


# -- values that a server cannot keep as they are ----------------------------------------------------------------------


def test_what_is_looked_up_may_be_long_or_hold_anything(kept: EventStore) -> None:
    """A NUL, or more than an index can hold, is looked up as everything else is, and comes back as it was."""
    places = ["acme/" + "shöp" * 2_000, "a\0b", "a", ""]
    kept.append([Told.failed(f"f-{number}", origin={"repository": name}) for number, name in enumerate(places)])
    found = [[row["origin"]["repository"] for row in kept.iterate("terminations", {"repository": name})] for name in places]
    assert found == [[name] for name in places]
    assert kept.verify().sound


def test_keys_that_there_cannot_be_are_not_there(kept: EventStore) -> None:
    """Asking for one is no error, as in every other store."""
    assert (kept.get("lessons", "a\0b"), kept.event("a\0b")) == (None, None)
    with pytest.raises(StoreError) as caught:
        kept.append([Told.skipped("f-1", id_="a\0b")])
    assert (caught.value.code, kept.version) == ("store-payload", 0)


# -- many at once ------------------------------------------------------------------------------------------------------


def test_threads_share_a_store(kept: EventStore) -> None:
    """Each has a connection of its own while it needs one, and none waits for another's answer."""
    with ThreadPoolExecutor(12) as threads:
        numbers = list(threads.map(lambda number: kept.append([Told.skipped(f"f-{number}")])[0], range(60)))
    assert sorted(numbers) == list(range(1, 61))
    assert kept.verify().sound


def test_threads_search_while_another_writes(kept: EventStore) -> None:
    """The index of the node is shared, and brought up to date by whoever comes first."""

    def work(number: int) -> int:
        if number % 2:
            kept.append([Told.admitted(f"l-{number}", statement=f"Close pool {number} before forking.")])
        return len(kept.search(SearchQuery(("forking",))))

    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(work, range(30)))
    assert found[-1] > 0
    assert len(kept.search(SearchQuery(("forking",)))) == 15


def test_a_writer_that_waits_too_long_says_so(tenants: Tenants, kept: EventStore) -> None:
    """`store-busy` after the time that was given."""
    kept.append([Told.skipped("f-1")])
    with tenants.connected() as connection:
        row = connection.execute("SELECT tenant FROM reflect_gate.chains ORDER BY tenant DESC").fetchall()
        assert row
        with open_store(tenants.url(tenants.role("late", tenants.owner)), timeout=0.2) as late:
            late.append([Told.skipped("f-1")])
            with connection.transaction():
                connection.execute("SELECT FROM reflect_gate.chains WHERE tenant = 'late' FOR UPDATE")
                with pytest.raises(StoreError) as caught:
                    late.append([Told.skipped("f-2")])
                assert late.count("not_reflected") == 1
    assert caught.value.code == "store-busy"


def test_several_may_make_the_store_at_once(tenants: Tenants) -> None:
    """One makes it, the others find it made."""
    url = tenants.fresh()

    def make(number: int) -> int:
        with open_store(url, create=True) as store:
            return store.append([Told.skipped(f"f-{number}")])[0]

    with ThreadPoolExecutor(5) as threads:
        assert sorted(threads.map(make, range(5))) == [1, 2, 3, 4, 5]


# -- losing the connection ---------------------------------------------------------------------------------------------


def cut(tenants: Tenants, store: EventStore) -> None:
    """End every connection of a store's role, as a server does that is started anew."""
    role = store.backend.place.partition("//")[2].partition("@")[0]
    with tenants.connected() as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (role,))


def test_a_connection_that_was_cut_while_idle_is_not_noticed(tenants: Tenants, kept: EventStore) -> None:
    """R-s1: what comes next goes over a new one."""
    kept.append([Told.skipped("f-1")])
    cut(tenants, kept)
    assert kept.append([Told.skipped("f-2")]) == (2,)


def test_a_decision_whose_connection_is_cut_is_made_once(tenants: Tenants, kept: EventStore) -> None:
    """R-s1: nothing of the first attempt is there, and the second one is whole."""
    asked: list[int] = []

    def decide(*_: object) -> Sequence[Draft]:
        asked.append(1)
        if len(asked) == 1:
            cut(tenants, kept)
        return [Told.admitted("l-1"), Told.skipped("f-1")]

    assert kept.decide(ViewQuery(Told.SIGNATURE), decide) == (1, 2)
    assert (len(asked), kept.version) == (2, 2)
    assert kept.verify().sound


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the answer to the next COMMIT be lost after the server has committed; returns what was lost."""
    lost: list[str] = []
    end = Session.end

    def losing(self: Session, commit: str) -> None:
        end(self, commit)
        if not lost:
            lost.append(commit)
            self._connection.close()
            raise errors.AdminShutdown("terminating connection due to administrator command")

    monkeypatch.setattr(Session, "end", losing)
    return lost


def test_a_lost_acknowledgement_adds_nothing_twice(kept: EventStore, deaf: list[str]) -> None:
    """R-s1: the numbers are those of what was kept the first time."""
    assert kept.append([Told.skipped("f-1"), Told.skipped("f-2")]) == (1, 2)
    assert (deaf, kept.version) == (["COMMIT"], 2)


def test_a_decision_that_was_kept_unheard_is_not_made_again(kept: EventStore, deaf: list[str]) -> None:
    """R-s1: what was decided first is found, and nobody is asked a second time."""
    asked: list[int] = []

    def decide(*_: object) -> Sequence[Draft]:
        asked.append(1)
        return [Told.admitted("l-1")]

    assert kept.decide(ViewQuery(Told.SIGNATURE), decide) == (1,)
    assert (len(asked), deaf, kept.version) == (1, ["COMMIT"], 1)


def test_a_server_that_stays_away_is_given_up(tenants: Tenants) -> None:
    """After the time that was given, with the code of a server that cannot be reached."""
    with tenants.store() as store:
        store._patience = 0.1  # type: ignore[attr-defined]
        gone = {"host": "127.0.0.1", "port": "1"}
        store.backend.address.parameters.update(gone)  # type: ignore[attr-defined]
        cut(tenants, store)
        with pytest.raises(StoreError) as caught:
            store.append([Told.skipped("f-1")])
    assert caught.value.code == "store-unreachable"


def test_waiting_ends_with_the_thread_that_holds(kept: EventStore) -> None:
    """Two decisions at once follow each other: the second sees what the first has written."""
    entered, seen = threading.Event(), []

    def slow(*_: object) -> Sequence[Draft]:
        entered.set()
        return [Told.admitted("l-1")]

    def second(view: Any, _get: object) -> Sequence[Draft]:
        seen.append(len(view.lessons))
        return []

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(kept.decide, ViewQuery(Told.SIGNATURE), slow)
        assert entered.wait(10)
        kept.decide(ViewQuery(Told.SIGNATURE), second)
        assert first.result() == (1,)
    assert seen == [1]
