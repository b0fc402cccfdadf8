"""A bulk replay from end to end: what to judge, what to ship, the parts in order, one report; `docs/bulk.md` has the whole."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from .._canonical import canonical_bytes
from ..errors import ReflectGateError, ReflectGateErrors, Source, raise_all
from .chunks import LARGE, Chunk, Input, read_input
from .judging import FAILED, INVALID, STATUSES
from .parcel import FOLDER, Contents, Shipped, is_shipped, ship
from .parts import Part, parts_in_order, read_part
from .scheduling import Where
from .working import Done, Task
from .writing import drafts_below, write_whole

__all__ = ["BULK_SCHEMA", "REPORT", "Ears", "Replayed", "lines_of", "replay"]

BULK_SCHEMA: Final = "urn:reflect-gate:schema:bulk-report:1"
REPORT: Final = "report.json"


class Ears(NamedTuple):
    """Who hears: `error` of every bad row, in order, `warning` of what is slow, `progress` of rows done, and of all."""

    error: Callable[[ReflectGateError], object]
    warning: Callable[[ReflectGateError], object]
    progress: Callable[[int, int], object]


class Replayed(NamedTuple):
    """The report, which follows from the input and the bundle alone, and how many chunks had been finished before."""

    report: dict[str, Any]
    kept: int


def replay(source: Path, out: Path, contents: Contents, where: Where, ears: Ears) -> Replayed:
    """Judge every request of `source` and write what became of it below `out`; finished chunks are not judged again.

    Args:
        source: a Parquet file, or a folder of them.
        out: a folder, which is made where there is none; workers must see both under the same paths.
        contents: what judges.
        where: what does the tasks, opened once the input is known to be good.
        ears: who hears.

    Raises:
        ReflectGateError: as the modules beside this one say; what is finished by then is not judged again.
    """
    source, out = source.resolve(), out.resolve()
    found = read_input(source)
    _check_out(found, source, out)
    _warn_of_large(found, ears)
    shipped = ship(contents, out)
    (out / REPORT).unlink(missing_ok=True)
    tasks = [Task(str(found.root), chunk, str(out), shipped.digest) for chunk in found.chunks]
    total = _Total(out, ears)
    with where() as run, contextlib.closing(_in_order(run(tasks), found, ears)) as done:
        for chunk, one in zip(found.chunks, done, strict=True):
            total.add(chunk, one)
    report = _report(contents, shipped, found, total)
    write_whole(out / REPORT, canonical_bytes(report) + b"\n")
    _tidy(out)
    return Replayed(report, total.kept)


def _check_out(found: Input, source: Path, out: Path) -> None:
    if source.is_dir() and (out == source or source in out.parents):
        raise ReflectGateError("bulk-out", f"`{out}` lies in the folder of the requests: take another for the outcome")
    if out.exists() and not out.is_dir():
        raise ReflectGateError("bulk-out", f"`{out}` is no folder")
    _check_own(out)
    expected = {chunk.part for chunk in found.chunks}
    foreign = sorted(path.relative_to(out).as_posix() for path in out.rglob("*.parquet"))
    raise_all(
        ReflectGateError("bulk-out", "is no part of what is written here: take another folder, or clear this one", Source(name))
        for name in [name for name in foreign if name not in expected][:8]
    )


def _check_own(out: Path) -> None:
    """Refuse a folder that has something else where the report and what is shipped are written and removed."""
    report, shipped = out / REPORT, out / FOLDER
    if os.path.lexists(report) and not _is_report(report):
        raise ReflectGateError("bulk-out", "is no report of a replay: take another folder, or clear this one", Source(REPORT))
    if shipped.is_symlink() or (shipped.exists() and not is_shipped(shipped)):
        raise ReflectGateError("bulk-out", "is not what a replay ships: take another folder, or clear this one", Source(FOLDER))


def _is_report(file: Path) -> bool:
    try:
        found: object = orjson.loads(file.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("schema") == BULK_SCHEMA


def _warn_of_large(found: Input, ears: Ears) -> None:
    large = next((chunk for chunk in found.chunks if chunk.rows > LARGE), None)
    if large is not None:
        told = f"a row group of {large.rows} rows is judged by one worker, in memory; `bulk convert` makes smaller ones"
        ears.warning(ReflectGateError("bulk-input", told, Source(large.file)))


def _in_order(done: Iterator[tuple[int, Done]], found: Input, ears: Ears) -> Generator[Done, None, None]:
    """Yield what came of each chunk in the order of the input, as soon as all before it have ended."""
    waiting: dict[int, Done] = {}
    rows = following = 0
    ears.progress(0, found.rows)
    for number, one in done:
        waiting[number] = one
        rows += found.chunks[number].rows
        ears.progress(rows, found.rows)
        while following in waiting:
            yield waiting.pop(following)
            following += 1


class _Total:
    """What all parts come to; each is read back, so that what is counted is what stands in the files."""

    def __init__(self, out: Path, ears: Ears) -> None:
        self._out = out
        self._ears = ears
        self.counts: Counter[str] = Counter()
        self.lines = hashlib.sha256()
        self.kept = 0

    def add(self, chunk: Chunk, done: Done) -> None:
        part = _whole(self._out, chunk, done.digest)
        self.kept += done.kept
        self.counts.update(part.statuses)
        for status, line in zip(part.statuses, part.lines, strict=True):
            self.lines.update(line)
            self.lines.update(b"\n")
            if status in {INVALID, FAILED}:
                self._ears.error(_error_of(line))


def _whole(out: Path, chunk: Chunk, digest: str) -> Part:
    part = read_part(out / chunk.part, chunk.part)
    if part.digest != digest or not part.whole or len(part.lines) != chunk.rows:
        raise ReflectGateError("bulk-part", "is not what its worker wrote", Source(chunk.part))
    return part


def _error_of(line: bytes) -> ReflectGateError:
    told = orjson.loads(line)["errors"]
    errors = [
        ReflectGateError(one["code"], one["message"], Source(one["file"], one["line"], one["column"], one["pointer"]))
        for one in told
    ]
    return errors[0] if len(errors) == 1 else ReflectGateErrors(errors)


def _report(contents: Contents, shipped: Shipped, found: Input, total: _Total) -> dict[str, Any]:
    bundle, shadow = contents.bundle, contents.shadow
    return {
        "schema": BULK_SCHEMA,
        "bundle": {
            "name": bundle.name,
            "digest": bundle.digest,
            "as_of": bundle.as_of,
            "engine": bundle.engine,
            "cross_check": bundle.cross_check,
        },
        "shadow": None if shadow is None else {"name": shadow.name, "digest": shadow.digest},
        "store": shipped.identity["store"],
        "requests": found.rows,
        "chunks": len(found.chunks),
        **{status: total.counts[status] for status in STATUSES},
        "digest": total.lines.hexdigest(),
    }


def _tidy(out: Path) -> None:
    """Remove what was shipped, and what killed processes left behind."""
    shutil.rmtree(out / FOLDER, ignore_errors=True)
    for draft in drafts_below(out):
        draft.unlink(missing_ok=True)


def lines_of(out: Path) -> Iterator[bytes]:
    """Yield the lines of a finished replay in the order of its input, a decision or an error each.

    Raises:
        ReflectGateError: `bulk-unfinished` where it did not come to its end, `bulk-part` where a part was changed since.
    """
    if not (out / REPORT).is_file():
        raise ReflectGateError("bulk-unfinished", f"holds no `{REPORT}`: the replay did not come to its end", Source(str(out)))
    for path in parts_in_order(out):
        part = read_part(path, path.name)
        if not part.whole:
            raise ReflectGateError("bulk-part", "is not what its worker wrote", Source(path.name))
        yield from part.lines
