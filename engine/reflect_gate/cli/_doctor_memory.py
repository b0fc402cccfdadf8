"""The part of `doctor` that looks at what failures pass through: the queue, the model that is configured, the store."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Literal

from ..errors import ReflectGateError

__all__ = ["configured_model", "queue_check", "store_check"]

_Found = tuple[Literal["ok", "warn", "fail"], str, str]


def store_check() -> _Found:
    """Return status, detail and fix of the store in force; one that is not there yet is made by the first lesson."""
    from reflect_store import StoreError, open_store

    from ..capture.route import chosen_route, store_of

    place = store_of(chosen_route())
    if isinstance(place, Path):
        if not place.exists():
            return "ok", f"{place} does not exist yet and is made by the first lesson", ""
        mode = stat.S_IMODE(place.stat().st_mode)
        if os.name == "posix" and mode & 0o077:
            return "warn", f"{place} has mode {mode:04o}: others can look in", f"chmod 600 {place}"
    try:
        with open_store(place, read_only=True, timeout=1.0) as store:
            status = store.status()
    except StoreError as error:
        return "fail", f"{error.message} [{error.code}]", "reflect-gate store verify"
    held = [_counted(count, name) for count, name in ((status.head.seq, "event"), (status.rows.get("lessons", 0), "lesson"))]
    return "ok", f"{status.place}: layout {status.layout}, {', '.join(held)}", ""


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def queue_check() -> _Found:
    """Return status, detail and fix of the queue; what lies there dead or damaged waits for somebody to look."""
    from reflect_store import StoreError
    from reflect_store.queue import open_at

    from ..capture.overview import status_of
    from ..capture.settings import read_settings

    settings = read_settings()
    if not settings.queue_enabled:
        return "warn", "is switched off: a failure is lost where its process ends early", "unset REFLECT_GATE_QUEUE_ENABLED"
    place = settings.place
    if isinstance(place, Path) and not place.exists():
        return "ok", f"{place} does not exist yet and is made by the first failure", ""
    try:
        with open_at(place, settings.queue()._replace(lock_timeout=1.0)) as queue:
            found = status_of(queue, settings)
    except StoreError as error:
        return "fail", f"{error.message} [{error.code}]", "reflect-gate reflect"
    detail = f"{found.folder}: {found.pending} pending, {found.dead} dead letters, {found.quarantined} damaged"
    if found.dead:
        return "warn", detail, "reflect-gate reflect failed"
    if found.quarantined:
        return "warn", detail, "reflect-gate reflect quarantine"
    return "ok", detail, ""


def configured_model(policies: str | None) -> _Found:
    """Return status, detail and fix of the model that is configured, which is not asked."""
    from ..llm.errors import ModelError
    from ..llm.settings import model_settings
    from ._doctor_model import FIXES

    try:
        found = model_settings(policies)
    except ModelError as error:
        return "warn", f"{error}; failures wait in the queue", FIXES.get(error.code, "")
    except ReflectGateError as error:
        return "warn", "; ".join(leaf.message for leaf in error.errors), "reflect-gate config show --origin"
    key = "with a key" if found.key_from else "without a key"
    return "ok", f"`{found.model}` at {found.base_url}, {key}; not asked: --model asks it once", ""
