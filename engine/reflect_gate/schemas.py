"""The schemas of every record that crosses a boundary, and the one way to hold a document to them.

`schemas/<name>.schema.json` is JSON Schema 2020-12 with `$id` `urn:reflect-gate:schema:<name>:1`. jsonschema is the authority and
writes the messages; jsonschema-rs says quickly that a document is valid, and a valid document never imports jsonschema. Where the
two disagree nothing passes (`schema-disagreement`). Validators are built at first use, of one schema and those it refers to.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from . import documents
from ._validator import import_validator
from .config import Limits
from .errors import ReflectGateError, Source, did_you_mean, raise_all
from .resources import data_path

if TYPE_CHECKING:
    import jsonschema_rs

    from ._violations import Authority

__all__ = ["URN", "check", "checked", "names", "schema"]

URN: Final = "urn:reflect-gate:schema:{}:1"
"""The `$id` of a schema, given its name."""

_SUFFIX: Final = ".schema.json"
_REFERENCE: Final = re.compile(rb"urn:reflect-gate:schema:([a-z-]+):1")


@functools.cache
def names() -> tuple[str, ...]:
    """Return the names of all schemas, sorted."""
    return tuple(sorted(path.name.removesuffix(_SUFFIX) for path in data_path("schemas").glob(f"*{_SUFFIX}")))


@functools.cache
def _text(name: str) -> bytes:
    if name not in names():
        raise ReflectGateError("schema-unknown", f"unknown schema `{name}`{did_you_mean(name, names())}")
    return data_path("schemas", name + _SUFFIX).read_bytes()


def schema(name: str) -> dict[str, Any]:
    """Return the schema called `name`, a fresh copy; `schema-unknown` where there is none."""
    document: dict[str, Any] = orjson.loads(_text(name))
    return document


@functools.cache
def _family(name: str) -> Mapping[str, dict[str, Any]]:
    """Return by urn the schema called `name` and every schema that it refers to, however far."""
    found: dict[str, dict[str, Any]] = {}
    todo = [name]
    while todo:
        member = todo.pop()
        urn = URN.format(member)
        if urn not in found:
            found[urn] = schema(member)
            todo += [reference.decode() for reference in _REFERENCE.findall(_text(member))]
    return found


@functools.cache
def _fast(name: str) -> jsonschema_rs.Draft202012Validator | None:
    """Return the fast validator, `None` where jsonschema-rs cannot be imported."""
    try:
        rust = import_validator()
    except ImportError:
        return None
    registry = rust.Registry(list(_family(name).items()))
    validator: jsonschema_rs.Draft202012Validator = rust.Draft202012Validator(
        schema(name), registry=registry, pattern_options=rust.RegexOptions()
    )
    return validator


@functools.cache
def _authority(name: str) -> Authority:
    from ._violations import authority

    return authority(URN.format(name), _family(name))


def check(name: str, instance: object, source_name: str) -> None:
    """Raise every violation of the schema called `name` at once, code `schema`; errors call the document `source_name`."""
    checked(name, instance, source_name)


def checked(name: str, instance: object, source_name: str, limits: Limits | None = None) -> Any:
    """Return a plain copy of `instance` that holds to the schema called `name`; raise as `check` and `documents.plain` do."""
    copy = documents.plain(instance, limits or Limits(), source_name)
    fast = _fast(name)
    if fast is not None and fast.is_valid(copy):
        return copy
    from ._violations import violations

    found = violations(_authority(name), copy, Source(source_name))
    if not found and fast is not None:
        message = f"the two validators disagree on the schema `{name}`: only jsonschema accepts the document"
        raise ReflectGateError("schema-disagreement", message, Source(source_name))
    raise_all(found)
    return copy
