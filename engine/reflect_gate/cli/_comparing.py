"""What `ab` and `ablate` share: reading requests with their labels, and judging them in chunks that may be kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..config import Limits
from ..errors import ReflectGateError, Source
from ._batch import Entry, Judged, Progress, judge_all
from ._input import open_input, read_rows
from ._options import BundleChoice
from ._output import report

if TYPE_CHECKING:
    from ..ab.cases import Known
    from ..ab.kept import Kept
    from ..corpus.figures import Case
    from ..corpus.score import Verdict
    from ..policy import Bundle
    from ._corpus import Corpus

__all__ = [
    "Material",
    "Tally",
    "case_of",
    "group_of",
    "judged_in_chunks",
    "read_known",
    "read_material",
    "resume_option",
    "split",
    "verdict_of",
]

resume_option = click.option(
    "--resume", metavar="FOLDER", type=click.Path(file_okay=False), help="Keep what is judged here, and go on from it."
)


class Material(NamedTuple):
    """Valid requests in the order of the file with what is known of each, and how many lines were no request.

    `caveats` is what a corpus says of itself that it cannot prove.
    """

    requests: list[dict[str, Any]]
    known: list[Known | None]
    invalid: int
    caveats: tuple[str, ...] = ()


class Tally:
    """Counts what is done of several passes for one progress bar."""

    def __init__(self, size: int) -> None:
        self._bar = Progress(size)
        self._done = 0

    def add(self, count: int = 1) -> None:
        """Note that so many more are done."""
        self._done += count
        self._bar.show(self._done, self._done)

    def close(self) -> None:
        """Remove the bar."""
        self._bar.close()


def read_material(requests: str, labels: str | None, group: str) -> Material:
    """Return the requests of a file, or of stdin, joined with what is known of them by failure id; bad requests are reported.

    Where the file is a corpus, its records say what is known; lines of `labels` go before them.
    """
    from .. import schemas
    from ._corpus import Corpus

    if requests == labels == "-":
        raise click.UsageError("only one of the files can be stdin")
    found: list[dict[str, Any]] = []
    invalid, corpus = 0, Corpus()
    with open_input(requests) as (stream, name):
        for place, request in corpus.entries(stream, name, Limits()):
            try:
                if isinstance(request, ReflectGateError):
                    raise request
                schemas.check("request", request, f"{name}:{place}" if place else name)
                found.append(request)  # type: ignore[arg-type]  # the schema has seen that it is an object
            except ReflectGateError as error:
                report(error)
                invalid += 1
    known = read_known(labels, corpus, requests, group)
    return Material(found, [known.get(one["record"]["failure_id"]) for one in found], invalid, corpus.caveats)


def read_known(labels: str | None, corpus: Corpus, requests: str, group: str) -> dict[str, Known]:
    """Return what is known by failure id: what a corpus says once it was read, and over it what a file of labels says."""
    from ..ab.cases import known_of

    corpus.needs_labels(labels)
    own = [known_of(row, Source(requests), group) for row in corpus.labels.values()]
    given = read_rows(labels, lambda row, source: known_of(row, source, group)) if labels else []
    return {one.outcome.id: one for one in (*own, *given)}


def group_of(request: Mapping[str, Any], known: Known | None) -> str:
    """Return what a record belongs to: by its label, else the task that the request names."""
    from ..corpus.mutate import task_of

    return known.group if known else task_of(request)


def case_of(request: Mapping[str, Any], known: Known | None) -> Case | None:
    """Return what is scored of a record, `None` where an outcome is not known."""
    from ..corpus.figures import Case

    if known is None or known.outcome.before is None or known.outcome.after is None:
        return None
    return Case(group_of(request, known), known.outcome.before, known.outcome.after)


def split(material: Material) -> tuple[Material, Material]:
    """Return the open part and the part that is kept apart."""
    from ..ab.cases import frozen

    parts: tuple[Material, Material] = (Material([], [], material.invalid), Material([], [], 0))
    for request, known in zip(material.requests, material.known, strict=True):
        part = parts[frozen(group_of(request, known))]
        part.requests.append(request)
        part.known.append(known)
    return parts


def verdict_of(judged: Judged) -> Verdict | None:
    """Return the verdict on a request, `None` where it could not be judged, which is then reported."""
    from ..corpus.mutate import task_of
    from ..corpus.score import Verdict
    from ..report.text import GOOD_VERDICTS

    if judged.decision is None or not isinstance(judged.request, dict):
        if judged.error is not None:
            report(judged.error)
        return None
    decision = judged.decision
    against = frozenset(
        (found["stage"], found["reason"]) for found in decision["findings"] if found["verdict"] not in GOOD_VERDICTS
    )
    return Verdict(decision["failure_id"], task_of(judged.request), decision["status"], decision["reason"], against)


def judged_in_chunks(
    requests: Sequence[Mapping[str, Any]],
    choice: BundleChoice,
    bundle: Bundle,
    jobs: int,
    kept: Kept,
    note: Callable[[int], None],
) -> list[Verdict | None]:
    """Return the verdict on every request, in order; chunks that are kept are not judged again."""
    from ..ab.kept import CHUNK, key_of

    identity = (bundle.digest, bundle.engine, bundle.cross_check)
    chunks = [requests[start : start + CHUNK] for start in range(0, len(requests), CHUNK)]
    keys = [key_of(identity, chunk) for chunk in chunks]
    found: list[Sequence[Verdict | None] | None] = [kept.get(key, len(chunk)) for key, chunk in zip(keys, chunks, strict=True)]
    note(sum(len(one) for one in found if one is not None))
    missing = [place for place, one in enumerate(found) if one is None]
    entries: list[Entry] = [("", request) for place in missing for request in chunks[place]]
    judged = judge_all(entries, "requests", choice, bundle, explain=False, jobs=jobs)
    for place in missing:
        own = []
        for one in islice(judged, len(chunks[place])):
            own.append(verdict_of(one))
            note(1)
        kept.put(keys[place], own)
        found[place] = own
    return [verdict for one in found if one is not None for verdict in one]
