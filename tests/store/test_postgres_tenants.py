"""Tenants of one database: none sees, changes or holds up what is another's, whatever it says; and what each role may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import errors, sql

from reflect_store import EventStore, SearchQuery, StoreError, draft, open_store
from reflect_store.postgres import roles

from .stores import Told
from .tenants import Tenants

WRITER, READER = "reflect_gate_writer", "reflect_gate_reader"
NINTH = "SELECT tenant, 9, 'x', type, time, digest, hash, nonce, payload FROM reflect_gate.events"
TABLES = ("chains", "events", "lessons", "edges", "history", "search", "search_words")


@pytest.fixture(scope="module")
def shared(tenants: Tenants) -> Tenants:
    """The database with its roles; made twice, which is harmless."""
    with tenants.connected() as connection:
        for _ in range(2):
            connection.execute(roles().encode())
    return tenants


def learned(tenants: Tenants, name: str) -> EventStore:
    """Return the store of a tenant that has failed with a secret and learned a lesson."""
    store = open_store(tenants.url(tenants.role(name, WRITER)))
    store.append([Told.failed("f-1", "password hunter2 refused"), Told.admitted("l-1")])
    return store


def other_role(tenants: Tenants, name: str) -> str:
    """Return a writer of a tenant that has learned another lesson."""
    role = tenants.role(name, WRITER)
    with open_store(tenants.url(role)) as store:
        store.append([Told.failed("g-1"), Told.admitted("m-1", "c" * 64, statement="Close the pool before forking.")])
    return role


@pytest.fixture(scope="module")
def acme(shared: Tenants) -> Iterator[EventStore]:
    """The tenant that all try to get at, and nobody changes."""
    with learned(shared, "acme") as store:
        yield store


@pytest.fixture(scope="module")
def rival(shared: Tenants) -> str:
    """A writer of another tenant."""
    return other_role(shared, "rival")


@pytest.fixture(autouse=True)
def untouched(acme: EventStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test does, the tenant's store holds what it held."""
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "cache"))
    yield
    assert (acme.version, acme.count("lessons"), acme.count("edges"), acme.count("terminations")) == (2, 1, 1, 1)


def of_table(statement: LiteralString, table: str) -> sql.Composed:
    """Return a statement about a table."""
    return sql.SQL(statement).format(sql.Identifier("reflect_gate", table))


def counts(connection: psycopg.Connection[tuple[Any, ...]]) -> dict[str, int]:
    """Return how many rows of each table a role sees."""
    return {table: len(connection.execute(of_table("SELECT tenant FROM {}", table)).fetchall()) for table in TABLES}


# -- between tenants ---------------------------------------------------------------------------------------------------


def test_a_store_shows_nothing_of_another_tenant(acme: EventStore, rival: str, shared: Tenants) -> None:
    """By ids, by signature, by search, by export: the other tenant's store is as if it were not there."""
    event = next(acme.events())
    with open_store(shared.url(rival)) as other:
        assert (other.event(event.id), other.get("lessons", "l-1"), other.get("terminations", "f-1")) == (None, None, None)
        assert other.view(Told.SIGNATURE, lessons=["l-1"]).lessons == ()
        assert [found.lesson_id for found in other.search(SearchQuery(("generator", "pool", "reader")))] == ["m-1"]
        assert {row["id"] for row in other.iterate("lessons")} == {"m-1"}
        assert other.verify().sound


def test_both_may_use_the_same_ids(acme: EventStore, shared: Tenants) -> None:
    """An id that another tenant has is free: that it is taken there cannot be told."""
    event = next(acme.events())
    with open_store(shared.url(other_role(shared, "same ids"))) as other:
        assert other.append([draft(event.type, event.data() or {}, id_=event.id)]) == (3,)
        assert other.append([Told.admitted("l-1", "d" * 64)]) == (4,)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM reflect_gate.{table} WHERE tenant <> reflect_gate.tenant()",
        "SELECT * FROM reflect_gate.{table} WHERE tenant = '{acme}'",
        "SELECT * FROM reflect_gate.{table} WHERE tenant = '{acme}' OR true OFFSET 0",
        "SELECT * FROM reflect_gate.{table} AS a JOIN reflect_gate.events AS b ON a.tenant = b.tenant WHERE b.tenant = '{acme}'",
    ],
)
def test_sql_shows_nothing_of_another_tenant(rival: str, shared: Tenants, statement: str) -> None:
    """Whatever a role asks for, the policy of the table lets its own rows through alone."""
    tenant = "acme"
    with shared.connected(rival) as connection:
        for table in TABLES:
            rows = connection.execute(statement.format(table=table, acme=tenant).encode()).fetchall()
            assert [row for row in rows if row[0] == tenant] == []


