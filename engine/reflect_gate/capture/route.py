"""Which way a failure goes: through the gate, or the naive baseline beside it (R-x3).

The baseline makes the same call and stores whatever comes back, in a store of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from ..config import home_dir, store_path
from ..errors import ReflectGateError, Source, did_you_mean

__all__ = ["DEFAULT_ROUTE", "ROUTES", "ROUTE_VARIABLE", "Route", "bundle_of", "chosen_route", "store_of"]

Route: TypeAlias = Literal["15reflect", "introspect"]
ROUTES: Final[tuple[Route, ...]] = get_args(Route)
ROUTE_VARIABLE: Final = "REFLECT"
BUNDLE_VARIABLE: Final = "REFLECT_GATE_BUNDLE"

DEFAULT_ROUTE: Final[Route] = "15reflect"
"""The gate, which the report of `docs/ab-report.md` decided for; a test holds the two together."""

_BASELINE: Final = "introspect"


def chosen_route(environ: Mapping[str, str] | None = None) -> Route:
    """Return the route that `REFLECT` names, else the default; `route-unknown` where it names none."""
    named = (os.environ if environ is None else environ).get(ROUTE_VARIABLE, "")
    if not named:
        return DEFAULT_ROUTE
    if named not in ROUTES:
        choice = " or ".join(f"`{route}`" for route in ROUTES)
        message = f"`{named[:40]}` is no route: expected {choice}{did_you_mean(named, ROUTES)}"
        raise ReflectGateError("route-unknown", message, Source(ROUTE_VARIABLE))
    return named


def bundle_of(route: Route) -> str | None:
    """Return the bundle that judges on this route, `None` for the default one of the policies."""
    return _BASELINE if route == "introspect" else os.environ.get(BUNDLE_VARIABLE) or None


def store_of(route: Route) -> Path | str:
    """Return the file of the route's lessons, which need not exist, or the address of a server."""
    return home_dir() / "introspect.db" if route == "introspect" else store_path()
