"""What a queue may be told, when a failed job runs again, and which errors are worth another attempt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

from ..errors import StoreError

__all__ = [
    "Kind",
    "Parked",
    "PermanentError",
    "PersistError",
    "QueueSettings",
    "Rng",
    "Skip",
    "TransientError",
    "backoff",
    "classify",
    "retry_after",
]

Rng: TypeAlias = Callable[[], float]
"""Returns a number from 0 up to, not including, 1."""
Kind: TypeAlias = Literal["transient", "permanent"]

DAY: Final = 86_400.0

_TRY_AGAIN: Final = frozenset({408, 409, 425, 429})
_SERVER: Final = range(500, 600)
_FAULT: Final = range(400, 500)

# A mistake in the program or in its input: the next attempt would make it again.
_MISTAKES: Final = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, NotImplementedError, RecursionError,
    SyntaxError, TypeError, ValueError,
)  # fmt: skip


class QueueSettings(NamedTuple):
    """The settings of a queue; times are seconds."""

    capacity: int = 1000
    """Jobs that are waiting or being worked on; a put beyond it waits, or drops the oldest."""
    drop_oldest: bool = False
    block_timeout: float = 5.0
    max_attempts: int = 5
    initial_delay: float = 1.0
    multiplier: float = 2.0
    max_delay: float = 300.0
    jitter: float = 0.2
    stale_after: float = 7 * DAY
    done_keep: float = 30 * DAY
    """How long the ledger remembers at least that a job was done."""
    poll: float = 0.5
    """How often a waiting worker looks for what other processes put."""
    lock_timeout: float = 10.0

    @property
    def longest(self) -> float:
        """The greatest delay with its jitter: no job waits longer, whatever the calendar says."""
        return self.max_delay * (1 + self.jitter)

    def check(self) -> QueueSettings:
        """Return the settings.

        Raises:
            StoreError: `queue-settings`, naming every value that makes no sense.
        """
        limits = {
            "capacity": (1, 1_000_000), "block_timeout": (0, 3600), "max_attempts": (1, 100), "initial_delay": (0, 3600),
            "multiplier": (1, 100), "max_delay": (0, DAY), "jitter": (0, 0.5), "stale_after": (1, 10_000 * DAY),
            "done_keep": (0, 10_000 * DAY), "poll": (0.001, 60), "lock_timeout": (0, 3600),
        }  # fmt: skip
        wrong = [
            f"`{name}` is `{getattr(self, name)}`, and may be {low} to {high}"
            for name, (low, high) in limits.items()
            if not low <= getattr(self, name) <= high
        ]
        if wrong:
            raise StoreError("queue-settings", "; ".join(wrong))
        return self


class TransientError(Exception):
    """Raised by a handler: try again later, after `retry_after` seconds at the earliest."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class PermanentError(Exception):
    """Raised by a handler: no later attempt can succeed."""


class PersistError(TransientError):
    """Raised by a handler: the job was done, but its result could not be kept; counted by itself, and tried again."""


class Parked(Exception):  # noqa: N818 - an answer, not an error
    """Raised by a handler: not now, through no fault of the job; it waits for `after` seconds, and this costs no attempt."""

    def __init__(self, message: str, after: float) -> None:
        super().__init__(message)
        self.retry_after = after


class Skip(Exception):  # noqa: N818 - an answer, not an error
    """Raised by a handler: there is nothing to do for this job; it is acknowledged."""


def backoff(settings: QueueSettings, failed: int, rng: Rng, after: float | None = None) -> float:
    """Return the seconds until the next attempt.

    Args:
        settings: the first delay, its multiplier, its cap, and the jitter that is put on after the cap.
        failed: attempts that have failed, from 1.
        rng: source of the jitter.
        after: the least delay that the other side asked for; never more than the cap with its jitter.
    """
    try:
        delay = min(settings.initial_delay * settings.multiplier ** (failed - 1), settings.max_delay)
    except OverflowError:
        delay = settings.max_delay
    delay *= 1 - settings.jitter + 2 * settings.jitter * rng()
    if after is not None and after > delay:
        delay = min(after, settings.longest)
    return delay


def classify(error: BaseException) -> Kind:
    """Return whether another attempt can help.

    An error may say so itself (`transient`, true or false), or carry an HTTP status (`status_code`); otherwise its type decides.
    What is not known to be a mistake is transient: the attempts are counted in any case.
    """
    told = getattr(error, "transient", None)
    if isinstance(told, bool):
        return "transient" if told else "permanent"
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        if status in _TRY_AGAIN or status in _SERVER:
            return "transient"
        if status in _FAULT:
            return "permanent"
    return "permanent" if isinstance(error, (PermanentError, *_MISTAKES)) else "transient"


def retry_after(error: BaseException) -> float | None:
    """Return the seconds that the error asks to wait, if it does."""
    told = getattr(error, "retry_after", None)
    return float(told) if isinstance(told, int | float) and told >= 0 else None
