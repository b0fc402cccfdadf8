"""Real processes that apply decisions to one store at once, and some that are killed while they do.

    python tests/store/processes_apply.py --processes 8 --decisions 2000
    python tests/store/processes_apply.py --kills 200

Half of what a process applies is about failures that every other process meets at the same moment (one of them learns the lesson,
the others corroborate it), half about failures of its own, and some requests are the same to the letter in all processes.
Afterwards every acknowledged decision must be in the store exactly once, every failure signature must have exactly one lesson,
and chain and projections must verify as they are.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from reflect_gate import Bundle, load_bundle
from reflect_gate.memory.applying import apply
from reflect_store import open_store

__all__ = ["Applied", "apply_at_once", "kill_appliers", "request", "work"]

SAME = 10
"""Of so many shared failures, one is told with the same words by every process."""
MOST_ACKNOWLEDGED, LONGEST_WAIT = 6, 0.02

_THINGS = (
    "anchor basket cursor dossier envelope folder gasket hammer invoice journal kettle ladder magnet needle oven pallet".split()
)
_PLACES = "archive boiler cabin depot engine ferry garage harbour island jetty kiosk lobby mill nursery office pier".split()


def _named(number: int) -> tuple[str, str, str]:
    """Return a thing, a place and a verb that no other number has together, so that no two lessons are alike."""
    first, second = number % len(_THINGS), number // len(_THINGS) % len(_PLACES)
    tail = f"{number // (len(_THINGS) * len(_PLACES)):x}".translate(str.maketrans("0123456789abcdef", "ghjkmnpqrstvwxyz"))
    return f"{_THINGS[first]}{tail}", f"{_PLACES[second]}{tail}", f"{_THINGS[-1 - first]}{_PLACES[-1 - second]}{tail}"


def request(number: int, teller: str) -> dict[str, Any]:
    """Return a request that the structured bundle admits: failure `number`, as it happened to `teller`."""
    thing, place, other = _named(number)
    test = {"id": "test", "component": 12, "kind": "test_output", "seq": 2, "error_class": "TypeError", "passed": False}
    test |= {"text": f"tests/test_{thing}_{place}.py::test_{thing} FAILED\nTypeError: 'NoneType' object is not subscriptable"}
    plan = {"id": "plan", "component": 11, "kind": "plan", "seq": 0}
    lesson = (
        f"When open_{thing}() may return None for an empty {place}, check its result before subscripting the {other}, because "
        f"the plan's assumption that open_{thing}() always returns a dict does not hold for an empty {place}."
    )
    reflection = {
        "outcome": "resolved",
        "failed_assumption": f"The plan assumed that open_{thing}() always returns a dict, but for an empty {place} it is None.",
        "overlooked_evidence": "",
        "strategy_error": "",
        "violated_invariant": "",
        "evidence_ids": ["plan", "test"],
        "counterfactual": f"A check for None before reading the {other} would have returned nothing.",
        "candidate_lesson": lesson,
        "scope": f"path:tests/test_{thing}_{place}.py",
        "confidence": 0.7,
    }
    return {
        "record": {
            "failure_id": f"{number}-{teller}",
            "outcome": "resolved",
            "traces": [
                {**plan, "text": f"open_{thing}() always returns a dict, so read the {other} of the {place}."},
                {**test, "path": f"tests/test_{thing}_{place}.py", "oracle": "authoritative"},
            ],
            "diagnosis": None,
            "repair_delta": None,
            "successful_trajectory": [],
        },
        "reflection": reflection,
        "project": {"repository": f"acme/{teller}", "language": "python", "task": f"task-{teller}", "session": teller},
    }


def _request(process: int, index: int, whole: int) -> dict[str, Any]:
    """Return what a process applies at an index: even ones are shared by all, odd ones its own."""
    if index % 2:
        return request(whole * (process + 1) + index, f"p{process}")
    return request(index, "all" if index % (2 * SAME) == 0 else f"p{process}")


def _bundle() -> Bundle:
    return load_bundle("structured")._replace(engine="compiled", cross_check=False)


def work(place: Path | str, process: int, decisions: int) -> None:
    """Apply `decisions` requests, and print each decision's id, action and lesson once it is acknowledged."""
    bundle = _bundle()
    with open_store(place, create=True) as store:
        for index in range(decisions):
            done = apply(store, _request(process, index, decisions), bundle)
            print(json.dumps([done.decision.decision_id, done.action, done.lesson_id]), flush=True)  # noqa: T201 - acknowledged


