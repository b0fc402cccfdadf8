"""Judging one row: the line that `evaluate --format ndjson` would write of it, and what is counted of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from reflect_store.errors import StoreError

from .._canonical import canonical_bytes
from ..documents import read_json
from ..errors import ReflectGateError, ReflectGateErrors, Source
from ..pipeline import evaluate

if TYPE_CHECKING:
    from reflect_store import EventStore

    from ..policy import Bundle

__all__ = ["ERROR_SCHEMA", "FAILED", "INVALID", "STATUSES", "Judge", "Line"]

ERROR_SCHEMA: Final = "urn:reflect-gate:schema:error:1"

INVALID: Final = "invalid"
"""The request cannot be judged, today or tomorrow."""

FAILED: Final = "failed"
"""The gate failed on it, and may not when it is tried again."""

STATUSES: Final = ("admitted", "undecided", "refused", INVALID, FAILED)


class Line(NamedTuple):
    """What became of a row; `line` is canonical JSON without its end, a decision or an error in its place."""

    status: str
    failure_id: str | None
    reason: str | None
    line: bytes


class Judge:
    """Judges rows by one bundle, against a store where one was shipped."""

    def __init__(
        self, bundle: Bundle, shadow: Bundle | None = None, *, explain: bool = False, store: EventStore | None = None
    ) -> None:
        self._bundle = bundle
        self._shadow = shadow
        self._explain = explain
        self._store = store

    def line(self, row: bytes | None, file: str, number: int) -> Line:
        """Return what becomes of row `number`, from 1, of `file`; whatever is wrong with it is its own error.

        Raises:
            StoreError: the copy of the store cannot be read, which is no fault of the row.
        """
        try:
            decision = self._decision(row, Source(file, number))
        except ReflectGateError as error:
            return _refused(error, file, number)
        except (MemoryError, StoreError):
            raise
        except Exception as error:  # noqa: BLE001 - one bad row must not cost the others
            told = " ".join(f"internal error: {type(error).__name__}: {error}".split())
            return _refused(ReflectGateError("internal", told), file, number)
        return Line(decision["status"], decision["failure_id"], decision["reason"], canonical_bytes(decision))

    def _decision(self, row: bytes | None, source: Source) -> dict[str, Any]:
        if row is None:
            raise ReflectGateError("bulk-row", "the row holds no request", source)
        request: Any = read_json(row, source.file, self._bundle.limits)
        if self._store is None:
            decision = evaluate(request, self._bundle, explain=self._explain).to_json()
        else:
            from ..memory.applying import consider

            decision = consider(self._store, request, self._bundle, explain=self._explain).decision.to_json()
        if self._shadow is not None:
            from ..shadowing import shadow_of

            decision["shadow"] = shadow_of(decision, request, self._shadow)
        return decision


def _refused(error: ReflectGateError, file: str, number: int) -> Line:
    """Return the line of a row without a decision; its errors stand at the row, not in the request."""
    leaves = [
        ReflectGateError(leaf.code, leaf.message, Source(file, number, 0, leaf.source.pointer if leaf.source else ""))
        for leaf in error.errors
    ]
    ordered = ReflectGateErrors(leaves).errors
    told = [{"code": leaf.code, "message": leaf.message, **(leaf.source or Source(file))._asdict()} for leaf in ordered]
    status = FAILED if any(leaf.code == "internal" or leaf.code.startswith("engine-") for leaf in ordered) else INVALID
    document = {"schema": ERROR_SCHEMA, "place": f"row {number}", "errors": told}
    return Line(status, None, ordered[0].code, canonical_bytes(document))
