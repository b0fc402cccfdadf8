"""Metrics: S1's ten under the new prefix, gate and model beside them, and counts that add up over processes."""

from __future__ import annotations

import json
import os
import re
import signal
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from reflect_gate import ReflectGateError
from reflect_gate.capture.capturing import capture
from reflect_gate.capture.metrics import GATE, QUEUE, Metrics, serve
from reflect_gate.capture.settings import Settings
from reflect_gate.capture.spending import Calls, open_calls
from reflect_gate.capture.tally import OUTCOMES, count, counts
from reflect_gate.capture.working import Worker
from reflect_store.queue import FileQueue, Put, open_queue

from ..llm.server import SKIP, ModelServer, saying
from .shelf import lay
from .world import ANSWER, World, failure

S1 = {
    "enqueue_total": ("counter", {"outcome"}),
    "queue_depth": ("gauge", set()),
    "processing_duration_seconds": ("histogram", {"outcome", "le"}),
    "attempts_total": ("counter", {"outcome"}),
    "retry_total": ("counter", {"attempt"}),
    "dlq_size": ("gauge", set()),
    "wal_segments": ("gauge", set()),
    "wal_corruption_total": ("counter", set()),
    "stale_discarded_total": ("counter", set()),
    "persist_failures_total": ("counter", set()),
}
CALL = {"model": "tiny", "prompt_tokens": 100, "cached_tokens": 40, "completion_tokens": 7, "cost": "0.0125", "latency_ms": 1500}
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def queue(world: World) -> Iterator[FileQueue]:
    """The queue of a world."""
    with open_queue(world.home / "queue", Settings().queue()) as opened:
        yield opened


class Scraper:
    """Scrapes what `Metrics` answers, as Prometheus reads it."""

    def __init__(self, queue: FileQueue, calls: Calls) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(Metrics(queue, calls))

    def families(self) -> dict[str, Any]:
        """Return the families by name, as they stand now."""
        return {family.name: family for family in text_string_to_metric_families(generate_latest(self.registry).decode())}

    def __call__(self, name: str, **labels: str) -> float | None:
        """Return one value, `None` where there is none."""
        return self.registry.get_sample_value(name, labels)


def outcome(name: str, **changes: Any) -> dict[str, Any]:
    """Return a line of what came of a failure."""
    line = {"failure_id": name, "kind": "reflection", "route": "15reflect", "trigger": "error", "status": "", "reason": ""}
    return {**line, "call": CALL, **changes}


def test_s1s_ten_metrics_are_there(queue: FileQueue, world: World) -> None:
    """R-q10: each with S1's name under our prefix, its type and its labels."""
    lay(world, dead=[("Fix the cart", "ModelError: 400")], waiting=["One more"])
    queue.counters.processed("success", 0.3)
    queue.counters.retries[1] = 1
    families = Scraper(queue, open_calls()).families()
    for name, (kind, labels) in S1.items():
        family = families[f"{QUEUE}_{name.removesuffix('_total')}"]
        told = set().union(*(sample.labels for sample in family.samples))
        assert (family.type, told) == (kind, labels), name
        assert family.documentation


def test_sizes_are_those_of_the_folder(queue: FileQueue, world: World) -> None:
    """R-q10: depth without what is worked on, records with it, dead letters; a queue that is gone takes only its own away."""
    lay(world, dead=[("Fix the cart", "ModelError: 400")], waiting=["One more", "And another"])
    scrape = Scraper(queue, open_calls())
    claim = queue.claim()
    assert claim is not None
    sizes = [scrape(f"{QUEUE}_{name}") for name in ("queue_depth", "wal_segments", "dlq_size")]
    assert sizes == [1, 2, 1]
    claim.release()
    queue.close()
    assert scrape(f"{QUEUE}_dlq_size") is None
    assert scrape(f"{QUEUE}_stale_discarded_total") == 0


def test_attempts_fall_into_buckets(queue: FileQueue, world: World) -> None:
    """R-q10: cumulated as Prometheus wants them; one that is longer than all is in the last."""
    assert world.environ
    for seconds in (0.05, 0.1, 0.3, 400.0):
        queue.counters.processed("success", seconds)
    scrape, name = Scraper(queue, open_calls()), f"{QUEUE}_processing_duration_seconds"
    found = [scrape(f"{name}_bucket", outcome="success", le=le) for le in ("0.1", "0.25", "0.5", "300.0", "+Inf")]
    assert found == [2, 2, 3, 3, 4]
    assert (scrape(f"{name}_count", outcome="success"), scrape(f"{name}_sum", outcome="success")) == (4, 400.45)
    assert scrape(f"{QUEUE}_attempts_total", outcome="success") == 4


