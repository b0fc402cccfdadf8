"""The key `models:` of `policies.yaml`: which model is asked, where, with what parameters and at what price; never the key."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from ..errors import did_you_mean
from .fields import Fields, as_name, no_such_key
from .parsed import ModelDecl, ModelsDecl, PriceDecl
from .problems import Problems
from .values import SNAKE, Misfit, scalar_value, show

__all__ = ["PARAMETERS", "load_models"]

PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "temperature": ("send", "omit"),
    "seed": ("send", "omit"),
    "max_completion_tokens": ("send", "max_tokens", "omit"),
    "json_schema": ("send", "omit"),
}
"""What is sent with a call, and what may be done where a model refuses it; the first choice is the default."""

_OPTIONAL: Final = ("base_url", "timeout", "prompt_tokens", "seed", "parameters", "price", "cost_limit")
_SECONDS: Final = (Decimal(1), Decimal(3600))
_PROMPT_TOKENS: Final = (Decimal(1_000), Decimal(1_000_000))
_SEEDS: Final = (Decimal(0), Decimal(2**31 - 1))
_DOLLARS: Final = (Decimal(0), Decimal(1_000_000))
_LONGEST: Final = 512


def load_models(fields: Fields, problems: Problems) -> ModelsDecl:
    """Return what the key `models` of the policies file says; nothing is known where it is absent."""
    node = fields.get("models")
    if node is None:
        return ModelsDecl("", {})
    parts = Fields(node, "`models`", problems, required=("default", "known"))
    known = {model.name: model for model in _known(parts, problems)}
    default = parts.name("default")
    named = parts.get("default")
    if default and named and default not in known:
        message = f"`default` of `models` names none of them: `{default}`{did_you_mean(default, known)}"
        problems.add("policy-value", message, named.source)
    return ModelsDecl(default, known)


def _known(parts: Fields, problems: Problems) -> list[ModelDecl]:
    found = []
    for key, node in parts.entries("known"):
        name = as_name(key, "model", problems)
        entry = Fields(node, f"model `{key.text}`", problems, required=("doc", "model"), optional=_OPTIONAL)
        price, cost_limit = _price(entry, problems), _number(entry, "cost_limit", _DOLLARS, problems)
        limit = entry.get("cost_limit")
        if limit is not None and "price" not in entry:
            problems.add(
                "policy-value", f"`cost_limit` of {entry.what} needs a `price`: no cost is known without it", limit.source
            )
        model = ModelDecl(
            name,
            entry.text("doc"),
            _short(entry, "model", problems),
            _short(entry, "base_url", problems),
            _number(entry, "timeout", _SECONDS, problems),
            _whole(entry, "prompt_tokens", _PROMPT_TOKENS, problems),
            _whole(entry, "seed", _SEEDS, problems),
            _parameters(entry, problems),
            price,
            cost_limit,
            key.source,
        )
        if name:
            found.append(model)
    return found


def _short(entry: Fields, key: str, problems: Problems) -> str:
    scalar = entry.scalar(key)
    if scalar is None:
        return ""
    if len(scalar.text) > _LONGEST or not scalar.text.isprintable():
        problems.add("policy-value", f"`{key}` of {entry.what} has 1 to {_LONGEST} printable characters", scalar.source)
    return scalar.text


def _number(entry: Fields, key: str, bounds: tuple[Decimal, Decimal], problems: Problems) -> Decimal | None:
    scalar = entry.scalar(key)
    if scalar is None:
        return None
    value = scalar_value(scalar)
    low, high = bounds
    if isinstance(value, bool | str | Misfit) or not low <= value <= high:
        message = f"`{key}` of {entry.what} is a number from {show(low)} to {show(high)}, not `{scalar.text[:40]}`"
        problems.add("policy-value", message, scalar.source)
        return None
    return Decimal(value)


def _whole(entry: Fields, key: str, bounds: tuple[Decimal, Decimal], problems: Problems) -> int | None:
    number = _number(entry, key, bounds, problems)
    node = entry.get(key)
    if number is None or node is None:
        return None
    if number != int(number):
        problems.add("policy-value", f"`{key}` of {entry.what} is a whole number, not `{show(number)}`", node.source)
    return int(number)


def _price(entry: Fields, problems: Problems) -> PriceDecl | None:
    node = entry.get("price")
    if node is None:
        return None
    parts = Fields(node, f"`price` of {entry.what}", problems, required=("input", "output"), optional=("cached",))
    paid, given = _number(parts, "input", _DOLLARS, problems), _number(parts, "output", _DOLLARS, problems)
    cached = _number(parts, "cached", _DOLLARS, problems)
    if paid is None or given is None:
        return None
    return PriceDecl(paid, paid if cached is None else cached, given)


def _parameters(entry: Fields, problems: Problems) -> Mapping[str, str]:
    found = {}
    for key, node in entry.entries("parameters"):
        choices = PARAMETERS.get(key.text)
        if choices is None:
            no_such_key(key, tuple(PARAMETERS), f"`parameters` of {entry.what}", problems)
            continue
        choice = as_name(node, f"`{key.text}` of {entry.what}", problems, SNAKE)
        if choice and choice not in choices:
            wanted = ", ".join(f"`{each}`" for each in choices)
            problems.add(
                "policy-value", f"`{key.text}` is one of {wanted}, not `{choice}`{did_you_mean(choice, choices)}", node.source
            )
        elif choice:
            found[key.text] = choice
    return found
