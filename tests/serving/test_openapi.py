"""`/openapi.json` is made from the schemas and the routes, and says of a running server what is so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from reflect_gate import schemas
from reflect_gate.capture.capturing import TRIGGERS
from reflect_gate.cli.lessons import LEVELS, STANDINGS
from reflect_gate.serving.openapi import document
from reflect_gate.serving.routes import ROUTES, Parameter
from reflect_gate.serving.tokens import SCOPES

from .conftest import Run
from .gate import Gate

URN = "urn:reflect-gate:schema:"


def references(node: object) -> Iterator[str]:
    """Yield every reference of a document."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for inner in node.values():
            yield from references(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from references(inner)


def back(node: Any) -> Any:
    """Return a component as the schema that it was made from has it."""
    text = json.dumps(node)
    for name in document()["components"]["schemas"]:
        text = text.replace(f'"#/components/schemas/{name}"', f'"{URN}{name}:1"')
        text = text.replace(f'"#/components/schemas/{name}/', f'"{URN}{name}:1#/')
    return json.loads(text)


def schema_with_whole_references(name: str) -> dict[str, Any]:
    """Return a schema whose references to itself say so."""
    schema = schemas.schema(name)
    del schema["$id"], schema["$schema"]
    whole: dict[str, Any] = json.loads(json.dumps(schema).replace('"$ref": "#/', f'"$ref": "{URN}{name}:1#/'))
    return whole


def test_every_component_is_its_schema() -> None:
    """Nothing is said of a document that its schema does not say, and nothing is left out."""
    components = document()["components"]["schemas"]
    assert {"request", "decision", "termination", "retrieval", "problem", "item"} <= components.keys()
    for name, component in components.items():
        assert back(component) == schema_with_whole_references(name), name


def test_every_reference_leads_somewhere() -> None:
    """Within the document, and to no URN."""
    whole = document()
    found = set(references(whole))
    assert found
    for reference in found:
        assert reference.startswith("#/"), reference
        node: Any = whole
        for step in reference[2:].split("/"):
            node = node[step]


def test_every_route_is_an_operation_and_nothing_else_is() -> None:
    """With its schemas, its scope and the statuses that it may have."""
    paths = document()["paths"]
    assert {(method.upper(), path) for path, entry in paths.items() for method in entry} == {(r.method, r.path) for r in ROUTES}
    for route in ROUTES:
        operation = paths[route.path][route.method.lower()]
        assert ("requestBody" in operation) == (route.method == "POST")
        assert operation.get("security", [{}])[0].get("token", []) == ([route.scope] if route.scope else [])
        assert set(map(str, route.problems)) <= operation["responses"].keys()
    names = [entry[method]["operationId"] for entry in paths.values() for method in entry]
    assert len(set(names)) == len(names)
    used = {route.scope for route in ROUTES} - {None}
    assert used | {"apply"} == set(SCOPES)


def test_it_is_an_openapi_document() -> None:
    """The parts that OpenAPI 3.1 requires, and schemas of its dialect."""
    whole = document()
    assert whole["openapi"] == "3.1.0"
    assert {"title", "version"} <= whole["info"].keys()
    validator = jsonschema.Draft202012Validator
    for component in whole["components"]["schemas"].values():
        validator.check_schema(component)
    for entry in whole["paths"].values():
        for operation in entry.values():
            assert all(validator.check_schema(parameter["schema"]) is None for parameter in operation.get("parameters", ()))


def test_parameters_take_what_the_command_line_takes() -> None:
    """The choices are said in two places, and are the same."""
    known = {(route.path, parameter.name): parameter.schema for route in ROUTES for parameter in route.parameters}
    assert known["/v1/capture", "trigger"]["enum"] == list(TRIGGERS)
    assert known["/v1/lessons", "level"]["enum"] == list(LEVELS)
    assert known["/v1/lessons", "standing"]["enum"] == [*STANDINGS, "all"]


@pytest.mark.parametrize("text", ["", "x", "0", "1001", "-1", "1e2", "٣", "9" * 5_000])
def test_a_number_is_read_strictly(text: str) -> None:
    """What is no number from its least to its most is refused, however long."""
    limit = Parameter("limit", {"type": "integer", "minimum": 1, "maximum": 1000}, "At most.")
    assert limit.read("1000") == 1000
    with pytest.raises(Exception, match="expected a number from 1 to 1000"):
        limit.read(text)


def test_server_and_command_tell_the_same(gate: Gate, run: Run) -> None:
    """`/openapi.json` has the bytes of `serve openapi`."""
    answer = gate.get("/openapi.json")
    assert answer.status == 200
    assert answer.body == json.loads(run("serve", "openapi").out) == document()
