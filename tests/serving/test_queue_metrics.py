"""What `/metrics` says of the queue that captures are put into: in a folder, on a server, and where it is away."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from reflect_gate.capture.capturing import capture
from reflect_gate.capture.gauging import QUEUE
from reflect_gate.capture.settings import Settings
from reflect_gate.serving import watching
from reflect_gate.serving.watching import QueueWatch
from reflect_store.queue import FileQueue

from ..capture.world import FAILURE, failure
from ..postgres_server import Server
from .gate import Gate, environment


class Scraper:
    """Scrapes a watch without waiting for what it saw to grow old."""

    def __init__(self, patience: float = 60.0, kept: float = 0.0) -> None:
        self.registry = CollectorRegistry()
        self.watch = QueueWatch(kept=kept, patience=patience)
        self.registry.register(self.watch)

    def __call__(self, name: str, **labels: str) -> float | None:
        """Return one value, `None` where there is none."""
        return self.registry.get_sample_value(f"{QUEUE}_{name}", labels)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a machine that has no queue yet."""
    for name in ("REFLECT_GATE_QUEUE", "REFLECT_GATE_QUEUE_ENABLED", "REFLECT_GATE_QUEUE_BASE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REFLECT_GATE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "home"


@pytest.fixture(params=["files", "postgres"])
def queue(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A queue of each kind, for a machine that has its home; returns which."""
    if request.param == "postgres":
        pytest.importorskip("procrastinate", reason="needs procrastinate (the extra `postgres`)")
        import psycopg

        server: Server = request.getfixturevalue("postgres")
        name = "watched"
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        monkeypatch.setenv("REFLECT_GATE_QUEUE", server.url(database=name))
    kind: str = request.param
    return kind


def test_a_scrape_says_how_the_queue_stands(home: Path, queue: str) -> None:
    """With the worker's names: what waits, what is due, how old it is, and what became of captures."""
    capture(failure("a"))
    assert (home / "queue").exists() == (queue == "files")
    capture(failure("a"))
    capture(failure("b"))
    scrape = Scraper()
    assert [scrape(name) for name in ("up", "queue_depth", "wal_segments", "queue_ready")] == [1, 2, 2, 2]
    assert [scrape(name) for name in ("dlq_size", "expired_size")] == [0, 0]
    age = scrape("oldest_job_age_seconds")
    assert age is not None
    assert 0 <= age < 600
    assert [scrape("enqueue_total", outcome=name) for name in ("accepted", "deduped")] == [2, 1]
    scrape.watch.close()


def test_before_the_first_capture_there_is_no_queue(home: Path) -> None:
    """Nothing is told of it, nothing is made for it, and it is seen once it is there."""
    scrape = Scraper()
    assert (scrape("up"), scrape("queue_depth"), home.exists()) == (None, None, False)
    capture(failure())
    assert (scrape("up"), scrape("queue_depth")) == (1, 1)


def test_without_a_queue_nothing_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the mode that has none, also where one lies there from before."""
    capture(failure())
    assert home.is_dir()
    monkeypatch.setenv("REFLECT_GATE_QUEUE_ENABLED", "false")
    assert Scraper()("up") is None


def test_what_was_seen_is_told_for_a_while(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrapes that follow each other cost one look."""
    capture(failure())
    looks: list[None] = []
    plain = FileQueue.gauges

    def counted(self: FileQueue) -> object:
        looks.append(None)
        return plain(self)

    monkeypatch.setattr(FileQueue, "gauges", counted)
    scrape = Scraper(kept=600.0)
    assert [scrape("queue_depth") for _ in range(3)] == [1, 1, 1]
    assert (len(looks), home.is_dir()) == (1, True)


def test_a_server_that_is_away_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses: the queue is not up, and has no sizes rather than old ones."""
    pytest.importorskip("procrastinate", reason="needs procrastinate (the extra `postgres`)")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("REFLECT_GATE_QUEUE", f"postgresql://gate@127.0.0.1:{taken.getsockname()[1]}/queue")
        scrape = Scraper()
        assert (scrape("up"), scrape("queue_depth"), home.exists()) == (0, None, False)


def test_a_queue_that_hangs_holds_nobody_up(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first scrape waits for as long as it may, those that follow do not wait at all, and one look is under way."""
    capture(failure())
    scrape = Scraper(patience=0.01)
    looks: list[None] = []
    hangs, ends = socket.socketpair()
    with hangs, ends:

        def hang() -> Settings:
            looks.append(None)
            hangs.recv(1)
            return Settings()

        monkeypatch.setattr(watching, "read_settings", hang)
        assert [(scrape("up"), scrape("queue_depth")) for _ in range(3)] == [(0, None)] * 3
        assert (len(looks), home.is_dir()) == (1, True)
        scrape.watch.close()
        ends.send(b".")
        looking = [each for each in threading.enumerate() if each.name == "queue-watch"]
        for each in looking:
            each.join()
    scrape.watch.close()


def test_it_stands_among_the_metrics_of_the_server(tmp_path: Path, bundle_cache: Path) -> None:
    """What the server captured is what it tells of."""
    with Gate(environment(tmp_path / "home", bundle_cache)) as gate:
        assert gate.post("/v1/capture", {**FAILURE, "failure_id": "watched-1"}).body["outcome"] == "queued"
        # On a machine that others use, the first look may take longer than a scrape waits for.
        told = next(text for _ in range(30) if f"{QUEUE}_up 1.0" in (text := gate.get("/metrics").body.decode()))
    assert f"{QUEUE}_queue_depth 1.0" in told
    assert f"{QUEUE}_dlq_size 0.0" in told
