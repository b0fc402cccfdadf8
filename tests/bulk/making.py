"""Requests made by repeating one failure under other ids, in a few kinds, as Parquet and as lines."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conftest import REQUEST

from reflect_gate._canonical import canonical_bytes
from reflect_gate.bulk.converting import write_requests

__all__ = ["lines", "made", "one_request", "write"]

_CLAIMS = (
    None,
    "Unclear.",
    "The plan assumed that send_mail() retries, but the queue was empty.",
    "Always write better code.",
)


def one_request(number: int) -> dict[str, Any]:
    """Return request `number`: every fourth is as a gate admits it, and no two have one id."""
    found = copy.deepcopy(REQUEST)
    found["record"]["failure_id"] = f"checkout-{number}"
    claim = _CLAIMS[number % len(_CLAIMS)]
    if claim is not None:
        found["reflection"]["failed_assumption"] = claim
    return found


def made(count: int) -> Iterator[bytes]:
    """Yield so many requests as JSON, one kind after the other."""
    kinds = [canonical_bytes(one_request(number)) for number in range(len(_CLAIMS))]
    for number in range(count):
        kind = number % len(kinds)
        yield kinds[kind].replace(b'"checkout-%d"' % kind, b'"checkout-%d"' % number)


def write(path: Path, count: int, rows: int) -> Path:
    """Write so many requests as Parquet, in row groups of `rows`."""
    write_requests(path, ((one, None) for one in made(count)), rows)
    return path


def lines(path: Path, count: int) -> Path:
    """Write so many requests, one a line."""
    path.write_bytes(b"".join(one + b"\n" for one in made(count)))
    return path
