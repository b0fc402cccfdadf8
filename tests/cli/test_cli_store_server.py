"""The command line on a store that lies on a server: where it is said, what is printed, and that no password is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reflect_gate import schemas
from reflect_gate.config import store_path
from reflect_store.postgres import roles

from .conftest import RunHere, RunProcess

if TYPE_CHECKING:
    from ..postgres_server import Server
    from ..store.tenants import Tenants


REQUEST_ERROR = "tests/test_cart.py::test_total_of_new_session FAILED\nTypeError: 'NoneType' object is not subscriptable"


@pytest.fixture
def address(tenants: Tenants) -> str:
    """The address of an empty store."""
    return tenants.url(tenants.role(f"of {tenants.role()}", tenants.owner))


def report(text: str) -> Any:
    """Return a report that holds to its schema."""
    document = json.loads(text)
    schemas.check("store-report", document, "report")
    return document


def test_an_address_is_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--store` and `REFLECT_GATE_STORE` take it as it is: no path is made of it."""
    monkeypatch.setenv("REFLECT_GATE_STORE", "postgresql://gate@db.example/lessons")
    assert store_path() == "postgresql://gate@db.example/lessons"
    assert store_path("postgres://other/x") == "postgres://other/x"
    assert store_path("here.db") == Path("here.db")


def test_the_commands_work_on_a_server(
    here: RunHere, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_document: dict[str, Any]
) -> None:
    """R-s1: a decision is committed, listed, verified, exported, merged into a file, and the file into the server."""
    monkeypatch.setenv("REFLECT_GATE_STORE", address)
    assert here("store", "init").code == 0
    (tmp_path / "request.json").write_text(json.dumps(request_document), encoding="utf-8")
    assert here("evaluate", str(tmp_path / "request.json"), "--apply").code == 0
    status = report(here("store", "status", "--format", "json").out)
    assert (status["rows"]["lessons"], status["indexed"]) == (1, 0)
    assert "load_cart" in here("retrieve", "load_cart() returns None for a new session", "--error", REQUEST_ERROR).out
    assert report(here("store", "index", "--format", "json").out)["indexed"] >= 1
    assert here("store", "verify").code == here("store", "rebuild").code == 0
    copy, file = str(tmp_path / "copy.ndjson"), str(tmp_path / "own" / "store.db")
    assert here("store", "export", "-o", copy).code == 0
    assert report(here("store", "import", copy, "--store", file, "--format", "json").out)["added"] >= 1
    assert report(here("store", "import", copy, "--format", "json").out)["added"] == 0
    assert here("store", "vacuum").code == 0


def test_status_says_how_far_the_index_is(here: RunHere, address: str) -> None:
    """A line of its own, which a store in a file does not need."""
    assert "indexed   0 (0 behind)" in here("store", "status", "--store", address).out
    assert here("store", "init").code == 0
    assert "indexed" not in here("store", "status").out


def test_a_backup_is_refused_with_what_to_do(here: RunHere, address: str, tmp_path: Path) -> None:
    """The server's own tools copy it."""
    ran = here("store", "backup", str(tmp_path / "copy.db"), "--store", address)
    assert (ran.code, "pg_dump" in ran.err, "store-unsupported" in ran.err) == (3, True, True)


def test_a_store_in_a_file_has_no_index_to_bring_up(here: RunHere) -> None:
    """It says so instead of doing nothing."""
    assert here("store", "init").code == 0
    ran = here("store", "index")
    assert (ran.code, "store-unsupported" in ran.err) == (3, True)


@pytest.mark.parametrize("arguments", [("store", "status"), ("config", "show", "--format", "json"), ("doctor",)])
def test_no_password_is_printed(process: RunProcess, postgres: Server, tenants: Tenants, arguments: tuple[str, ...]) -> None:
    """R-o1: neither in errors nor in reports on what is configured."""
    ran = process(*arguments, env={"REFLECT_GATE_STORE": postgres.url("postgres", "hunter2", tenants.database)})
    assert "hunter2" not in ran.out + ran.err


def test_a_reader_retrieves_and_is_not_logged(
    here: RunHere, tenants: Tenants, tmp_path: Path, request_document: dict[str, Any]
) -> None:
    """A role that only reads is enough to be offered lessons; that it cannot log is said."""
    with tenants.connected() as connection:
        connection.execute(roles().encode())
    owner, reader = (tenants.url(tenants.role("read alone", group)) for group in (tenants.owner, "reflect_gate_reader"))
    (tmp_path / "request.json").write_text(json.dumps(request_document), encoding="utf-8")
    assert here("evaluate", str(tmp_path / "request.json"), "--apply", "--store", owner).code == 0
    ran = here("retrieve", "load_cart() returns None for a new session", "--error", REQUEST_ERROR, "--store", reader)
    assert (ran.code, "load_cart" in ran.out) == (0, True)
    assert "not logged" in ran.err
    assert "store-denied" in ran.err


def test_a_server_that_is_away_is_no_invalid_input(here: RunHere) -> None:
    """R-o1: exit code 1, as of a file that cannot be read."""
    ran = here("store", "status", "--store", "postgresql://gate@127.0.0.1:1/lessons")
    assert (ran.code, "store-unreachable" in ran.err) == (1, True)


def test_the_roles_are_printed_without_a_driver(process: RunProcess) -> None:
    """An administrator needs no more than the text."""
    ran = process("store", "roles")
    assert ran.code == 0
    assert "GRANT INSERT ON reflect_gate.events TO reflect_gate_writer" in ran.out


def test_a_store_in_a_file_needs_no_driver(environment: dict[str, str]) -> None:
    """The command line imports nothing of a server for it."""
    code = (
        "import sys\nfrom reflect_gate.cli import main\nmain(['store', 'init'])\n"
        "print(sorted(name for name in sys.modules if 'psycopg' in name or 'reflect_store.postgres' in name))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
