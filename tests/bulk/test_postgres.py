"""A replay against a store on a PostgreSQL server: a copy of one tenant's events travels, and the outcome is that of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import RunHere, RunProcess
from tests.lessons import born

from reflect_gate import Bundle
from reflect_gate.bulk.parcel import FOLDER, Contents, receive, ship
from reflect_gate.bulk.running import lines_of
from reflect_gate.memory.applying import apply, consider
from reflect_store import Event, EventStore, StoreError, open_store
from reflect_store.checking import by_seq

from ..store.tenants import Tenants
from .conftest import Replay
from .making import one_request
from .million import same

QUICK = ("--engine", "compiled", "--as-of", "2026-11-30")
FOREIGN = "the other tenant's lesson"


@pytest.fixture
def role(tenants: Tenants) -> str:
    """A role of a new tenant, in a database where another tenant has lessons too."""
    return tenants.role(f"of {tenants.role()}", tenants.owner)


@pytest.fixture
def kept(tenants: Tenants, role: str, quick: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EventStore]:
    """Its store, with some hundred lessons, one of which the requests are about."""
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "cache"))
    with tenants.store() as other:
        other.append([born("secret", FOREIGN)])
    with open_store(tenants.url(role)) as store:
        said = "Check what load_cart() returns for the session of kind {} before its total is asked for."
        store.append([born(f"lesson-{number}", said.format(number), signature=f"{number % 16:x}") for number in range(200)])
        apply(store, one_request(0), quick)
        yield store


def exported(store: EventStore, path: Path) -> Path:
    """Copy a store into a file as docs/postgres.md says."""
    with path.with_suffix(".ndjson").open("w+b") as events, open_store(path, create=True) as copy:
        store.export(events)
        events.seek(0)
        copy.import_(events, "export")
    return path


def files(folder: Path) -> dict[str, bytes]:
    """Return what lies below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_it_is_the_same_as_against_a_file(
    replayed: Replay, source: Path, kept: EventStore, quick: Bundle, tmp_path: Path
) -> None:
    """Byte for byte, report and parts; and each decision is the one that the server's own store leads to."""
    server, file = tmp_path / "server", tmp_path / "file"
    done, told = replayed(source, server, store=kept)
    with open_store(exported(kept, tmp_path / "copy.db"), read_only=True) as copy:
        replayed(source, file, store=copy)
    assert same(server, file)
    assert (told, done.report["store"]) == ([], str(kept.head()))
    assert list(lines_of(server)) == [consider(kept, one_request(number), quick).decision.to_bytes() for number in range(7)]
    replayed(source, tmp_path / "without")
    assert list(lines_of(tmp_path / "without")) != list(lines_of(server))


def test_one_tenant_travels_alone(kept: EventStore, quick: Bundle, out: Path) -> None:
    """Nothing of another tenant, of the role or of the address is in the parcel, and nothing is written beside it."""
    shipped = ship(Contents(quick, store=kept), out)
    judge, _ = receive(out, shipped.digest)
    assert judge.line(b"{", "in.parquet", 1).status == "invalid"
    parcel = files(out / FOLDER)
    assert len(parcel) == 2
    for data in parcel.values():
        assert b"load_cart()" in data or b"structured" in data
        assert not any(word.encode() in data for word in (FOREIGN, "role_", "postgresql", kept.backend.place))


def test_processes_say_the_same(
    process: RunProcess, here: RunHere, source: Path, kept: EventStore, tenants: Tenants, role: str, tmp_path: Path
) -> None:
    """By the address on the command line; workers need neither it nor the server."""
    assert kept.head().seq > 200
    command = ("evaluate", "--parquet", str(source), f"--store={tenants.url(role)}", *QUICK)
    spread = ("--scheduler", "processes", "--jobs", "1")
    assert here(*command, "--out", str(tmp_path / "one")).code == 0
    ran = process(*command, "--out", str(tmp_path / "many"), *spread)
    assert (ran.code, same(tmp_path / "one", tmp_path / "many")) == (0, True), ran.err
    again = here(*command, "--out", str(tmp_path / "many"))
    assert (again.code, again.err) == (0, "3 chunks, 3 of them finished before\n")


def test_a_server_that_goes_away_leaves_nothing(
    replayed: Replay, source: Path, kept: EventStore, tenants: Tenants, role: str, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the events are read: an error of the store, and nothing half written; done again, all is there."""

    def cut(*given: object) -> Iterator[Event]:
        for event in by_seq(*given):  # type: ignore[arg-type] # the same as was given
            if event.seq == 100:
                with tenants.connected() as connection:
                    connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (role,))
                kept.head()
            yield event

    with monkeypatch.context() as patched:
        patched.setattr("reflect_store.exchange.by_seq", cut)
        with pytest.raises(StoreError, match="store-unreachable"):
            replayed(source, out, store=kept)
    assert not out.exists()
    assert replayed(source, out, store=kept)[0].report["requests"] == 7
