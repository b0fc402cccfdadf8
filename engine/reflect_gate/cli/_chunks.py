"""Requests worked on in chunks, by as many processes as are wanted, each chunk kept so that a run that was ended goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from ..errors import ReflectGateError
from ._options import BundleChoice

if TYPE_CHECKING:
    from ..ab.kept import Kept
    from ..policy import Bundle

__all__ = ["Looker", "Task", "worked_in_chunks"]

Request: TypeAlias = Mapping[str, Any]


class Looker(Protocol):
    """Says of one request, as plain data, whatever a task wants to know."""

    def __call__(self, request: Request, /) -> Any:
        """Return it; raises as `evaluate` does."""


class Task(NamedTuple):
    """What is done with each request.

    Attributes:
        make: makes, of a bundle and `arguments`, what is done; a function of a module, since worker processes look it up by name.
        arguments: plain data, which the rows follow from.
    """

    make: Callable[..., Looker]
    arguments: tuple[Any, ...] = ()

    def ready(self, choice: BundleChoice) -> Looker:
        """Load the bundle and make it."""
        return self.make(choice.load(), *self.arguments)


def _as_is(row: Any) -> Any:
    return row


def worked_in_chunks(
    requests: Sequence[Request],
    task: Task,
    choice: BundleChoice,
    bundle: Bundle,
    *,
    jobs: int,
    kept: Kept,
    note: Callable[[int], None],
    read: Callable[[Any], Any] = _as_is,
) -> list[Any]:
    """Return a row for each request, in order, an error in the place of one that cannot be judged; kept chunks are not redone.

    `bundle` is what `choice` loads; `note` hears of every request that is done; `read` makes of a plain row what is wanted of it,
    or `None` of one that is damaged.
    """
    from ..ab.kept import CHUNK, key_of

    identity = (bundle.digest, "compiled", False)
    chunks = [requests[start : start + CHUNK] for start in range(0, len(requests), CHUNK)]
    keys = [key_of(identity, chunk, task.make.__name__, list(task.arguments)) for chunk in chunks]
    found: list[Sequence[Any] | None] = [kept.rows(key, len(chunk), read) for key, chunk in zip(keys, chunks, strict=True)]
    note(sum(len(one) for one in found if one is not None))
    missing = [place for place, one in enumerate(found) if one is None]
    for place, rows in zip(missing, _worked([chunks[place] for place in missing], task, choice, jobs), strict=True):
        kept.put_rows(keys[place], [None if isinstance(row, ReflectGateError) else row for row in rows])
        found[place] = [row if isinstance(row, ReflectGateError) else read(row) for row in rows]
        note(len(rows))
    return [row for one in found if one is not None for row in one]


def _worked(chunks: Sequence[Sequence[Request]], task: Task, choice: BundleChoice, jobs: int) -> Iterator[list[Any]]:
    if not chunks:
        return
    if jobs == 1:
        looker = task.ready(choice)
        yield from ([_looked(looker, request) for request in chunk] for chunk in chunks)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(jobs, get_context("spawn"), _start, (task, choice)) as pool:
        yield from pool.map(_work, chunks)


_looker: list[Looker] = []


def _start(task: Task, choice: BundleChoice) -> None:
    _looker[:] = [task.ready(choice)]


def _work(chunk: Sequence[Request]) -> list[Any]:
    return [_looked(_looker[0], request) for request in chunk]


def _looked(looker: Looker, request: Request) -> Any:
    try:
        return looker(request)
    except ReflectGateError as error:
        # A plain error crosses from process to process; one that stands for several does not.
        first = error.errors[0]
        return ReflectGateError(first.code, first.message, first.source)
