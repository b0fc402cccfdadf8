"""A made world, for what logs of retries cannot exercise: defects that are met again in several repositories, and what follows.

usage: chain_world.py [--defects N] [--records N] [--seed N] [--jobs N] [--resamples N] [-o world.ndjson]

Logged corpora hold retries of one task in one place: hardly anything contradicts, nothing helps elsewhere, and what is recalled
cannot change how the next attempt ends. Here a few hundred failures are made in the order of time. Each is a failure of one of
some defects, in one of six repositories, with a task, commit and session of its own and a candidate lesson that is true or false:

- 62 in a hundred are true, in one of three wordings; 22 say the opposite of what is true; 16 advise something else that is beside
  the point. All of them cite the same evidence, so that the gate cannot tell them apart by words.
- Half of the scopes hold wherever the error is met, three in ten in the repository alone, two in ten for the task alone.
- Three in ten end with a run that went well, and what it did is what is true, whatever the candidate says.

The next attempt at a failure is told by `Made.ends`, from the truth of the best lesson that it was shown: a true one resolves 70
in a hundred and makes 3 worse, a false one resolves 10 and makes 35 worse. Of attempts that are neither, those with a true lesson
meet the same failure again in 10 of a hundred, those with a false one in 40; otherwise they fail of something else. A true lesson
is as good for another function with the same kind of defect, and no good for another kind. All of this is assumed and fitted to
nothing; that lessons carry over to other functions was added after a first run, which settled no dispute.
Chance is drawn from the seed, the failure and the lesson: leaving a rule set out changes an end only where it changes what was
shown.

`-o` writes the world in the form of an imported corpus, for `reflect-gate ablate world.ndjson --group group --chains`. A file
cannot answer to what is recalled: there the next attempt ends as its own candidate's truth has it. Without `-o` the world itself
is replayed, once with everything on and once without each rule set, and the table is printed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, NamedTuple

from reflect_gate import load_bundle
from reflect_gate.ab.chains import CHAINED, Chain, End, Step, chained, replay
from reflect_gate.ab.comparing import Plan
from reflect_gate.corpus.importing.record import Judged, Later, corpus_record
from reflect_gate.report._paint import Paint
from reflect_gate.report.ablation import chains_sheet
from reflect_gate.report.sheets import Sheet, text

__all__ = ["LIMITS", "Made", "corpus", "made", "replayed", "sheet", "table"]

REPOSITORIES: Final = ("acme/shop", "acme/blog", "north/ledger", "north/mailer", "river/maps", "river/tiles")
BROAD, REPOSITORY = 0.5, 0.8
TRUE, OPPOSED = 0.62, 0.84
"""Up to where a draw makes a scope broad, or one of the repository; a candidate true, or the opposite of what is true."""

WENT_WELL: Final = 0.3
ENDS: Final = {True: (0.70, 0.73), False: (0.10, 0.45)}
"""By the truth of the best lesson: up to where a draw resolves the attempt, and up to where it makes it worse."""

AGAIN: Final = {True: 0.10, False: 0.40}
"""By the same truth, the share of the other attempts that meet the same failure."""

LIMITS: Final = (
    "what it cannot show: failures and shares are made, so it tells what has a say, and not what that is worth on real work",
    "true and false lessons look alike by construction: nothing here measures grounding, calibration or admission",
    "the attempts follow the best lesson that they are shown and no other, while an end counts for all that were shown",
    "one seed: with seeds 1 and 2 retrieval is DELETE as well, and the other verdicts are the same",
    "whoever tunes to this table tunes to the assumptions in the docstring of chain_world.py",
)


class Defect(NamedTuple):
    """What goes wrong, why, and what to do about it: a condition, an action, what is beside the point, and the words of both."""

    slug: str
    error: str
    message: str
    assumed: str
    seen: str
    when: str
    action: str
    beside: str
    why: str


# `{f}` is the function of the defect; three functions make three defects of one kind, whose sites and messages differ.
KINDS: Final = (
    Defect(
        "none",
        "TypeError",
        "'NoneType' object is not subscriptable in {f}",
        "{f}() always returns a dict",
        "for a new session {f}() returned None",
        "a loader such as {f}() may return None for a new session",
        "check the result of {f}() before subscripting it",
        "rename the variable that holds the result of {f}() to a longer name",
        "the plan's assumption that it always returns a dict does not hold for an empty state",
    ),
    Defect(
        "generator",
        "IndexError",
        "list index out of range in {f} after the second pass",
        "the rows of {f}() can be read twice",
        "the second pass over {f}() found no rows",
        "a reader such as {f}() yields its rows from a generator",
        "copy the rows of {f}() into a list before the second pass",
        "sort the rows of {f}() by their key in the first pass",
        "the plan's assumption that the rows can be read twice does not hold for a generator",
    ),
    Defect(
        "zero",
        "ZeroDivisionError",
        "division by zero in {f}",
        "the window of {f}() always holds a sample",
        "{f}() was called with an empty window",
        "a mean such as {f}() divides by the size of its window",
        "reject an empty window in {f}() before the division",
        "round the mean of {f}() to two decimal places after the sum",
        "the plan's assumption that a window always holds a sample does not hold after a reset",
    ),
    Defect(
        "encoding",
        "UnicodeDecodeError",
        "'utf-8' codec can't decode byte in {f}",
        "{f}() reads only UTF-8 files",
        "the export that {f}() read was Latin-1",
        "an importer such as {f}() reads exports of other programs",
        "detect the encoding of the file in {f}() before decoding its bytes",
        "split the lines of the file in {f}() at every comma",
        "the plan's assumption that every export is UTF-8 does not hold for older programs",
    ),
    Defect(
        "lock",
        "TimeoutError",
        "timed out waiting for the lock in {f}",
        "{f}() holds the lock for a moment only",
        "{f}() kept the lock during a network call",
        "a worker such as {f}() calls the network",
        "release the lock of {f}() before the network call",
        "log the name of the worker in {f}() at every start",
        "the plan's assumption that the lock is held for a moment does not hold while a server is slow",
    ),
    Defect(
        "key",
        "KeyError",
        "missing key of a header in {f}",
        "the headers of {f}() keep their case",
        "the proxy before {f}() wrote the headers in lower case",
        "a handler such as {f}() reads headers behind a proxy",
        "normalise the case of the header names in {f}() before the lookup",
        "count the headers of {f}() in a metric for every request",
        "the plan's assumption that headers keep their case does not hold behind a proxy",
    ),
)
NAMES: Final = ("load_cart", "fetch_profile", "read_orders", "open_basket", "scan_events", "parse_feed")


class Fault(NamedTuple):
    """A defect at its place: its name, its words, and the function that it lies in."""

    name: str
    kind: Defect
    function: str

    def say(self, words: str) -> str:
        """Return words of the defect with the function in them."""
        return words.format(f=self.function)

    def true(self, wording: int) -> str:
        """Return what is true, in one of three wordings."""
        when, action, why = (self.say(part) for part in (self.kind.when, self.kind.action, self.kind.why))
        if wording == 0:
            return f"When {when}, {action}, because {why}."
        if wording == 1:
            return f"Whenever {when}, first {action}, since {why}."
        return f"{action[0].upper()}{action[1:]} when {when}, because {why}."

    def opposed(self) -> str:
        """Return the opposite."""
        when, action, why = (self.say(part) for part in (self.kind.when, self.kind.action, self.kind.why))
        return f"When {when}, do not {action}, because it hides that {why}."

    def beside(self) -> str:
        """Return what is beside the point."""
        when, beside = self.say(self.kind.when), self.say(self.kind.beside)
        return f"When {when}, {beside}, because the failing test names {self.function}()."


class Met(NamedTuple):
    """A failure in its turn: the defect, the request, and whether its candidate is true."""

    fault: Fault
    request: dict[str, Any]
    true: bool


class Made(NamedTuple):
    """The world: what is met in order, and of each statement the kind of defect that it is about, and whether it is true."""

    seed: int
    met: tuple[Met, ...]
    truth: Mapping[str, tuple[str, bool]]

    def steps(self) -> list[Step]:
        """Return the failures as a replay takes them, without outcomes of a log."""
        return [Step(one.request, one.fault.name, None) for one in self.met]

    def ends(self, step: Step, shown: Sequence[str]) -> End:
        """Say how the attempt ends that was shown these statements; a lesson of another kind of defect is no help."""
        request, best = step.request, shown[0]
        kind, true = self.truth[best]
        good = true and step.group.startswith(f"{kind}-")
        chance = random.Random(f"{self.seed} {request['record']['failure_id']} {best}")
        resolved, worse = ENDS[good]
        drawn = chance.random()
        if drawn < resolved:
            return End("resolved")
        if drawn < worse:
            return End("worse")
        return End("unchanged", met=_again(request) if chance.random() < AGAIN[good] else None)


def _again(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same failure in the attempt that was shown a lesson, with nothing that went well after it."""
    record = {**request["record"], "failure_id": f"{request['record']['failure_id']}-again", "successful_trajectory": []}
    return {**request, "record": record}


