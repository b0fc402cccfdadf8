"""When a failure is captured, how the queue behaves, and what reflecting may cost: S1's settings with S1's defaults (R-q11).

Each is a field of `Settings` and a variable of the environment; `VARIABLES` names both. A switch is `true` or `false` (also 1, 0,
yes, no, on, off), a time is seconds or a number with `ms`, `s`, `m`, `h` or `d`, dollars are a plain decimal, and empty is unset.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ..config import home_dir, queue_address
from ..errors import ReflectGateError, Source, raise_all

if TYPE_CHECKING:
    from decimal import Decimal

    from reflect_store.queue import QueueSettings
    from reflect_store.queue.pool import PoolSettings

__all__ = ["VARIABLES", "Settings", "parse", "read_settings"]

SHUTDOWN: Final = 30.0
"""Seconds within which a worker is gone after it was told to stop."""

_TO_KILL: Final = 3.0


class Settings(NamedTuple):
    """The settings of capture, queue and worker; times are seconds, dollars exact. `None` is no limit."""

    enabled: bool = True
    on_error: bool = True
    on_hallucination: bool = True
    on_low_quality: bool = False
    persist: bool = True
    """False only logs what was decided: no lesson is stored."""
    queue_enabled: bool = True
    """False is the mode without a queue: a process for each failure, which is lost if it ends early."""
    queue_workers: int = 2
    queue_capacity: int = 1000
    queue_drop_oldest: bool = False
    queue_block_timeout: float = 5.0
    queue_max_attempts: int = 5
    queue_initial_delay: float = 1.0
    queue_max_delay: float = 300.0
    queue_jitter: float = 0.2
    queue_job_timeout: float = 120.0
    queue_stale_after: float = 604_800.0
    queue_base_dir: str = ""
    """An absolute path; empty stands for `queue` in the home folder."""
    daily_cost_limit: Decimal | None = None
    """Dollars that all calls of one day (UTC) may cost together."""
    job_cost_limit: Decimal | None = None
    """Dollars that the call of one job may cost; the lower of this and the model's own `cost_limit` holds."""

    @property
    def folder(self) -> Path:
        """The folder of the queue, which need not exist."""
        return Path(self.queue_base_dir) if self.queue_base_dir else home_dir() / "queue"

    @property
    def place(self) -> Path | str:
        """Where the queue is: the address of a server, which may hold a password, else the folder."""
        return queue_address() or self.folder

    @property
    def tallied(self) -> Path:
        """The folder beside which this machine counts its captures: the queue's, or the home folder where that is on a server."""
        return home_dir() if queue_address() else self.folder

    def queue(self) -> QueueSettings:
        """Return what the queue is told."""
        from reflect_store.queue import QueueSettings

        return QueueSettings(
            capacity=self.queue_capacity,
            drop_oldest=self.queue_drop_oldest,
            block_timeout=self.queue_block_timeout,
            max_attempts=self.queue_max_attempts,
            initial_delay=self.queue_initial_delay,
            max_delay=self.queue_max_delay,
            jitter=self.queue_jitter,
            stale_after=self.queue_stale_after,
        )

    def pool(self) -> PoolSettings:
        """Return what the workers are told; they have a little less than `SHUTDOWN` to end by themselves."""
        from reflect_store.queue.pool import PoolSettings

        return PoolSettings(self.queue_workers, self.queue_job_timeout, SHUTDOWN - _TO_KILL)


VARIABLES: Final[Mapping[str, str]] = {
    "enabled": "REFLECT_GATE_ENABLED",
    "on_error": "REFLECT_GATE_ON_ERROR",
    "on_hallucination": "REFLECT_GATE_ON_HALLUCINATION",
    "on_low_quality": "REFLECT_GATE_ON_LOW_QUALITY",
    "persist": "REFLECT_GATE_PERSIST",
    "queue_enabled": "REFLECT_GATE_QUEUE_ENABLED",
    "queue_workers": "REFLECT_GATE_QUEUE_WORKERS",
    "queue_capacity": "REFLECT_GATE_QUEUE_CAPACITY",
    "queue_drop_oldest": "REFLECT_GATE_QUEUE_DROP_OLDEST",
    "queue_block_timeout": "REFLECT_GATE_QUEUE_BLOCK_TIMEOUT",
    "queue_max_attempts": "REFLECT_GATE_QUEUE_MAX_ATTEMPTS",
    "queue_initial_delay": "REFLECT_GATE_QUEUE_INITIAL_DELAY",
    "queue_max_delay": "REFLECT_GATE_QUEUE_MAX_DELAY",
    "queue_jitter": "REFLECT_GATE_QUEUE_JITTER",
    "queue_job_timeout": "REFLECT_GATE_QUEUE_JOB_TIMEOUT",
    "queue_stale_after": "REFLECT_GATE_QUEUE_STALE_AFTER",
    "queue_base_dir": "REFLECT_GATE_QUEUE_BASE_DIR",
    "daily_cost_limit": "REFLECT_GATE_DAILY_COST_LIMIT",
    "job_cost_limit": "REFLECT_GATE_JOB_COST_LIMIT",
}
"""The variable of the environment for each field of `Settings`: S1's name, with our prefix."""

