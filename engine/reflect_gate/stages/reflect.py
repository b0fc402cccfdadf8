"""Stage (L): the one model call of the whole program proposes why a failure happened, and admits nothing (R-L1 to R-L3).

It is reached once a termination, between the ledger and grounding. What it returns is a candidate for the gate, a skip, a
violation that counts as a rejected candidate, or the reason why nobody was asked. Importing it imports no model library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from .. import schemas
from ..llm.call import Call, call_of, most_expensive, plain_decimal
from ..llm.journal import Entry, Journal, Lost, Slot
from ..llm.parse import VIOLATIONS, Violation, parse_response
from ..llm.prompt import Prompt, build_prompt
from ._record import complete, items

if TYPE_CHECKING:
    from ..llm.client import ModelClient
    from ..types import Record, Reflection, SignatureContext

__all__ = ["NOT_REFLECTED", "Kind", "Reflected", "reflect"]

Kind: TypeAlias = Literal["reflection", "skip", "violation", "not_reflected"]

NOT_REFLECTED: Final[Mapping[str, str]] = {
    "incomplete-record": "the record has no traces or no outcome",
    "prompt-limit": "the ids of the record alone are longer than the prompt may be",
    "cost-limit": "the call could cost more than one may",
}
"""Why no model was asked, by reason."""


@dataclass(frozen=True, slots=True)
class Reflected:
    """What came of one termination.

    Attributes:
        kind: `reflection` (then `reflection` and two to five `tags`), `skip`, `violation` (then `violation`), or `not_reflected`
            (then `reason`, a key of `NOT_REFLECTED`).
        message: for `not_reflected`, the figures behind the reason; else empty.
        cut: by item id, the characters that the model was not shown; empty for a response from the journal.
        call: the record of the call, `None` where none was made or nothing of it can be read.
    """

    kind: Kind
    failure_id: str
    tags: tuple[str, ...] = ()
    reflection: Reflection | None = None
    violation: Violation | None = None
    reason: str = ""
    message: str = ""
    cut: Mapping[str, int] | None = None
    call: Call | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data (`reflected.schema.json`)."""
        return {
            "kind": self.kind,
            "failure_id": self.failure_id,
            "tags": list(self.tags),
            "reflection": self.reflection,
            "violation": self.violation._asdict() if self.violation else None,
            "reason": self.reason or None,
            "message": self.message,
            "cut": [{"id": name, "characters": missing} for name, missing in (self.cut or {}).items()],
            "call": self.call.to_json() if self.call else None,
        }


def reflect(record: Record, signature_context: SignatureContext, client: ModelClient, journal: Journal) -> Reflected:
    """Ask the model why a failure happened, once.

    A response that the journal holds is used, and nobody is asked. Otherwise the prompt is built and bounded, one request is
    sent, and the response is durable before it is read.

    Args:
        record: the evidence record, `record.schema.json`.
        signature_context: what the ledger knows, `signature-context.schema.json`.
        client: who is asked, and how.
        journal: where the response is kept.

    Raises:
        ReflectGateError: the record or the context is not valid.
        ModelError: no response was received, or none could be kept; its `transient` says whether the queue may try again.
    """
    record = schemas.checked("record", record, "record")
    signature_context = schemas.checked("signature-context", signature_context, "signature context")
    failure_id = record["failure_id"]
    entry = journal.received(failure_id)
    if entry is not None:
        return _read(entry, record, replayed=True)
    if not complete(record):
        return _not_reflected(failure_id, "incomplete-record")
    prompt = build_prompt(record, signature_context, client.settings.prompt_tokens)
    if prompt is None:
        return _not_reflected(failure_id, "prompt-limit", f"the limit is {client.settings.prompt_tokens} tokens")
    too_much = _above_limit(prompt, client)
    if too_much:
        return _not_reflected(failure_id, "cost-limit", too_much)
    with journal.slot(failure_id) as slot:
        if not isinstance(slot, Slot):
            return _read(slot, record, replayed=True)
        received = client.ask(prompt)
        slot.keep(received)
    return _read(received, record, replayed=False, cut=prompt.cut)


def _above_limit(prompt: Prompt, client: ModelClient) -> str:
    """Return what a call could cost and may cost, where that is more than it may; else the empty text."""
    price, limit = client.settings.price, client.settings.cost_limit
    if price is None or limit is None:
        return ""
    most = most_expensive(prompt.tokens, price)
    return f"up to ${plain_decimal(most)}, the limit is ${plain_decimal(limit)}" if most > limit else ""


def _not_reflected(failure_id: str, reason: str, figures: str = "") -> Reflected:
    message = NOT_REFLECTED[reason] + (f": {figures}" if figures else "")
    return Reflected("not_reflected", failure_id, reason=reason, message=message)


def _read(entry: Entry, record: Record, *, replayed: bool, cut: Mapping[str, int] | None = None) -> Reflected:
    """Return what a received response says."""
    failure_id = record["failure_id"]
    if isinstance(entry, Lost):
        code = "response-lost"
        return Reflected("violation", failure_id, violation=Violation(code, f"{VIOLATIONS[code]}: {entry.reason}"))
    call = call_of(entry, replayed=replayed)
    said = parse_response(entry, {item["id"] for item in items(record)})
    if isinstance(said, Violation):
        return Reflected("violation", failure_id, violation=said, cut=cut, call=call)
    if said["skip"]:
        return Reflected("skip", failure_id, cut=cut, call=call)
    return Reflected("reflection", failure_id, tuple(said["tags"]), said["reflection"], cut=cut, call=call)