@pytest.mark.parametrize("table", TABLES)
def test_a_role_without_a_tenant_sees_nothing(shared: Tenants, table: str) -> None:
    """A member of the writers whom nobody assigned is no member of any tenant, nor of a nameless one."""
    with shared.connected(shared.role(None, WRITER)) as connection:
        assert connection.execute(of_table("SELECT * FROM {}", table)).fetchall() == []


CROSSINGS = {
    "writes into the other's rows": "INSERT INTO reflect_gate.edges SELECT '{acme}', 'k', time, event, signature, lesson_id, row"
    " FROM reflect_gate.edges",
    "moves rows to the other": "UPDATE reflect_gate.lessons SET tenant = '{acme}'",
    "adds an event to the other": "INSERT INTO reflect_gate.events"
    " SELECT '{acme}', 1, 'x', type, time, digest, hash, nonce, payload FROM reflect_gate.events WHERE seq = 1",
    "makes the other's chain": "INSERT INTO reflect_gate.chains (tenant) VALUES ('nobody yet')",
    "assigns itself": "SELECT reflect_gate.assign(session_user, '{acme}')",
    "reads who belongs where": "SELECT * FROM reflect_gate.members",
    "writes who belongs where": "UPDATE reflect_gate.members SET tenant = '{acme}'",
    "reads which tenants there are": "SELECT * FROM reflect_gate.tenants",
    "replaces the function": "CREATE OR REPLACE FUNCTION reflect_gate.tenant() RETURNS text LANGUAGE sql RETURN '{acme}'",
    "drops the policy": "DROP POLICY of_the_tenant ON reflect_gate.events",
    "switches the policy off": "ALTER TABLE reflect_gate.events NO FORCE ROW LEVEL SECURITY",
    "becomes the owner": "SET ROLE {owner}",
    "becomes another": "SET SESSION AUTHORIZATION {owner}",
    "asks to go without policies": "SET row_security = off; SELECT * FROM reflect_gate.events",
    "guards a table anew": "CALL reflect_gate.guard('reflect_gate.events')",
}


@pytest.mark.parametrize("crossing", CROSSINGS)
def test_a_tenant_cannot_cross(rival: str, shared: Tenants, crossing: str) -> None:
    """Every way across that the rights of a writer might seem to open is refused, and changes nothing."""
    statement = CROSSINGS[crossing].format(acme="acme", owner=shared.owner)
    with shared.connected(rival) as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute(statement.encode())


def test_changes_without_a_condition_end_at_the_tenant(shared: Tenants) -> None:
    """Deleting everything deletes one's own projections, which a rebuild of one's own brings back."""
    with shared.connected(other_role(shared, "deletes all")) as connection:
        for table in ("lessons", "edges", "history", "search", "search_words"):
            assert connection.execute(of_table("DELETE FROM {}", table)).rowcount > 0
        assert counts(connection)["lessons"] == 0


def test_a_function_in_a_condition_sees_no_row_of_another(rival: str, shared: Tenants) -> None:
    """A condition that is cheap to check runs after the policy, so that it cannot tell what it was shown."""
    seen: list[str] = []
    with shared.connected(rival) as connection:
        connection.add_notice_handler(lambda notice: seen.append(notice.message_primary or ""))
        connection.execute(
            b"CREATE FUNCTION pg_temp.tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001"
            b" AS $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$"
        )
        connection.execute(b"SELECT count(*) FROM reflect_gate.terminations WHERE pg_temp.tell(key)")
    assert seen == ["g-1"]


def test_a_tenant_cannot_hold_another_up(rival: str, shared: Tenants) -> None:
    """The row that writers lock is under the policy, too."""
    with learned(shared, "held up") as store, shared.connected(rival) as connection, connection.transaction():
        connection.execute(b"SELECT * FROM reflect_gate.chains FOR UPDATE")
        assert store.append([Told.skipped("f-2")]) == (3,)


def test_statistics_tell_nothing(rival: str, shared: Tenants) -> None:
    """What the planner has gathered of the values of all tenants is kept from them."""
    with shared.connected() as connection:
        connection.execute(b"ANALYZE reflect_gate.terminations")
    with shared.connected(rival) as connection:
        assert connection.execute(b"SELECT * FROM pg_stats WHERE schemaname = 'reflect_gate'").fetchall() == []


def test_the_owner_is_bound_by_the_policy(shared: Tenants) -> None:
    """The owner's programs see their own tenant, as everybody's do."""
    with shared.connected(shared.owner) as connection:
        assert counts(connection) == dict.fromkeys(TABLES, 0)


