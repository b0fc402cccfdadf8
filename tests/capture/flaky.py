"""Work off many captured failures against a server of which 3 in 10 calls fail, and see whether every count adds up.

    python tests/capture/flaky.py --jobs 1000 --workers 2

Each failure has a signature of its own, so that each makes a lesson. By its draw a call is refused for now (503, 429, a dropped
connection), refused for good (400), skipped, answered with what is no candidate, or answered. Every job must end as done or as a
dead letter; the queue's counters, the store, the log of calls and the server's own count must tell the same story.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import re
import string
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from reflect_gate.capture.capturing import capture
from reflect_gate.capture.metrics import Metrics
from reflect_gate.capture.settings import Settings
from reflect_gate.capture.working import Worker
from reflect_gate.llm.journal import open_journal

if __package__:
    from ..llm.server import BEHAVIOURS, SKIP, ModelServer, saying
    from .world import ANSWER, World, failure
else:
    sys.path[:0] = [str(Path(__file__).parents[1] / "llm")]
    from server import BEHAVIOURS, SKIP, ModelServer, saying  # type: ignore[import-not-found, no-redef] # run as a script
    from world import ANSWER, World, failure  # type: ignore[import-not-found, no-redef]

__all__ = ["Counted", "work_off", "wrong"]

SETTINGS: Final = Settings(queue_capacity=100_000, queue_initial_delay=0.0, queue_max_attempts=5)
DRAWS: Final = (("503", 0.16), ("429", 0.05), ("drop in body", 0.05), ("400", 0.04), ("skip", 0.05), ("truncated JSON", 0.05))


WHOLE: Final = ("ok", "skip", "truncated JSON")


class Counted(NamedTuple):
    """What each side says: the queue, the store (`rows`), the log of calls (`outcomes`, `calls`), the server, the journal."""

    jobs: int
    seconds: float
    attempts: dict[str, int]
    retries: int
    done: int
    dead: dict[str, int]
    waiting: int
    rows: dict[str, int]
    outcomes: dict[str, int]
    calls: int
    asked: dict[str, int]
    answered_twice: int
    metrics: dict[str, float]
    journalled: int


def _name(number: int) -> str:
    """Return letters alone: digits are no part of a signature."""
    letters = ""
    while number or not letters:
        number, rest = divmod(number, 26)
        letters = string.ascii_lowercase[rest] + letters
    return f"load_{letters}"


def _failure(number: int) -> dict[str, Any]:
    return _renamed(failure(f"cart-{number}", session=f"session-{number}"), number)


def _renamed(document: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a failure, or the answer to it, as one of its own: another function, another test."""
    text = json.dumps(document).replace("load_cart", _name(number)).replace("test_total", f"test_{_name(number)}")
    return dict(json.loads(text))


class _Server:
    """Draws how to behave, and counts what it did; `answers` are those that were given whole, by failure."""

    def __init__(self, seed: int) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.answers: collections.Counter[str] = collections.Counter()
        self._chance = random.Random(seed)
        self._lock = threading.Lock()

    def __call__(self, handler: Any) -> None:
        name, what = self._drawn(handler.asked)
        if what == "429":
            handler.send(429, b"{}")
        elif what == "skip":
            saying(SKIP)(handler)
        elif what == "ok":
            saying(_renamed(ANSWER, int(name.removeprefix("cart-"))))(handler)
        else:
            BEHAVIOURS[what](handler)

    def _drawn(self, asked: Any) -> tuple[str, str]:
        found = re.search(r'"failure_id":\s*"([^"]+)"', asked.body["messages"][-1]["content"])
        assert found is not None
        with self._lock:
            draw, what = self._chance.random(), "ok"
            for name, share in DRAWS:
                if draw < share:
                    what = name
                    break
                draw -= share
            self.counts[what] += 1
            if what in WHOLE:
                self.answers[found[1]] += 1
        return found[1], what


def work_off(world: World, jobs: int, workers: int, seed: int) -> Counted:
    """Capture and work off so many failures, in this process' environment, which must be that of the world."""
    draw = _Server(seed)
    with ModelServer(draw) as server:
        world.asks(server)
        os.environ |= {name: value for name, value in world.environ.items() if name.startswith("REFLECT_GATE_")}
        settings = SETTINGS._replace(queue_workers=workers)
        for number in range(jobs):
            capture(_failure(number), settings=settings)
        begun = time.monotonic()
        with Worker(settings) as worker:
            registry = CollectorRegistry()
            registry.register(Metrics(worker.queue, worker.calls))
            while worker.queue.depth():
                worker.start(once=True)
                while worker.pool.working:
                    time.sleep(0.05)
                worker.stop()
            seconds = time.monotonic() - begun
            return _counted(world, worker, draw, jobs, seconds, _scraped(registry))


