"""The program with its queue on a server: one variable leads captures, workers, overview and metrics there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reflect_gate.capture.capturing import capture
from reflect_gate.capture.configured import in_force
from reflect_gate.capture.metrics import Metrics
from reflect_gate.capture.overview import status_of
from reflect_gate.capture.settings import Settings
from reflect_gate.capture.working import Worker, work
from reflect_gate.cli._doctor_memory import queue_check
from reflect_gate.config import queue_address
from reflect_gate.errors import ReflectGateError
from reflect_store.queue import open_at

from ..capture.world import failure

if TYPE_CHECKING:
    from .servers import Database


@pytest.fixture
def home(queue_server: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home folder of a machine whose queue lies on a server, with a password in its address."""
    queue_server.empty()
    monkeypatch.setenv("REFLECT_GATE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("REFLECT_GATE_QUEUE", queue_server.server.url(database=queue_server.name))
    return tmp_path / "home"


def test_failures_go_through_the_server(home: Path, queue_server: Database) -> None:
    """Captured here, counted here, worked off from there; no folder is made for it, and nobody is shown the password."""
    settings = Settings()
    assert [capture(failure(), settings=settings).outcome for _ in range(2)] == ["queued", "duplicate"]
    with open_at(settings.place, settings.queue()) as queue:
        status = status_of(queue, settings)
    assert (status.pending, queue_server.server.password in status.folder) == (1, False)
    # Any callable can be a handler: this one succeeds.
    done = work(settings, once=True, handler="builtins:repr")
    assert (done.attempts["success"], done.waiting, done.dead) == (1, 0, 0)
    assert capture(failure(), settings=settings).outcome == "done"
    with Worker(settings, handler="builtins:repr") as worker:
        metrics = Metrics(worker.queue, worker.calls, tallied=settings.tallied)
        (put,) = [family for family in metrics.collect() if family.name.endswith("_enqueue")]
    told = {sample.labels["outcome"]: sample.value for sample in put.samples}
    assert told == {"accepted": 1, "rejected_full": 0, "deduped": 2, "dropped_oldest": 0}
    assert not (home / "queue").exists()


def test_it_is_shown_without_the_password(home: Path, queue_server: Database) -> None:
    """`config show` says which server; `doctor` looks there."""
    (shown,) = [each for each in in_force() if each.name == "queue server"]
    assert (shown.variable, shown.kind) == ("REFLECT_GATE_QUEUE", "environment")
    assert shown.value == f"postgresql://postgres@127.0.0.1:{queue_server.server.port}/{queue_server.name}"
    status, detail, _ = queue_check()
    assert (status, "0 pending" in detail, queue_server.server.password in detail) == ("ok", True, False)
    assert not home.exists()


def test_what_is_no_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is named by another variable; what was given is not repeated, since it may hold a password."""
    monkeypatch.setenv("REFLECT_GATE_QUEUE", "mysql://me:s3cret@db/queue")
    with pytest.raises(ReflectGateError, match="settings") as caught:
        queue_address()
    assert "s3cret" not in str(caught.value)
