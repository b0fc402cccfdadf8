"""`policy schema`: what editors are given agrees with what the loader takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from reflect_gate.errors import ReflectGateError
from reflect_gate.facts import load_vocabulary
from reflect_gate.policy.editing import editor_schema
from reflect_gate.policy.headers import SCHEMA_OF, kind_of
from reflect_gate.resources import data_path

FILES = [data_path("policies.yaml"), *sorted(data_path("rules").rglob("*.yaml"))]


def faults(kind: str, document: Any) -> list[str]:
    """Return what the schema of a kind says against a document."""
    return [error.json_path for error in jsonschema.Draft202012Validator(editor_schema(kind)).iter_errors(document)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_shipped_files_hold(path: Path) -> None:
    """No shipped file is marked in an editor."""
    text = path.read_text(encoding="utf-8")
    assert faults(kind_of(text), yaml.safe_load(text)) == []


@pytest.mark.parametrize("kind", SCHEMA_OF)
def test_schema_is_a_schema(kind: str) -> None:
    """Each is valid 2020-12 and refers to nothing outside itself."""
    document = editor_schema(kind)
    jsonschema.Draft202012Validator.check_schema(document)
    assert "urn:" not in str({key: value for key, value in document.items() if key != "$id"})


def rules(when: object) -> dict[str, Any]:
    """Return a rule set with one condition."""
    rule = {"id": "a", "doc": "A rule.", "when": [when], "then": [{"finding": {"verdict": "shallow", "reason": "a"}}]}
    return {"ruleset": "odd", "version": "1.0.0", "stage": "calibrate", "doc": "Odd.", "neutral": "calibrated", "rules": [rule]}


@pytest.mark.parametrize(
    "when",
    [
        {"lesson": {"wrods": 1}},
        {"lesson as l": {"language": "englsh"}},
        {"not hits": {"n": {"gt": -1}}},
        {"support": {"kind": {"in": ["plan", "plann"]}}},
        {"lesson": {"cause": "maybe"}},
        {"lesson": {"language": {"gt": "english"}}},
    ],
)
def test_slips_are_marked(when: object) -> None:
    """A field, symbol, number or comparison that the vocabulary does not have is marked."""
    assert faults("rules", rules(when))


@pytest.mark.parametrize(
    "when",
    [
        {"lesson as l": {"words": {"gt": "$max_words", "lt": 9}}},
        {"not support": {"field": "$c.field", "kind": {"in": ["plan"]}}},
        {"mine": {"anything": 1}},
        {"hits": {"lexicon": "slang", "coverage": {"gte": 0.5}}},
    ],
)
def test_what_loads_is_not_marked(when: object) -> None:
    """Settings, joins, types of the rule set's own and any lexicon are allowed."""
    assert faults("rules", rules(when)) == []


def test_every_fact_type_and_field_is_completed() -> None:
    """The vocabulary stands in the schema, with what each fact means."""
    known = editor_schema("rules")["$defs"]
    for fact in load_vocabulary().facts.values():
        assert set(known[f"fact-{fact.name}"]["properties"]) == set(fact.fields)
        assert fact.doc in known[f"fact-{fact.name}"]["description"]


def test_unknown_kind() -> None:
    """The nearest kind is offered."""
    with pytest.raises(ReflectGateError, match="did you mean `rules`"):
        editor_schema("rule")
