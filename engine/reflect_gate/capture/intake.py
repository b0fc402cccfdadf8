"""Taking a failure in: read strictly, secrets out, long texts cut, held to its schema; what is left may be written to disk.

The order matters: secrets go before a text is cut, so that no half of one stays, and before anything is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from .. import documents, schemas
from ..config import Limits
from ..errors import ReflectGateError, Source, raise_all
from ..memory.redacting import redact

__all__ = ["Taken", "project_of", "read_termination", "take"]

Document: TypeAlias = dict[str, Any]

_TEXTS: Final = frozenset(
    {"actual", "expected", "fix_direction", "message", "root_cause", "symptom", "task", "text"}
)  # fmt: skip
_LINES: Final = frozenset({"class", "commit", "error_class", "path", "repository", "session", "site"})
_LINE: Final = 4_096
_GAP: Final = "\n[…]\n"
_PROJECT: Final = ("repository", "language", "task", "commit", "session")


class Taken(NamedTuple):
    """A failure that may be kept: the termination, how many secrets were taken out, how many texts were cut."""

    termination: Document
    secrets: int
    cut: int


def read_termination(data: bytes, name: str, limits: Limits | None = None) -> Taken:
    """Return the termination that `data` holds; `name` is what errors call it.

    Raises:
        ReflectGateError: it is no JSON, larger than `request_bytes`, not of `termination.schema.json`, has more items than a
            record may hold, or two of one id.
    """
    limits = limits or Limits()
    return _taken(documents.read_json(data, name, limits), name, limits)


def take(termination: Mapping[str, Any], limits: Limits | None = None) -> Taken:
    """Return a termination that is there as a document; raises as `read_termination`."""
    limits = limits or Limits()
    return _taken(documents.plain(termination, limits, "termination"), "termination", limits)


def _taken(document: object, name: str, limits: Limits) -> Taken:
    if not isinstance(document, dict):
        raise ReflectGateError("document-type", "a termination is a JSON object", Source(name))
    if {"record", "reflection"} <= document.keys():
        told = "a request, which `evaluate` judges; a termination has `failure_id`, `outcome` and `traces` and no reflection"
        raise ReflectGateError("document-type", told, Source(name))
    bare, secrets = redact(document)
    cutter = _Cutter(limits.text_chars)
    short: Document = cutter.cut(bare)
    checked: Document = schemas.checked("termination", short, name, limits)
    raise_all(_problems(checked, name, limits))
    return Taken(checked, secrets, cutter.count)


def _problems(termination: Document, name: str, limits: Limits) -> Iterator[ReflectGateError]:
    """Yield what the schema cannot say, and what would make a dead letter of the job."""
    single = [termination.get(key) for key in ("diagnosis", "repair_delta")]
    items = [*termination["traces"], *termination.get("successful_trajectory", ()), *filter(None, single)]
    if len(items) > limits.items:
        yield ReflectGateError("limit-items", f"`{len(items)}` items, the limit is {limits.items}", Source(name))
    given = [item["id"] for item in items if "id" in item]
    for twice in sorted({each for each in given if given.count(each) > 1}) if len(set(given)) < len(given) else ():
        yield ReflectGateError("record-duplicate-id", f"two items have the id `{twice}`", Source(name))


class _Cutter:
    """Holds texts to the length that the schemas allow: of a longer one the first two thirds and the last third stay."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.count = 0

    def cut(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self.cut(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.cut(entry, key) for entry in value]
        most = self._most if key in _TEXTS else _LINE if key in _LINES else None
        if not isinstance(value, str) or most is None or len(value) <= most:
            return value
        self.count += 1
        if key in _LINES:
            return value[:most]
        left = most - len(_GAP)
        tail = left // 3
        return value[: left - tail] + _GAP + value[-tail:]


def project_of(termination: Mapping[str, Any]) -> dict[str, str]:
    """Return where a failure happened, as `project` of `request.schema.json`; what is unknown is left out."""
    return {key: termination[key] for key in _PROJECT if termination.get(key)}
