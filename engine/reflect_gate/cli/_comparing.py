"""What `ab` and `ablate` share: reading requests with their labels, and judging them in chunks that may be kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..config import Limits
from ..errors import ReflectGateError, Source
from ._batch import Entry, Judged, Progress, judge_all
from ._input import open_input, read_rows
from ._options import BundleChoice
from ._output import FirstErrors, report, warn

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
    "add_once",
    "case_of",
    "group_of",
    "judged_in_chunks",
    "read_known",
    "read_material",
    "resume_option",
    "split",
    "tell_unlabelled",
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
    found: dict[str, dict[str, Any]] = {}
    invalid, corpus, first = 0, Corpus(), FirstErrors()
    with open_input(requests) as (stream, name):
        for place, request in corpus.entries(stream, name, Limits()):
            shown = f"{name}:{place}" if place else name
            try:
                if isinstance(request, ReflectGateError):
                    raise request
                if not found and not invalid:
                    _refuse_logs(request, shown)
                schemas.check("request", request, shown)
                add_once(found, request, shown)  # type: ignore[arg-type]  # the schema has seen that it is an object
            except ReflectGateError as error:
                if error.code == "log-row":
                    raise
                first.report(error)
                invalid += 1
    first.end()
    known = read_known(labels, corpus, requests, group)
    tell_unlabelled(found, known, labels)
    return Material(list(found.values()), [known.get(name) for name in found], invalid, corpus.caveats)


def add_once(found: dict[str, dict[str, Any]], request: dict[str, Any], shown: str) -> None:
    """Take a request in by its failure; `request-twice` where that is there: labels join by it, and it would count twice."""
    name = request["record"]["failure_id"]
    if name in found:
        raise ReflectGateError("request-twice", f"`{name}` stands here a second time, and is not counted again", Source(shown))
    found[name] = request


def tell_unlabelled(requests: Collection[str], known: Mapping[str, Known], labels: str | None) -> None:
    """Warn where requests have no line in the file of labels that was given: they are in no figure of outcomes."""
    bare = sum(name not in known for name in requests)
    if labels is not None and bare:
        message = (
            f"{bare} of {len(requests)} requests have no label in `{labels}`, by `failure_id`: what became of them is not known"
        )
        warn(ReflectGateError("labels-missing", message))


def _refuse_logs(document: object, shown: str) -> None:
    """Raise `log-row` where the first line is a row of a log that `corpus import` reads, instead of listing its keys by line."""
    from ..corpus.importing import IMPORTERS

    if not isinstance(document, dict) or "record" in document:
        return
    form = next((one.name for one in IMPORTERS if one.claims(document)), "")
    if form:
        message = f"a row of a log, not a request: `reflect-gate corpus import {form} FILE -o corpus.ndjson` makes a corpus of it"
        raise ReflectGateError("log-row", message, Source(shown))


def read_known(labels: str | None, corpus: Corpus, requests: str, group: str) -> dict[str, Known]:
    """Return what is known by failure id: what a corpus says once it was read, and over it what a file of labels says."""
    from ..ab.cases import known_of

    corpus.needs_labels(labels)
    own = [known_of(row, Source(requests), group) for row in corpus.labels.values()]
    given: dict[str, Known] = {}

    def labelled(row: Any, source: Source) -> Known:
        told = known_of(row, source, group)
        if given.setdefault(told.outcome.id, told) != told:
            message = f"`{told.outcome.id}` stands in an earlier line, which says otherwise"
            raise ReflectGateError("corpus-bad-label", message, source)
        return told

    if labels:
        read_rows(labels, labelled)
    return {one.outcome.id: one for one in (*own, *given.values())}


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
