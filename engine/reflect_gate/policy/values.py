"""Scalars read by what their place allows: names, versions, dates, settings, and constants of a vocabulary domain.

YAML 1.1 would make `no` a flag, `010` eight, `1:30` ninety and `1_000` a thousand. Here a number is plain decimal, a flag is
`true` or `false`, and whatever else a YAML reader might take for something other than text is refused where text could be meant.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from ..errors import did_you_mean
from ..facts import Domain
from .source import ScalarNode

__all__ = [
    "KEBAB",
    "SNAKE",
    "VERSION",
    "Misfit",
    "Value",
    "constant",
    "encode",
    "parse_date",
    "scalar_value",
    "show",
]

Value: TypeAlias = bool | int | Decimal | str
"""What a setting may be."""

KEBAB: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
SNAKE: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
VERSION: Final = re.compile(r"(?:0|[1-9]\d{0,5})\.(?:0|[1-9]\d{0,5})\.(?:0|[1-9]\d{0,5})", re.ASCII)

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_FLAGS: Final = {"true": True, "false": False}
_FLAG_LIKE: Final = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n"})
_NUMBER_LIKE: Final = re.compile(
    r"[-+]?(?:[0-9][0-9_:.]*|\.[0-9_]+|0[xob][0-9a-f_]+)(?:e[-+]?[0-9]+)?|[-+]?\.(?:inf|nan)", re.IGNORECASE
)


class Misfit(NamedTuple):
    """Why a value does not fit its place: an error code and the rest of the message."""

    code: str
    message: str


def scalar_value(node: ScalarNode) -> Value | Misfit:
    """Return what a setting's scalar says: quoted is text; plain is a flag, a number, or text that nobody takes for either."""
    text = node.text
    if not node.plain:
        return text
    if text in _FLAGS:
        return _FLAGS[text]
    if _NUMBER.fullmatch(text):
        return _decimal(text) if "." in text else int(text)
    if text in _NULL:
        return Misfit("policy-value", "a value is missing here")
    if text.lower() in _FLAG_LIKE:
        return Misfit("policy-value", f"`{text}` is unclear: write `true` or `false`, or put it in quotes")
    if _NUMBER_LIKE.fullmatch(text) and not _DATE.fullmatch(text):
        return Misfit("policy-value", f"`{text}` is unclear: write a number as plain decimal, or put it in quotes")
    return text


def _decimal(text: str) -> Decimal:
    """Return the number with one form for one value (`0.50` is `0.5`), since values are digested."""
    shortest = text.rstrip("0")
    value = Decimal(shortest + "0" if shortest.endswith(".") else shortest)
    return value or Decimal("0.0")


def constant(node: ScalarNode, domain: Domain) -> int | str | Misfit:
    """Return a rule's constant in the form of its domain: text for symbols and ids, an integer for the rest."""
    if node.plain and node.text in _NULL:
        return Misfit("policy-value", "a value is missing here")
    if domain.kind in {"symbol", "id"}:
        return encode(node.text, domain)
    value = scalar_value(node)
    if isinstance(value, Misfit | str):
        wanted = "`true` or `false`" if domain.kind == "flag" else "a plain decimal number"
        return Misfit("policy-value", f"`{node.text}` is not {wanted}")
    return encode(value, domain)


def encode(value: Value, domain: Domain) -> int | str | Misfit:
    """Return `value` in the form of `domain`, or why it does not fit."""
    shown = show(value)
    if domain.kind in {"symbol", "id"}:
        return _text(value, shown, domain)
    if domain.kind == "flag":
        return int(value) if isinstance(value, bool) else Misfit("policy-value", f"`{shown}` is not `true` or `false`")
    if isinstance(value, bool | str):
        return Misfit("policy-value", f"`{shown}` is not a plain decimal number")
    exact = domain.exact(value)
    if exact is not None:
        return exact
    low, high = (str(Decimal(limit).scaleb(-domain.scale)) for limit in (domain.minimum, domain.maximum))
    kept = f"kept to {domain.scale} places" if domain.scale else "a whole number"
    return Misfit("policy-value", f"`{shown}` is not exact here: `{domain.name}` is {kept}, from {low} to {high}")


def _text(value: Value, shown: str, domain: Domain) -> str | Misfit:
    if not isinstance(value, str):
        return Misfit("policy-value", f"`{shown}` is not text: put it in quotes")
    if domain.kind == "id":
        if 0 < len(value) <= 200 and value.isprintable() and not value.startswith("$"):
            return value
        return Misfit("policy-value", f"`{shown}` is no id: 1 to 200 printable characters, the first not `$`")
    if value in domain.symbols:
        return value
    near = did_you_mean(value, domain.symbols)
    return Misfit("policy-unknown-symbol", f"`{shown}` is no `{domain.name}`{near}{_few(domain.symbols)}")


def _few(symbols: Collection[str]) -> str:
    """Name the choices where they are few enough to read."""
    return f" (one of {', '.join(f'`{symbol}`' for symbol in symbols)})" if 0 < len(symbols) <= 6 else ""


def show(value: Value) -> str:
    """Return the exact text of a value, as it stands in digests and messages; a short one of text that is long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if len(value) <= 200 else f"{value[:200]}…"
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def parse_date(text: str) -> dt.date | None:
    """Return the date `YYYY-MM-DD`, or `None` where `text` is none."""
    if not _DATE.fullmatch(text):
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None
