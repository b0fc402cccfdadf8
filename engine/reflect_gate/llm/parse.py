"""What a received response says: a skip, a candidate reflection with its tags, or the violation that it is (R-L2, R-t3).

A response is read once. What is wrong with it is recorded and counted as a rejected candidate; nothing is mended, since a mended
candidate would be ours. Whether a candidate is true is not asked here: that is the gate's.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import orjson

from .. import documents, schemas
from ..config import Limits
from ..errors import ReflectGateError
from .call import Received

if TYPE_CHECKING:
    from ..types import Response

__all__ = ["CAUSAL", "VIOLATIONS", "Violation", "parse_response"]

VIOLATIONS: Final[Mapping[str, str]] = {
    "response-too-large": "the response is longer than is kept",
    "response-not-json": "the server's response is no JSON",
    "response-shape": "the server's response is no chat completion with an answer",
    "response-lost": "a response was received and cannot be read any more",
    "refused": "the model declined to answer",
    "content-filter": "the server's filter withheld the answer",
    "tool-call": "the model called a tool instead of answering",
    "truncated": "the answer ends at the bound of its length",
    "empty": "the answer is empty",
    "not-json": "the answer is no JSON",
    "schema": "the answer does not hold to the schema",
    "tags": "the tags are not two to five different keywords",
    "empty-lesson": "the lesson is blank",
    "no-cause": "no causal field says anything",
    "unknown-evidence": "an id is cited that the record does not hold",
}
"""Every code that a violation may have, and what it means."""

CAUSAL: Final = ("failed_assumption", "overlooked_evidence", "strategy_error", "violated_invariant")
_SHOWN: Final = 400


class Violation(NamedTuple):
    """Why a received response is no candidate; `code` is one of `VIOLATIONS`, `message` one line."""

    code: str
    message: str


def parse_response(received: Received, known: Collection[str], limits: Limits | None = None) -> Response | Violation:
    """Return what a response says about a record whose items have the ids `known`, or the violation that it is."""
    if received.cut:
        return _violation("response-too-large", f"more than {len(received.body)} bytes")
    answer = _answer(received.body)
    if isinstance(answer, Violation):
        return answer
    try:
        document = documents.read_json(answer.encode(), "answer", limits or Limits())
    except ReflectGateError as error:
        return _violation("not-json", str(error))
    return _checked(document, known)


def _answer(body: bytes) -> str | Violation:
    """Return the text of the first choice."""
    try:
        completion = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return _violation("response-not-json", str(error))
    choices = completion.get("choices") if isinstance(completion, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        said = completion.get("error") if isinstance(completion, dict) else None
        return _violation("response-shape", f"it says {orjson.dumps(said).decode()}" if said else "no choice with a message")
    return _said(choice, message)


def _said(choice: Mapping[str, Any], message: Mapping[str, Any]) -> str | Violation:
    reason, content = choice.get("finish_reason"), message.get("content")
    if message.get("refusal"):
        return _violation("refused", str(message["refusal"]))
    if reason == "content_filter":
        return _violation("content-filter")
    if message.get("tool_calls") or message.get("function_call"):
        return _violation("tool-call")
    # An answer that was cut may still be whole JSON by chance; it is not what the model meant to say.
    if reason == "length":
        return _violation("truncated")
    if content is not None and not isinstance(content, str):
        return _violation("response-shape", "the content is no text")
    if not content or not content.strip():
        return _violation("empty")
    return content


def _checked(document: object, known: Collection[str]) -> Response | Violation:
    try:
        schemas.check("response", document, "answer")
    except ReflectGateError as error:
        code = _reason(document)
        return _violation(code, "; ".join(str(leaf) for leaf in error.errors))
    response = cast("Response", document)
    reflection = response["reflection"]
    strange = [name for name in reflection["evidence_ids"] if name not in known] if reflection else []
    if strange:
        return _violation("unknown-evidence", ", ".join(f"`{name}`" for name in strange[:8]))
    return response


def _reason(document: object) -> str:
    """Return the code of a document that does not hold to the schema: what S2 names, where that is it."""
    if not isinstance(document, dict) or document.get("skip") is not False:
        return "schema"
    reflection, tags = document.get("reflection"), document.get("tags")
    if isinstance(reflection, dict):
        if _blank(reflection, "candidate_lesson"):
            return "empty-lesson"
        if all(_blank(reflection, name) for name in CAUSAL):
            return "no-cause"
        if _holds("reflection", reflection):
            return "tags" if isinstance(tags, list) else "schema"
    return "schema"


def _blank(reflection: Mapping[str, Any], name: str) -> bool:
    value = reflection.get(name)
    return isinstance(value, str) and not _visible().search(value)


@functools.cache
def _visible() -> re.Pattern[str]:
    """Return the pattern of a sign that can be seen, as the schemas have it."""
    return re.compile(schemas.schema("item")["$defs"]["said"]["pattern"])


def _holds(name: str, document: object) -> bool:
    try:
        schemas.check(name, document, name)
    except ReflectGateError:
        return False
    return True


def _violation(code: str, detail: str = "") -> Violation:
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in detail[: 4 * _SHOWN]).split())
    message = VIOLATIONS[code] + (f": {line}" if line else "")
    return Violation(code, message if len(message) <= _SHOWN else message[:_SHOWN] + "…")
