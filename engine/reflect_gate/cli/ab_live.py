"""What `ab --live` and `ab --replay` compare: the answers of a model that is asked once a record, or that was."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..config import Limits
from ..errors import ReflectGateError, Source
from ._comparing import Material, Tally, read_known, split, tell_unlabelled
from ._input import open_input
from ._output import note, report

if TYPE_CHECKING:
    from ..ab.cases import Known
    from ..ab.living import Candidates, Failure

__all__ = ["LIVE_CAVEAT", "Live", "asked"]

LIVE_CAVEAT = (
    "The candidates are answers of a model that was asked for this comparison. Outcomes that were logged with other reflections"
    " say nothing of these; only attempts that were shown these candidates do."
)


class Live(NamedTuple):
    """How candidates are come by.

    Attributes:
        file: where they are kept.
        live: whether a model is asked for those that are not there.
        calls: calls that all runs may make together.
        cost: US dollars that all runs may spend together.
    """

    file: str
    live: bool
    calls: int | None
    cost: Decimal | None
    at_once: int


def asked(requests: str, labels: str | None, group: str, frozen: bool, live: Live) -> tuple[Material, dict[str, Any]]:
    """Return the requests with the model's candidates in them, and what asking came to; what is left is warned of.

    Reflections that stand in the requests are not read. The part that is kept apart is asked about with `frozen` alone.
    """
    from ..ab.living import Candidates, calls_of

    material, failures = _failures(requests, labels, group)
    open_part, apart = split(material)
    wanted = {id(request) for part in ([open_part, apart] if frozen else [open_part]) for request in part.requests}
    chosen = [failure for request, failure in zip(material.requests, failures, strict=True) if id(request) in wanted]
    into = Candidates(Path(live.file))
    if live.live:
        _ask([failure for failure in chosen if into.of(failure) is None], into, live)
    lines = [line for failure in chosen if (line := into.of(failure)) is not None]
    told = calls_of(lines, len(chosen) - len(lines))
    if told["left"]:
        note(f"{told['left']} of {len(chosen)} records were not asked about", {"left": told["left"]})
    return _joined(material, failures, into, {failure.failure_id for failure in chosen}), told


def _failures(requests: str, labels: str | None, group: str) -> tuple[Material, list[Failure]]:
    from ._corpus import Corpus

    corpus, invalid, found = Corpus(with_bare=True), 0, dict[str, Any]()
    with open_input(requests) as (stream, name):
        for place, request in corpus.entries(stream, name, Limits()):
            try:
                if isinstance(request, ReflectGateError):
                    raise request
                failure = _new(request, f"{name}:{place}" if place else name, found)
                found[failure.failure_id] = failure
            except ReflectGateError as error:
                report(error)
                invalid += 1
    known = read_known(labels, corpus, requests, group)
    tell_unlabelled(found, known, labels)
    failures = list(found.values())
    requests_ = [failure.request for failure in failures]
    told = (LIVE_CAVEAT, *corpus.caveats)
    return Material(requests_, [known.get(failure.failure_id) for failure in failures], invalid, told), failures


def _new(request: object, shown: str, known: Collection[str]) -> Failure:
    """Return a failure that is not among the `known`: a candidate belongs to a name, and two of one name are not told apart."""
    from ..ab.living import failure_of

    failure = failure_of(request, shown)
    if failure.failure_id in known:
        raise ReflectGateError("candidate-twice", f"`{failure.failure_id}` stands here a second time", Source(shown))
    return failure


def _ask(failures: Sequence[Failure], into: Candidates, live: Live) -> None:
    """Ask about those that were not; by the hash of the record, so that a budget that ends early leaves a sample."""
    from ..ab.living import Asker, Budget
    from ..capture.handling import model
    from ..capture.settings import read_settings
    from ..capture.spending import Capped, open_calls
    from ..llm.client import Client

    settings = read_settings()
    client = Capped(Client(model(settings)), open_calls(settings.daily_cost_limit))
    asker = Asker(Budget(client, into.lines(), live.calls, live.cost), into, settings.queue(), Limits())
    tally = Tally(len(failures))
    try:
        asker.ask(sorted(failures, key=lambda failure: failure.digest), live.at_once, tally.add)
    finally:
        tally.close()
    for error in asker.refused:
        report(error)
    if asker.spent:
        note(asker.spent, {"budget": asker.spent})


def _joined(material: Material, failures: Sequence[Failure], into: Candidates, chosen: Collection[str]) -> Material:
    """Return the requests that have a candidate, each with what its call cost; those that are kept apart stay as they are."""
    rows = [
        row
        for failure, known in zip(failures, material.known, strict=True)
        if (row := _candidate(failure, known, into) if failure.failure_id in chosen else (failure.request, known)) is not None
    ]
    return material._replace(requests=[request for request, _ in rows], known=[known for _, known in rows])


def _candidate(failure: Failure, known: Known | None, into: Candidates) -> tuple[dict[str, Any], Known | None] | None:
    line = into.of(failure)
    if line is None or line["reflected"]["kind"] != "reflection":
        return None
    told = line["reflected"]
    request = {**failure.request, "reflection": told["reflection"], "trigger": "error", "tags": told["tags"]}
    return request, _with_spending(request, known, told["call"])


def _with_spending(request: Mapping[str, Any], known: Known | None, call: Mapping[str, Any] | None) -> Known:
    from ..ab.cases import Known
    from ..corpus.mutate import task_of
    from ..corpus.score import Outcome

    task = task_of(request)
    found = known or Known(Outcome(request["record"]["failure_id"], task, None, None), task, None, None)
    spent = call or {"cost": None, "prompt_tokens": None, "completion_tokens": None}
    tokens = None if spent["prompt_tokens"] is None else spent["prompt_tokens"] + spent["completion_tokens"]
    return found._replace(cost=None if spent["cost"] is None else float(spent["cost"]), tokens=tokens)
