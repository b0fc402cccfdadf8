"""The options of bulk replay, and what the verbs that take them do where they are given."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
import orjson

from .._canonical import canonical_bytes
from ..errors import ReflectGateError
from ._batch import Judged, Progress
from ._output import COULD_NOT_RUN, INVALID, OK, note, open_output, report, warn

if TYPE_CHECKING:
    from ..ab.cases import Known
    from ..bulk.parcel import Contents
    from ..bulk.running import Replayed
    from ..corpus.score import Verdict
    from ..policy import Bundle
    from ._against import StoreChoice
    from ._comparing import Material
    from ._options import BundleChoice

__all__ = ["BulkChoice", "BulkJudge", "bulk_options", "evaluate_bulk", "read_bulk"]

R = TypeVar("R")


class BulkChoice(NamedTuple):
    """Parquet to judge, the folder of the outcome, and where it is judged."""

    source: str
    out: str
    scheduler: str


def bulk_options(function: Callable[..., R]) -> Callable[..., R]:
    """Give a verb the options of bulk replay; it receives them as one `bulk`, `None` where they are not given."""

    @functools.wraps(function)
    def wrapper(*args: Any, source: str | None, out: str | None, scheduler: str | None, **kwargs: Any) -> R:
        return function(*args, bulk=_chosen(source, out, scheduler), **kwargs)

    for option in reversed(_OPTIONS):
        option(wrapper)
    return wrapper


_OPTIONS = (
    click.option(
        "--parquet",
        "source",
        metavar="IN",
        type=click.Path(),
        help="Judge the requests of this Parquet file, or of every one in this folder, a row group at a time; needs `--out`.",
    ),
    click.option(
        "--out",
        metavar="DIR",
        type=click.Path(file_okay=False),
        help="With `--parquet`: where what is decided is kept; what is finished there is not judged again.",
    ),
    click.option(
        "--scheduler",
        metavar="local|processes|tcp://...",
        help="With `--parquet`: this process, `--jobs` worker processes on Dask, or the Dask scheduler there.  [default: local]",
    ),
)


def _chosen(source: str | None, out: str | None, scheduler: str | None) -> BulkChoice | None:
    if source is None:
        if out is not None or scheduler is not None:
            raise click.UsageError("'--out' and '--scheduler' go with '--parquet'")
        return None
    if out is None:
        raise click.UsageError("'--parquet' needs '--out DIR', where what is decided is kept")
    from ..bulk.scheduling import LOCAL, is_scheduler

    chosen = scheduler or LOCAL
    if not is_scheduler(chosen):
        raise click.UsageError(f"'--scheduler' is local, processes, or an address as tcp://127.0.0.1:8786, not '{chosen}'")
    return BulkChoice(source, out, chosen)


# -- evaluate ----------------------------------------------------------------------------------------------------------------


def evaluate_bulk(
    bulk: BulkChoice,
    choice: BundleChoice,
    explain: bool,
    jobs: int,
    store: StoreChoice | None,
    format_: str,
    output: str | None,
) -> int:
    """Judge what `--parquet` names and print the report; exit code 0 when every row was judged, 3 or 1 when one was not."""
    from ..bulk.parcel import Contents
    from ._store import opened

    bundle = choice.load()
    shadow = choice.load_shadow(bundle.as_of)
    gc.enable()
    with nullcontext() if store is None else opened(store.file or None, read_only=True) as kept:
        done = _replayed(bulk.source, Path(bulk.out), bulk.scheduler, jobs, Contents(bundle, shadow, explain, kept))
    found = done.report
    counted = {name: found[name] for name in ("admitted", "undecided", "refused", "invalid", "failed")}
    with open_output(output) as sink:
        if format_ == "text":
            sink.text(_text(found))
        else:
            sink.json(canonical_bytes(found) + b"\n")
    told = f"{found['chunks']} chunks, {done.kept} of them finished before"
    note(told, {"chunks": found["chunks"], "kept": done.kept})
    if counted["failed"]:
        return COULD_NOT_RUN
    return INVALID if counted["invalid"] else OK


def _text(found: dict[str, Any]) -> str:
    lines = [
        f"requests   {found['requests']}",
        *(f"  {name:9}{found[name]}" for name in ("admitted", "undecided", "refused", "invalid", "failed") if found[name]),
        f"bundle     {found['bundle']['name']} {found['bundle']['digest'][:12]} as of {found['bundle']['as_of']}",
        *([f"store      {found['store']}"] if found["store"] else []),
        f"digest     {found['digest']}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _replayed(source: str, out: Path, scheduler_: str, jobs: int, contents: Contents) -> Replayed:
    from ..bulk.running import Ears, replay
    from ..bulk.scheduling import scheduler

    bars: list[Progress] = []

    def progress(done: int, rows: int) -> None:
        if not bars:
            bars.append(Progress(rows, alone=True))
        bars[0].show(done, done)

    try:
        return replay(Path(source), out, contents, partial(scheduler, scheduler_, jobs), Ears(report, warn, progress))
    finally:
        for bar in bars:
            bar.close()


# -- ab ----------------------------------------------------------------------------------------------------------------------


def read_bulk(bulk: BulkChoice, labels: str | None, group: str) -> Material:
    """Return the valid requests of Parquet with what is known of them: by their own column, and over it by a labels file."""
    from .. import schemas
    from ..bulk.converting import rows_of
    from ..config import Limits
    from ..documents import read_json
    from ._comparing import Material, add_once, read_known, tell_unlabelled
    from ._corpus import Corpus

    found: dict[str, dict[str, Any]] = {}
    invalid, corpus = 0, Corpus()
    for row in rows_of(Path(bulk.source)):
        try:
            if isinstance(row, ReflectGateError):
                raise row
            chunk, number, text, label = row
            request: Any = read_json(text, chunk.file, Limits())
            schemas.check("request", request, f"{chunk.file}:{number}")
            add_once(found, request, f"{chunk.file}:{number}")
            if label is not None:
                known: Any = read_json(label, chunk.file, Limits())
                corpus.labels[request["record"]["failure_id"]] = known
        except ReflectGateError as error:
            report(error)
            invalid += 1
    by_id: dict[str, Known] = read_known(labels, corpus, bulk.source, group)
    tell_unlabelled(found, by_id, labels)
    return Material(list(found.values()), [by_id.get(name) for name in found], invalid)


class BulkJudge:
    """Judges the requests of a comparison, a pass each: they are written as Parquet below the folder, and judged from there."""

    def __init__(self, bulk: BulkChoice, jobs: int) -> None:
        self._bulk = bulk
        self._jobs = jobs
        self._passes = 0

    def judged(self, requests: Sequence[Any], bundle: Bundle, note_: Callable[[int], None]) -> list[Verdict | None]:
        """Return the verdict on every request, in order; `None` where it could not be judged, which is reported."""
        from ..bulk.converting import write_requests
        from ..bulk.parcel import Contents
        from ..bulk.running import lines_of

        self._passes += 1
        place = Path(self._bulk.out) / f"pass-{self._passes}"
        source = place / "requests" / "requests.parquet"
        if not requests:
            return []
        write_requests(source, ((canonical_bytes(one), None) for one in requests))
        out = place / "decided"
        _replayed(str(source), out, self._bulk.scheduler, self._jobs, Contents(bundle))
        note_(len(requests))
        return list(_verdicts(requests, lines_of(out)))


def _verdicts(requests: Sequence[Any], lines: Iterator[bytes]) -> Iterator[Verdict | None]:
    from ..bulk.judging import ERROR_SCHEMA
    from ._comparing import verdict_of

    for request, line in zip(requests, lines, strict=True):
        decision = orjson.loads(line)
        yield None if decision["schema"] == ERROR_SCHEMA else verdict_of(Judged("", request, decision, None))
