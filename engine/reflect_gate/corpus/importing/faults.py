"""Where a file is broken. The readers of transcripts pass over what they cannot read, as a hook must; an import says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final
from xml.parsers import expat

from ...errors import ReflectGateError, Source
from ...hooks.transcripts._records import MOST_DOCUMENT, MOST_LINE
from .rows import opened

__all__ = ["broken_lines", "document_fault", "report_fault"]

_MARKS: Final = b"\xef\xbb\xbf \t\r\n"


def broken_lines(path: str) -> Iterator[tuple[int, ReflectGateError]]:
    """Yield an error for each line that is no JSON, of a file whose first line is; a folder and a document have no lines."""
    if not Path(path).is_file():
        return
    with opened(path) as stream:
        if not _is_object(stream.readline(MOST_LINE)):
            return
        number = 1
        while said := stream.readline(MOST_LINE):
            number += 1
            if said.strip() and not _is_object(said):
                yield number, ReflectGateError("document-syntax", "no JSON object, or too long", Source(path, number))
            _skip_rest(stream, said)


def _skip_rest(stream: BinaryIO, said: bytes) -> None:
    while said and not said.endswith(b"\n"):
        said = stream.readline(MOST_LINE)


def _is_object(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"), strict=False), dict)
    except (ValueError, RecursionError):
        return False


def document_fault(path: str) -> ReflectGateError | None:
    """Return why a file is no one document, `None` where it is one, is a folder, or looks like neither JSON nor XML."""
    if not Path(path).is_file():
        return None
    with opened(path) as stream:
        data = stream.read(MOST_DOCUMENT + 1)
    begins = data.lstrip(_MARKS)[:1]
    if begins == b"<":
        return report_fault(path)
    if begins not in {b"{", b"["}:
        return None
    if len(data) > MOST_DOCUMENT:
        return ReflectGateError("document-size", f"a document of more than {MOST_DOCUMENT} bytes", Source(path))
    try:
        json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"), strict=False)
    except json.JSONDecodeError as error:
        said = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}".replace("`", "'")
        return ReflectGateError("document-syntax", said, Source(path, error.lineno, error.colno))
    except ValueError:
        return ReflectGateError("document-number", "not JSON: a number with too many digits", Source(path))
    except RecursionError:
        return ReflectGateError("document-depth", "nested too deep", Source(path))
    return None


def report_fault(path: str) -> ReflectGateError | None:
    """Return where an XML report stops being one, `None` where it is whole; entities that it declares are refused."""
    parser = expat.ParserCreate()
    parser.EntityDeclHandler = _refuse
    with opened(path) as stream:
        try:
            parser.ParseFile(stream)
        except expat.ExpatError as error:
            said = expat.ErrorString(error.code)
            return ReflectGateError("document-syntax", f"not XML: {said}", Source(path, error.lineno, error.offset + 1))
        except ValueError:
            return ReflectGateError("document-syntax", "a report declares an entity", Source(path, parser.CurrentLineNumber))
    return None


def _refuse(*_declaration: object) -> None:
    raise ValueError
