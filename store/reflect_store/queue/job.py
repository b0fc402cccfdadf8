"""A job: what is to be reflected on, and the id that says whether two of them are the same."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

__all__ = ["ID_LENGTH", "Job", "is_id", "job_id"]

ID_LENGTH = 16
"""Hexadecimal digits of a job's id."""

_DIGITS = frozenset("0123456789abcdef")


class Job(NamedTuple):
    """One piece of work.

    `attempt` names the termination that the job is about; it is no counter. `payload` is any JSON value.
    """

    task: str
    trigger: str
    attempt: str
    outcome: str
    payload: Any = None

    @property
    def id(self) -> str:
        """The id of the job; the payload has no part in it."""
        return job_id(self.task, self.trigger, self.attempt, self.outcome)


def job_id(task: str, trigger: str, attempt: str, outcome: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the JSON array of the four, white space of the task collapsed."""
    parts = [" ".join(task.split()), trigger, attempt, outcome]
    text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:ID_LENGTH]


def is_id(text: str) -> bool:
    """Return whether the text has the form of an id."""
    return len(text) == ID_LENGTH and _DIGITS.issuperset(text)
