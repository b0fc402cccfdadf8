"""Lessons as training and test data: only those of which an executed outcome says what they did (R-P7).

Three shapes, each one JSON object a line that common trainers read: `sft` (chat messages that end with the reflection that
helped), `preference` (the same prompt with the reflection that helped and one that was refused) and `eval` (the prompt and the
lesson that an answer is held to). The prompt is the one that the model is asked with, so that what is learned is what is asked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from .errors import ReflectGateError
from .llm.prompt import build_prompt
from .measure.similarity import search_words
from .measure.tenure import lineage, task_key
from .measure.text import LIMIT
from .memory.rejudging import Kept, kept

if TYPE_CHECKING:
    from reflect_store import Row, Store

__all__ = ["FORMATS", "Format", "Harvest", "harvest"]

Format: TypeAlias = Literal["sft", "preference", "eval"]
FORMATS: Final[tuple[Format, ...]] = ("sft", "preference", "eval")

_EXECUTED: Final = frozenset({"exit_code", "passed", "failed"})
_BUDGET: Final = 20_000
_MOST_REFUSED: Final = 8
_TAGS: Final = ("lesson", "failure", "cause")
_LONGEST_TAG: Final = 32


class _Outcomes(NamedTuple):
    """Distinct tasks with an executed outcome after a lesson was shown."""

    tasks: int
    helped: int
    hurt: int

    @property
    def good(self) -> bool:
        """Whether the lesson helped, and more tasks than it hurt."""
        return self.helped > self.hurt


class Harvest:
    """The lines of one harvest; `counts` is complete once they were all read.

    `counts`: lessons of the store, `executed` those with executed outcomes, `helpful` those of them that helped more tasks than
    they hurt, `lost` those whose decision is not kept, `harvested` lessons that gave a line, `lines`.
    """

    def __init__(self, store: Store, form: Format) -> None:
        self._store = store
        self._make: Callable[[_Source], Iterator[dict[str, Any]]] = {"sft": _sft, "preference": self._pairs, "eval": _eval}[form]
        self.counts: Counter[str] = Counter(dict.fromkeys(("lessons", "executed", "helpful", "lost", "harvested", "lines"), 0))

    @property
    def share(self) -> float | None:
        """The yield: of the lessons with executed outcomes, the share that helped more tasks than they hurt."""
        executed = self.counts["executed"]
        return self.counts["helpful"] / executed if executed else None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the lines, by lesson in the order of their ids."""
        for row in self._store.iterate("lessons"):
            self.counts["lessons"] += 1
            outcomes = _outcomes(self._store, row)
            self.counts["executed"] += bool(outcomes.tasks)
            self.counts["helpful"] += outcomes.good
            if outcomes.good:
                yield from self._lines(row, outcomes)

    def _lines(self, row: Row, outcomes: _Outcomes) -> Iterator[dict[str, Any]]:
        source = _source(self._store, row, outcomes)
        if source is None:
            self.counts["lost"] += 1
            return
        before = self.counts["lines"]
        for line in self._make(source):
            self.counts["lines"] += 1
            yield line
        self.counts["harvested"] += self.counts["lines"] > before

    def _pairs(self, source: _Source) -> Iterator[dict[str, Any]]:
        """Yield the lesson's reflection beside refused ones on failures of its signature, as they are found."""
        refused = 0
        for row in self._store.iterate("decisions", {"signature": source.row["signature"], "status": "refused"}):
            other = _kept(self._store, row["decision_id"])
            if other is None or _poisoned(other) or _long(other):
                continue
            told = {**source.about, "rejected_reason": other.decision.reason, "rejected_decision_id": other.decision.decision_id}
            pair = {"chosen": [_answer(source.born)], "rejected": [_answer(other)]}
            yield {"prompt": list(source.messages), **pair, "metadata": told}
            refused += 1
            if refused == _MOST_REFUSED:
                return


class _Source(NamedTuple):
    row: Row
    born: Kept
    messages: Sequence[Mapping[str, str]]
    about: Mapping[str, Any]


def harvest(store: Store, form: Format) -> Harvest:
    """Return the lines of a store's lessons that helped; nothing is read before they are asked for.

    Raises, while they are read:
        StoreError: the store cannot be read.
    """
    return Harvest(store, form)


def _outcomes(store: Store, row: Row) -> _Outcomes:
    """Count the tasks of a lesson, and of what it was before it fell; a task that was both helped and hurt counts as hurt."""
    effects: dict[tuple[str, str], set[str]] = {}
    for name in sorted(lineage(store, row)):
        for outcome in store.iterate("outcomes", {"counted_on": name}):
            if not outcome["withheld"] and _executed(store, outcome):
                effects.setdefault(task_key(outcome), set()).add(outcome["effect"])
    hurt = sum("hurt" in found for found in effects.values())
    helped = sum("helped" in found and "hurt" not in found for found in effects.values())
    return _Outcomes(len(effects), helped, hurt)


def _executed(store: Store, outcome: Row) -> bool:
    event = store.event(outcome["event"])
    data = event.data() if event else None
    return data is not None and not _EXECUTED.isdisjoint(data["evidence"])


def _kept(store: Store, decision_id: str | None) -> Kept | None:
    try:
        return kept(store, decision_id) if decision_id else None
    except ReflectGateError:
        return None


def _source(store: Store, row: Row, outcomes: _Outcomes) -> _Source | None:
    born = _kept(store, row["decision_id"])
    if born is None:
        return None
    context: Any = {"signature": row["signature"], "reflected_before": False, "prior_reflection_id": None}
    context = {**context, "class": "", "template": "", "site": "", **(born.request.get("signature_context") or {})}
    prompt = build_prompt(born.request["record"], context, _BUDGET)
    if prompt is None or _long(born):
        return None
    about = {
        "lesson_id": row["id"],
        "decision_id": born.decision.decision_id,
        "failure_id": born.decision.failure_id,
        "signature": row["signature"],
        "scope": row["lesson"]["scope"],
        **outcomes._asdict(),
    }
    return _Source(row, born, prompt.messages, about)


def _answer(candidate: Kept) -> dict[str, str]:
    """Return the answer of a model that proposes a candidate, in the shape that it is asked for.

    Tags are not kept with a decision; the things that the lesson names stand for them.
    """
    reflection = candidate.request["reflection"]
    named = [word for word in search_words(reflection["candidate_lesson"]) if word.isascii() and word.isalnum()]
    tags = list(dict.fromkeys((*(word.lower() for word in named if len(word) <= _LONGEST_TAG), *_TAGS)))[:3]
    response = {"skip": False, "tags": tags, "reflection": reflection}
    return {"role": "assistant", "content": json.dumps(response, ensure_ascii=False)}


def _long(candidate: Kept) -> bool:
    """Return whether a candidate is longer than any answer that a model is allowed."""
    return len(_answer(candidate)["content"]) > LIMIT


def _poisoned(candidate: Kept) -> bool:
    """Return whether the rules for poisoning refused a candidate: its text is kept away from every trainer."""
    return any(finding["ruleset"] == "poisoning" for finding in candidate.decision.findings)


def _sft(source: _Source) -> Iterator[dict[str, Any]]:
    yield {"messages": [*source.messages, _answer(source.born)], "metadata": dict(source.about)}


def _eval(source: _Source) -> Iterator[dict[str, Any]]:
    ideal = {"lesson": source.row["lesson"]["statement"], "evidence_ids": list(source.row["lesson"]["evidence"])}
    yield {"input": list(source.messages), "ideal": ideal, "metadata": dict(source.about)}
