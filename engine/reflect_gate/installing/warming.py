"""Compiling what a hook needs before the first one runs, which would otherwise be slow, and might be over before it is done."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["RULES", "warm"]

RULES: Final = ("retrieval",)
"""The rule sets that `hooks.recalling` switches on: what is compiled must be what it asks for."""


def warm(policies: Path | None = None) -> None:
    """Compile the bundle that hooks judge by, and keep it in the cache; a policy that does not load raises."""
    from ..capture.route import bundle_of, chosen_route
    from ..policy import load_bundle

    load_bundle(None if policies else bundle_of(chosen_route()), policies=policies, enable=RULES)
