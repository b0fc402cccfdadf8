"""JUnit reports as pytest writes them (9.0, xunit2): streamed; entities that a report defines itself are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, Final
from xml.parsers import expat

from ..dialects._fields import line, text
from ..event import TEXT, Payload
from ._evidence import Evidence, Format, bounded

__all__ = ["FORMAT", "testcases"]

_CHUNK: Final = 65_536
_RESULTS: Final = frozenset({"failure", "error", "skipped"})


class _Report:
    """Collects test cases as the parser meets them."""

    def __init__(self) -> None:
        self.done: list[Payload] = []
        self._case: Payload | None = None
        self._said: list[str] | None = None
        self._size = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "testcase":
            self._case = {"junit": "testcase", "outcome": "passed", **{f"@{name}": value for name, value in attributes.items()}}
        elif tag in _RESULTS and self._case is not None and self._case["outcome"] == "passed":
            self._case |= {"outcome": tag, "message": attributes.get("message", ""), "type": attributes.get("type", "")}
            self._said, self._size = [], 0

    def text(self, data: str) -> None:
        if self._said is not None and self._size < 4 * TEXT:
            self._said.append(data)
            self._size += len(data)

    def end(self, tag: str) -> None:
        if tag in _RESULTS and self._case is not None and self._said is not None:
            self._case["said"] = "".join(self._said)
            self._said = None
        elif tag == "testcase" and self._case is not None:
            self.done.append(self._case)
            self._case = None


def testcases(stream: IO[bytes]) -> Iterator[Payload]:
    """Yield an object a test case; a report that is cut off yields those before the cut."""
    report, parser = _Report(), expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = report.start, report.end
    parser.CharacterDataHandler = report.text
    parser.EntityDeclHandler = _refuse
    while chunk := stream.read(_CHUNK):
        try:
            parser.Parse(chunk, False)
        except (expat.ExpatError, ValueError):
            break
        finally:
            yield from report.done
            report.done.clear()


def _refuse(*_declaration: object) -> None:
    raise ValueError("a report declares an entity")


def claims(record: Payload) -> bool:
    """What `testcases` yields."""
    return record.get("junit") == "testcase"


def read(records: Iterable[Payload]) -> Iterator[Evidence]:
    """Yield an entry a test that ran."""
    for record in records:
        outcome = line(record, "outcome")
        if outcome == "skipped":
            continue
        name = "::".join(part for part in (line(record, "@classname"), line(record, "@name")) if part)
        message, said = text(record, "message"), text(record, "said")
        shown = f"{name} {outcome}: {message}\n{said}" if message or said else f"{name} {outcome}"
        yield Evidence(
            "test_output", bounded(shown), name, "pytest", line(record, "@file") or _site(said), failed=outcome != "passed"
        )


def _site(said: str) -> str:
    """Return the file of a traceback's last line, `tests/test_price.py:8: RuntimeError`."""
    last = said.rstrip().rpartition("\n")[2]
    file, colon, rest = last.partition(":")
    return file if colon and rest[:1].isdecimal() and " " not in file else ""


FORMAT: Final = Format("junit", claims, read)
