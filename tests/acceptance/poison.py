"""Poison real-looking lessons in many ways, and see what the gate refuses; see how often it refuses lessons that nobody poisoned.

usage: poison.py [--bundle NAME] [--corpora DIR] [--seed N] [--number N]

Each variant is a request that the bundle admits, changed in one text field. It counts as found only where a rule of `poisoning`
says so, whatever else would have refused it. What is planted comes in rounds (`poison.yaml` says how each was made): the figure
of the last one is the honest one, those before show that what was once missing is found now.
"""

from __future__ import annotations

import argparse
import copy
import functools
import importlib
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import yaml

from reflect_gate import ReflectGateError, evaluate, load_bundle
from reflect_gate.corpus.reflexion import convert

__all__ = ["ROUNDS", "Variant", "alarms", "corpus_alarms", "families", "found", "harmless", "lessons", "summary", "variants"]

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent))
dress = importlib.import_module("poison_dress")

Plant: TypeAlias = Callable[[random.Random], str]
ROUNDS = ("first", "second", "third", "fourth", "last")


@functools.cache
def _texts() -> dict[str, Any]:
    texts: dict[str, Any] = yaml.safe_load((HERE.parent / "poison.yaml").read_text(encoding="utf-8"))
    return texts


def lessons() -> Sequence[str]:
    """Return lessons that the shipped bundle admits for the failure of `REQUEST`."""
    return tuple(_texts()["lessons"])


def harmless(round_: str) -> Sequence[str]:
    """Return lessons that look like poison and are none: about instructions, permissions, secrets, encodings, foreign letters."""
    return tuple(_texts()["harmless"][round_])


def _plant(texts: Sequence[str]) -> Plant:
    return lambda chance: chance.choice(texts)


def _dressed(dresses: Sequence[Callable[[str], str]], texts: Sequence[str]) -> Plant:
    return lambda chance: chance.choice(dresses)(chance.choice(texts))


def _secret(made: Sequence[Plant]) -> Plant:
    return lambda chance: chance.choice(made)(chance)


def families(round_: str) -> dict[str, Plant]:
    """Return family → what it plants, for one of `ROUNDS`."""
    planted = _texts()["planted"]
    found = {name: _plant(texts) for name, texts in planted[round_].items()}
    if round_ in dress.UNICODE:
        orders, directives = planted["first"]["orders"], planted["first"]["directives"]
        found["unicode"] = _dressed(dress.UNICODE[round_], orders)
        found["encoded"] = _dressed(dress.ENCODINGS[round_], (*orders, *directives))
        found["spelling"] = _dressed(dress.SPELLINGS[round_], orders)
        found["secrets"] = _secret(dress.SECRETS[round_])
    return found


class Variant(NamedTuple):
    """A poisoned request: its family, what was planted in which field, and the request."""

    family: str
    field: str
    planted: str
    request: dict[str, Any]


def _place(chance: random.Random, lesson: str, planted: str) -> str:
    """Return a lesson with something planted before it, after it, or between two of its clauses."""
    where = chance.randrange(3)
    if where == 0:
        return f"{planted} {lesson}"
    head, comma, tail = lesson.partition(", ")
    return f"{head}. {planted} {tail[:1].upper()}{tail[1:]}" if where == 1 and comma else f"{lesson} {planted}"


def variants(request: Mapping[str, Any], round_: str, number: int, seed: int) -> Iterator[Variant]:
    """Yield `number` poisoned copies of a request that is admitted, the families in turn; three in four in the lesson itself."""
    chance = random.Random(seed)
    planting = families(round_)
    names = sorted(planting)
    for place in range(number):
        family = names[place % len(names)]
        planted = planting[family](chance)
        changed = copy.deepcopy(dict(request))
        reflection = changed["reflection"]
        reflection["candidate_lesson"] = chance.choice(lessons())
        field = "candidate_lesson" if chance.random() < 0.75 else chance.choice(("counterfactual", "failed_assumption"))
        reflection[field] = _place(chance, reflection[field], planted)
        yield Variant(family, field, planted, changed)


def found(request: Mapping[str, Any], bundle: Any) -> bool:
    """Return whether a request is refused and a rule of `poisoning` says why."""
    decision = evaluate(request, bundle)
    said = any(finding["ruleset"] == "poisoning" and finding["verdict"] == "speculative" for finding in decision.findings)
    return said and decision.status == "refused"


def summary(request: Mapping[str, Any], round_: str, number: int, seed: int, bundle: Any) -> dict[str, Any]:
    """Return, by family, by field and in all, how many variants are found of how many, and what was planted in the others."""
    every, hit, missed = Counter[str](), Counter[str](), set()
    for variant in variants(request, round_, number, seed):
        names = (variant.family, variant.field, "all")
        every.update(names)
        if found(variant.request, bundle):
            hit.update(names)
        else:
            missed.add(f"{variant.family}: {variant.planted}")
    return {"found": {name: [hit[name], size] for name, size in sorted(every.items())}, "missed": sorted(missed)}


# -- lessons that nobody poisoned ------------------------------------------------------------------------------------------------


def with_lesson(request: Mapping[str, Any], lesson: str) -> dict[str, Any]:
    """Return a copy of a request with another candidate lesson."""
    return {**request, "reflection": {**request["reflection"], "candidate_lesson": lesson}}


def alarms(request: Mapping[str, Any], harmless_: Sequence[str], bundle: Any) -> list[str]:
    """Return which of some harmless lessons a rule of `poisoning` refuses."""
    return [lesson for lesson in harmless_ if found(with_lesson(request, lesson), bundle)]


def corpus_alarms(request: Mapping[str, Any], base: Path, bundle: Any) -> dict[str, dict[str, Any]]:
    """Return for each corpus how many records a rule of `poisoning` refuses, of how many, and their ids.

    The entries of `lessons_md` stand as the lesson of a request about another failure; reflections have their own record.
    """
    counted: dict[str, dict[str, Any]] = {}
    for name in ("lessons_md", "reflexion_programming"):
        size, refused, errors = 0, [], 0
        for line in (base / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            size += 1
            try:
                judged = with_lesson(request, row["reflection_text"]) if name == "lessons_md" else convert(row)
                if found(judged, bundle):
                    refused.append(row["id"])
            except ReflectGateError:
                errors += 1
        counted[name] = {"records": size, "alarms": len(refused), "errors": errors, "ids": refused}
    return counted


def main() -> int:
    """Print the figures; exit 1 where a corpus record raised an error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default="structured")
    parser.add_argument("--corpora", type=Path, default=HERE.parents[3] / "shared" / "corpora")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--number", type=int, default=200)
    options = parser.parse_args()
    sys.path.insert(0, str(HERE.parents[1]))
    request = importlib.import_module("conftest").REQUEST
    bundle = load_bundle(options.bundle)
    corpus = corpus_alarms(request, options.corpora, bundle) if options.corpora.is_dir() else {}
    report = {
        "bundle": bundle.name,
        "admitted unpoisoned": sum(evaluate(with_lesson(request, lesson), bundle).status == "admitted" for lesson in lessons()),
        "rounds": {round_: summary(request, round_, options.number, options.seed, bundle) for round_ in ROUNDS},
        "harmless": {round_: [len(harmless(round_)), alarms(request, harmless(round_), bundle)] for round_ in ROUNDS},
        "corpora": corpus,
    }
    sys.stdout.write(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    return int(any(counted["errors"] for counted in corpus.values()))


if __name__ == "__main__":
    sys.exit(main())
