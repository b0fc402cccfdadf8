"""The schema that goes to the server: in one piece, legal for strict mode, and wide enough for every valid answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import pytest

from reflect_gate import schemas
from reflect_gate.llm.shape import response_shape

# What strict mode lets in, as far as servers agree.
ALLOWED = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "description"}


def nodes(node: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield every subschema with its depth."""
    yield depth, node
    for inner in node.get("properties", {}).values():
        yield from nodes(inner, depth + 1)
    if "items" in node:
        yield from nodes(node["items"], depth + 1)
    for inner in node.get("anyOf", ()):
        yield from nodes(inner, depth)


@pytest.mark.parametrize("ids", [[], ["plan-1", "test-1"]])
def test_it_is_legal_for_strict_mode(ids: list[str]) -> None:
    """R-L1: the root is an object, every property is required, nothing is open, and no other keyword is there."""
    shape = response_shape(ids)
    jsonschema.Draft202012Validator.check_schema(shape)
    assert shape["type"] == "object"
    for depth, node in nodes(shape):
        assert set(node) <= ALLOWED
        assert depth <= 5
        assert "type" in node or "anyOf" in node
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])


def test_it_has_the_fields_of_the_response_in_their_order() -> None:
    """R-c1, R-t3: servers generate in the order of the schema, so the causes come before the lesson."""
    shape = response_shape([])
    assert list(shape["properties"]) == ["skip", "tags", "reflection"]
    candidate = shape["properties"]["reflection"]["anyOf"][0]
    assert list(candidate["properties"]) == list(schemas.schema("reflection")["properties"])


def test_every_valid_response_passes() -> None:
    """Nothing that the gate would take is kept from being said."""
    validator = jsonschema.Draft202012Validator(response_shape(["plan-1", "test-1"]))
    for example in schemas.schema("response")["examples"]:
        schemas.check("response", example, "example")
        assert validator.is_valid(example)


def test_only_ids_of_the_record_can_be_cited() -> None:
    """R-L1: `evidence_ids` is bounded to the evidence that is in the record."""
    example = schemas.schema("response")["examples"][0]
    assert not jsonschema.Draft202012Validator(response_shape(["plan-1", "other"])).is_valid(example)


def test_an_id_is_listed_once() -> None:
    """Strict servers refuse a schema that lists a value twice."""
    candidate = response_shape(["a", "b", "a"])["properties"]["reflection"]["anyOf"][0]
    assert candidate["properties"]["evidence_ids"]["items"]["enum"] == ["a", "b"]


@pytest.mark.parametrize(
    "ids", [["an id"], ['quote"'], ["ümlaut"], [f"i{number}" for number in range(251)], ["x" * 256] * 30], ids=repr
)
def test_ids_that_a_server_could_stumble_over_are_not_listed(ids: list[str]) -> None:
    """Then the answer may cite anything, and parsing holds it to the record."""
    candidate = response_shape(ids)["properties"]["reflection"]["anyOf"][0]
    assert "enum" not in candidate["properties"]["evidence_ids"]["items"]
