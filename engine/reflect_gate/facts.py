"""The fact vocabulary: which fact types exist, what their fields mean, in which stage they are measured.

The vocabulary is data (`schemas/facts.json`, held to `schemas/vocabulary.schema.json`); this module reads it. A domain is one of
`symbol` (a closed list), `id` (open names), `flag`, `count` (a bounded integer) and `scaled` (a bounded decimal kept as an
integer at `scale` places). Source: docs/architecture.md, rule language.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Literal, NamedTuple, TypeAlias

from .resources import data_path

__all__ = ["Domain", "Fact", "FactType", "Stage", "Vocabulary", "load_vocabulary", "ratio"]

Fact: TypeAlias = tuple[str | int | bool, ...]
"""A measured fact: `(type name, value of field 0, …)`; symbols and ids as text, scaled values already integers at their scale."""

COUNT_LIMIT = 2**31 - 1


class Domain(NamedTuple):
    """The values that a field may take."""

    name: str
    kind: Literal["symbol", "id", "flag", "count", "scaled"]
    symbols: tuple[str, ...] = ()
    scale: int = 0
    minimum: int = 0
    maximum: int = COUNT_LIMIT

    def exact(self, number: float | Decimal) -> int | None:
        """Return `number` as this domain's integer, or `None` where it is not exact at the scale or out of range."""
        try:
            scaled = Decimal(str(number)).scaleb(self.scale)
        except InvalidOperation:
            return None
        if not scaled.is_finite() or scaled != scaled.to_integral_value():
            return None
        whole = int(scaled)
        return whole if self.minimum <= whole <= self.maximum else None

    def show(self, value: int, name: str = "") -> str | int | float | bool:
        """Return the reader's form of an encoded value; `name` is the interned text of a symbol or id."""
        if self.kind in {"symbol", "id"}:
            return name
        if self.kind == "flag":
            return bool(value)
        return float(Decimal(value).scaleb(-self.scale)) if self.scale else value


class FactType(NamedTuple):
    """A fact type that a stage measures; `fields` keeps the declared order."""

    name: str
    stage: str
    doc: str
    fields: Mapping[str, str]


class Stage(NamedTuple):
    """A stage's verdicts from the mildest to the most severe, and the one that stands when no rule said any."""

    name: str
    verdicts: tuple[str, ...]
    default: str


class Vocabulary(NamedTuple):
    """Domains, fact types and stages by name, each in declared order."""

    version: str
    domains: Mapping[str, Domain]
    facts: Mapping[str, FactType]
    stages: Mapping[str, Stage]

    def make(self, type_name: str, **values: str | int | bool) -> Fact:
        """Return a fact with its fields in declared order; `KeyError` or `TypeError` where a field is missing or unknown."""
        fields = self.facts[type_name].fields
        if len(values) != len(fields):
            raise TypeError(f"{type_name} takes {', '.join(fields)}")
        return (type_name, *[values[field] for field in fields])


def ratio(part: int, whole: int, scale: int = 2) -> int:
    """Return `part / whole` as an integer at `scale` places, rounded down (toward refusal); 0 where `whole` is 0."""
    return part * 10**scale // whole if whole else 0


def _domain(name: str, entry: Mapping[str, object]) -> Domain:
    kind = entry["kind"]
    if kind == "symbol":
        return Domain(name, "symbol", symbols=tuple(entry["symbols"]))  # type: ignore[arg-type]
    if kind == "id":
        return Domain(name, "id")
    if kind == "flag":
        return Domain(name, "flag", maximum=1)
    scale = int(entry.get("scale", 0))  # type: ignore[call-overload]
    low = int(Decimal(str(entry.get("minimum", 0))).scaleb(scale))
    high = int(Decimal(str(entry.get("maximum", COUNT_LIMIT))).scaleb(scale))
    return Domain(name, "scaled" if kind == "scaled" else "count", scale=scale, minimum=low, maximum=high)


def parse_vocabulary(document: Mapping[str, object]) -> Vocabulary:
    """Return the vocabulary that a document of `vocabulary.schema.json` describes; the caller has checked its schema."""
    domains = {name: _domain(name, entry) for name, entry in document["domains"].items()}  # type: ignore[attr-defined]
    facts = {
        name: FactType(name, entry["stage"], entry["doc"], {field: spec["domain"] for field, spec in entry["fields"].items()})
        for name, entry in document["facts"].items()  # type: ignore[attr-defined]
    }
    stages = {
        name: Stage(name, tuple(entry["verdicts"]), entry["default"])
        for name, entry in document["stages"].items()  # type: ignore[attr-defined]
    }
    return Vocabulary(str(document["version"]), domains, facts, stages)


@functools.cache
def load_vocabulary() -> Vocabulary:
    """Return the shipped vocabulary."""
    return parse_vocabulary(json.loads(data_path("schemas", "facts.json").read_bytes()))
