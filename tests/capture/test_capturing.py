"""Taking a failure in: switches, secrets, sizes, the job's id, and what is said of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate.capture.capturing import TRIGGERS, Captured, capture, job_of, switched_off
from reflect_gate.capture.intake import take
from reflect_gate.capture.settings import Settings
from reflect_gate.errors import ReflectGateError
from reflect_store import memory_store
from reflect_store.queue import job_id, open_queue

from .world import World, failure

TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"  # noqa: S105 - the form of a token, and none


def _with_traces(item: str, count: int) -> bytes:
    """Return a termination with so many items, half as many again of them in the successful run."""
    first, second = (", ".join([item] * number) for number in (count, count // 2))
    return f'{{"failure_id": "a", "outcome": null, "traces": [{first}], "successful_trajectory": [{second}]}}'.encode()


def _on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def _not_reflected(world: World, store: str = "store.db") -> list[tuple[str, str]]:
    return [(row["failure_id"], row["reason"]) for row in world.rows("not_reflected", store)]


@pytest.mark.parametrize(
    ("trigger", "off"),
    [("error", ""), ("hallucination", ""), ("low_quality", "switch-off: REFLECT_GATE_ON_LOW_QUALITY"), ("manual", "")],
)
def test_the_switches_have_s1s_defaults(trigger: Any, off: str) -> None:
    """R-t1: error and hallucination are on, low quality is off, and manual is always on."""
    assert switched_off(trigger, Settings()) == off
    everything_off = Settings(enabled=False, on_error=False, on_hallucination=False)
    assert bool(switched_off(trigger, everything_off)) == (trigger != "manual")


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_each_trigger_has_its_own_switch(trigger: Any) -> None:
    """R-t1: switching one off leaves the others as they are."""
    off: dict[str, Any] = {} if trigger == "manual" else {f"on_{trigger}": False}
    changed = Settings(on_low_quality=True)._replace(**off)
    assert {name for name in TRIGGERS if switched_off(name, changed)} == ({trigger} - {"manual"})


def test_what_is_switched_off_is_recorded(world: World) -> None:
    """R-P1: never optional: the failure and the reason stand in the store, once, and nothing waits."""
    for _ in range(2):
        done = capture(failure(), "low_quality")
        assert (done.outcome, done.reason) == ("off", "switch-off: REFLECT_GATE_ON_LOW_QUALITY")
    assert _not_reflected(world) == [("cart-1", "switch-off: REFLECT_GATE_ON_LOW_QUALITY")]
    assert [row["failure_id"] for row in world.rows("terminations")] == ["cart-1"]
    assert not (world.home / "queue").exists()


def test_the_same_failure_is_one_job(world: World) -> None:
    """R-q2: what waits is not queued twice, whatever its white space; another termination of the same task is another job."""
    first = capture(failure())
    again = capture(failure(task="make  total()\twork for new sessions "))
    other = capture(failure("cart-2"))
    assert (first.outcome, again.outcome, other.outcome) == ("queued", "duplicate", "queued")
    assert first.job_id == again.job_id != other.job_id
    assert first.job_id == job_id("make total() work for new sessions", "error", "cart-1", "resolved")
    with open_queue(world.home / "queue") as queue:
        assert {row.id for row in queue.jobs()} == {first.job_id, other.job_id}


def test_what_became_of_it_before_is_said(world: World) -> None:
    """A dead letter and a job that was done are neither lost nor run again."""
    capture(failure())
    with open_queue(world.home / "queue") as queue:
        claim = queue.claim()
        assert claim is not None
        claim.dead("no")
        assert capture(failure()).outcome == "dead"
        queue.retry_dead(claim.id)
        claim = queue.claim(5.0)
        assert claim is not None
        claim.ack()
    assert capture(failure()).outcome == "done"


def test_no_secret_reaches_the_disk(world: World) -> None:
    """Secrets are taken out before anything is written; the item stays citable, and the same secret has one marker."""
    told = failure(traces=[{"id": "log", "kind": "log", "text": f"push with {TOKEN} failed"}, *failure()["traces"]])
    told["task"] = f"push with {TOKEN}"
    done = capture(told)
    assert done.secrets == 1
    assert TOKEN.encode() not in _on_disk(world.home)
    with open_queue(world.home / "queue") as queue:
        (row,) = queue.jobs()
    kept = row.job.payload["termination"]
    assert kept["traces"][0] == {"id": "log", "kind": "log", "text": "push with [secret-1 redacted] failed"}
    assert row.job.task == "push with [secret-1 redacted]"


def test_a_switched_off_failure_keeps_no_secret_either(world: World) -> None:
    """What is only recorded is as free of secrets as what is queued."""
    capture(failure(task=f"push with {TOKEN}"), "low_quality")
    assert TOKEN.encode() not in _on_disk(world.home)


def test_a_secret_across_the_cut_is_gone() -> None:
    """Secrets go first and texts are cut then, so that no half of one is left."""
    text = "x " * 21_830 + TOKEN + " y" * 40_000
    taken = take(failure(traces=[{"kind": "log", "text": text}]))
    assert (taken.secrets, taken.cut) == (1, 1)
    assert "ghp_" not in taken.termination["traces"][0]["text"]
    assert "6912E" not in taken.termination["traces"][0]["text"]


def test_long_texts_are_cut_and_ids_are_not() -> None:
    """A 2,000-line file fits: of a longer text the beginning and the end stay; a name is never changed."""
    lines = "".join(f"line {number} of a long file that was rewritten at once\n" for number in range(2_000))
    taken = take(failure(traces=[{"id": "code", "kind": "code", "text": lines, "path": "p" * 5_000}]))
    (item,) = taken.termination["traces"]
    assert (len(item["text"]), len(item["path"]), taken.cut) == (65_536, 4_096, 2)
    assert item["text"].startswith("line 0 of")
    assert item["text"].endswith("line 1999 of a long file that was rewritten at once\n")
    assert "\n[…]\n" in item["text"]
    with pytest.raises(ReflectGateError, match="failure_id"):
        take(failure("n" * 300))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "document-empty"),
        (b"[]", "document-type"),
        (b"{", "document-syntax"),
        (b'{"failure_id": "a", "failure_id": "b"}', "document-duplicate-key"),
        (b" " * 8_388_609, "document-size"),
        (b'{"failure_id": "a", "outcome": null}', "schema"),
        (b'{"failure_id": "a", "outcome": "lost", "traces": []}', "schema"),
        (b'{"failure_id": "a", "outcome": null, "traces": [], "more": 1}', "schema"),
        (_with_traces('{"kind": "log", "text": "", "id": "a"}', 2), "record-duplicate-id"),
        (_with_traces('{"kind": "log", "text": ""}', 1_500), "limit-items"),
    ],
)
def test_what_is_not_valid_is_not_kept(world: World, data: bytes, code: str) -> None:
    """Nothing half-read is queued."""
    with pytest.raises(ReflectGateError) as caught:
        capture(data)
    assert {error.code for error in caught.value.errors} == {code}
    assert not world.home.exists()


def test_a_full_queue_is_recorded(world: World) -> None:
    """R-q6, R-P1: where there is no room the failure is recorded as not reflected on, and the caller is told."""
    settings = Settings(queue_capacity=1, queue_block_timeout=0.0)
    assert capture(failure(), settings=settings).outcome == "queued"
    done = capture(failure("cart-2"), settings=settings)
    assert (done.outcome, done.reason) == ("full", "queue-full: no room for 0 s")
    assert _not_reflected(world) == [("cart-2", "queue-full: no room for 0 s")]


def test_the_oldest_makes_room(world: World) -> None:
    """R-q6: the other way: the oldest becomes a dead letter, and its id is said."""
    settings = Settings(queue_capacity=1, queue_drop_oldest=True)
    first = capture(failure(), settings=settings)
    assert capture(failure("cart-2"), settings=settings).dropped == (first.job_id,)
    assert world.home.exists()


def test_the_baseline_has_a_store_of_its_own(world: World) -> None:
    """R-x3: the route goes with the job; what is recorded of the baseline stands beside the gate's store."""
    done = capture(failure(), "low_quality", route="introspect")
    assert done.route == "introspect"
    assert len(_not_reflected(world, "introspect.db")) == 1
    assert not (world.home / "store.db").exists()
    assert job_of(take(failure()), "error", "introspect").payload["route"] == "introspect"