def test_captures_of_other_processes_are_counted(queue: FileQueue, world: World) -> None:
    """R-q10: what a hook put is counted by the worker that is asked for it, also after a restart."""
    assert world.run("capture", "-", stdin=failure("a")).code == 0
    capture(failure("a"))
    capture(failure("b"))
    full = Settings(queue_capacity=1, queue_block_timeout=0.0)
    capture(failure("c"), settings=full)
    capture(failure("d"), settings=full._replace(queue_drop_oldest=True))
    found = {name: Scraper(queue, open_calls())(f"{QUEUE}_enqueue_total", outcome=name) for name in OUTCOMES}
    assert found == {"accepted": 3, "deduped": 1, "rejected_full": 1, "dropped_oldest": 2}


def test_counting_loses_nothing_where_many_count(tmp_path: Path) -> None:
    """Bytes that are appended at once are all there."""
    put = Put("0" * 16, "enqueued", ("1" * 16, "2" * 16))
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: count(tmp_path, put), range(200)))
    assert counts(tmp_path) == {"accepted": 200, "rejected_full": 0, "deduped": 0, "dropped_oldest": 400}


def test_what_cannot_be_counted_holds_nothing_up(tmp_path: Path) -> None:
    """A folder that is gone is not made again, and nothing is raised."""
    count(tmp_path / "gone", Put("0" * 16, "enqueued"))
    assert not (tmp_path / "gone").exists()
    assert set(counts(tmp_path / "gone").values()) == {0}


def test_decisions_tokens_and_cost_add_up(queue: FileQueue, world: World) -> None:
    """Decisions by verdict and reason, failures without a candidate, calls, tokens and dollars; since the worker began."""
    calls = Calls(world.home / "calls", Decimal("2.5"))
    calls.outcome(outcome("before", status="admitted"))
    scrape = Scraper(queue, calls)
    calls.outcome(outcome("a", status="admitted"))
    calls.outcome(outcome("b", status="refused", reason="shallow"))
    calls.outcome(outcome("b", status="refused", reason="shallow"))
    calls.outcome(outcome("c", kind="violation", reason="schema"))
    calls.outcome(outcome("d", kind="not_reflected", reason="cost-limit: $0.02 of $0.01", call=None))
    assert scrape(f"{GATE}_decisions_total", route="15reflect", verdict="admitted", reason="") == 1
    assert scrape(f"{GATE}_decisions_total", route="15reflect", verdict="refused", reason="shallow") == 1
    assert scrape(f"{GATE}_no_candidate_total", route="15reflect", kind="not_reflected", reason="cost-limit") == 1
    assert scrape(f"{GATE}_no_candidate_total", route="15reflect", kind="violation", reason="schema") == 1
    assert scrape(f"{GATE}_failures_total", route="15reflect", kind="reflection", trigger="error") == 2
    assert scrape(f"{GATE}_model_calls_total", model="tiny") == 3
    assert [scrape(f"{GATE}_model_tokens_total", kind=kind) for kind in ("input", "cached", "output")] == [180, 120, 21]
    assert scrape(f"{GATE}_model_cost_dollars_total") == pytest.approx(0.0375)
    assert scrape(f"{GATE}_model_call_seconds_total") == 4.5
    assert scrape(f"{GATE}_daily_limit_dollars") == 2.5


def test_money_of_the_day_is_shown(queue: FileQueue, world: World) -> None:
    """What is reserved and what was settled, as the limit counts them."""
    assert world.environ
    calls = open_calls()
    day, call = calls.reserve(Decimal("0.25"))
    scrape = Scraper(queue, calls)
    assert (scrape(f"{GATE}_spent_today_dollars"), scrape(f"{GATE}_reserved_today_dollars")) == (0, 0.25)
    calls.settle(day, call, Decimal("0.125"))
    assert (scrape(f"{GATE}_spent_today_dollars"), scrape(f"{GATE}_reserved_today_dollars")) == (0.125, 0)


def test_they_are_served_on_this_machine(world: World) -> None:
    """A worker's metrics are read over HTTP; the library is loaded for that alone."""
    lay(world, waiting=["One more"])
    with Worker(Settings()) as worker:
        worker.calls.outcome(outcome("a", status="admitted"))
        port = serve("127.0.0.1", 0, worker)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            told = answer.read().decode()
    assert f"{QUEUE}_queue_depth 1.0" in told
    # What came of a job before somebody asked for metrics counts too.
    assert f'{GATE}_model_calls_total{{model="tiny"}} 1.0' in told
    probe = "import sys, reflect_gate.cli.worker, reflect_gate.capture.working; print('prometheus_client' in sys.modules)"
    assert world.python(probe) == "False"