def faults(count: int) -> list[Fault]:
    """Return the first `count` defects: every kind in turn, then every kind with another function."""
    every = [(kind, function) for function in NAMES for kind in KINDS]
    return [Fault(f"{kind.slug}-{function}", kind, function) for kind, function in every[:count]]


def made(defects: int = 24, records: int = 360, seed: int = 0) -> Made:
    """Return the world of a seed."""
    chance, known = random.Random(f"world {seed}"), faults(defects)
    met = tuple(_met(chance.choice(known), number, chance) for number in range(records))
    truth = {words: (fault.kind.slug, True) for fault in known for words in map(fault.true, range(3))}
    false = {words: (fault.kind.slug, False) for fault in known for words in (fault.opposed(), fault.beside())}
    return Made(seed, met, truth | false)


def _met(fault: Fault, number: int, chance: random.Random) -> Met:
    drawn, where, repository = chance.random(), chance.random(), chance.choice(REPOSITORIES)
    statement = fault.true(chance.randrange(3)) if drawn < TRUE else fault.opposed() if drawn < OPPOSED else fault.beside()
    task = f"{fault.kind.slug}-task-{number}"
    error = f"error:{fault.kind.error}"
    scope = f"lang:python {error}" if where < BROAD else f"repo:{repository} {error}" if where < REPOSITORY else f"task:{task}"
    project = {"repository": repository, "task": task, "commit": f"{number:07x}", "session": f"s-{number}", "language": "python"}
    record = {
        "failure_id": f"met-{number:05}",
        "outcome": "resolved",
        "traces": _traces(fault, number),
        "diagnosis": None,
        "repair_delta": None,
        "successful_trajectory": _success(fault) if chance.random() < WENT_WELL else [],
    }
    request = {"record": record, "reflection": _reflection(fault, statement, scope), "project": project}
    return Met(fault, request, drawn < TRUE)


