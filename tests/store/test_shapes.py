"""Event types as data: the store's shapes and `event.schema.json` say the same, and every type folds."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate.errors import ReflectGateError
from reflect_store import EVENT_TYPES, TABLES, open_store
from reflect_store.projections import _FOLDS
from reflect_store.shapes import KINDS

SCHEMA: dict[str, Any] = schemas.schema("event")


def test_the_schema_lists_the_types_of_the_store() -> None:
    """No event is known to one of them alone, and each has a fold."""
    assert SCHEMA["properties"]["type"]["enum"] == list(EVENT_TYPES) == list(_FOLDS)
    conditions = {entry["if"]["properties"]["type"]["const"]: entry["then"] for entry in SCHEMA["allOf"]}
    assert {name: {"properties": {"payload": {"$ref": f"#/$defs/{name}"}}} for name in EVENT_TYPES} == conditions


@pytest.mark.parametrize("name", EVENT_TYPES)
def test_a_payload_has_the_fields_of_its_shape(name: str) -> None:
    """What the store checks at every append is what the schema asks for at every import."""
    declared, shape = SCHEMA["$defs"][name], EVENT_TYPES[name]
    assert declared["description"] == shape.doc
    assert set(declared["properties"]) == {*shape.required, *shape.optional}
    assert declared["required"] == list(shape.required)
    assert {*shape.required.values(), *shape.optional.values()} <= set(KINDS)


@pytest.mark.parametrize("name", EVENT_TYPES)
def test_the_schema_holds_payloads_to_their_type(name: str) -> None:
    """An empty payload lacks every required field of its type."""
    event = {**SCHEMA["examples"][0], "type": name, "payload": {}}
    with pytest.raises(ReflectGateError) as caught:
        schemas.check("event", event, "event")
    said = "\n".join(error.message for error in caught.value.errors)
    assert all(f"`{field}`" in said for field in EVENT_TYPES[name].required)


def test_the_tables_of_the_file_are_the_tables_of_the_code(tmp_path: Path) -> None:
    """Each projection has its table, with the columns that it can be looked up by, and an index for each."""
    path = tmp_path / "store.db"
    open_store(path, create=True).close()
    with closing(sqlite3.connect(path)) as file:
        for name, table in TABLES.items():
            columns = [row[1] for row in file.execute(f"PRAGMA table_info({name})")]
            assert columns == ["key", "time", "event", *table.columns, "row"]
            for column in ("time", *table.columns):
                indexed = [row[2] for row in file.execute(f"PRAGMA index_info({name}_by_{column})")]
                assert indexed == list(dict.fromkeys([column, "time", "event", "key"]))


def test_a_real_decision_is_an_event(request_document: dict[str, Any], structured: Any) -> None:
    """R-s1: what the gate emits is stored as it is: both the shape and the schema take it."""
    from reflect_gate import evaluate
    from reflect_store import draft

    decision = json.loads(evaluate(request_document, structured).to_bytes())
    made = draft("decision-made", {"decision": decision, "inputs": {"reflection": request_document["reflection"]}})
    event = {**SCHEMA["examples"][0], "type": made.type, "payload": json.loads(made.payload)}
    schemas.check("event", event, "event")
    born = {"lesson": decision["lesson"], "envelope": decision["envelope"], "decision_id": decision["decision_id"]}
    schemas.check("event", {**event, "type": "lesson-admitted", "payload": born}, "event")
    assert draft("lesson-admitted", born).type == "lesson-admitted"
