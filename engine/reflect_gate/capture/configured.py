"""Everything that is configured outside the rules, with where it was said: places, the route, the model, capture and queue.

A key is never shown, only which variable it is from.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from reflect_store.addresses import shown

from .. import config
from ..llm import settings as llm
from ..llm.errors import ModelError
from .declared import OriginKind, origins
from .route import BUNDLE_VARIABLE, ROUTE_VARIABLE, chosen_route

__all__ = ["Configured", "in_force"]

Kind: TypeAlias = OriginKind


class Configured(NamedTuple):
    """One thing that is configured.

    Attributes:
        name: as `policies.yaml` would have it, or in words for what cannot stand there.
        value: plain data; `None` where there is none.
        variable: the variable of the environment that sets it, empty where none does.
        kind: who said it.
        origin: the variable, the place in the policies file, or `default`.
        note: what is wrong with it; empty where nothing is.
    """

    name: str
    value: Any
    variable: str
    kind: Kind
    origin: str
    note: str = ""


def in_force(policies: str | Path | None = None) -> list[Configured]:
    """Return what is in force.

    Raises:
        ReflectGateError: the policies file or the environment is not valid; every fault at once where they are of one kind.
    """
    return [*_places(policies), *_choices(), *_model(policies), *_settings(policies)]


def _said(variable: str) -> bool:
    return bool(os.environ.get(variable, "").strip())


def _named(name: str, value: Any, variable: str) -> Configured:
    said = _said(variable)
    return Configured(name, value, variable, "environment" if said else "default", variable if said else "default")


def _places(policies: str | Path | None) -> Iterator[Configured]:
    chosen = config.choose_policies(policies)
    yield _named("home", str(config.home_dir()), config.HOME_VARIABLE)
    yield _named("cache", str(config.cache_dir()), config.CACHE_VARIABLE)
    yield _named("store", shown(config.store_path()), config.STORE_VARIABLE)
    yield _named("queue server", shown(config.queue_address()) or None, config.QUEUE_VARIABLE)
    kind: Kind = "environment" if chosen.chosen_by == config.POLICIES_VARIABLE else "default"
    yield Configured("policies", str(chosen.path), config.POLICIES_VARIABLE, kind, chosen.chosen_by)


def _choices() -> Iterator[Configured]:
    yield _named("route", chosen_route(), ROUTE_VARIABLE)
    yield _named("bundle", os.environ.get(BUNDLE_VARIABLE) or None, BUNDLE_VARIABLE)


def _model(policies: str | Path | None) -> Iterator[Configured]:
    """Yield the model and its server; a configuration that asks nobody is shown with the reason, not raised."""
    try:
        found = llm.model_settings(policies)
    except ModelError as error:
        yield _named("model", None, llm.MODEL_VARIABLE)._replace(note=f"{error.message} [{error.code}]")
        return
    where = "models of the policies file"
    model = _named("model", found.model, llm.MODEL_VARIABLE)
    yield model if model.kind == "environment" else model._replace(kind="policies", origin=where)
    server = _named("model server", found.base_url, llm.BASE_URL_VARIABLE)
    if server.kind == "default" and _said("OPENAI_BASE_URL") and found.base_url == os.environ["OPENAI_BASE_URL"].rstrip("/"):
        server = server._replace(kind="environment", origin="OPENAI_BASE_URL")
    elif server.kind == "default" and found.base_url != llm.OPENAI_BASE_URL:
        server = server._replace(kind="policies", origin=where)
    yield server
    key: Kind = "environment" if found.key_from else "default"
    yield Configured("model key", "set" if found.key_from else None, llm.KEY_VARIABLE, key, found.key_from or "default")


def _settings(policies: str | Path | None) -> Iterator[Configured]:
    from ..policy.load_capture import key_of

    for each in sorted(origins(policies), key=lambda each: key_of(each.field)[0]):
        value = each.value if each.value is None or isinstance(each.value, bool | int | float | str) else f"{each.value:f}"
        if each.field == "queue_base_dir" and not value:
            value = str(config.home_dir() / "queue")
        yield Configured(".".join(key_of(each.field)), value, each.variable, each.kind, each.source)
