"""Judging many requests: in this process or in several, in order, with a bounded number in flight."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..errors import ReflectGateError, ReflectGateErrors, Source
from ._options import BundleChoice
from ._output import internal_error

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ..policy import Bundle
    from ._against import Against, StoreChoice

__all__ = ["Judged", "Progress", "judge_all", "judge_one", "placed"]

Entry: TypeAlias = tuple[str, object]
"""A place (empty, `/index` or `line n`) and the object there, or the error that it is (`documents.read_documents`)."""

_Leaf: TypeAlias = tuple[str, str, Source | None]

CHUNK = 32
CHUNKS_IN_FLIGHT = 3
"""Chunks that wait or run for each worker: enough to keep it busy, few enough to bound memory."""


class Judged(NamedTuple):
    """What became of one entry: its decision document, or the error for which it has none."""

    place: str
    request: object
    decision: dict[str, Any] | None
    error: ReflectGateError | None


def judge_one(
    entry: Entry, name: str, bundle: Bundle, explain: bool, against: Against | None = None, shadow: Bundle | None = None
) -> Judged:
    """Judge one entry of the input called `name`, against a store where one is given; whatever goes wrong is its own error.

    What `shadow` would have decided is kept in the decision and changes nothing in it.
    """
    from ..pipeline import evaluate

    place, request = entry
    if isinstance(request, ReflectGateError):
        return Judged(place, None, None, request)
    try:
        if against is None:
            decision = evaluate(request, bundle, explain=explain).to_json()  # type: ignore[arg-type]
        else:
            decision = against.judge(request, bundle, explain=explain)  # type: ignore[arg-type]
        if shadow is not None:
            from ..shadowing import shadow_of

            decision["shadow"] = shadow_of(decision, request, shadow)  # type: ignore[arg-type]
    except ReflectGateError as error:
        return Judged(place, request, None, placed(error, place, name))
    except Exception as error:  # noqa: BLE001 - one bad entry must not cost the others
        return Judged(place, request, None, placed(internal_error(error), place, name))
    return Judged(place, request, decision, None)


def judge_all(
    entries: Iterable[Entry],
    name: str,
    choice: BundleChoice,
    bundle: Bundle,
    *,
    explain: bool,
    jobs: int,
    against: Against | None = None,
    store: StoreChoice | None = None,
) -> Iterator[Judged]:
    """Yield what became of every entry, in order; `jobs` above 1 starts that many worker processes.

    `against` is the open store of this process, `store` what a worker opens for itself.
    """
    if jobs == 1:
        shadow = choice.load_shadow(bundle.as_of)
        yield from (judge_one(entry, name, bundle, explain, against, shadow) for entry in entries)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # The day is fixed here: a batch that runs past midnight must not judge by two bundles.
    fixed = choice.on_day(bundle.as_of)
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _start_worker, (fixed, bundle.digest, name, explain, store))
    try:
        yield from _ordered(pool, entries, jobs * CHUNKS_IN_FLIGHT)
    except BrokenProcessPool:
        raise ReflectGateError("engine-worker", "a worker process ended before its requests were judged") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ordered(pool: Any, entries: Iterable[Entry], most: int) -> Iterator[Judged]:
    waiting: deque[tuple[list[Entry], Future[list[_Result]]]] = deque()
    iterator = iter(entries)
    while True:
        while len(waiting) < most and (chunk := list(islice(iterator, CHUNK))):
            waiting.append((chunk, pool.submit(_work, chunk)))
        if not waiting:
            return
        chunk, future = waiting.popleft()
        for (place, request), (decision, leaves) in zip(chunk, future.result(), strict=True):
            yield Judged(place, request, decision, _joined(leaves))


# -- worker processes ----------------------------------------------------------------------------------------------------

_Result: TypeAlias = tuple[dict[str, Any] | None, list[_Leaf]]
_worker: list[tuple[Bundle, str, bool, Against | None, Bundle | None] | ReflectGateError] = []


def _start_worker(choice: BundleChoice, digest: str, name: str, explain: bool, store: StoreChoice | None = None) -> None:
    import signal

    # The parent hears the interrupt and ends the pool; a traceback of every worker would only bury its message.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # An error raised here would be logged with a traceback and break the pool; kept, it is told with the first chunk.
    try:
        bundle = choice.load()
        against = store.kept_open() if store else None
        shadow = choice.load_shadow(bundle.as_of)
    except ReflectGateError as error:
        _worker[:] = [ReflectGateError(error.code, error.message, error.source)]
        return
    changed = ReflectGateError("policy-changed", "the policies changed while the batch was being judged")
    _worker[:] = [(bundle, name, explain, against, shadow) if bundle.digest == digest else changed]


def _work(chunk: Sequence[Entry]) -> list[_Result]:
    ready = _worker[0]
    if isinstance(ready, ReflectGateError):
        raise ready
    bundle, name, explain, against, shadow = ready
    results = []
    for entry in chunk:
        judged = judge_one(entry, name, bundle, explain, against, shadow)
        leaves = judged.error.errors if judged.error else ()
        results.append((judged.decision, [(leaf.code, leaf.message, leaf.source) for leaf in leaves]))
    return results


def _joined(leaves: Sequence[_Leaf]) -> ReflectGateError | None:
    errors = [ReflectGateError(*leaf) for leaf in leaves]
    if len(errors) > 1:
        return ReflectGateErrors(errors)
    return errors[0] if errors else None


def placed(error: ReflectGateError, place: str, name: str) -> ReflectGateError:
    """Return `error` with its place in the input called `name` instead of in the request."""
    line = int(place.removeprefix("line ")) if place.startswith("line ") else 0
    before = place if place.startswith("/") else ""
    moved = [
        ReflectGateError(leaf.code, leaf.message, Source(name, line, 0, before + (leaf.source.pointer if leaf.source else "")))
        for leaf in error.errors
    ]
    return moved[0] if len(moved) == 1 else ReflectGateErrors(moved)


class Progress:
    """A bar on stderr while a batch runs, where stderr is a terminal and stdout is not; silent otherwise.

    With `alone`, where nothing is printed until the end, stdout may be a terminal too.
    """

    WIDTH = 24
    PERIOD = 0.1

    def __init__(self, size: int, done: str = "judged", *, alone: bool = False) -> None:
        self._size = size
        self._done = done
        self._on = sys.stderr.isatty() and (alone or not sys.stdout.isatty())
        self._next = 0.0

    def show(self, judged: int, read: int) -> None:
        """Say that `judged` entries are done and `read` bytes of the input are read."""
        if not self._on or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self.PERIOD
        share = min(1.0, read / self._size) if self._size else 0.0
        bar = "#" * round(share * self.WIDTH)
        shown = f"[{bar:<{self.WIDTH}}] {share:4.0%} " if self._size else ""
        print(f"\r{shown}{judged} {self._done}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Remove the bar."""
        if self._on:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
