"""From a corpus of logged reflections to evaluation requests, line by line; the forms that can be read are `CONVERTERS`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from .._canonical import canonical_bytes
from ..config import Limits
from ..documents import read_ndjson
from ..errors import ReflectGateError, Source, did_you_mean
from . import attribution, exam, reflexion

__all__ = ["CONVERTERS", "Conversion", "Converter", "convert_file", "convert_stream", "converter"]


class Converter(NamedTuple):
    """A form of corpus: its name on the command line, what it reads, and the function that turns a row into a request."""

    name: str
    doc: str
    convert: Callable[[Mapping[str, object]], dict[str, Any]]


CONVERTERS: tuple[Converter, ...] = (
    Converter("reflexion", "free-text reflections after failed self-written tests (Reflexion and its kin)", reflexion.convert),
    Converter("exam", "reflections on a wrong answer to an exam question, with its marking", exam.convert),
    Converter("attribution", "failures of agents with the step and the reason that a person named", attribution.convert),
)


class Conversion(NamedTuple):
    """How a file went: requests written, and one error for each line that is none, in order."""

    written: int
    errors: tuple[ReflectGateError, ...]


def converter(name: str) -> Converter:
    """Return the converter of a name; `corpus-unknown-form` with the nearest name where there is none."""
    for known in CONVERTERS:
        if known.name == name:
            return known
    names = [known.name for known in CONVERTERS]
    raise ReflectGateError("corpus-unknown-form", f"unknown corpus form `{name}`{did_you_mean(name, names)}")


def convert_stream(source: BinaryIO, name: str, form: Converter) -> Iterator[dict[str, Any] | ReflectGateError]:
    """Yield a request or an error for each line that is not blank; `name` stands in the errors' places."""
    for number, row in read_ndjson(source, name, Limits()):
        yield row if isinstance(row, ReflectGateError) else _converted(row, name, number, form)


def _converted(row: object, name: str, number: int, form: Converter) -> dict[str, Any] | ReflectGateError:
    if not isinstance(row, dict):
        return ReflectGateError("corpus-bad-row", f"expected an object, found `{str(row)[:80]}`", Source(name, number))
    try:
        return form.convert(row)
    except ReflectGateError as error:
        first = error.errors[0]
        return ReflectGateError(
            first.code, first.message, Source(name, number, pointer=first.source.pointer if first.source else "")
        )


def convert_file(path: str | Path, out: str | Path, form: str = "reflexion") -> Conversion:
    """Convert a file of rows to a file of requests, one canonical JSON object a line.

    A bad line is reported with its number and does not stop the rest. `out` appears whole or not at all (temporary file, rename).
    """
    chosen, written = converter(form), 0
    errors: list[ReflectGateError] = []
    with Path(path).open("rb") as source, _replacing(Path(out).resolve()) as target:
        for result in convert_stream(source, str(path), chosen):
            if isinstance(result, ReflectGateError):
                errors.append(result)
            else:
                target.write(canonical_bytes(result) + b"\n")
                written += 1
    return Conversion(written, tuple(errors))


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    """Yield a file that takes the place of `target` when the block ends without an error, and leaves nothing behind otherwise."""
    draft = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        with draft.open("wb") as stream:
            yield stream
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
