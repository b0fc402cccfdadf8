"""From the record of a request to the record that is judged: its references checked, its limits held, its diagnosis in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from ..config import Limits
from ..errors import ReflectGateError, Source, did_you_mean, raise_all
from ._record import diagnose, items

if TYPE_CHECKING:
    from ..types import Record

__all__ = ["prepare"]


def _problems(record: Record, limits: Limits) -> Iterator[ReflectGateError]:
    found = items(record)
    if len(found) > limits.items:
        yield _error("limit-items", f"`{len(found)}` items, the limit is {limits.items}", "/record")
    seen: set[str] = set()
    for item in found:
        if item["id"] in seen:
            yield _error("record-duplicate-id", f"two items have the id `{item['id']}`", "/record")
        seen.add(item["id"])
    diagnosis = record["diagnosis"]
    for index, name in enumerate(diagnosis["cited"] if diagnosis else ()):
        if name not in seen:
            message = f"the diagnosis cites `{name}`, which the record does not hold{did_you_mean(name, seen)}"
            yield _error("record-unknown-citation", message, f"/record/diagnosis/cited/{index}")


def _error(code: str, message: str, pointer: str) -> ReflectGateError:
    return ReflectGateError(code, message, Source("request", pointer=pointer))


def prepare(given: Mapping[str, Any], limits: Limits) -> Record:
    """Return the record of a schema-checked request, with a deterministic diagnosis where it has traces and no diagnosis.

    Raises `limit-items`, `record-duplicate-id` or `record-unknown-citation`, all at once.
    """
    record = cast("Record", dict(given))
    raise_all(_problems(record, limits))
    if record["diagnosis"] is None and record["traces"]:
        record["diagnosis"] = diagnose(record)
    return record
