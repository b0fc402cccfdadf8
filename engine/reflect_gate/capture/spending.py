"""What calls cost and what came of each failure: one file a day (UTC), one JSON object a line, shared by all workers (R-L3).

A call that has a price is reserved at the most that it can cost, before it is made, and settled at what it cost. The order of the
lines decides who was first: a reservation counts what stands before it, so that workers need no lock to share the day's limit.
What a killed worker had reserved stays reserved until the day is over.
"""

from __future__ import annotations

import datetime as dt
import itertools
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from reflect_store.queue import Parked

from ..config import home_dir
from ..llm.call import Received, call_of, most_expensive, plain_decimal
from ..llm.client import ModelClient
from ..llm.errors import ModelError
from ..llm.prompt import Prompt
from ..llm.settings import ModelSettings

__all__ = ["Calls", "Capped", "DailyLimit", "Spent", "Tail", "open_calls"]

_DAY: Final = 86_400
_SUFFIX: Final = ".ndjson"


class DailyLimit(Parked):
    """The day's calls may not cost more; `retry_after` seconds are left of the day."""


class Spent(NamedTuple):
    """Dollars of a day that were spent, and those that are reserved for calls that have not ended."""

    settled: Decimal
    reserved: Decimal

    @property
    def total(self) -> Decimal:
        """Both together."""
        return self.settled + self.reserved


def _utc() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def open_calls(limit: Decimal | None = None, folder: Path | None = None) -> Calls:
    """Return the calls in `folder`, which need not exist; by default `calls` in the home folder."""
    return Calls(folder or home_dir() / "calls", limit)


class Calls:
    """The calls of all days. `limit` is what those of one day may cost together; `clock` tells the day."""

    def __init__(self, folder: Path, limit: Decimal | None = None, clock: Callable[[], dt.datetime] = _utc) -> None:
        self.folder = folder
        self.limit = limit
        self._clock = clock

    # -- money ---------------------------------------------------------------------------------------------------------

    def spent(self, day: dt.date | None = None) -> Spent:
        """Return what the calls of a day cost, of today unless another is given."""
        return _sum(self.lines(day or self._clock().date()))

    def check(self) -> None:
        """Raise `DailyLimit` where nothing more may be spent today: nobody need prepare a call then."""
        if self.limit is not None:
            total = self.spent().total
            if total >= self.limit:
                raise self._refusal(total, Decimal(0))

    def reserve(self, most: Decimal) -> tuple[dt.date, str]:
        """Reserve what a call can cost at most; return the day and the call's name, with which to `settle` it.

        Raises:
            DailyLimit: it does not fit in what is left of the day's limit.
        """
        now, call = self._clock(), secrets.token_hex(8)
        day = now.date()
        self._add(day, {"what": "reserved", "call": call, "cost": plain_decimal(most)})
        if self.limit is None:
            return day, call
        before = self._before(day, call)
        if before + most > self.limit:
            self.settle(day, call, Decimal(0))
            raise self._refusal(before, most)
        return day, call

    def _before(self, day: dt.date, call: str) -> Decimal:
        """Return what was spent and reserved when a reservation was written."""
        return _sum(itertools.takewhile(lambda line: line.get("call") != call, self.lines(day))).total

    def settle(self, day: dt.date, call: str, cost: Decimal) -> None:
        """Say what a reserved call cost."""
        self._add(day, {"what": "settled", "call": call, "cost": plain_decimal(cost)})

    def _refusal(self, spent: Decimal, most: Decimal) -> DailyLimit:
        now = self._clock()
        left = _DAY - (now.hour * 3600 + now.minute * 60 + now.second)
        more = f" and the call may cost ${plain_decimal(most)}" if most else ""
        message = f"daily-limit: ${plain_decimal(spent)} of ${plain_decimal(self.limit or Decimal(0))} are spent today{more}"
        return DailyLimit(message, float(left))

    # -- what came of it -----------------------------------------------------------------------------------------------

    def outcome(self, outcome: Mapping[str, Any]) -> None:
        """Note what came of a failure; noting it again is harmless, since readers count a failure once a day."""
        self._add(self._clock().date(), {"what": "outcome", **outcome})

    def outcomes(self, day: dt.date | None = None) -> Iterator[dict[str, Any]]:
        """Yield what came of the failures of a day, each once; twice, where one was parked and reflected on later."""
        seen: set[tuple[str, str]] = set()
        for line in self.lines(day or self._clock().date()):
            if _first(line, seen):
                yield line

    # -- files ---------------------------------------------------------------------------------------------------------

    def path(self, day: dt.date) -> Path:
        """Return the file of a day."""
        return self.folder / f"{day.isoformat()}{_SUFFIX}"

    def lines(self, day: dt.date) -> Iterator[dict[str, Any]]:
        """Yield the lines of a day; one that a crash left unfinished is passed over."""
        try:
            data = self.path(day).read_bytes()
        except FileNotFoundError:
            return
        yield from _whole_lines(data)

    def _add(self, day: dt.date, line: Mapping[str, Any]) -> None:
        stamped = {"at": self._clock().isoformat(timespec="milliseconds"), **line}
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self.path(day), os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        try:
            data = orjson.dumps(stamped, option=orjson.OPT_APPEND_NEWLINE)
            size = os.fstat(handle).st_size
            # What a crash left without its line break must not spoil the next line.
            torn = size > 0 and _byte_at(handle, size - 1) != b"\n"
            os.write(handle, b"\n" + data if torn else data)
        finally:
            os.close(handle)