def _traces(fault: Fault, number: int) -> list[dict[str, Any]]:
    error = fault.kind.error
    failed = f"tests/test_{fault.function}.py::test_{fault.kind.slug} FAILED\n{error}: {fault.say(fault.kind.message)}"
    return [
        {"id": "plan", "component": 11, "kind": "plan", "seq": 0, "text": f"{fault.say(fault.kind.assumed)}; task {number}."},
        {"id": "code", "component": 11, "kind": "code", "seq": 1, "text": f"value = {fault.function}(source)\nuse(value)"},
        {
            "id": "test",
            "component": 12,
            "kind": "test_output",
            "seq": 2,
            "text": f"{failed}: {fault.say(fault.kind.seen)}",
            "error_class": error,
            "path": f"tests/test_{fault.function}.py",
            "exit_code": 1,
            "passed": False,
            "oracle": "authoritative",
        },
    ]


def _success(fault: Fault) -> list[dict[str, Any]]:
    action, why = fault.say(fault.kind.action), fault.say(fault.kind.why)
    words = f"{action}; {why}; then every test passed."
    return [{"id": "went-well", "component": 11, "kind": "success", "seq": 0, "text": words}]


def _reflection(fault: Fault, statement: str, scope: str) -> dict[str, Any]:
    return {
        "outcome": "resolved",
        "failed_assumption": f"The plan assumed that {fault.say(fault.kind.assumed)}, but {fault.say(fault.kind.seen)}.",
        "overlooked_evidence": "",
        "strategy_error": "",
        "violated_invariant": "",
        "evidence_ids": ["plan", "test"],
        "counterfactual": f"Had the attempt seen that {fault.say(fault.kind.seen)}, the test would have passed.",
        "candidate_lesson": statement,
        "scope": scope,
        "confidence": 0.7,
    }


