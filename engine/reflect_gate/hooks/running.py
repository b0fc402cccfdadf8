"""The whole of a hook's process: read, collect, answer or stay silent; exit code 0 whatever happens.

Silent is zero bytes on both streams. Nothing that runs below can break that: the work is done in a thread while the standard
streams lead nowhere, and only an answer that is there before the deadline is written, in one piece, by this thread.
"""

from __future__ import annotations

import _thread
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple, TypeAlias

from .answer import SILENCE
from .event import Event, Payload

__all__ = ["DEADLINE", "DISABLE", "Collect", "Options", "Recall", "disabled", "main", "options", "respond", "wanted"]

Collect: TypeAlias = Callable[[Event], None]
"""Keeps what an event tells of a failure, durably, before it returns."""

Recall: TypeAlias = Callable[[Event], str]
"""Returns the context for an event, empty where there is nothing to say."""

DISABLE: Final = "REFLECT_GATE_DISABLE"
"""The environment variable that makes every hook silent; processes that reflect-gate starts carry it, so none feeds itself."""

DEADLINE: Final = 4.0
"""Seconds after which a hook is over, less than the 5 that it is installed with."""

_SHORTEST, _LONGEST = 0.05, 600.0
_OFF: Final = frozenset({"", "0", "false", "no", "off"})
_BEFORE: Final = "--error-format"
_VALUED: Final = ("--harness", "--hook", "--event", "--deadline")


class Options(NamedTuple):
    """What the command line says: which harness it was installed for, the event's name, seconds, and perhaps the payload."""

    harness: str = ""
    event: str = ""
    deadline: float = DEADLINE
    payload: str = ""


def disabled() -> bool:
    """Return whether hooks are switched off here."""
    return os.environ.get(DISABLE, "").strip().lower() not in _OFF


def wanted(arguments: Sequence[str]) -> bool:
    """Return whether a command line is a hook's: `hook …`, or `evaluate … --hook HARNESS`; not where it asks for help."""
    own = _own(arguments)
    if not own or "--help" in own or "-h" in own:
        return False
    named = any(argument == "--hook" or argument.startswith("--hook=") for argument in own)
    return own[0] == "hook" or (own[0] == "evaluate" and named)


def _own(arguments: Sequence[str]) -> list[str]:
    """Return a command line from its verb on, without the one option that may stand before it."""
    own = list(arguments)
    while own and own[0].startswith(_BEFORE):
        own = own[1 if "=" in own[0] else 2 :]
    return own


def options(arguments: Sequence[str]) -> Options:
    """Read a command line; what is unknown or wrong in it is passed over, since an error would be the harness's to show."""
    found: dict[str, str] = {}
    rest = _own(arguments)[1:]
    payload = ""
    while rest:
        name, given, value = rest.pop(0).partition("=")
        if name in _VALUED:
            found[name] = value if given else (rest.pop(0) if rest else "")
        elif name.lstrip().startswith("{"):
            payload = name + given + value
    harness = found.get("--harness") or found.get("--hook") or ""
    return Options(harness, found.get("--event", ""), _seconds(found.get("--deadline", "")), payload)


def _seconds(given: str) -> float:
    try:
        seconds = float(given or DEADLINE)
    except ValueError:
        return DEADLINE
    return min(max(seconds, _SHORTEST), _LONGEST) if seconds == seconds else DEADLINE  # noqa: PLR0124 - not a number


def respond(payload: Payload, chosen: Options, collect: Collect, recall: Recall) -> bytes:
    """Return what to say to one payload.

    A failure of `collect` costs no answer, and one of `recall` nothing but the answer. An event that nobody claims, or that is of
    no interest, reaches neither.
    """
    from .answer import encode, fits
    from .dialects import read

    found = read(payload, chosen.harness, chosen.event)
    if found is None:
        return SILENCE
    dialect, event = found
    if event.kind == "other":
        return SILENCE
    with suppress(Exception):
        collect(event)
    # Which events can carry a text is the dialect's to say; nothing is recalled for the others.
    if dialect.context(event, "") is None:
        return SILENCE
    text = recall(event)
    document = dialect.context(event, text) if fits(text) else None
    return SILENCE if document is None else encode(document)


def main(arguments: Sequence[str], collect: Collect | None = None, recall: Recall | None = None) -> int:
    """Run a hook on standard input, or on a payload that is the last argument, and return 0.

    `collect` and `recall` are those of `wiring` unless given.
    """
    if disabled():
        return 0
    with suppress(BaseException), _muted() as stdout:
        chosen = options(arguments)
        answer = _within(chosen.deadline, lambda: _answer(chosen, collect, recall))
        while answer and stdout >= 0:
            answer = answer[os.write(stdout, answer) :]
    return 0


def _answer(chosen: Options, collect: Collect | None, recall: Recall | None) -> bytes:
    from .reading import payload_of, read_bytes

    if chosen.payload:
        payload = payload_of(chosen.payload.encode("utf-8", "replace"))
    else:
        # At a terminal nobody sends an event, and whoever typed the verb would wait for its deadline.
        payload = None if os.isatty(0) else payload_of(read_bytes(0))
    if payload is None:
        return SILENCE
    if collect is None or recall is None:
        from . import wiring

        collect, recall = collect or wiring.collect, recall or wiring.recall
    return respond(payload, chosen, collect, recall)


def _within(seconds: float, work: Callable[[], bytes]) -> bytes:
    """Return what `work` returns within `seconds`, else silence; it then goes on in a thread that ends with the process."""
    over = _thread.allocate_lock()
    over.acquire()
    answers: list[bytes] = []

    def run() -> None:
        try:
            answers.append(work())
        except BaseException:  # noqa: BLE001 - whatever it is, a hook that fails says nothing
            answers.append(SILENCE)
        finally:
            over.release()

    # The module under `threading`, which would cost a third of a hook's time to import.
    _thread.start_new_thread(run, ())
    return answers[0] if over.acquire(timeout=seconds) and answers else SILENCE


@contextmanager
def _muted() -> Iterator[int]:
    """Lead both streams nowhere, for Python and for the libraries under it; yield standard output, -1 where it is shut."""
    kept = [_duplicate(1), _duplicate(2)]
    streams = sys.stdout, sys.stderr
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(nothing, descriptor)
    with open(nothing, "w", encoding="utf-8", closefd=nothing > 2) as void:
        sys.stdout = sys.stderr = void
        try:
            yield kept[0]
        finally:
            sys.stdout, sys.stderr = streams
            for descriptor, was in zip((1, 2), kept, strict=True):
                if was >= 0:
                    os.dup2(was, descriptor)
                    os.close(was)


def _duplicate(descriptor: int) -> int:
    try:
        return os.dup(descriptor)
    except OSError:
        return -1
