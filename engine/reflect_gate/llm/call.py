"""What one call was: the response as it was received, and the record of tokens, dollars and time that is kept of it (R-L3)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Final

import orjson

from .settings import MAX_COMPLETION_TOKENS, Price

__all__ = ["Call", "Received", "Usage", "call_of", "cost_of", "most_expensive", "plain_decimal"]

# Wide enough that no count of tokens and no price is rounded.
_EXACT: Final = Context(prec=80)
_MOST_TOKENS: Final = 2**40


@dataclass(frozen=True, slots=True)
class Received:
    """A response as it came, before anybody read it.

    Attributes:
        body: its bytes, at most as many as the client takes; `cut` where there were more.
        latency_ms: from the beginning of the call to the last byte.
        model: the model that was asked for.
        base_url: the server.
        request_digest: SHA-256 of the request's canonical form, 64 hexadecimal digits.
        deviations: what was not sent as it should be.
        price: the price table at the time of the call, so that a later change of prices changes no record.
    """

    body: bytes
    status: int
    content_type: str
    cut: bool
    latency_ms: int
    model: str
    base_url: str
    request_digest: str
    deviations: tuple[str, ...]
    price: Price | None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them; `cached` is part of `prompt`."""

    prompt: int
    cached: int
    completion: int


@dataclass(frozen=True, slots=True)
class Call:
    """The record of a call (`call.schema.json`); tokens and cost are `None` where the server or the price table does not say."""

    model: str
    answered_by: str | None
    base_url: str
    request_digest: str
    deviations: tuple[str, ...]
    usage: Usage | None
    cost: Decimal | None
    latency_ms: int
    finish_reason: str | None
    replayed: bool

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON; dollars are exact decimals as text."""
        usage = self.usage
        return {
            "model": self.model,
            "answered_by": self.answered_by,
            "base_url": self.base_url,
            "request_digest": self.request_digest,
            "deviations": list(self.deviations),
            "prompt_tokens": usage.prompt if usage else None,
            "cached_tokens": usage.cached if usage else None,
            "completion_tokens": usage.completion if usage else None,
            "cost": plain_decimal(self.cost) if self.cost is not None else None,
            "latency_ms": self.latency_ms,
            "finish_reason": self.finish_reason,
            "replayed": self.replayed,
        }


def call_of(received: Received, *, replayed: bool) -> Call:
    """Return the record of a received response; a body that is no completion has neither usage nor cost."""
    completion = _completion(received.body)
    usage = _usage(completion.get("usage"))
    return Call(
        received.model,
        _text(completion.get("model")),
        received.base_url,
        received.request_digest,
        received.deviations,
        usage,
        cost_of(usage, received.price) if usage and received.price else None,
        received.latency_ms,
        _finish_reason(completion),
        replayed,
    )


def cost_of(usage: Usage, price: Price) -> Decimal:
    """Return the dollars of a call, exactly."""
    parts = ((usage.prompt - usage.cached, price.input), (usage.cached, price.cached), (usage.completion, price.output))
    total = Decimal(0)
    for tokens, dollars in parts:
        total = _EXACT.fma(Decimal(tokens), dollars, total)
    return _EXACT.scaleb(total, -6)


def most_expensive(prompt_tokens: int, price: Price) -> Decimal:
    """Return the dollars that a call with a prompt of that many tokens may cost at most."""
    return cost_of(
        Usage(prompt_tokens, 0, MAX_COMPLETION_TOKENS), Price(max(price.input, price.cached), Decimal(0), price.output)
    )


def plain_decimal(value: Decimal) -> str:
    """Return a number of dollars without an exponent and without zeros at its end."""
    text = format(value, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def _completion(body: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return document if isinstance(document, dict) else {}


def _usage(stated: object) -> Usage | None:
    if not isinstance(stated, dict):
        return None
    prompt, completion = _count(stated.get("prompt_tokens")), _count(stated.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    details = stated.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    return Usage(prompt, min(cached or 0, prompt), completion)


def _count(value: object) -> int | None:
    """Return a number of tokens; a server may say anything, and what is no such number counts as not said."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None


def _finish_reason(completion: dict[str, Any]) -> str | None:
    choices = completion.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return _text(first.get("finish_reason")) if isinstance(first, dict) else None


def _text(value: object) -> str | None:
    return value[:256] if isinstance(value, str) and value else None