def _first(line: Mapping[str, Any], seen: set[tuple[str, str]]) -> bool:
    """Return whether a line is an outcome that was not seen before, and remember it."""
    if line["what"] != "outcome":
        return False
    key = (line["failure_id"], line["kind"])
    known = key in seen
    seen.add(key)
    return not known


def _sum(lines: Iterable[Mapping[str, Any]]) -> Spent:
    settled, reserved = Decimal(0), dict[str, Decimal]()
    for line in lines:
        if line["what"] == "reserved":
            reserved[line["call"]] = Decimal(line["cost"])
        elif line["what"] == "settled":
            reserved.pop(line["call"], None)
            settled += Decimal(line["cost"])
    return Spent(settled, sum(reserved.values(), Decimal(0)))


def _byte_at(handle: int, position: int) -> bytes:
    os.lseek(handle, position, os.SEEK_SET)
    return os.read(handle, 1)


def _whole_lines(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.splitlines():
        try:
            found = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(found, dict) and "what" in found:
            yield found


class Tail:
    """Reads on where it left off, over days, beginning at the end of what is there now; of the outcomes each once."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._day, self._position = self._newest()
        self._seen: set[tuple[str, str]] = set()

    def _newest(self) -> tuple[str, int]:
        files = sorted(self._calls.folder.glob(f"*{_SUFFIX}"))
        return (files[-1].name, files[-1].stat().st_size) if files else ("", 0)

    def read(self) -> list[dict[str, Any]]:
        """Return the outcomes that were noted since the last time."""
        found = []
        for path in sorted(self._calls.folder.glob(f"*{_SUFFIX}")):
            if path.name < self._day:
                continue
            if path.name > self._day:
                self._day, self._position, self._seen = path.name, 0, set()
            with path.open("rb") as stream:
                stream.seek(self._position)
                data = stream.read()
            # A line that is being written is read the next time.
            data = data[: data.rfind(b"\n") + 1]
            self._position += len(data)
            found += [line for line in _whole_lines(data) if _first(line, self._seen)]
        return found


class Capped:
    """A client whose calls are reserved before and settled after; asks nobody where the day's limit forbids it."""

    def __init__(self, client: ModelClient, calls: Calls) -> None:
        self._client = client
        self._calls = calls

    @property
    def settings(self) -> ModelSettings:
        """How the call is made."""
        return self._client.settings

    def ask(self, prompt: Prompt) -> Received:
        """Ask once; raise `DailyLimit` where that could cost too much, else as the client does."""
        price = self.settings.price
        if price is None:
            return self._client.ask(prompt)
        most = most_expensive(prompt.tokens, price)
        day, call = self._calls.reserve(most)
        try:
            received = self._client.ask(prompt)
        except ModelError as error:
            # A server that fell silent may have worked for its money; one that refused, or was not there, has not.
            self._calls.settle(day, call, most if error.code == "model-timeout" else Decimal(0))
            raise
        cost = call_of(received, replayed=False).cost
        self._calls.settle(day, call, most if cost is None else cost)
        return received
