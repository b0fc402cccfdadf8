"""Candidates of a model asked now, once a record, kept in a file from which the same comparison is made again without a model.

The call is that of capture (`stages.reflect`: client, settings, prompt, journal); the day's limit of capture counts these calls
too. Both bundles judge the one answer. A record whose line stands in the file is never asked about again, and one whose answer
was received when the program was killed has it in the journal beside the file. What could not be asked stays for the next run.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from decimal import Decimal
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import orjson

from reflect_store.queue import Parked, QueueSettings, backoff

from .. import schemas
from .._canonical import digest
from ..config import Limits
from ..errors import ReflectGateError, Source
from ..llm.call import call_of, most_expensive, plain_decimal
from ..llm.client import ModelClient
from ..llm.errors import ModelError
from ..llm.journal import Journal, open_journal
from ..memory.redacting import redact
from ..stages._prepare import prepare
from ..stages.ledger import record_signature
from ..stages.reflect import reflect

if TYPE_CHECKING:
    from ..llm.call import Received
    from ..llm.prompt import Prompt
    from ..llm.settings import ModelSettings
    from ..types import SignatureContext

__all__ = [
    "CANDIDATE_SCHEMA",
    "Asker",
    "Budget",
    "BudgetSpentError",
    "Candidates",
    "Failure",
    "calls_of",
    "failure_of",
    "journal_beside",
]

CANDIDATE_SCHEMA: Final = "urn:reflect-gate:schema:candidate:1"

Line = Mapping[str, Any]

_OF_ONE_RECORD: Final = frozenset({"model-refused"})
"""Errors that say something of one request alone; every other would meet the next record as well."""


class Failure(NamedTuple):
    """What a model is asked about: a request without its reflection, free of secrets, with the digest of that."""

    failure_id: str
    request: dict[str, Any]
    digest: str


def failure_of(request: object, source_name: str = "request") -> Failure:
    """Return what is known of a failure before anybody reflects on it; a reflection that stands in the request is left out.

    Raises:
        ReflectGateError: `request` holds no valid record.
    """
    if not isinstance(request, dict):
        raise ReflectGateError("schema", f"expected an object, found `{str(request)[:80]}`", Source(source_name))
    schemas.check("record", request.get("record"), source_name)
    bare = redact({key: value for key, value in request.items() if key not in {"reflection", "tags"}}).request
    return Failure(bare["record"]["failure_id"], bare, digest(bare))


def journal_beside(path: Path, failure: Failure) -> Journal:
    """Return the journal of one failure, beside a file of candidates; another record of that name has another."""
    return open_journal(_beside(path) / failure.digest)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.journal")


class Candidates:
    """A file of what the model said, one line a failure in the order of the answers (`candidate.schema.json`)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._lines: dict[str, Line] = {}
        for number, data in enumerate(self._whole().splitlines(), 1):
            line = _line(data, Source(str(path), number))
            self._lines.setdefault(line["reflected"]["failure_id"], line)

    def _whole(self) -> bytes:
        """Return what is there without a line that a kill left unfinished."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise _io("read", self.path, error) from None
        return data[: data.rfind(b"\n") + 1]

    def of(self, failure: Failure) -> Line | None:
        """Return the line of a failure, `None` where it was not asked about; `candidate-other` where the record was another."""
        line = self._lines.get(failure.failure_id)
        if line is not None and line["of"] != failure.digest:
            message = f"the candidate of `{failure.failure_id}` is about another record than the one that is compared"
            raise ReflectGateError("candidate-other", message, Source(str(self.path)))
        return line

    def __len__(self) -> int:
        return len(self._lines)

    def lines(self) -> list[Line]:
        """Return every line."""
        return list(self._lines.values())

    def add(self, failure: Failure, reflected: Mapping[str, Any]) -> None:
        """Add a line, durably; an unfinished one at the end is removed first."""
        line = {"schema": CANDIDATE_SCHEMA, "of": failure.digest, "reflected": dict(reflected)}
        with self._lock:
            try:
                handle = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
                try:
                    os.ftruncate(handle, len(self._whole()))
                    os.lseek(handle, 0, os.SEEK_END)
                    left = memoryview(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SORT_KEYS))
                    while left:
                        left = left[os.write(handle, left) :]
                    os.fsync(handle)
                finally:
                    os.close(handle)
            except OSError as error:
                raise _io("write", self.path, error) from None
            self._lines[failure.failure_id] = line


def _io(what: str, path: Path, error: OSError) -> ReflectGateError:
    return ReflectGateError(f"cannot-{what}", f"cannot {what} `{path}`: {(error.strerror or '').lower()}")


def _line(data: bytes, source: Source) -> Line:
    try:
        line = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ReflectGateError("not-json", f"not a line of JSON: {error}", source) from None
    try:
        schemas.check("candidate", line, str(source.file))
    except ReflectGateError as error:
        raise ReflectGateError("candidate-line", "; ".join(leaf.message for leaf in error.errors), source) from None
    return cast("Line", line)


# -- money -----------------------------------------------------------------------------------------------------------------------


class BudgetSpentError(ReflectGateError):
    """No more calls may be made."""

    def __init__(self, message: str) -> None:
        super().__init__("budget-spent", message)


class Budget:
    """What all calls of a file of candidates may number and cost, those of earlier runs included; a client that holds to it."""

    def __init__(self, client: ModelClient, known: Sequence[Line], calls: int | None, cost: Decimal | None) -> None:
        self._client = client
        self._calls_limit, self._cost_limit = calls, cost
        made = [call for line in known if (call := line["reflected"]["call"]) is not None]
        self._calls = len(made)
        self._cost = sum((Decimal(call["cost"]) for call in made if call["cost"] is not None), Decimal(0))
        self._lock = threading.Lock()

    @property
    def settings(self) -> ModelSettings:
        """How the call is made."""
        return self._client.settings

    def ask(self, prompt: Prompt) -> Received:
        """Ask once; `budget-spent` where that could be one call or one dollar too much, else as the client does."""
        price = self.settings.price
        if self._cost_limit is not None and price is None:
            message = f"`--max-cost` needs the price of `{self.settings.model}`: give `price` to it under `models`"
            raise ModelError("model-unpriced", message)
        most = most_expensive(prompt.tokens, price) if price else Decimal(0)
        self._reserve(most)
        try:
            received = self._client.ask(prompt)
        except ModelError as error:
            # A server that fell silent may have worked for its money; one that refused, or was not there, has not.
            if error.code != "model-timeout":
                self._settle(most, Decimal(0), -1)
            raise
        except BaseException:
            self._settle(most, Decimal(0), -1)
            raise
        cost = call_of(received, replayed=False).cost
        self._settle(most, most if cost is None else cost, 0)
        return received

    def _reserve(self, most: Decimal) -> None:
        with self._lock:
            if self._calls_limit is not None and self._calls >= self._calls_limit:
                raise BudgetSpentError(f"{self._calls} of at most {self._calls_limit} calls are made")
            if self._cost_limit is not None and self._cost + most > self._cost_limit:
                spent, limit = plain_decimal(self._cost), plain_decimal(self._cost_limit)
                raise BudgetSpentError(
                    f"${spent} of at most ${limit} are spent, and the next call may cost ${plain_decimal(most)}"
                )
            self._calls += 1
            self._cost += most

    def _settle(self, most: Decimal, cost: Decimal, calls: int) -> None:
        with self._lock:
            self._cost += cost - most
            self._calls += calls


# -- asking ----------------------------------------------------------------------------------------------------------------------


class Asker:
    """Asks about failures, several at once, tries again what may go better, and stops where going on makes no sense.

    Attributes:
        refused: failures whose request the server refused; the others are not affected by it.
        spent: why no more may be asked, empty where everything was.
        waited: how often an attempt was put off.
    """

    def __init__(
        self, client: ModelClient, into: Candidates, queue: QueueSettings, limits: Limits, rng: Callable[[], float] | None = None
    ) -> None:
        self._client, self._into = client, into
        self._queue, self._limits = queue, limits
        self._rng = rng or SystemRandom().random
        self._ended = threading.Event()
        self.refused: list[ModelError] = []
        self.spent = ""
        self.waited = 0

    def ask(self, failures: Sequence[Failure], at_once: int, note: Callable[[int], None]) -> None:
        """Ask about each failure, and write each answer down when it is there; `note` hears of every one that is done.

        Raises:
            ReflectGateError: a record, the model or the file is not as it should be; what was answered before is kept.
        """
        with ThreadPoolExecutor(at_once) as pool:
            waiting = [pool.submit(self._one, failure, note) for failure in failures]
            try:
                done, _ = wait(waiting, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
            finally:
                self._ended.set()
                pool.shutdown(wait=True, cancel_futures=True)
                # What was received and is in no line stays, and its folder with it.
                with contextlib.suppress(OSError):
                    _beside(self._into.path).rmdir()

    def _one(self, failure: Failure, note: Callable[[int], None]) -> None:
        if self._ended.is_set():
            return
        try:
            self._answered(failure, note)
        except BaseException:
            # At once: before the caller hears of it, the next failure would be asked about.
            self._ended.set()
            raise

    def _answered(self, failure: Failure, note: Callable[[int], None]) -> None:
        try:
            reflected = self._tried(failure)
        except (BudgetSpentError, Parked) as error:
            self.spent = str(error)
            self._ended.set()
            return
        except ModelError as error:
            if error.code not in _OF_ONE_RECORD:
                raise
            self.refused.append(error)
            return
        if reflected is not None:
            self._into.add(failure, reflected)
            journal = journal_beside(self._into.path, failure)
            journal.forget(failure.failure_id)
            with contextlib.suppress(OSError):
                journal.folder.rmdir()
            note(1)

    def _tried(self, failure: Failure) -> Mapping[str, Any] | None:
        """Return what came of asking, `None` where the run ended while another attempt was awaited."""
        record = prepare(failure.request["record"], self._limits)
        context = cast("SignatureContext", {**record_signature(record), "reflected_before": False, "prior_reflection_id": None})
        attempt, journal = 1, journal_beside(self._into.path, failure)
        while True:
            try:
                return reflect(record, context, self._client, journal).to_json()
            except ModelError as error:
                if not error.transient or attempt >= self._queue.max_attempts:
                    raise
                delay = backoff(self._queue, attempt, self._rng, error.retry_after)
            attempt += 1
            self.waited += 1
            if self._ended.wait(delay):
                return None


# -- what it came to -------------------------------------------------------------------------------------------------------------


def calls_of(lines: Sequence[Line], left: int) -> dict[str, Any]:
    """Return what asking came to and cost, by the lines of the records that are compared; `left` were not asked about."""
    found = [line["reflected"] for line in lines]
    calls = [one["call"] for one in found if one["call"] is not None]
    return {
        "models": sorted({call["model"] for call in calls}),
        "kinds": {kind: sum(one["kind"] == kind for one in found) for kind in _KINDS},
        "reasons": dict(sorted(Counter(_reasons(found)).items())),
        "left": left,
        "calls": len(calls),
        "prompt_tokens": sum(call["prompt_tokens"] or 0 for call in calls),
        "cached_tokens": sum(call["cached_tokens"] or 0 for call in calls),
        "completion_tokens": sum(call["completion_tokens"] or 0 for call in calls),
        "uncounted": sum(call["prompt_tokens"] is None for call in calls),
        "cost": plain_decimal(sum((Decimal(call["cost"]) for call in calls if call["cost"] is not None), Decimal(0))),
        "unpriced": sum(call["cost"] is None for call in calls),
    }


_KINDS: Final = ("reflection", "skip", "violation", "not_reflected")


def _reasons(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in found:
        if one["violation"] is not None:
            yield one["violation"]["code"]
        elif one["reason"]:
            yield one["reason"]
