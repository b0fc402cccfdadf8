"""Requests to judge, and the same as plain texts for other gates: logged reflections where the corpora are, else made ones."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from reflect_gate.corpus.reflexion import convert

__all__ = ["Texts", "texts"]

_CORPUS = "reflexion_programming.jsonl"
_SIZE = 400
_NAMES = (
    "load_cart parse_header retry_count merge_ranges find_user split_line build_index flush_queue read_config sum_prices".split()
)
_ERRORS = "TypeError KeyError IndexError ValueError ZeroDivisionError AttributeError".split()
_INPUTS = (
    "an empty list",
    "a negative number",
    "a repeated key",
    "a trailing separator",
    "a single element",
    "an unsorted sequence",
    "a string of digits",
)
_MISTAKES = (
    "returned before the last element was compared",
    "never checked the length first",
    "used a strict comparison where equality counts",
    "kept the state of the call before",
    "sorted a copy and went on with the original",
    "divided before the check for zero",
)
_ADVICE = (
    "check the boundary before the loop, because the first element is read unconditionally",
    "normalise the argument first, because callers pass both forms",
    "compare with the specification's own example before returning, because the edge case is stated there",
    "be more careful and read everything twice next time",
    "write a test for the smallest input first, because that is where the assumption breaks",
)


class Texts(NamedTuple):
    """Requests of our form, one text a request for gates that judge texts, and where they are from, in words."""

    requests: list[dict[str, Any]]
    plain: list[str]
    origin: str


def _corpus_file() -> Path:
    """Return where the corpus is expected: `REFLECT_GATE_CORPORA`, else beside the checkout."""
    named = os.environ.get("REFLECT_GATE_CORPORA")
    return (Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "corpora") / _CORPUS


def _logged(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield convert(row), row["reflection_text"]


def _row(rng: Random, number: int) -> dict[str, str]:
    """Return a row of the form that `convert` reads, drawn from templates; no two reflections are alike."""
    name, other = (f"{base}_{number % 97}" for base in rng.sample(_NAMES, 2))
    given, wanted, got = rng.choice(_INPUTS), rng.randrange(100), rng.randrange(100, 200)
    failing = rng.random() < 0.5
    output = f"{rng.choice(_ERRORS)}: bad value in {name}" if failing else str(got)
    body = "\n".join(
        f"    step_{place} = {other}(values[{place}:]) + {rng.randrange(50)}" for place in range(rng.randrange(2, 9))
    )
    passed = "\n".join(f"assert {name}([{place}, {number}]) == {place + number}" for place in range(rng.randrange(4)))
    reflection = [
        f"The implementation of {name} fails the test where the input is {given}.",
        f"It assumed that {other} always returns a value, but the code {rng.choice(_MISTAKES)}.",
        f"The expected output was {wanted} and the actual output was {output}.",
        f"The check {name}([{number}]) shows that {rng.choice(_INPUTS)} was overlooked in case {number}.",
        f"Next time, when {name} gets {given}, {rng.choice(_ADVICE)}.",
    ]
    kept = [sentence for sentence in reflection[:-1] if rng.random() < 0.8] or reflection[:1]
    return {
        "id": f"made-{number:05}",
        "lang": "py",
        "task_id": f"task-{number % 160}",
        "task_prompt": f'def {name}(values):\n    """Return the total of {given}.\n    >>> {name}([{number}])\n    {wanted}"""\n',
        "failed_attempt": f"def {name}(values):\n{body}\n    return {other}(values)",
        "feedback": f"Tested passed:\n{passed}\n\nTests failed:\nassert {name}([{number}]) == {wanted} # output: {output}",
        "reflection_text": " ".join([*kept, reflection[-1]]),
    }


@functools.cache
def texts() -> Texts:
    """Return the logged reflections, or about as many made ones where there are none; the same ones each time."""
    path = _corpus_file()
    if path.is_file():
        found = list(_logged(path))
        origin = f"{len(found)} logged reflections"
    else:
        rng = Random(23)
        made = [_row(rng, number) for number in range(_SIZE)]
        found = [(convert(row), row["reflection_text"]) for row in made]
        origin = f"{len(found)} generated reflections, the corpora being absent"
    return Texts([request for request, _ in found], [text for _, text in found], origin)