def test_the_report_holds_to_its_schema(world: World) -> None:
    """Machine output."""
    for done in (capture(failure()), capture(failure()), capture(failure("cart-3"), "low_quality")):
        assert isinstance(done, Captured)
        schemas.check("capture-report", {"schema": "urn:reflect-gate:schema:capture-report:1", **done.to_json()}, "report")
    assert world.home.exists()


@pytest.mark.usefixtures("world")
def test_a_decided_failure_is_not_called_unreflected() -> None:
    """What was reflected on stays so, whatever is captured of it later."""
    from reflect_gate import load_bundle
    from reflect_gate.capture.noting import note_not_reflected, request_of
    from reflect_gate.memory.applying import apply

    from .world import ANSWER

    request = request_of(failure())
    with memory_store() as store:
        apply(store, {**request, "reflection": ANSWER["reflection"]}, load_bundle("structured"))
        assert not note_not_reflected(store, request, "stale")
        assert list(store.iterate("not_reflected")) == []


def test_a_capture_loads_neither_gate_nor_model_nor_store(world: World) -> None:
    """R-x1: a hook pays for reading, redacting, checking and queueing, and for nothing that a worker needs."""
    path = world.root / "failure.json"
    path.write_text(json.dumps(failure()), encoding="utf-8")
    script = (
        "import sys\nfrom reflect_gate.cli import main\n"
        f"code = main(['capture', {str(path)!r}])\n"
        "heavy = ('openai', 'sqlite3', 'yaml', 'jsonschema', 'reflect_gate.llm', 'reflect_gate.stages', 'reflect_gate.policy',\n"
        "         'reflect_gate.pipeline', 'reflect_store.sqlite', 'multiprocessing', 'prometheus_client')\n"
        "print(code, sorted(name for name in sys.modules if name in heavy))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=world.environ, check=False)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("0 []", "")


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_prints_the_job(world: World) -> None:
    """The id alone on stdout; a duplicate is said on stderr; both are fine."""
    first, again = (world.run("capture", "-", stdin=failure()) for _ in range(2))
    assert (first.code, first.err) == (0, "")
    assert (again.code, again.out) == (0, first.out)
    assert again.err == f"duplicate: job {first.out.strip()} waits already, or is being worked on\n"
    assert (world.home / "queue" / "wal" / f"{first.out.strip()}.wal").exists()


def test_the_command_reads_a_file(world: World) -> None:
    """FILE or `-`; machine output on demand."""
    path = world.root / "failure.json"
    path.write_text(json.dumps(failure()), encoding="utf-8")
    done = world.run("capture", str(path), "--trigger", "hallucination", "--format", "json")
    document = json.loads(done.out)
    schemas.check("capture-report", document, "stdout")
    assert (done.code, document["trigger"], document["outcome"]) == (0, "hallucination", "queued")


@pytest.mark.parametrize(
    ("arguments", "stdin", "env", "code", "said"),
    [
        (("--trigger", "low_quality"), failure(), {}, 0, "not reflected on: switch-off: REFLECT_GATE_ON_LOW_QUALITY"),
        (("--trigger", "low_quality"), failure(), {"REFLECT_GATE_ON_LOW_QUALITY": "true"}, 0, ""),
        ((), b"{", {}, 3, "[document-syntax]"),
        ((), failure(), {"REFLECT": "reflect"}, 3, "[route-unknown]"),
        ((), failure(), {"REFLECT_GATE_QUEUE_CAPACITY": "many"}, 3, "REFLECT_GATE_QUEUE_CAPACITY: expected a whole number"),
        (("--trigger", "oops"), failure(), {}, 64, "oops"),
        ((), failure(), {"REFLECT_GATE_QUEUE_BASE_DIR": "/dev/null/queue"}, 1, "[queue-"),
    ],
)
def test_exit_codes(world: World, arguments: Any, stdin: Any, env: Any, code: int, said: str) -> None:
    """0 kept or off, 1 not kept, 3 not valid, 64 usage; the reason is one line."""
    done = world.run("capture", "-", *arguments, stdin=stdin, env=env)
    assert done.code == code
    assert said in done.err
    assert "Traceback" not in done.err
