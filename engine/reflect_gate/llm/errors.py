"""Why there is no response: the errors of the one model call, each either worth another try later or not.

Transient: `model-timeout`, `model-connection`, `model-busy` (408, 409, 425, 429), `model-unavailable` (500 and above),
`journal-busy`, `journal-io`. Permanent: `model-unset`, `model-url`, `model-key`, `model-settings`, `model-refused` (400 and
whatever else is not listed), `model-parameter`, `model-schema-unsupported`, `model-unauthorized` (401, 403), `model-unknown`
(404), `model-redirect`, `model-missing` (openai cannot be imported), `model-client` (openai failed in another way),
`journal-lost`.
"""

from __future__ import annotations

from ..errors import ReflectGateError, Source

__all__ = ["ModelError"]


class ModelError(ReflectGateError):
    """No response was received, or none could be kept.

    Attributes:
        transient: whether another try later may go better; the queue retries these alone.
        retry_after: seconds that the server asked to be left alone for, `None` where it did not say.
        status: the HTTP status, `None` where there was none.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        transient: bool = False,
        retry_after: float | None = None,
        status: int | None = None,
        source: Source | None = None,
    ) -> None:
        super().__init__(code, message, source)
        self.transient = transient
        self.retry_after = retry_after
        self.status = status

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with the keyword arguments: jobs may run in processes of their own."""
        return _rebuild, (self.code, self.message, self.transient, self.retry_after, self.status, self.source)


def _rebuild(
    code: str, message: str, transient: bool, retry_after: float | None, status: int | None, source: Source | None
) -> ModelError:
    return ModelError(code, message, transient=transient, retry_after=retry_after, status=status, source=source)