_SWITCH: Final = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
_TIME: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)?")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_DOLLARS: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,20})?")
_LEAST: Final[Mapping[str, float]] = {"queue_workers": 1, "queue_capacity": 1, "queue_max_attempts": 1, "queue_stale_after": 1}
_MOST: Final[Mapping[str, float]] = {
    "queue_workers": 64, "queue_capacity": 1_000_000, "queue_max_attempts": 100, "queue_block_timeout": 3_600.0,
    "queue_initial_delay": 3_600.0, "queue_max_delay": 86_400.0, "queue_job_timeout": 86_400.0, "queue_stale_after": 864e6,
    "queue_jitter": 0.5,
}  # fmt: skip


def _switch(text: str) -> bool | None:
    return _SWITCH.get(text.lower())


def _whole(text: str) -> int | None:
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else None


def _share(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[01](?:\.[0-9]{1,9})?|\.[0-9]{1,9}", text) else None


def _seconds(text: str) -> float | None:
    found = _TIME.fullmatch(text) if len(text) < 32 else None
    return float(found[1]) * _UNITS[found[2] or "s"] if found else None


def _folder(text: str) -> str | None:
    path = Path(text).expanduser()
    return str(path) if path.is_absolute() else None


def _dollars(text: str) -> Decimal | None:
    from decimal import Decimal

    return Decimal(text) if _DOLLARS.fullmatch(text) else None


_READERS: Final[Mapping[str, tuple[Callable[[str], object], str]]] = {
    **dict.fromkeys(
        ("enabled", "on_error", "on_hallucination", "on_low_quality", "persist", "queue_enabled", "queue_drop_oldest"),
        (_switch, "`true` or `false`"),
    ),
    **dict.fromkeys(("queue_workers", "queue_capacity", "queue_max_attempts"), (_whole, "a whole number")),
    **dict.fromkeys(
        (
            "queue_block_timeout", "queue_initial_delay", "queue_max_delay", "queue_job_timeout", "queue_stale_after"
        ),
        (_seconds, "a time such as `5s`, `2m` or `168h`"),
    ),
    "queue_jitter": (_share, "a number from 0 to 0.5"),
    "queue_base_dir": (_folder, "an absolute path"),
    **dict.fromkeys(("daily_cost_limit", "job_cost_limit"), (_dollars, "dollars as a plain number")),
}  # fmt: skip


def parse(field: str, text: str, source: Source) -> Any:
    """Return the value of a field of `Settings` that a text stands for; `source` is where it stands.

    Raises:
        ReflectGateError: `settings` where the text is no such value or out of bounds.
    """
    read, expected = _READERS[field]
    value = read(text.strip())
    least, most = _LEAST.get(field, 0), _MOST.get(field)
    # A folder is the one value that has no bounds.
    wrong = value is None or (not isinstance(value, str) and (cast("float", value) < least or (most and value > most)))  # type: ignore[operator]
    if wrong:
        bounds = f", {least:g} to {most:g}" if most else ""
        raise ReflectGateError("settings", f"expected {expected}{bounds}, found `{text[:80]}`", source)
    return value


def read_settings(environ: Mapping[str, str] | None = None, base: Settings | None = None) -> Settings:
    """Return the settings: those of the environment over `base`, which are those of the policies file unless given.

    Raises:
        ReflectGateError: `settings`, every value that makes no sense at once.
    """
    if base is None:
        from .declared import declared_settings

        base = declared_settings()
    given = os.environ if environ is None else environ
    found, problems = {}, []
    for field, variable in VARIABLES.items():
        text = given.get(variable, "")
        if not text.strip():
            continue
        try:
            found[field] = parse(field, text, Source(variable))
        except ReflectGateError as error:
            problems.append(error)
    raise_all(problems)
    return base._replace(**found)
