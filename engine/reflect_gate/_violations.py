"""Violations of a schema in words, by jsonschema, the authority. Imported only once a document is not known to be valid."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol, cast

import jsonschema
import jsonschema.validators
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from ._places import describe, pointer
from .errors import ReflectGateError, Source, did_you_mean

__all__ = ["MOST_VIOLATIONS", "Authority", "authority", "violations"]

MOST_VIOLATIONS: Final = 100
"""One last line stands for those above: a document of thousands of wrong items would drown its reader."""

NEAR: Final = 64
"""Characters of a misspelt name that are compared with the known ones: comparing takes quadratic time."""

_TYPES: Final = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}
_BOUNDS: Final = {"min": "at least", "max": "at most"}
_COUNTED: Final = {"Length": "characters", "Items": "items", "Properties": "keys"}


class Authority(Protocol):
    """A validator of one schema, as far as it is used here."""

    def iter_errors(self, instance: object) -> Iterator[ValidationError]:
        """Yield each violation."""


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # In JSON Schema (ECMA-262) `$` is the end of the text; in Python it is also the place before a last line end.
    return re.compile(re.sub(r"\$\Z", r"\\Z", pattern))


def _pattern(_validator: object, pattern: str, instance: object, _schema: object) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _compiled(pattern).search(instance):
        yield ValidationError(f"does not match {pattern}")


def _unique(_validator: object, unique: bool, instance: object, _schema: object) -> Iterator[ValidationError]:
    # Only texts are compared, in linear time: arrays of ours that must not repeat hold nothing else, and `items` says so.
    texts = [item for item in instance if isinstance(item, str)] if isinstance(instance, list) else []
    if unique and len(set(texts)) != len(texts):
        yield ValidationError("repeats an item")


def _within(keyword: str, bound: str) -> Callable[..., Iterator[ValidationError]]:
    """Return the check of `keyword` that leaves alone what is much larger than `bound`, which is then violated anyway.

    Millions of errors in an array of millions would otherwise be collected before the first is shown.
    """
    standard = jsonschema.Draft202012Validator.VALIDATORS[keyword]

    def check(validator: object, value: object, instance: object, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
        if not isinstance(instance, dict | list) or len(instance) <= max(MOST_VIOLATIONS, schema.get(bound, len(instance))):
            yield from standard(validator, value, instance, schema) or ()

    return check


@functools.cache
def _dialect() -> Callable[..., Authority]:
    extend = cast("Callable[..., Callable[..., Authority]]", jsonschema.validators.extend)
    keywords = {
        "additionalProperties": _within("additionalProperties", "maxProperties"),
        "items": _within("items", "maxItems"),
        "pattern": _pattern,
        "propertyNames": _within("propertyNames", "maxProperties"),
        "uniqueItems": _unique,
    }
    return extend(jsonschema.Draft202012Validator, keywords)


def authority(urn: str, family: Mapping[str, Mapping[str, Any]]) -> Authority:
    """Return the validator of the schema `urn`; `family` holds it and every schema that it refers to, by urn."""
    # A member that names its own dialect would be validated by that one, and not by the extension of it above.
    members = {name: {key: part for key, part in member.items() if key != "$schema"} for name, member in family.items()}
    registry: Registry[Any] = Registry().with_resources(
        (name, DRAFT202012.create_resource(member)) for name, member in members.items()
    )
    return _dialect()(members[urn], registry=registry)


def violations(validator: Authority, instance: object, source: Source) -> list[ReflectGateError]:
    """Return what in `instance` violates the validator's schema, without repetition; `source` names the document."""
    found = list(itertools.islice(validator.iter_errors(instance), MOST_VIOLATIONS + 1))
    told = dict.fromkeys(line for error in found[:MOST_VIOLATIONS] for line in _told(error))
    errors = [ReflectGateError("schema", message, source._replace(pointer=place)) for place, message in told]
    if len(found) > MOST_VIOLATIONS:
        errors.append(ReflectGateError("schema", f"more than {MOST_VIOLATIONS} violations; the rest is not shown", source))
    return errors


def _told(error: ValidationError) -> Iterator[tuple[str, str]]:
    """Yield `(JSON pointer, message)` of one violation."""
    place = pointer(*error.absolute_path)
    keyword, value, instance = str(error.validator), cast("Any", error.validator_value), cast("Any", error.instance)
    schema = error.schema if isinstance(error.schema, dict) else {}
    if keyword in {"anyOf", "oneOf"} and "title" not in schema:
        yield from _alternatives(error, place)
    elif keyword == "additionalProperties":
        yield from _unknown_keys(instance, schema.get("properties", {}), place)
    elif keyword == "required":
        for name in value:
            if name not in instance:
                yield place, f"missing key `{name}`"
    else:
        of = "the key " if "propertyNames" in error.absolute_schema_path else ""
        found = f"{of}{_found(keyword, instance)}{_near(keyword, value, instance)}"
        yield place, f"expected {_expected(keyword, value, schema)}, found {found}"


def _unknown_keys(instance: Mapping[str, object], known: Mapping[str, object], place: str) -> Iterator[tuple[str, str]]:
    unknown = [name for name in instance if name not in known]
    for name in unknown[:MOST_VIOLATIONS]:
        yield place, f"unknown key {describe(name)}{did_you_mean(name[:NEAR], known)}"
    if len(unknown) > MOST_VIOLATIONS:
        yield place, f"`{len(unknown)}` unknown keys in all"


def _alternatives(error: ValidationError, place: str) -> Iterator[tuple[str, str]]:
    """Tell what is wrong with the one alternative that was meant, or name them all where none has the right type."""
    branches: dict[object, list[ValidationError]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.relative_schema_path[0], []).append(inner)
    meant = [inner for inner in branches.values() if not any(_wrong_type(child) for child in inner)]
    if len(meant) == 1:
        for child in meant[0]:
            yield from _told(child)
        return
    types = [cast("Any", child.validator_value) for inner in branches.values() for child in inner if _wrong_type(child)]
    names = dict.fromkeys(name for value in types for name in ([value] if isinstance(value, str) else value))
    yield place, f"expected {_one_of([_TYPES[name] for name in names])}, found {describe(error.instance)}"


def _wrong_type(error: ValidationError) -> bool:
    return error.validator == "type" and not error.relative_path


def _one_of(words: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _expected(keyword: str, value: Any, schema: Mapping[str, Any]) -> str:
    if keyword == "type":
        return _one_of([_TYPES[name] for name in ([value] if isinstance(value, str) else value)])
    if keyword in {"enum", "const"}:
        return _one_of([describe(choice) for choice in (value if keyword == "enum" else [value])])
    if keyword == "pattern":
        return str(schema.get("title", f"text that matches `{value}`"))
    if keyword in {"minimum", "maximum"}:
        return f"{_BOUNDS[keyword[:3]]} {value}"
    if keyword[3:] in _COUNTED:
        unit = _COUNTED[keyword[3:]]
        return f"{_BOUNDS[keyword[:3]]} {value} {unit if value != 1 else unit[:-1]}"
    return "items without repetition" if keyword == "uniqueItems" else str(schema.get("title", f"what `{keyword}` says"))


def _found(keyword: str, instance: Any) -> str:
    return str(len(instance)) if keyword[3:] in _COUNTED else describe(instance)


def _near(keyword: str, value: Any, instance: object) -> str:
    if keyword != "enum" or not isinstance(instance, str):
        return ""
    return did_you_mean(instance[:NEAR], [choice for choice in value if isinstance(choice, str)])
