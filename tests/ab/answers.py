"""What a model may answer about any record: a candidate that cites what it was shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..llm.server import GOOD, Behaviour, Handler, completion

__all__ = ["answer", "ids_of"]


def ids_of(body: Mapping[str, Any]) -> list[str]:
    """Return the ids that a request lets the model cite."""
    shape = body["response_format"]["json_schema"]["schema"]
    reflection = next(choice for choice in shape["properties"]["reflection"]["anyOf"] if choice["type"] == "object")
    found: list[str] = reflection["properties"]["evidence_ids"]["items"]["enum"]
    return found


def answer(**fields: Any) -> Behaviour:
    """Return the behaviour of reflecting on whatever is shown, with some fields of the reflection changed."""

    def say(handler: Handler) -> None:
        reflection = {**GOOD["reflection"], "evidence_ids": ids_of(handler.asked.body)[:2], **fields}
        handler.send(200, completion(json.dumps({**GOOD, "reflection": reflection})))

    return say
