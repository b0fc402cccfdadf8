"""The layout of a store on a server: migrating, copying, reading by an index, and what erasing leaves."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from reflect_store import Draft, EventStore, StoreError, draft, memory_store, open_store
from reflect_store._sql import migrations
from reflect_store.postgres import _layout
from reflect_store.postgres._address import read_address
from reflect_store.postgres._layout import LAYOUT

from ..postgres_server import Server, programs
from .stores import Told
from .tenants import Tenants

pytestmark = pytest.mark.usefixtures("cached")


CATALOG = """
SELECT 'column', c.oid::regclass::text, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull::text, a.attcollation::text,
    coalesce(pg_get_expr(d.adbin, d.adrelid), '')
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = 'reflect_gate'::regnamespace AND c.relkind = 'r'
UNION ALL SELECT 'table', oid::regclass::text, relrowsecurity::text, relforcerowsecurity::text, coalesce(relacl::text, ''), '', ''
FROM pg_class WHERE relnamespace = 'reflect_gate'::regnamespace AND relkind = 'r'
UNION ALL SELECT 'index', indexrelid::regclass::text, pg_get_indexdef(indexrelid), '', '', '', ''
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'reflect_gate'::regnamespace
UNION ALL SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid), '', '', ''
FROM pg_constraint WHERE connamespace = 'reflect_gate'::regnamespace
UNION ALL SELECT 'trigger', tgrelid::regclass::text, pg_get_triggerdef(oid), '', '', '', '' FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT 'policy', tablename, policyname, cmd, qual, with_check, roles::text FROM pg_policies
WHERE schemaname = 'reflect_gate'
UNION ALL SELECT 'function', proname, pg_get_functiondef(oid), coalesce(proacl::text, ''), '', '', ''
FROM pg_proc WHERE pronamespace = 'reflect_gate'::regnamespace
ORDER BY 1, 2, 3
"""


def catalog(url: str) -> list[tuple[Any, ...]]:
    """Return every table, column, index, constraint, trigger, policy and function of a store."""
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(CATALOG.encode()).fetchall()


@pytest.mark.parametrize("layout", range(1, LAYOUT))
def test_every_older_layout_leads_to_the_schema_of_a_fresh_store(
    tenants: Tenants, monkeypatch: pytest.MonkeyPatch, layout: int
) -> None:
    """A migrated store is a fresh one, and the projections of all its tenants are made from their events."""
    new, old = tenants.fresh(), tenants.fresh()
    open_store(new, create=True).close()
    exported = [draft("not-reflected", {"failure_id": f"f-{number}", "reason": "off"}) for number in range(3)]
    other = tenants.role(None, tenants.owner)
    older(old, layout, other, exported, monkeypatch)
    with pytest.raises(StoreError) as caught:
        open_store(old, read_only=True)
    assert caught.value.code == "store-read-only"
    with open_store(old) as store:
        assert (store.version, store.count("not_reflected"), store.verify().problems) == (3, 3, ())
    with open_store(old.replace(tenants.owner, other, 1)) as store:
        assert (store.version, store.count("not_reflected"), store.verify().problems) == (3, 3, ())
    assert catalog(old) == catalog(new)


def older(url: str, layout: int, other: str, drafts: Sequence[Draft], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a store of an older layout, with events of two tenants."""
    scripts = [script for script in migrations("postgresql") if script[0] <= layout]
    with monkeypatch.context() as patch, psycopg.connect(url, autocommit=True) as connection:
        patch.setattr(_layout, "LAYOUT", layout)
        patch.setattr(_layout, "migrations", lambda _: scripts)
        connection.execute(b"SET search_path = ''")
        _layout.prepare(connection, read_address(url, 1), create=True, read_only=False, settle=lambda _: None)
        connection.execute("SELECT reflect_gate.assign(%s, 'other')", (other,))
    with memory_store() as told:
        told.append(drafts)
        events = list(told.events())
    for address in (url, url.replace(url.partition("//")[2].partition("@")[0], other, 1)):
        with psycopg.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO reflect_gate.events VALUES (reflect_gate.tenant(), %s, %s, %s, %s, %s, %s, %s, %b)", events
            )


def test_statements_read_by_an_index(tenants: Tenants, kept: EventStore) -> None:
    """Every page of rows is read in the order of an index: it costs the page, whatever the store and its tenants hold."""
    kept.append([Told.failed("f-1")])
    seen: list[str] = []
    with tenants.connected(kept.backend.place.partition("//")[2].partition("@")[0]) as connection:
        connection.execute(b"SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off")
        found = connection.execute(
            b"EXPLAIN SELECT time, event, key, row FROM reflect_gate.terminations WHERE tenant = (SELECT reflect_gate.tenant())"
            b" AND (time, event, key) > ('', '', '') AND signature = 'a' ORDER BY time, event, key LIMIT 9"
        )
        seen = [row[0] for row in found]
    assert not [line for line in seen if "Sort" in line]
    assert [line for line in seen if "terminations_by_signature" in line]
    assert any("signature = 'a'" in line and "time, event, key" in line.replace('"time"', "time") for line in seen), seen


def test_what_is_erased_is_not_left_in_the_tables(postgres: Server, tenants: Tenants) -> None:
    """R-s1: after a redaction no file of the tables holds the text."""
    secret = "hunter2-" + "q" * 24
    with tenants.store() as store:
        store.append([Told.failed("f-1", secret), Told.admitted("l-1", statement=f"Never print {secret} in a log.")])
        with tenants.connected() as connection:
            connection.execute(b"CHECKPOINT")
        assert holding(postgres, secret)
        assert len(store.redact(text=secret, reason="a credential")) == 2
        with tenants.connected() as connection:
            connection.execute(b"CHECKPOINT")
        assert holding(postgres, secret) == []


def test_a_dump_is_a_store(postgres: Server, tenants: Tenants, tmp_path: Path) -> None:
    """R-s1: what the server's own tools copied holds every tenant's chain, and goes on."""
    role = tenants.role("dumped", tenants.owner)
    with open_store(tenants.url(role)) as store:
        store.append([Told.failed("f-1"), Told.admitted("l-1")])
        head = store.head()
    url, file, folder = tenants.fresh(), str(tmp_path / "dump"), programs()
    assert folder is not None
    subprocess.run([folder / "pg_dump", "-Fc", "-f", file, postgres.local(database=tenants.database)], check=True)
    restored = url.replace(tenants.owner, "postgres", 1)
    subprocess.run([folder / "pg_restore", "--exit-on-error", "-d", restored, file], check=True)
    with open_store(url.replace(tenants.owner, role, 1)) as store:
        assert (store.head(), store.verify(expected=head).problems) == (head, ())
        assert store.append([Told.merged("l-1", "f-2")]) == (3,)


def holding(server: Server, text: str) -> list[str]:
    """Return the files of tables that hold a text."""
    return [str(path) for path in (server.data / "base").rglob("*") if path.is_file() and text.encode() in path.read_bytes()]