def test_a_superuser_that_must_not_be_one_works_on_its_own_tenant(shared: Tenants) -> None:
    """No policy binds it, so that each statement names the tenant, too: its store is not mixed up with others."""
    with shared.connected() as connection:
        connection.execute("SELECT reflect_gate.assign('postgres', %s)", ("super",))
    with open_store(shared.url("postgres")) as store:
        assert store.append([Told.admitted("s-1")]) == (1,)
        assert ([row["id"] for row in store.iterate("lessons")], store.verify().sound) == (["s-1"], True)
        assert [found.lesson_id for found in store.search(SearchQuery(("generator",)))] == ["s-1"]


# -- roles -------------------------------------------------------------------------------------------------------------


def test_a_reader_reads_and_searches_and_cannot_write(shared: Tenants) -> None:
    """The least of the roles: what retrieval needs."""
    with open_store(shared.url(shared.role("acme", READER)), read_only=True) as store:
        assert [found.lesson_id for found in store.search(SearchQuery(("generator",)))] == ["l-1"]
        assert store.verify().sound
    with (
        open_store(shared.url(shared.role("acme", READER))) as store,
        pytest.raises(StoreError, match="may not do this") as caught,
    ):
        store.append([Told.skipped("f-2")])
    assert caught.value.code == "store-denied"


@pytest.mark.parametrize(
    "statement",
    [
        f"INSERT INTO reflect_gate.events {NINTH}",
        "DELETE FROM reflect_gate.lessons",
        "UPDATE reflect_gate.lessons SET level = 'x'",
        "UPDATE reflect_gate.chains SET edition = 2",
        "SELECT * FROM reflect_gate.chains FOR UPDATE",
        "TRUNCATE reflect_gate.search",
    ],
)
def test_the_server_holds_a_reader_to_reading(shared: Tenants, statement: str) -> None:
    """With SQL, too."""
    with (
        shared.connected(shared.role("acme", READER)) as connection,
        pytest.raises(errors.InsufficientPrivilege),
    ):
        connection.execute(statement.encode())


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM reflect_gate.events",
        "UPDATE reflect_gate.events SET payload = NULL, nonce = NULL",
        "UPDATE reflect_gate.events SET hash = 'x'",
        "TRUNCATE reflect_gate.events",
        "ALTER TABLE reflect_gate.events DISABLE TRIGGER ALL",
        "DROP TABLE reflect_gate.lessons",
        "CREATE TABLE reflect_gate.mine (n integer)",
        "UPDATE reflect_gate.layout SET number = 9",
        "UPDATE reflect_gate.chains SET id = gen_random_uuid()",
    ],
)
def test_a_writer_adds_events_and_can_do_nothing_else_to_them(shared: Tenants, statement: str) -> None:
    """Who records what happened cannot unmake it."""
    with (
        shared.connected(shared.role("acme", WRITER)) as connection,
        pytest.raises(errors.InsufficientPrivilege),
    ):
        connection.execute(statement.encode())


def test_a_writer_cannot_compact(acme: EventStore) -> None:
    """What the server only warns of is refused here: nobody believes that space was given back and traces are gone."""
    with pytest.raises(StoreError, match="only the owner") as caught:
        acme.vacuum()
    assert caught.value.code == "store-denied"


def test_a_writer_cannot_redact(acme: EventStore) -> None:
    """Erasing is the owner's; nothing of it happens by halves."""
    with pytest.raises(StoreError) as caught:
        acme.redact(text="hunter2", reason="a credential")
    assert caught.value.code == "store-denied"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM reflect_gate.events", "never deleted"),
        ("TRUNCATE reflect_gate.events", "never deleted"),
        ("UPDATE reflect_gate.events SET hash = 'x'", "never rewritten"),
        ("UPDATE reflect_gate.events SET payload = 'x'", "never rewritten"),
        (
            f"INSERT INTO reflect_gate.events {NINTH}",
            "follows",
        ),
    ],
)
def test_the_owner_cannot_rewrite_events_by_mistake(shared: Tenants, statement: str, message: str) -> None:
    """Triggers refuse it to other programs, too."""
    role = shared.role("acme", shared.owner)
    with shared.connected(role) as connection, pytest.raises(errors.RaiseException, match=message):
        connection.execute(statement.encode())


def test_a_role_of_no_tenant_is_told_what_to_do(shared: Tenants) -> None:
    """The error names the role and the statement by which the owner helps it."""
    role = shared.role(None, WRITER)
    with pytest.raises(StoreError, match=rf"`{role}` belongs to no tenant") as caught:
        open_store(shared.url(role))
    assert caught.value.code == "store-denied"
