"""The control for reading: the same records, each with the reflection on another task in place of its own.

A gate that judges by the evidence alone admits these like the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from ..corpus.mutate import swapped_reflection

__all__ = ["swapped"]


def swapped(requests: Sequence[Mapping[str, Any]], seed: int) -> list[dict[str, Any] | None]:
    """Return each request with another task's reflection; `None` where no partner of another task failed otherwise.

    Scope and citations stay this record's (`corpus.mutate.swapped_reflection`). Seeded by `seed` and the failure's id.
    """
    return [
        swapped_reflection(request, requests, Random(f"{seed}:swap:{request['record']['failure_id']}"))  # noqa: S311 - repeatable
        for request in requests
    ]
