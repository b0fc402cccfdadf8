"""One small call to see whether a model can be asked at all: the example of the record's schema, and what comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from .. import schemas
from ..errors import ReflectGateError
from ..stages._record import items
from .call import Call, call_of
from .client import Client
from .parse import Violation, parse_response
from .prompt import build_prompt
from .settings import ModelSettings

if TYPE_CHECKING:
    from ..types import Record, SignatureContext

__all__ = ["Probed", "probe"]


class Probed(NamedTuple):
    """The record of the call, and why the answer is no candidate; `None` where it is one, or a skip."""

    call: Call
    violation: Violation | None


def probe(settings: ModelSettings) -> Probed:
    """Ask once about the shipped example; raises what `Client.ask` raises. Nothing is journalled or stored."""
    record = cast("Record", schemas.schema("record")["examples"][0])
    context = cast("SignatureContext", schemas.schema("signature-context")["examples"][0])
    prompt = build_prompt(record, context, settings.prompt_tokens)
    if prompt is None:
        raise ReflectGateError("model-settings", f"a prompt of {settings.prompt_tokens} tokens has no room for an example")
    received = Client(settings).ask(prompt)
    said = parse_response(received, {item["id"] for item in items(record)})
    return Probed(call_of(received, replayed=False), said if isinstance(said, Violation) else None)
