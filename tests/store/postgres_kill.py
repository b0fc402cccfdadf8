"""Processes that apply decisions to one store on a server, while the server is stopped and started under them.

    python tests/store/postgres_kill.py --writers 8 --decisions 100 --restarts 2 --kills 40

The server's data lies on a disk, synced. Every other stop is a crash: connections are cut, and nothing is written that was not.
Afterwards every acknowledged decision must be there exactly once, every failure signature must have exactly one lesson, and chain
and projections must verify as they are; the same after writers were killed in pairs at random moments. Then the same work is done
by the same number of processes on an undisturbed server and on a file, which tells decisions a second of both.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

if __package__ in (None, ""):
    # Run as a script: the folder that holds `tests` is not on the path then.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.postgres_server import Server, running, unable
from tests.store.processes_apply import Applied, apply_at_once, kill_appliers
from tests.store.tenants import Tenants

from reflect_store.postgres import roles

__all__ = ["restarted"]

_LOOK = 0.05


def _events(tenants: Tenants, role: str) -> int:
    """Return how many events a role's tenant has now."""
    with suppress(psycopg.Error), tenants.connected(role) as connection:
        row = connection.execute("SELECT count(*) FROM reflect_gate.events").fetchone()
        return int(row[0]) if row else 0
    return 0


def _all_began(tenants: Tenants, role: str, writers: int) -> None:
    """Wait until every writer has opened the store: whoever opens it while the server is down is told so, and goes."""
    seen: set[int] = set()
    with tenants.connected() as connection:
        while len(seen) < writers:
            seen.update(row[0] for row in connection.execute("SELECT pid FROM pg_stat_activity WHERE usename = %s", (role,)))
            threading.Event().wait(_LOOK / 5)


def _restarting(server: Server, tenants: Tenants, role: str, writers: int, due: list[int]) -> Callable[[], None]:
    """Return what restarts the server when so many events are there; the first stop is a crash, the next is not, and so on."""

    def work() -> None:
        if due:
            _all_began(tenants, role, writers)
        for number, events in enumerate(due):
            while _events(tenants, role) < events:
                threading.Event().wait(_LOOK)
            server.stop(crash=number % 2 == 0)
            server.start()

    return work


def _writer(server: Server) -> tuple[Tenants, str]:
    """Return a database with an empty store, and a role that owns nothing and may write."""
    tenants = Tenants(server)
    with tenants.connected() as connection:
        connection.execute(roles().encode())
    return tenants, tenants.role("writers", "reflect_gate_writer")


def restarted(server: Server, writers: int, decisions: int, restarts: int) -> Applied:
    """Let writers that own nothing apply decisions to a new store, restart the server as often meanwhile, and check the store."""
    tenants, role = _writer(server)
    # A decision makes two events at least.
    due = [2 * writers * decisions * number // (restarts + 1) for number in range(1, restarts + 1)]
    return apply_at_once(tenants.url(role), writers, decisions, _restarting(server, tenants, role, writers, due))


def _figures(done: Applied) -> dict[str, Any]:
    found = {name: value for name, value in done._asdict().items() if value not in ((), [])}
    return {**found, "lost": len(done.lost), "doubled": len(done.doubled), "sound": done.sound}


def main() -> int:
    """Run as a script; exit code 1 where something was lost, doubled or broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--decisions", type=int, default=100, help="of each writer")
    parser.add_argument("--restarts", type=int, default=2)
    parser.add_argument("--kills", type=int, default=0, help="pairs of writers to kill")
    chosen = parser.parse_args()
    if reason := unable():
        print(reason)  # noqa: T201 - the result
        return 1
    with running(on_disk=True) as server, tempfile.TemporaryDirectory() as folder:
        os.environ["REFLECT_GATE_CACHE"] = folder
        began = time.monotonic()
        disturbed = restarted(server, chosen.writers, chosen.decisions, chosen.restarts)
        told = {
            "restarts": chosen.restarts,
            "disturbed": _figures(disturbed) | {"all_seconds": round(time.monotonic() - began, 1)},
        }
        tenants, role = _writer(server)
        killed = kill_appliers(tenants.url(role), chosen.kills, seed=0)
        told |= {"kills": chosen.kills, "killed": _figures(killed)} if chosen.kills else {}
        calm = restarted(server, chosen.writers, chosen.decisions, 0)
        file = apply_at_once(Path(folder) / "home" / "store.db", chosen.writers, chosen.decisions)
    rates = {name: done.acknowledged / done.seconds for name, done in (("server", calm), ("file", file))}
    told |= {"decisions_a_second": {name: round(rate, 1) for name, rate in rates.items()}}
    told |= {"server_to_file": round(rates["server"] / rates["file"], 2)}
    print(json.dumps(told, indent=2))  # noqa: T201 - the result
    return 0 if all(done.sound for done in (disturbed, killed, calm, file)) else 1


if __name__ == "__main__":
    sys.exit(main())
