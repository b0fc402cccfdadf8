"""Where the shipped data lives: `rules/`, `schemas/` and `policies.yaml` of a checkout, or `_data/` of an installed wheel."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from .errors import ReflectGateError

__all__ = ["data_path", "data_root"]


@functools.cache
def _find(override: str) -> Path:
    if override:
        root = Path(override)
        if not (root / "policies.yaml").is_file():
            raise ReflectGateError("data-missing", f"`REFLECT_GATE_DATA` names `{override}`, which holds no `policies.yaml`")
        return root
    package = Path(__file__).resolve().parent
    places = (package / "_data", package.parents[1])
    for place in places:
        if (place / "policies.yaml").is_file() and (place / "rules").is_dir():
            return place
    raise ReflectGateError("data-missing", f"no shipped policies in `{places[0]}` or `{places[1]}`")


def data_root() -> Path:
    """Return the folder of the shipped data: `REFLECT_GATE_DATA`, else the wheel's, else the checkout's."""
    return _find(os.environ.get("REFLECT_GATE_DATA", ""))


def data_path(*parts: str) -> Path:
    """Return a path under `data_root()`."""
    return data_root().joinpath(*parts)
