"""Schemas for editors: the schema of a kind of policy file with the vocabulary written into it.

The schemas that the package checks by leave names open, because a rule set declares types of its own. An editor can do better: it
completes stages, verdicts, fact types, their fields and the symbols of these, and shows what each means.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from ..errors import ReflectGateError, did_you_mean
from ..facts import Domain, FactType, Vocabulary, load_vocabulary
from ..schemas import schema
from .headers import SCHEMA_OF

__all__ = ["editor_schema"]

_NAME: Final = "[a-z][a-z0-9_]*"
_REFERENCE: Final = {"type": "string", "pattern": rf"^\${_NAME}(\.{_NAME})?$", "description": "`$setting`, or `$name.field`."}
_COMPARISONS: Final[Mapping[str, str]] = {"gt": "Greater than.", "gte": "At least.", "lt": "Less than.", "lte": "At most."}


def editor_schema(kind: str) -> dict[str, Any]:
    """Return the schema for files of a kind (`rules`, `lexicon`, `policies`, `cases`); `schema-unknown` for any other."""
    if kind not in SCHEMA_OF:
        raise ReflectGateError("schema-unknown", f"no kind of policy file is called `{kind}`{did_you_mean(kind, SCHEMA_OF)}")
    found = schema(SCHEMA_OF[kind])
    if kind == "rules":
        _rules(found, load_vocabulary())
    elif kind == "cases":
        _cases(found, load_vocabulary())
    return found


def _rules(found: dict[str, Any], vocabulary: Vocabulary) -> None:
    defs, properties = found["$defs"], found["properties"]
    properties["stage"] = _chosen(vocabulary.stages, properties["stage"]["description"])
    properties["neutral"] = _chosen(_verdicts(vocabulary), properties["neutral"]["description"])
    domains = {"enum": sorted(vocabulary.domains), "description": "A domain of the vocabulary."}
    properties["derive"]["additionalProperties"]["additionalProperties"] = domains
    properties["tables"]["additionalProperties"]["properties"]["columns"]["additionalProperties"] = domains
    defs |= {f"test-{domain.name}": _test(domain) for domain in vocabulary.domains.values()}
    defs |= {f"fact-{fact.name}": _tested(fact) for fact in vocabulary.facts.values()}
    pattern = defs["pattern"]
    reference = {name: {"$ref": f"#/$defs/fact-{name}"} for name in vocabulary.facts}
    pattern["properties"] = {**reference, **{f"not {name}": node for name, node in reference.items()}}
    pattern["patternProperties"] = {f"^{name} as {_NAME}$": node for name, node in reference.items()}
    defs["head"]["properties"] = {"finding": _finding(vocabulary)}


def _cases(found: dict[str, Any], vocabulary: Vocabulary) -> None:
    defs = found["$defs"]
    defs["fact"]["properties"] = {
        fact.name: {
            "type": "object",
            "description": fact.doc,
            "properties": {
                field: {**_constant(vocabulary.domains[domain]), "description": _field_doc(fact, field, domain)}
                for field, domain in fact.fields.items()
            },
            "additionalProperties": False,
        }
        for fact in vocabulary.facts.values()
    }
    expected = defs["of_facts"]["properties"]["verdict"]
    defs["of_facts"]["properties"]["verdict"] = _chosen(_verdicts(vocabulary), expected.get("description", "The verdict."))


def _chosen(names: Any, description: str) -> dict[str, Any]:
    return {"enum": list(names), "description": description}


def _verdicts(vocabulary: Vocabulary) -> list[str]:
    return list(dict.fromkeys(verdict for stage in vocabulary.stages.values() for verdict in stage.verdicts))


def _field_doc(fact: FactType, field: str, domain: str) -> str:
    """Return what an editor shows of a field."""
    return f"`{field}` of `{fact.name}` (stage `{fact.stage}`): {domain}."


def _tested(fact: FactType) -> dict[str, Any]:
    return {
        "type": "object",
        "description": f"{fact.doc} Measured in stage `{fact.stage}`.",
        "properties": {
            field: {"$ref": f"#/$defs/test-{domain}", "description": _field_doc(fact, field, domain)}
            for field, domain in fact.fields.items()
        },
        "additionalProperties": False,
    }


def _test(domain: Domain) -> dict[str, Any]:
    value = {"anyOf": [_constant(domain), _REFERENCE]}
    operators: dict[str, Any] = {"ne": {**value, "description": "Anything but."}}
    operators["in"] = {"type": "array", "minItems": 1, "items": _constant(domain), "description": "One of these constants."}
    if domain.kind in {"count", "scaled"}:
        operators |= {name: {**value, "description": doc} for name, doc in _COMPARISONS.items()}
    compared = {"type": "object", "minProperties": 1, "properties": operators, "additionalProperties": False}
    return {"anyOf": [_constant(domain), _REFERENCE, compared]}


def _constant(domain: Domain) -> dict[str, Any]:
    if domain.kind == "symbol" and domain.symbols:
        return {"enum": list(domain.symbols)}
    if domain.kind in {"symbol", "id"}:
        return {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[^$]"}
    if domain.kind == "flag":
        return {"type": "boolean"}
    low, high = (Decimal(bound).scaleb(-domain.scale) for bound in (domain.minimum, domain.maximum))
    whole = {"type": "integer"} if not domain.scale else {"type": "number"}
    return {**whole, "minimum": _plain(low), "maximum": _plain(high)}


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def _finding(vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "type": "object",
        "description": "What the rule says: a verdict of its stage, a reason code, and what it is about.",
        "properties": {
            "verdict": _chosen(_verdicts(vocabulary), "A verdict of the rule set's stage."),
            "reason": {"type": "string", "pattern": "^[a-z][a-z0-9]*([-_][a-z0-9]+)*$", "description": "A constant reason code."},
            "about": {"type": "string", "maxLength": 200, "description": "A name, or `$name.field`."},
        },
        "required": ["verdict", "reason"],
        "additionalProperties": False,
    }
