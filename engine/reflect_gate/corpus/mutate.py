"""Counterparts of grounded candidates whose label is known by construction: each must be refused.

A mutator is a plain function `(request, others, rng) → request | None`: it changes one thing about a candidate that its evidence
supports, so that the evidence no longer does. `None` means that there is nothing to change, which is counted and yields nothing.
Its name is the function's with hyphens, its description the first line of its docstring; `MUTATORS` is the whole list.

Everything is seeded by the seed, the mutator's name and the failure's id, so that one mutant does not depend on which others are
made. `others` are the requests that stand beside the candidate; a partner is one of another task, and, where evidence or whole
reflections are exchanged, one that failed otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple, TypeAlias

from ..config import Limits
from ..errors import ReflectGateError, did_you_mean
from ..facts import COUNT_LIMIT
from ..stages._case import CAUSAL_FIELDS
from ._rewording import misquoted, names_in, negated, renamed, renumbered

__all__ = ["LABEL", "MUTATORS", "Mutant", "Mutator", "chosen", "describe", "mutants", "name_of", "task_of"]

Request: TypeAlias = Mapping[str, Any]
"""A valid request, as `schemas/request.schema.json` has it; never changed in place."""

Mutator: TypeAlias = Callable[[Request, Sequence[Request], Random], "dict[str, Any] | None"]

LABEL = "refuse"
TEXTS = (*CAUSAL_FIELDS, "counterfactual", "candidate_lesson")
DRAWS = 64
"""Partners that are tried before a mutator gives up."""

WIDE = "every task in every language"

TEXT_LIMIT = 65_536
"""Characters of a text, as the schemas have it."""

NO_CAUSE = frozenset(("repair", "success", "diagnosis"))
WRONG_KINDS: Mapping[str, frozenset[str]] = {
    "failed_assumption": NO_CAUSE | {"spec", "log"},
    "overlooked_evidence": NO_CAUSE | {"plan", "action"},
    "strategy_error": NO_CAUSE | {"spec", "log"},
    "violated_invariant": NO_CAUSE | {"plan", "action"},
}
"""Kinds that are no evidence of a cause: what the repair did, what succeeded and what was concluded of none; a statement of the
task is not what was assumed or done; a plan is not what was there to be seen, and no invariant."""


class Mutant(NamedTuple):
    """A counterpart: the mutator's name, the failure whose candidate was changed, and the request that must be refused."""

    mutator: str
    source: str
    request: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the line that `corpus mutate` writes."""
        return {"mutator": self.mutator, "source": self.source, "label": LABEL, "request": self.request}


# -- what is cited ---------------------------------------------------------------------------------------------------------------


def other_evidence(request: Request, others: Sequence[Request], rng: Random) -> dict[str, Any] | None:
    """Every cited item shows what an item of its kind showed of another failure, under its own id and in its own place.

    A cited item of a kind that the other failure lacks is no longer cited. What is not cited stays.
    """
    cited = set(request["reflection"]["evidence_ids"])
    partner = _partner(request, others, rng, lambda other: _failed_otherwise(request, other))
    if partner is None:
        return None
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for item in [*_failing(partner), *partner["record"]["traces"]]:
        if item not in by_kind.setdefault(item["kind"], []):
            by_kind[item["kind"]].append(item)
    traces, kept, used = [], [], dict.fromkeys(by_kind, 0)
    for item in request["record"]["traces"]:
        foreign = by_kind.get(item["kind"]) if item["id"] in cited else None
        if foreign:
            taken = foreign[used[item["kind"]] % len(foreign)]
            used[item["kind"]] += 1
            kept.append(item["id"])
            item = {**taken, **{key: item[key] for key in ("id", "component", "seq")}}  # noqa: PLW2901 - the item in its new form
        traces.append(item)
    if not kept:
        return None
    return _with(request, record={"traces": traces, "diagnosis": None}, reflection={"evidence_ids": kept})


def missing_ids(request: Request, others: Sequence[Request], rng: Random) -> dict[str, Any] | None:  # noqa: ARG001 - one signature
    """One cited id is replaced by one that the record does not hold."""
    ids = list(request["reflection"]["evidence_ids"])
    if not ids:
        return None
    held = _ids(request) | set(ids)
    place = rng.randrange(len(ids))
    stem = re.sub(r"\d+$", "", ids[place])
    ids[place] = next(name for number in range(len(held) + 1, 10**9) if (name := f"{stem[:200]}{number}") not in held)
    return _with(request, reflection={"evidence_ids": ids})


def wrong_kind(request: Request, others: Sequence[Request], rng: Random) -> dict[str, Any] | None:
    """What bears the claims out is cited, but it is no evidence of a cause: a repair that repeats them, a conclusion.

    Beside those the candidate cites an observed failure that is another's, so that only the kind of its evidence is wrong.
    """
    partner = _partner(request, others, rng, lambda other: _failed_otherwise(request, other))
    if partner is None or not _items(request):
        return None
    populated = [field for field in CAUSAL_FIELDS if request["reflection"][field].strip()]
    wrong = frozenset.intersection(*(WRONG_KINDS[field] for field in populated))
    ids = [item["id"] for item in _items(request) if item["kind"] in wrong and item["component"] != "user"]
    later = max(item["seq"] for item in _items(request)) + 1
    foreign = {**_failing(partner)[0], "id": _fresh("check", request), "seq": later}
    old = request["record"]["repair_delta"] or {"id": _fresh("repair", request), "component": 14, "kind": "repair", "seq": later}
    repair = {**old, "text": _claims(request)[:TEXT_LIMIT]}
    record = {"traces": [*request["record"]["traces"], foreign], "repair_delta": repair}
    return _with(
        request, record=record, reflection={"evidence_ids": list(dict.fromkeys((repair["id"], foreign["id"], *ids)))[:256]}
    )


def overlooked_later(request: Request, others: Sequence[Request], rng: Random) -> dict[str, Any] | None:
    """What is said to have been overlooked is an observation that was made after the failing action, and quoted from it.

    An observation of another failure is added to the end of the record; the candidate says that it was overlooked, and cites it
    beside the failing check.
    """
    failing = _failing(request)
    partner = _partner(request, others, rng, lambda other: _quotable(other) != "")
    if not failing or partner is None:
        return None
    last = max(item["seq"] for item in _items(request))
    line = _quotable(partner)
    later = {"id": _fresh("later", request), "component": 12, "kind": "log", "seq": last + 1, "text": line}
    claim = f"The attempt overlooked `{line}`, which showed the cause."
    reflection = {
        **dict.fromkeys(CAUSAL_FIELDS, ""),
        "overlooked_evidence": claim,
        "evidence_ids": [failing[0]["id"], later["id"]],
        "candidate_lesson": f"{claim} {request['reflection']['candidate_lesson']}"[:TEXT_LIMIT],
    }
    return _with(request, record={"traces": [*request["record"]["traces"], later]}, reflection=reflection)


# -- what is said ----------------------------------------------------------------------------------------------------------------


def other_names(request: Request, others: Sequence[Request], rng: Random) -> dict[str, Any] | None:
    """Every identifier that the claims share with the record is replaced by one of another failure."""
    changed = renamed(_texts(request), _claims(request), _evidence(request), _spare(request, others, rng), rng)
    return _with(request, reflection=changed) if changed else None


def other_numbers(request: Request, others: Sequence[Request], rng: Random) -> dict[str, Any] | None:  # noqa: ARG001 - one signature
    """Every number that the claims share with a cited check is replaced by one that stands nowhere in the record."""
    checks = "\n".join(_item_text(item) for item in _cited(request) if _observed(item))
    changed = renumbered(_texts(request), _claims(request), checks, _evidence(request), rng)
    return _with(request, reflection=changed) if changed else None


def opposite(request: Request, others: Sequence[Request], rng: Random) -> dict[str, Any] | None:  # noqa: ARG001 - one signature
    """Every sentence of the claims is denied: `does not handle` becomes `does handle`, `always` `never`, `is` `is not`."""
    changed = negated(_texts(request), [request["reflection"][field] for field in CAUSAL_FIELDS])
    return _with(request, reflection=changed) if changed else None


def altered_quote(request: Request, others: Sequence[Request], rng: Random) -> dict[str, Any] | None:
    """One word of a quotation that stands in a cited item word for word is replaced by another."""
    cited = [_item_text(item) for item in _cited(request)]
    changed = misquoted(_texts(request), _claims(request), cited, _spare(request, others, rng), rng)
    return _with(request, reflection=changed) if changed else None


def wider_scope(request: Request, others: Sequence[Request], rng: Random) -> dict[str, Any] | None:  # noqa: ARG001 - one signature
    """A lesson of one task, file or error is said to hold for every task in every language."""
    bounded = any(
        term.split(":")[0] in {"task", "path", "error", "repo", "lang"} for term in request["reflection"]["scope"].split()
    )
    return _with(request, reflection={"scope": WIDE}) if bounded else None


def swapped_reflection(request: Request, others: Sequence[Request], rng: Random) -> dict[str, Any] | None:
    """The reflection is the one of another task; it keeps this record's scope, and cites this record's items.

    Of its citations those stay that exist here; the failing checks stand in for the rest.
    """
    partner = _partner(request, others, rng, lambda other: _failed_otherwise(request, other))
    failing = [item["id"] for item in _failing(request)]
    if partner is None or not failing:
        return None
    theirs = [name for name in partner["reflection"]["evidence_ids"] if name in _ids(request)]
    ids = list(dict.fromkeys((*theirs, *failing)))[:256]
    own = {key: request["reflection"][key] for key in ("outcome", "scope")}
    return _with(request, reflection={**partner["reflection"], **own, "evidence_ids": ids})


MUTATORS: tuple[Mutator, ...] = (
    other_evidence,
    missing_ids,
    wrong_kind,
    other_names,
    other_numbers,
    opposite,
    overlooked_later,
    wider_scope,
    altered_quote,
    swapped_reflection,
)
"""Every mutator, in the order in which they are applied and reported."""


def name_of(mutator: Mutator) -> str:
    """Return the name of a mutator on the command line and in the output."""
    return mutator.__name__.replace("_", "-")


def describe(mutator: Mutator) -> str:
    """Return what a mutator does, in one line."""
    return (mutator.__doc__ or "").partition("\n")[0]


def chosen(names: Sequence[str]) -> tuple[Mutator, ...]:
    """Return the mutators of these names in the order of `MUTATORS`, all where none is named; `corpus-unknown-mutator` else."""
    known = {name_of(mutator): mutator for mutator in MUTATORS}
    for name in names:
        if name not in known:
            raise ReflectGateError("corpus-unknown-mutator", f"unknown mutator `{name}`{did_you_mean(name, known)}")
    return tuple(mutator for name, mutator in known.items() if not names or name in names)


def mutants(
    sources: Iterable[Request], others: Sequence[Request], *, seed: int = 0, mutators: Sequence[Mutator] = MUTATORS
) -> Iterator[Mutant | tuple[str, None]]:
    """Yield each source's mutants in the order of `mutators`; `(name, None)` where a mutator does not apply.

    `others` are partners and may hold the sources. The same arguments give the same mutants.
    """
    for source in sources:
        failure = str(source["record"]["failure_id"])
        for mutator in mutators:
            name = name_of(mutator)
            # Seeded by a text: `Random` reads it through SHA-512, the same on every platform and in every process.
            rng = Random(f"{seed}:{name}:{failure}")  # noqa: S311 - a mutant is to be repeatable, not secret
            request = mutator(source, others, rng)
            yield (name, None) if request is None or not _within_limits(request) else Mutant(name, failure, request)


def _within_limits(request: Request) -> bool:
    """Return whether a mutant is still a valid request: longer words and a further item may have made it too large."""
    items = _items(request)
    short = all(len(text) <= TEXT_LIMIT for text in _texts(request).values())
    return short and len(items) <= Limits().items and all(item["seq"] <= COUNT_LIMIT for item in items)


# -- reading requests ------------------------------------------------------------------------------------------------------------


def task_of(request: Request) -> str:
    """Return the task by which requests are grouped: the project's, else the failure's own id."""
    task: str = (request.get("project") or {}).get("task") or request["record"]["failure_id"]
    return task


def _partner(
    request: Request, others: Sequence[Request], rng: Random, fits: Callable[[Request], bool] | None = None
) -> Request | None:
    task = task_of(request)
    for _ in range(DRAWS if others else 0):
        other = rng.choice(others)
        if task_of(other) != task and (fits is None or fits(other)):
            return other
    return None


def _items(request: Request) -> list[Mapping[str, Any]]:
    record = request["record"]
    single = [item for item in (record["diagnosis"], record["repair_delta"]) if item is not None]
    return [*record["traces"], *single, *record["successful_trajectory"]]


def _ids(request: Request) -> set[str]:
    return {item["id"] for item in _items(request)}


def _fresh(stem: str, request: Request) -> str:
    held = _ids(request)
    return next(name for number in range(1, len(held) + 2) if (name := f"{stem}-{number}") not in held)


def _observed(item: Mapping[str, Any]) -> bool:
    return item["kind"] in {"test_output", "tool_output", "error", "log"}


def _failing(request: Request) -> list[Mapping[str, Any]]:
    """Return the observations that failed; where no verdict was kept, those that name an error."""
    return [
        item for item in request["record"]["traces"] if _observed(item) and not item.get("passed", not item.get("error_class"))
    ]


def _failed_otherwise(request: Request, other: Request) -> bool:
    """Return whether another failure was observed that showed nothing that this one did.

    Two functions that both return nothing fail alike, and what is said of one is true of the other: no mutant that must be
    refused comes of exchanging them.
    """
    mine, theirs = ({_shown(item) for item in _failing(one)} for one in (request, other))
    return bool(theirs) and mine.isdisjoint(theirs)


def _shown(item: Mapping[str, Any]) -> str:
    return str(item.get("error_class") or item.get("actual") or item["text"]).strip().casefold()


def _cited(request: Request) -> list[Mapping[str, Any]]:
    cited = set(request["reflection"]["evidence_ids"])
    return [item for item in _items(request) if item["id"] in cited]


def _item_text(item: Mapping[str, Any]) -> str:
    parts = (item.get("expected"), item.get("actual"), item.get("error_class"), item.get("path"), item["text"])
    return "\n".join(str(part) for part in parts if part is not None)


def _evidence(request: Request) -> str:
    return "\n".join(_item_text(item) for item in _items(request))


def _quotable(request: Request) -> str:
    """Return a line of a failing observation that can stand between backticks; empty where there is none."""
    lines = (line.strip() for item in _failing(request) for line in str(item["text"]).splitlines())
    return next((line for line in lines if 8 <= len(line) <= 150 and "`" not in line and len(line.split()) > 2), "")


def _texts(request: Request) -> dict[str, str]:
    return {field: request["reflection"][field] for field in TEXTS}


def _claims(request: Request) -> str:
    return "\n".join(request["reflection"][field] for field in CAUSAL_FIELDS)


def _spare(request: Request, others: Sequence[Request], rng: Random) -> list[str]:
    """Return identifiers of a few failures of other tasks."""
    found: dict[str, None] = {}
    for _ in range(8):
        partner = _partner(request, others, rng)
        if partner is not None:
            found.update(dict.fromkeys(names_in(_evidence(partner))))
    return list(found)


def _with(
    request: Request, *, record: Mapping[str, Any] | None = None, reflection: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the request with these keys of its record and reflection; a changed record has no signature but its own."""
    changed = {
        **request,
        "record": {**request["record"], **(record or {})},
        "reflection": {**request["reflection"], **(reflection or {})},
    }
    if record:
        changed.pop("signature_context", None)
    return changed