def _scraped(registry: CollectorRegistry) -> dict[str, float]:
    """Return the sums over all other labels of each metric by its outcome, kind or verdict, as a scrape has them."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            label = next((sample.labels[name] for name in ("outcome", "kind", "verdict") if name in sample.labels), "")
            key = f"{sample.name.removeprefix('reflectgate_')}:{label}".rstrip(":")
            if "bucket" not in key and "created" not in key:
                found[key] = found.get(key, 0.0) + sample.value
    return found


def _counted(world: World, worker: Worker, draw: _Server, jobs: int, seconds: float, metrics: dict[str, float]) -> Counted:
    tables: Any = ("terminations", "decisions", "lessons", "violations", "not_reflected")
    outcomes = list(worker.calls.outcomes())
    with world.store() as store:
        rows = {table: store.count(table) for table in tables}
    again = [capture(_failure(number), settings=worker.settings).outcome for number in range(jobs)]
    return Counted(
        jobs,
        round(seconds, 1),
        dict(worker.queue.counters.attempts),
        sum(worker.queue.counters.retries.values()),
        again.count("done"),
        dict(collections.Counter(str(row.reason) for row in worker.queue.dead_letters())),
        worker.queue.depth(),
        rows,
        dict(collections.Counter(line["kind"] for line in outcomes)),
        sum(line["call"] is not None for line in outcomes),
        dict(draw.counts),
        sum(count > 1 for count in draw.answers.values()),
        metrics,
        len(open_journal().keys()),
    )


def wrong(counted: Counted) -> list[str]:
    """Return what does not add up, in words."""
    asked, attempts, dead = collections.Counter(counted.asked), counted.attempts, sum(counted.dead.values())
    kinds, rows = collections.Counter(counted.outcomes), counted.rows
    answered = asked["ok"] + asked["skip"] + asked["truncated JSON"]
    exhausted = counted.dead.get("exhausted", 0)
    claims = {
        "every job is done or dead": counted.done + dead == counted.jobs and counted.waiting == 0,
        "done is success or skip": attempts["success"] + attempts["skipped"] == counted.done,
        "every call is an attempt": sum(asked.values()) == sum(attempts.values()),
        "every failed call is transient or permanent": attempts["transient"]
        == asked["503"] + asked["429"] + asked["drop in body"]
        and attempts["permanent"] == asked["400"],
        "a transient end is a retry or the last one": attempts["transient"] == counted.retries + exhausted,
        "a dead letter is permanent or exhausted": attempts["permanent"] + exhausted == dead,
        "nobody was asked again": counted.answered_twice == 0 and answered == counted.done,
        "every answer is in the log, with its call": sum(kinds.values()) == counted.calls == answered,
        "the log says what the server did": (kinds["reflection"], kinds["skip"], kinds["violation"])
        == (asked["ok"], asked["skip"], asked["truncated JSON"]),
        "the store says it too": (rows["decisions"], rows["not_reflected"], rows["violations"])
        == (asked["ok"], asked["skip"], asked["truncated JSON"])
        and rows["terminations"] == counted.done,
        "the journal is empty": counted.journalled == 0,
        "the metrics say what the queue does": all(
            counted.metrics[f"lessonq_attempts_total:{name}"] == number for name, number in attempts.items()
        )
        and counted.metrics["lessonq_enqueue_total:accepted"] == counted.jobs
        and counted.metrics["lessonq_dlq_size"] == dead
        and counted.metrics.get("lessonq_retry_total", 0.0) == counted.retries,
        "the metrics say what the gate did": all(
            counted.metrics[f"failures_total:{kind}"] == number for kind, number in counted.outcomes.items()
        )
        and counted.metrics["model_calls_total"] == answered,
    }
    return [claim for claim, holds in claims.items() if not holds]


def main() -> int:
    """Run as a script, and print the counts as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), Path(folder) / "cache")
        os.environ |= world.environ
        counted = work_off(world, options.jobs, options.workers, options.seed)
    found = wrong(counted)
    print(json.dumps({**counted._asdict(), "wrong": found}, indent=1))  # noqa: T201
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
