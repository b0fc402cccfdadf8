"""What docs/postgres.md and docs/queue.md give an operator to type, taken from the pages and run against a server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reflect_store import StoreError, open_store

from ..lessons import born
from ..postgres_server import Server
from .conftest import Run

psycopg = pytest.importorskip("psycopg", reason="needs psycopg (the extra `postgres`)")

DOCS = Path(__file__).parents[2] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="runs in a checkout")
LESSON = "Check what load_cart() returns before its total is asked for."
RIGHTS = """
SELECT table_name, privilege_type FROM information_schema.role_table_grants
WHERE grantee = 'reflect_gate_writer' AND table_schema = 'reflect_gate_queue' ORDER BY 1, 2
"""


def sql(page: str) -> list[str]:
    """Return the blocks of SQL of a page."""
    return re.findall(r"^```sql\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def execute(server: Server, database: str, text: str, role: str = "postgres") -> list[tuple[object, ...]]:
    """Run statements as a role, and return the rows of the last one."""
    with psycopg.connect(server.local(role, database), autocommit=True) as connection:
        cursor = connection.execute(text.encode())
        while cursor.nextset():
            pass
        return cursor.fetchall() if cursor.description else []


def owned(server: Server, name: str) -> str:
    """Make a database as both pages say, and return its name; the role is made once."""
    execute(server, "postgres", "DO $$ BEGIN CREATE ROLE gate_owner LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    execute(server, "postgres", f"CREATE DATABASE {name} OWNER gate_owner ENCODING 'UTF8' TEMPLATE template0")
    return name


def test_roles_and_tenants_are_made_as_the_page_says(postgres: Server, run: Run) -> None:
    """By its commands and its SQL: a tenant's writer adds and cannot redact, its owner can, and no other tenant's."""
    name = owned(postgres, "pages_lessons")
    assert run("store", "init", "--store", postgres.local("gate_owner", name)).code == 0
    told = run("store", "roles")
    execute(postgres, name, told.out.decode())
    for block in sql("postgres.md"):
        execute(postgres, name, block)
    with open_store(postgres.local("acme_agent", name)) as agent:
        agent.append([born("lesson-1", LESSON)])
        with pytest.raises(StoreError, match="store-denied"):
            agent.redact(lesson="lesson-1", reason="a test")
    arguments = ("store", "redact", "--lesson", "lesson-1", "--reason", "a test", "--yes", "--store")
    assert run(*arguments, postgres.local("gate_owner", name)).out.endswith(b"0 events erased\n")
    assert run(*arguments, postgres.local("acme_owner", name)).out.endswith(b"1 events erased\n")
    assert run("store", "verify", "--store", postgres.local("acme_agent", name)).code == 0


def test_rights_that_are_granted_later_are_the_same(postgres: Server, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SQL of queue.md gives a writer what the making of the tables gives where the role is there by then."""
    pytest.importorskip("procrastinate", reason="needs procrastinate (the extra `postgres`)")
    name = owned(postgres, "pages_queue")
    execute(postgres, name, run("store", "roles").out.decode().partition("GRANT")[0].partition("REVOKE")[0])
    monkeypatch.setenv("REFLECT_GATE_QUEUE", postgres.local("gate_owner", name))
    assert run("reflect").code == 0
    granted = execute(postgres, name, RIGHTS)
    assert granted
    execute(postgres, name, "REVOKE ALL ON ALL TABLES IN SCHEMA reflect_gate_queue FROM reflect_gate_writer", "gate_owner")
    (block,) = sql("queue.md")
    execute(postgres, name, block, "gate_owner")
    assert execute(postgres, name, RIGHTS) == granted


@pytest.mark.parametrize(
    ("address", "code"),
    [("postgresql://gate@127.0.0.1:1/queue", "queue-unreachable"), ("{}/nosuch", "queue-gone"), ("{}/postgres", "queue-denied")],
)
def test_a_capture_that_was_not_kept_ends_with_1(
    address: str, code: str, postgres: Server, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the server of the queue says: nothing is wrong with the failure, which can be sent again."""
    pytest.importorskip("procrastinate", reason="needs procrastinate (the extra `postgres`)")
    execute(postgres, "postgres", "DO $$ BEGIN CREATE ROLE stranger LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    monkeypatch.setenv(
        "REFLECT_GATE_QUEUE", address.format(f"postgresql://stranger@:{postgres.port}") + f"?host={postgres.folder}"
    )
    monkeypatch.setenv("REFLECT_GATE_QUEUE_BLOCK_TIMEOUT", "0")
    shown = DOCS / "examples" / "capture" / "termination.json"
    ran = run("capture", str(shown))
    assert (ran.code, f"[{code}]" in ran.err) == (1, True), ran.err
