"""Errors as problem documents (RFC 9457), and the status of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from ..errors import ReflectGateError, Source
from .policies import PolicyBrokenError

__all__ = ["MEDIA", "Problem", "problem_of", "refused"]

MEDIA: Final = "application/problem+json"

_STATUS: Final[Mapping[str, int]] = {
    "decision-unknown": 404,
    "document-size": 413,
    "internal": 500,
    "outcome-conflict": 409,
    "server-apply": 422,
    "server-body": 408,
    "server-busy": 503,
    "server-encoding": 415,
    "server-head": 408,
    "server-host": 421,
    "server-http": 400,
    "server-media": 415,
    "server-method": 405,
    "server-parameter": 400,
    "server-path": 404,
    "server-rate": 429,
    "server-scope": 403,
    "server-timeout": 503,
    "server-token": 401,
    "store-payload": 422,
    "store-reference": 422,
    "store-unknown": 422,
    "tokens-file": 503,
}
_UNAVAILABLE: Final = ("store-", "queue-", "engine-", "cannot-", "config-", "settings", "route-", "data-")
_REQUESTS: Final = ("engine-limit", "queue-payload")
_LONGEST: Final = 65_536


class Problem(NamedTuple):
    """A response that says why not: its status, the errors, and seconds after which trying again may help (0: not said)."""

    status: int
    errors: Sequence[ReflectGateError]
    retry: float = 0.0

    @property
    def code(self) -> str:
        """The code of the first error."""
        return self.errors[0].code

    def to_json(self, request_id: str) -> dict[str, Any]:
        """Return it as a document (`problem.schema.json`); `request_id` is a UUID."""
        return {
            "type": f"urn:reflect-gate:problem:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": str(self.errors[0])[:_LONGEST],
            "instance": f"urn:uuid:{request_id}",
            "code": self.code,
            "errors": [_document(error) for error in self.errors],
        }


def _document(error: ReflectGateError) -> dict[str, Any]:
    source = error.source or Source("")
    return {"code": error.code, "message": error.message[:_LONGEST], **source._asdict()}


def refused(code: str, message: str, retry: float = 0.0) -> Problem:
    """Return what the server itself says no by."""
    return Problem(_STATUS[code], (ReflectGateError(code, message),), retry)


def problem_of(error: ReflectGateError) -> Problem:
    """Return an error as a problem: 4xx where the request is to be changed, 503 where the server cannot do it now."""
    if isinstance(error, PolicyBrokenError):
        return Problem(503, tuple(error.errors), 5.0)
    status = _status(error.code)
    return Problem(status, tuple(error.errors), 1.0 if status == HTTPStatus.SERVICE_UNAVAILABLE else 0.0)


def _status(code: str) -> int:
    if code in _STATUS:
        return _STATUS[code]
    if code.startswith("document-"):
        return 400
    if code.startswith(_UNAVAILABLE) and code not in _REQUESTS:
        return 503
    return 422