class Applied(NamedTuple):
    """What was acknowledged and what is wrong with it."""

    acknowledged: int
    decisions: int
    lessons: int
    merges: int
    known: int
    seconds: float
    errors: tuple[str, ...]
    lost: tuple[str, ...]
    doubled: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Nothing is wrong."""
        return not (self.errors or self.lost or self.doubled or self.problems)


def _checked(place: Path | str, told: list[list[Any]], errors: list[str], seconds: float) -> Applied:
    with open_store(place, create=True) as store:
        made = collections.Counter(event.type for event in store.events())
        rows = collections.Counter(row["signature"] for row in store.iterate("lessons"))
        names = collections.Counter(
            (event.data() or {})["decision"]["decision_id"] for event in store.events() if event.type == "decision-made"
        )
        lost = [name for name, _, lesson in told if not names[name] or (lesson and store.get("lessons", lesson) is None)]
        doubled = [name for name, count in names.items() if count > 1]
        doubled += [f"signature {signature} has {count} lessons" for signature, count in rows.items() if count > 1]
        wrong = list(store.verify().problems)
        if made["lesson-admitted"] + made["lesson-merged"] != len(names):
            wrong.append(f"{len(names)} decisions, {made['lesson-admitted']} lessons, {made['lesson-merged']} merges")
        known = sum(action == "known" for _, action, _ in told)
        figures = (len(told), len(names), made["lesson-admitted"], made["lesson-merged"], known, round(seconds, 1))
        return Applied(*figures, tuple(errors), tuple(lost), tuple(doubled), tuple(wrong))


def _command(place: Path | str, process: int, decisions: int) -> list[str]:
    return [sys.executable, __file__, "--worker", str(process), "--decisions", str(decisions), str(place)]


def apply_at_once(place: Path | str, processes: int, decisions: int, meanwhile: Callable[[], None] = lambda: None) -> Applied:
    """Let `processes` apply `decisions` each to one store, which the first of them makes, and check what is there.

    `meanwhile` is called once they have started.
    """
    began = time.monotonic()
    workers = [
        subprocess.Popen(_command(place, number, decisions), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for number in range(processes)
    ]
    with ThreadPoolExecutor(processes) as readers:
        answers = [readers.submit(worker.communicate) for worker in workers]
        meanwhile()
        said = [answer.result() for answer in answers]
    seconds = time.monotonic() - began
    told = [json.loads(line) for out, _ in said for line in out.splitlines()]
    errors = [err for _, err in said if err]
    if len(told) != processes * decisions:
        errors.append(f"{len(told)} of {processes * decisions} decisions were acknowledged")
    return _checked(place, told, errors, seconds)


def kill_appliers(place: Path | str, kills: int, seed: int) -> Applied:
    """Kill `kills` processes one after the other at random moments, each with another beside it, and check what is there."""
    chance, began = random.Random(seed), time.monotonic()
    told: list[list[Any]] = []
    for number in range(kills):
        with (
            subprocess.Popen(_command(place, 2 * number, 10_000), stdout=subprocess.PIPE, text=True) as first,
            subprocess.Popen(_command(place, 2 * number + 1, 10_000), stdout=subprocess.PIPE, text=True) as second,
        ):
            lines = [line for _ in range(chance.randrange(1, MOST_ACKNOWLEDGED)) for line in _next(first, second)]
            time.sleep(chance.random() * LONGEST_WAIT)
            for worker in (first, second):
                worker.kill()
                # A line that the kill cut short acknowledges nothing.
                lines += [line for line in worker.stdout or () if line.endswith("\n")]
        told += [json.loads(line) for line in lines if line]
    return _checked(place, told, [], time.monotonic() - began)


def _next(*workers: subprocess.Popen[str]) -> list[str]:
    return [worker.stdout.readline() for worker in workers if worker.stdout is not None]


def main() -> int:
    """Run as a script; exit code 1 where something was lost, doubled or broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--decisions", type=int, default=2_000)
    parser.add_argument("--kills", type=int, default=0, help="kill so many pairs of processes instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("place", nargs="?", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker is not None:
        with contextlib.suppress(BrokenPipeError):
            work(chosen.place, chosen.worker, chosen.decisions)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "home" / "store.db"
        done = (
            kill_appliers(path, chosen.kills, chosen.seed)
            if chosen.kills
            else apply_at_once(path, chosen.processes, chosen.decisions)
        )
    print(json.dumps(done._asdict(), indent=2))  # noqa: T201 - the result
    return 0 if done.sound else 1


if __name__ == "__main__":
    sys.exit(main())
