"""What a worker's process does with a job; the exceptions of `handle` say what becomes of the job.

A store, a model and a journal are opened once a process. Policies are loaded anew for every job, which their cache makes cheap,
so that a changed rule holds from the next job on. What is wrong with the configuration is no fault of a job: it is parked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from reflect_store import StoreError, open_store
from reflect_store.queue import Job, Parked, PermanentError, PersistError, Skip

from ..errors import ReflectGateError
from ..llm.client import Client
from ..llm.errors import ModelError
from ..llm.journal import open_journal
from ..llm.settings import ModelSettings, model_settings
from ..policy import load_bundle
from .reflecting import Means, Ran, run
from .route import ROUTES, Route, bundle_of, store_of
from .settings import Settings, read_settings
from .spending import Capped, open_calls

if TYPE_CHECKING:
    from reflect_store import EventStore

    from ..llm.call import Received
    from ..llm.prompt import Prompt
    from ..policy import Bundle

__all__ = ["Conclude", "check", "handle", "means_of", "model"]

Conclude: TypeAlias = "Callable[[EventStore, Bundle, Mapping[str, Any]], None]"
"""Records what the end of a session said of a lesson: the store, the policies, and what the job tells."""

_LATER: Final = 300.0
"""Seconds until a parked job is looked at again, where nothing says when it could go on."""

_CONFIGURATION: Final = frozenset({"model-unset", "model-url", "model-key", "model-settings", "model-unpriced"})


def handle(job: Job, conclude: Conclude) -> None:
    """Work on a captured failure, or let `conclude` record what the end of a session said of a lesson.

    Raises:
        Skip: nothing was learned: nothing to learn, or nobody may be asked about it.
        Parked: the day's limit, the job's limit, or the configuration forbids it for now.
        PersistError: the store cannot be written or read.
        PermanentError: the job is no failure that can be assembled.
        ModelError: no answer was received; says itself whether to try again.
    """
    try:
        if _concluded(job, conclude):
            return
        done = _run(job)
    except StoreError as error:
        raise PersistError(f"{error.code}: {error.message}") from None
    except ModelError as error:
        if error.code in _CONFIGURATION:
            raise Parked(str(error), _LATER) from None
        raise
    except ReflectGateError as error:
        raise PermanentError(str(error)) from None
    if done.kind == "skip":
        raise Skip("nothing to learn")
    if done.reason == "cost-limit":
        raise Parked(f"cost-limit: {done.message}", _LATER)
    if done.kind == "not_reflected":
        raise Skip(done.reason)


def _concluded(job: Job, conclude: Conclude) -> bool:
    """Record a session's end where the job holds one; return whether it does."""
    told = job.payload.get("ended") if isinstance(job.payload, dict) else None
    if not isinstance(told, dict):
        return False
    route: Route = job.payload["route"]
    try:
        bundle = load_bundle(bundle_of(route))
    except ReflectGateError as error:
        raise Parked(f"policies: {error}", _LATER) from None
    conclude(_store(store_of(route)), bundle, told)
    return True


def _run(job: Job) -> Ran:
    payload: dict[str, Any] = job.payload if isinstance(job.payload, dict) else {}
    route, termination = payload.get("route"), payload.get("termination")
    if route not in ROUTES or not isinstance(termination, dict):
        raise PermanentError("the job holds no captured failure")
    try:
        means = means_of(route)
    except ReflectGateError as error:
        raise Parked(f"policies: {error}", _LATER) from None
    return run(termination, means, trigger=payload.get("trigger", "error"), route=route)


def means_of(route: Route, settings: Settings | None = None) -> Means:
    """Return what failures of a route are worked on with, as the environment and the policies say.

    Raises:
        ReflectGateError: the policies or a setting are not valid.
        StoreError: the store cannot be opened.
    """
    settings = settings or read_settings()
    bundle = load_bundle(bundle_of(route))
    calls = open_calls(settings.daily_cost_limit)
    client = Capped(_LazyClient(settings), calls)
    return Means(_store(store_of(route)), bundle, client, open_journal(), calls, settings.persist)


@cache
def _store(path: Path | str) -> EventStore:
    return open_store(path, create=True)


class _LazyClient:
    """A client whose settings are read when somebody is asked: an answer that was received needs no model."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def _client(self) -> Client:
        return Client(model(self._settings))

    @property
    def settings(self) -> ModelSettings:
        """How the call is made."""
        return self._client.settings

    def ask(self, prompt: Prompt) -> Received:
        """Ask once."""
        return self._client.ask(prompt)


def model(settings: Settings) -> ModelSettings:
    """Return how the call is made, with the lower of the two limits of what one may cost.

    Raises:
        ModelError: as `model_settings`; `model-unpriced` where a limit in dollars is set and the model has no price.
    """
    found = model_settings()
    limits = [limit for limit in (found.cost_limit, settings.job_cost_limit) if limit is not None]
    limited = bool(limits) or settings.daily_cost_limit is not None
    if limited and found.price is None:
        message = f"a limit in dollars needs the price of `{found.model}`: give `price` to it under `models` in the policies file"
        raise ModelError("model-unpriced", message)
    return dataclasses.replace(found, cost_limit=min(limits)) if limits else found


def check(settings: Settings) -> ModelSettings:
    """Return how the call is made; raise what would park every job, before one is touched."""
    for route in ROUTES:
        load_bundle(bundle_of(route))
    return model(settings)
