"""Recording that a failure was not reflected on, and why; and that an answer was no candidate (R-P1, R-L2).

The failure itself is recorded with it, once: what is not learned from today can still corroborate tomorrow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from reflect_store import StoreError, draft

from ..config import Limits
from ..memory.drafting import happened
from ..memory.redacting import redact
from ..stages._prepare import prepare
from ..stages._record import assemble
from ..stages.ledger import record_signature
from .intake import project_of

if TYPE_CHECKING:
    from reflect_store import Draft, Store

    from ..llm.parse import Violation

__all__ = ["LOGGED", "SKIPPED", "note_not_reflected", "note_violation", "request_of"]

SKIPPED: Final = "skip"
"""The reason where the model found nothing to learn."""
LOGGED: Final = "log-only"
"""The reason where lessons are not to be kept; the decision is in the log of calls."""

_SAID: Final = 8_192
_REASON: Final = 1_000


def request_of(termination: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of a failure as an evaluation request without a reflection, free of secrets.

    Raises:
        ReflectGateError: no record can be assembled from the termination.
    """
    request: dict[str, Any] = {"record": assemble(termination), "project": project_of(termination)}
    for key in ("recalled", "recalled_beside"):
        if termination.get(key):
            request[key] = list(termination[key])
    # It was done when the failure was captured; a record that came another way has not seen it.
    return redact(request).request


def note_not_reflected(store: Store, request: Mapping[str, Any], reason: str, limits: Limits | None = None) -> bool:
    """Record a failure, and that it was not reflected on; return false where that, or a decision on it, is recorded already."""
    failure = request["record"]["failure_id"]
    if store.get("not_reflected", failure) is not None or store.page("decisions", {"failure_id": failure}, limit=1).rows:
        return False
    event = draft("not-reflected", {"failure_id": failure, "reason": reason[:_REASON]})
    return _append(store, [*_failure(store, request, limits), event], ("not_reflected", failure))


def note_violation(
    store: Store, request: Mapping[str, Any], violation: Violation, answer: bytes = b"", limits: Limits | None = None
) -> bool:
    """Record a failure, and that what the model answered was no candidate; return false where that is recorded already."""
    failure = request["record"]["failure_id"]
    name = "violation-" + hashlib.sha256(failure.encode()).hexdigest()[:24]
    payload: dict[str, Any] = {"violation_id": name, "failure_id": failure, "code": violation.code, "message": violation.message}
    if answer:
        said = {"text": answer.decode("utf-8", "replace")[: 4 * _SAID]}
        payload["response"] = redact(said).request["text"][:_SAID]
    return _append(store, [*_failure(store, request, limits), draft("violation-recorded", payload)], ("violations", name))


def _failure(store: Store, request: Mapping[str, Any], limits: Limits | None) -> list[Draft]:
    record = prepare(request["record"], limits or Limits())
    return happened(request, record, record_signature(record), store.get)


def _append(store: Store, drafts: list[Draft], absent: Any) -> bool:
    try:
        store.append(drafts, absent=absent)
    except StoreError as error:
        if error.code == "store-moved":
            return False
        raise
    return True
