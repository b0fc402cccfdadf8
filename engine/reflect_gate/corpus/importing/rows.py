"""Logs that hold one reflection a row, as lines of JSON: Reflexion's runs, tree search, exams, environments, attributed failures.

The request of a row is made by the converters of `corpus.conversion`, so that an imported corpus judges as the same rows do when
they are converted one by one. What came later goes into the record's `outcome`, which no request ever sees.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from ...config import Limits
from ...documents import read_ndjson
from ...errors import ReflectGateError, Source
from .. import attribution, exam, reflexion
from .._rows import needed, spending, text
from .groups import of_name, of_text
from .record import Found, Judged, Kind, Later, Row, bad, corpus_record

__all__ = ["alfworld", "exams", "hotpot", "lats", "opened", "programming", "provenance", "read_rows", "who_and_when"]

_PROVENANCE: Final = ("source", "license", "run", "model", "strategy", "commit")
_EXECUTED: Final = ("hidden_tests", "env", "exact match", "answer key")
_NOTHING: Final = frozenset({"", "none"})

_LINE: Final = 4_096


def provenance(row: Row, importer: str) -> dict[str, Any]:
    """Return where a row comes from, as far as it says."""
    told = {key: value[:_LINE] for key in _PROVENANCE if isinstance(value := row.get(key), str)}
    trial = row.get("trial")
    whole = isinstance(trial, int) and not isinstance(trial, bool) and 0 <= trial < 2**31
    return {"importer": importer, **told, **({"trial": trial} if whole else {})}


def _flag(row: Row, key: str) -> bool | None:
    value = row.get(key)
    return value if isinstance(value, bool) else None


def _later(row: Row) -> Later:
    """Return what came after a row's reflection; an outcome of which the log does not say what decided it counts as told."""
    before, after, basis = _flag(row, "before_outcome"), _flag(row, "next_outcome"), text(row, "next_outcome_basis")[:_LINE]
    if after is None:
        return Later(before)
    kind: Kind = "executed" if basis.startswith(_EXECUTED) else "self_reported"
    return Later(before, after, kind, "same_task", _flag(row, "control_outcome"), "" if basis in _NOTHING else basis)


def _recorded(request: Mapping[str, Any], row: Row, importer: str, group: str, **more: Any) -> dict[str, Any]:
    told = provenance(row, importer)
    return corpus_record(request, group=group, later=_later(row), provenance=told, spending=spending(row), **more)


def _named(row: Row) -> str:
    return text(row, "task_id") or needed(row, "id")


def programming(row: Row, importer: str = "reflexion") -> dict[str, Any]:
    """Return the record of a reflection on code that failed its tests.

    Where the log says that the reflection was written without any feedback, it is one that must be refused: it had no evidence.
    """
    blind = row.get("feedback_kind") == "none" and not text(row, "feedback").strip()
    judged = Judged(admit=False, by="construction") if blind else None
    return _recorded(reflexion.convert(row), row, importer, of_name(_named(row)), judged=judged)


def lats(row: Row) -> dict[str, Any]:
    """Return the record of a reflection of a tree search: the same evidence, and no later outcome of its own."""
    return programming(row, "lats")


def hotpot(row: Row) -> dict[str, Any]:
    """Return the record of a reflection on a wrong answer to a question, which is the task's name; the trace is the attempt."""
    question = text(row, "task_prompt") or _named(row)
    return _recorded(exam.convert({**row, "task_prompt": question}), row, "hotpot", of_text("question", question))


def alfworld(row: Row) -> dict[str, Any]:
    """Return the record of a reflection in an environment, of which such logs keep no trace."""
    task = f"{needed(row, 'env')}/{_named(row)}"
    return _recorded(exam.convert({**row, "task_id": task}), row, "alfworld", task)


def exams(row: Row) -> dict[str, Any]:
    """Return the record of a reflection on a wrong answer to an exam question, beside how a retry without one went."""
    question = text(row, "task_prompt")
    group = of_text("question", question) if question.strip() else of_name(_named(row))
    return _recorded(exam.convert(row), row, "renze", group)


def who_and_when(row: Row) -> dict[str, Any]:
    """Return the record of an agents' failure with the cause that a person named, which stands as the candidate too."""
    return _recorded(attribution.convert(row), row, "who-and-when", of_name(_named(row)), cause=needed(row, "reflection_text"))


# -- reading ---------------------------------------------------------------------------------------------------------------------


def read_rows(convert: Callable[[Row], dict[str, Any]]) -> Callable[[str], Iterator[Found]]:
    """Return a reader of lines of JSON, each of which `convert` turns into a record; one line is held at a time."""

    def read(path: str) -> Iterator[Found]:
        with opened(path) as stream:
            for number, row in read_ndjson(stream, path, Limits()):
                yield number, row if isinstance(row, ReflectGateError) else _converted(row, convert, Source(path, number))

    return read


def _converted(row: object, convert: Callable[[Row], dict[str, Any]], place: Source) -> dict[str, Any] | ReflectGateError:
    if not isinstance(row, dict):
        return bad(f"expected an object, found `{str(row)[:80]}`", place.file, place.line)
    try:
        return convert(row)
    except ReflectGateError as error:
        first = error.errors[0]
        return ReflectGateError(first.code, first.message, place._replace(pointer=first.source.pointer if first.source else ""))


@contextlib.contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """Yield the bytes of a file; `cannot-read` where it cannot be opened."""
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 - closed below; opened here so that only opening is answered for
    except OSError as error:
        raise ReflectGateError("cannot-read", f"cannot read `{path}`: {(error.strerror or '').lower()}") from None
    with stream:
        yield stream
