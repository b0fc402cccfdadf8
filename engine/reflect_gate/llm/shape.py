"""The schema that the answer is held to: `response.schema.json` in one piece, with only what every server understands.

Strict JSON-Schema output wants every property required, no additional ones, and no conditions; servers differ on patterns,
lengths and uniqueness. What is left out here is checked when the answer is parsed. The ids of the record are listed, so that a
server which holds its model to the schema lets it cite nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .. import schemas

__all__ = ["response_shape"]

_KEPT: Final = ("type", "enum", "description", "required", "additionalProperties")
# What the strictest server takes: this many values, this long together, and nothing that a grammar could stumble over.
_MOST_IDS: Final = 250
_MOST_ID_CHARS: Final = 7_500
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@#-")


def response_shape(ids: Sequence[str]) -> dict[str, Any]:
    """Return the schema of an answer about a record whose items have these ids."""
    shape = _plain(schemas.schema("response"), "response")
    citable = _citable(ids)
    if citable:
        reflection = next(choice for choice in shape["properties"]["reflection"]["anyOf"] if choice["type"] == "object")
        reflection["properties"]["evidence_ids"]["items"]["enum"] = citable
    return shape


def _citable(ids: Sequence[str]) -> list[str]:
    """Return the ids where they can be listed, none where they are too many, too long or too strange."""
    if len(ids) > _MOST_IDS or sum(map(len, ids)) > _MOST_ID_CHARS or not all(_PLAIN.issuperset(name) for name in ids):
        return []
    return list(dict.fromkeys(ids))


def _plain(node: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a node of the schema called `name` with references followed and everything but `_KEPT` left out."""
    if "$ref" in node:
        urn, _, pointer = str(node["$ref"]).partition("#")
        home = urn.split(":")[3] if urn else name
        target: Any = schemas.schema(home)
        for step in pointer.split("/")[1:]:
            target = target[step]
        # What is said where a schema is used is nearer to the point than what is said where it is defined.
        return _plain({**target, **{key: value for key, value in node.items() if key != "$ref"}}, home)
    found: dict[str, Any] = {key: node[key] for key in _KEPT if key in node}
    if "enum" in found and "type" not in found:
        found["type"] = "string"
    if "properties" in node:
        found["properties"] = {key: _plain(inner, name) for key, inner in node["properties"].items()}
    if "items" in node:
        found["items"] = _plain(node["items"], name)
    if "anyOf" in node:
        found["anyOf"] = [_plain(choice, name) for choice in node["anyOf"]]
    return found