def corpus(world: Made) -> list[dict[str, Any]]:
    """Return the world as records of an imported corpus: the next attempt ends as its own candidate's truth has it."""
    found = []
    for one in world.met:
        name = one.request["record"]["failure_id"]
        after = random.Random(f"{world.seed} {name}").random() < ENDS[one.true][0]
        later = Later(before=False, after=after, kind="executed", trial="same_task", control=None, basis="made")
        judged = Judged(one.true, "construction")
        where = {"importer": "chain_world", "source": "made", "run": f"seed-{world.seed}", "trial": 0}
        found.append(corpus_record(one.request, group=one.fault.name, later=later, provenance=where, judged=judged))
    return found


# -- the table -------------------------------------------------------------------------------------------------------------------


def replayed(world: Made, without: str = "") -> Chain:
    """Return what becomes of the world with one rule set left out; with everything on where it is empty."""
    bundle = load_bundle("structured", disable=(without,) if without else ())._replace(engine="compiled", cross_check=False)
    return replay(world.steps(), bundle, world.ends)


def table(world: Made, plan: Plan, least: int = 10, jobs: int = 1) -> tuple[Chain, list[dict[str, Any]]]:
    """Return the replay with everything on, and a line for each rule set that has a say in time."""
    names = ["", *CHAINED]
    if jobs == 1:
        found = [replayed(world, name) for name in names]
    else:
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            found = list(pool.map(replayed, repeat(world), names))
    return found[0], chained(found[0], dict(zip(CHAINED, found[1:], strict=True)), plan, least)


def sheet(world: Made, found: Chain, rows: Sequence[Mapping[str, Any]]) -> Sheet:
    """Return the table with what it was made from."""
    true = sum(one.true for one in world.met)
    size = f"{len(world.met)} failures of {len({one.fault.name for one in world.met})} defects, {true} candidates true"
    came = ", ".join(f"{action} {count}" for action, count in sorted(Counter(found.actions).items()))
    about = f"{size}; seed {world.seed}; resampled by defect"
    return chains_sheet(rows, "a made world, for what the logs cannot exercise", (about, f"what was done: {came}", *LIMITS))


def main() -> int:
    """Write the world, or print its table; exit 1 where a rule set had too little to say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--defects", type=int, default=24)
    parser.add_argument("--records", type=int, default=360)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("-o", "--output", type=Path, default=None)
    options = parser.parse_args()
    world = made(options.defects, options.records, options.seed)
    if options.output:
        lines = [json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n" for record in corpus(world)]
        options.output.write_text("".join(lines), encoding="utf-8")
        return 0
    found, rows = table(world, Plan(options.seed, options.resamples), jobs=options.jobs)
    sys.stdout.write("\n".join(text(sheet(world, found, rows), Paint())) + "\n")
    return int(any(row["verdict"] == "unexercised" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