def test_an_address_that_cannot_be_had_is_told(world: World) -> None:
    """A taken port, and an address of another machine, are named; no traceback reaches a user."""
    lay(world)
    with Worker(Settings()) as worker:
        taken = serve("127.0.0.1", 0, worker)
        for host, port in (("127.0.0.1", taken), ("203.0.113.7", 0), ("no-such-host.invalid", 0)):
            with pytest.raises(ReflectGateError, match=f"^cannot serve metrics at `{host}`, port `{port}`: ") as caught:
                serve(host, port, worker)
            assert caught.value.code == "io"


@pytest.mark.skipif(os.name != "posix", reason="ends the worker by a signal")
def test_a_workers_metrics_agree_with_queue_and_store(world: World) -> None:
    """R-q10: captured, attempted, decided, paid: a running worker's numbers are those of queue, store and server."""
    world.priced()
    with ModelServer(saying(ANSWER), saying(SKIP), "truncated JSON", "400") as server:
        world.asks(server)
        for name in "abcd":
            capture(failure(f"cart-{name}"))
        with world.started("worker", "--workers", "1", "--metrics-port", "0", "--error-format", "json") as process:
            assert process.stderr is not None
            told = (json.loads(line)["summary"] for line in process.stderr)
            port = next(line["metrics_port"] for line in told if "metrics_port" in line)
            found = _scraped_until(port, _all_settled)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
        assert len(server.asked) == 4
    assert _all(found, f"{QUEUE}_attempts_total") == {"success": 2, "skipped": 1, "transient": 0, "permanent": 1}
    assert _all(found, f"{QUEUE}_enqueue_total")["accepted"] == 4
    assert [found[f"{QUEUE}_{name}", ""] for name in ("queue_depth", "wal_segments", "dlq_size")] == [0, 0, 1]
    assert _all(found, f"{GATE}_model_calls_total") == {"tiny": 3}
    verdicts = Counter(row["status"] for row in world.rows("decisions"))
    assert {name: count for (metric, name), count in found.items() if metric == f"{GATE}_decisions_total"} == verdicts
    assert found[f"{GATE}_spent_today_dollars", ""] == float(open_calls().spent().settled) > 0


def _all_settled(values: dict[tuple[str, str], float]) -> bool:
    # An attempt is counted a moment before its job is settled.
    left = [values[f"{QUEUE}_{name}", ""] for name in ("wal_segments", "dlq_size")]
    return sum(_all(values, f"{QUEUE}_attempts_total").values()) == 4 and left == [0, 1]


def _scraped_until(port: int, done: Callable[[dict[tuple[str, str], float]], bool]) -> dict[tuple[str, str], float]:
    """Scrape until the condition holds, and return the values by metric and its one telling label."""
    end = time.monotonic() + 90
    while True:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        samples = [sample for family in families for sample in family.samples]
        values = {(sample.name, sample.labels.get("verdict", _telling(sample.labels))): sample.value for sample in samples}
        if done(values):
            return values
        assert time.monotonic() < end, values
        time.sleep(0.05)


def _telling(labels: dict[str, str]) -> str:
    return next((labels[name] for name in ("outcome", "model", "kind", "attempt") if name in labels), "")


def _all(values: dict[tuple[str, str], float], metric: str) -> dict[str, float]:
    return {label: value for (name, label), value in values.items() if name == metric}


@pytest.mark.skipif(not DOCS.is_dir(), reason="runs in a checkout")
@pytest.mark.parametrize("document", ["metrics.md", "examples/metrics/dashboard.json", "examples/metrics/alerts.yaml"])
def test_documents_name_metrics_that_exist(queue: FileQueue, world: World, document: str) -> None:
    """Every metric of the page, the dashboard and the alert rules is one that is served, and the page names all of them."""
    calls = Calls(world.home / "calls", Decimal(1))
    scrape = Scraper(queue, calls)
    calls.outcome(outcome("a", status="admitted"))
    calls.outcome(outcome("b", kind="violation", reason="schema"))
    queue.counters.retries[1] = 1
    served = {family.name + ("_total" if family.type == "counter" else "") for family in scrape.families().values()}
    text = (DOCS / document).read_text(encoding="utf-8")
    named = {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(rf"\b{GATE}_[a-z_]+[a-z]", text)}
    named -= {QUEUE}
    assert named
    assert named <= served
    if document == "metrics.md":
        assert named == served


@pytest.mark.skipif(not DOCS.is_dir(), reason="runs in a checkout")
def test_the_example_files_are_well_formed() -> None:
    """The dashboard is JSON whose panels ask something; every alert has an expression, a time and a sentence."""
    import yaml

    dashboard = json.loads((DOCS / "examples/metrics/dashboard.json").read_text(encoding="utf-8"))
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    assert all(target["expr"] for panel in panels for target in panel["targets"])
    (group,) = yaml.safe_load((DOCS / "examples/metrics/alerts.yaml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]:
        assert {"alert", "expr", "labels", "annotations"} <= set(rule)
        assert rule["annotations"]["summary"]
        assert rule["expr"].count("(") == rule["expr"].count(")")
