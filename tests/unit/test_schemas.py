"""The schemas: exactly the fields that were asked for, closed, bounded, described, in step with files and types."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml

from reflect_gate import schemas, types
from reflect_gate.errors import ReflectGateError
from reflect_gate.facts import load_vocabulary
from reflect_gate.resources import data_path

NAMES = schemas.names()
STRANGE = "ZZ unknown!"

EXACT = {
    "record": "failure_id outcome traces diagnosis repair_delta successful_trajectory",
    "stage-evidence": "failure_id outcome traces diagnosis repair_delta successful_trajectory",
    "stage-ledger": "signature reflected_before prior_reflection_id",
    "reflection": (
        "outcome failed_assumption overlooked_evidence strategy_error violated_invariant evidence_ids counterfactual "
        "candidate_lesson scope confidence"
    ),
    "response": "skip tags reflection",
    "stage-ground": "grounded verdict unresolved_claims",
    "stage-generalize": "generalized adjusted_scope contradicts_lesson_id counterexample_ids",
    "stage-calibrate": "deduped calibration calibrated_lesson episodic_only",
    "stage-admit": "admitted lesson_id rejected_reason unattached_candidate",
    "lesson": (
        "statement type scope derived_from evidence counterexamples confidence times_applied times_helped times_hurt "
        "supersedes superseded_by"
    ),
    "stage-lifecycle": "level action superseded_by red_flag_class confidence_cap",
    "stage-retrieve": "lessons cap retrieved_lesson_ids",
    "stage-record": "times_applied times_helped times_hurt",
}
TYPES: dict[str, type] = {
    "item": types.Item,
    "diagnosis": types.Diagnosis,
    "record": types.Record,
    "termination": types.Termination,
    "termination#/$defs/captured": types.CapturedItem,
    "termination#/$defs/diagnosed": types.CapturedDiagnosis,
    "termination#/properties/error": types.FailureError,
    "signature-context": types.SignatureContext,
    "reflection": types.Reflection,
    "response": types.Response,
    "lesson": types.Lesson,
    "lesson#/properties/derived_from": types.DerivedFrom,
    "lesson-envelope": types.Envelope,
    "store-view": types.StoreView,
    "store-view#/properties/lessons/items": types.StoredLesson,
    "store-view#/properties/edges/items": types.Edge,
    "request": types.Request,
    "request#/$defs/project": types.Project,
    "stage-ledger": types.Ledger,
    "stage-ground": types.Grounding,
    "stage-generalize": types.Generalization,
    "stage-calibrate": types.Calibration,
    "stage-admit": types.Admission,
    "stage-lifecycle": types.Lifecycle,
    "stage-retrieve": types.Retrieval,
    "stage-record": types.Recording,
}


def resolved(name: str, node: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Follow `$ref` from a node of schema `name`; return the schema it ends in, and the node."""
    while "$ref" in node:
        urn, _, fragment = node["$ref"].partition("#")
        name = urn.split(":")[3] if urn else name
        node = schemas.schema(name)
        for step in fragment.split("/")[1:]:
            node = node[step]
    return name, node


def declared(name: str) -> dict[str, Any]:
    """Return the node that `name` or `name#/pointer` stands for."""
    name, _, fragment = name.partition("#")
    return resolved(name, {"$ref": f"{schemas.URN.format(name)}#{fragment}"})[1]


def nodes(node: object, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every subschema that describes a value; those of `allOf` and `if` only add conditions to one."""
    if not isinstance(node, dict):
        return
    yield place, node
    for key in ("properties", "$defs"):
        for name, inner in node.get(key, {}).items():
            yield from nodes(inner, f"{place}/{key}/{name}")
    for key in ("items", "additionalProperties", "propertyNames"):
        yield from nodes(node.get(key), f"{place}/{key}")
    for key in ("anyOf", "oneOf"):
        for index, inner in enumerate(node.get(key, ())):
            yield from nodes(inner, f"{place}/{key}/{index}")


def objects(
    name: str, node: dict[str, Any], value: object, path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield `(path, schema node)` for every object and array in an example whose schema says what it holds."""
    name, node = resolved(name, node)
    if "anyOf" in node and "properties" not in node:
        for choice in node["anyOf"]:
            if choice.get("type") != "null":
                yield from objects(name, choice, value, path)
    elif isinstance(value, dict) and ("properties" in node or isinstance(node.get("additionalProperties"), dict)):
        yield path, node
        for key, inner in value.items():
            child = node.get("properties", {}).get(key) or node.get("additionalProperties")
            if isinstance(child, dict):
                yield from objects(name, child, inner, (*path, key))
    elif isinstance(value, list) and "items" in node:
        for index, inner in enumerate(value):
            yield from objects(name, node["items"], inner, (*path, index))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    """Return what lies at `path`."""
    for step in path:
        document = document[step]
    return document


def examples(name: str) -> Iterator[tuple[dict[str, Any], tuple[Any, ...], dict[str, Any]]]:
    """Yield `(example, path, schema node)` for every object in the examples of a schema."""
    for example in schemas.schema(name)["examples"]:
        for path, node in objects(name, schemas.schema(name), example):
            yield example, path, node


def refusal(name: str, document: object) -> list[ReflectGateError]:
    """Return why a document is refused; fail where it is not."""
    with pytest.raises(ReflectGateError) as caught:
        schemas.check(name, document, "example")
    return list(caught.value.errors)


# -- what the files say ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_a_named_schema_of_2020_12(name: str) -> None:
    """Each file is a valid schema, is called by its urn, and says what it is."""
    document = schemas.schema(name)
    jsonschema.Draft202012Validator.check_schema(document)
    assert document["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    assert document["$id"] == f"urn:reflect-gate:schema:{name}:1"
    assert document["title"].strip()
    assert document["description"].strip()


@pytest.mark.parametrize(("name", "fields"), EXACT.items())
def test_stage_outputs_hold_exactly_the_fields_of_the_specification(name: str, fields: str) -> None:
    """Nothing is added to S2's records or left out (R-a1, R-b1, R-c1, R-c2, R-d1, R-e1, R-f1, R-f2, R-g1, R-h1, R-i1)."""
    node = declared(name)
    assert list(node["properties"]) == fields.split()
    assert node["required"] == fields.split()


@pytest.mark.parametrize("name", NAMES)
def test_every_field_is_described(name: str) -> None:
    """A field without a description is a field that nobody can fill in."""
    for place, node in nodes(schemas.schema(name)):
        for field, inner in node.get("properties", {}).items():
            assert inner.get("description", "").strip(), f"{place}/{field}"


@pytest.mark.parametrize("name", NAMES)
def test_every_object_is_closed(name: str) -> None:
    """An object that lists its keys allows no others."""
    for place, node in nodes(schemas.schema(name)):
        if "properties" in node:
            assert node.get("additionalProperties") is False, place


@pytest.mark.parametrize("name", NAMES)
def test_everything_that_can_grow_is_bounded(name: str) -> None:
    """Texts, arrays and mappings have an upper bound."""
    for place, node in nodes(schemas.schema(name)):
        kinds = [node["type"]] if isinstance(node.get("type"), str) else node.get("type", [])
        if "string" in kinds:
            assert node["maxLength"] <= 65_536, place
        if "array" in kinds:
            assert node["maxItems"] <= 200_000, place
        if "object" in kinds and "properties" not in node:
            assert node["maxProperties"] <= 1_000, place


@pytest.mark.parametrize("name", NAMES)
def test_patterns_mean_the_same_everywhere(name: str) -> None:
    r"""Engines differ on `\d`, `\s`, `\w` and look-around; `$` stands only where `schemas` gives it one meaning."""
    for place, node in nodes(schemas.schema(name)):
        pattern = node.get("pattern", "")
        assert not re.search(r"\\[a-tv-zA-Z]|\(\?|\$.", pattern), f"{place}: {pattern}"


@pytest.mark.parametrize("name", NAMES)
def test_only_texts_are_compared_for_repetition(name: str) -> None:
    """The authority compares texts alone, so an array that must not repeat holds texts alone."""
    for place, node in nodes(schemas.schema(name)):
        if node.get("uniqueItems"):
            assert resolved(name, node["items"])[1]["type"] == "string", place


def test_the_item_schema_uses_the_symbols_of_the_vocabulary() -> None:
    """What an item may be is said once in `facts.json`, and the schema agrees."""
    domains, fields = load_vocabulary().domains, schemas.schema("item")["properties"]
    assert tuple(fields["kind"]["enum"]) == domains["kind"].symbols
    assert tuple(fields["oracle"]["enum"]) == domains["oracle"].symbols
    assert tuple(str(component) for component in fields["component"]["enum"]) == domains["component"].symbols
    assert tuple(schemas.schema("reflection")["properties"]["outcome"]["enum"]) == domains["outcome"].symbols


@pytest.mark.parametrize(
    ("name", "folder", "pattern"),
    [
        ("vocabulary", "schemas", "facts.json"),
        ("ruleset", "rules", "*[a-z].yaml"),
        ("cases", "rules", "*.cases.yaml"),
        ("lexicon", "rules/lexicons", "*.yaml"),
        ("policies", ".", "policies.yaml"),
    ],
)
def test_the_shipped_files_hold_to_their_schemas(name: str, folder: str, pattern: str) -> None:
    """Editors check the policy files by these schemas, so the shipped ones must pass."""
    files = [path for path in data_path(folder).glob(pattern) if name == "cases" or not path.name.endswith(".cases.yaml")]
    assert files
    for path in files:
        schemas.check(name, yaml.safe_load(path.read_text(encoding="utf-8")), path.name)


@pytest.mark.parametrize(("name", "kind"), TYPES.items())
def test_types_have_the_keys_of_their_schemas(name: str, kind: Any) -> None:
    """`types.py` repeats the schemas for type checkers, and only repeats them."""
    node = declared(name)
    assert set(kind.__annotations__) == set(node["properties"])
    assert kind.__required_keys__ == set(node["required"])


# -- what they let through ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_valid(name: str) -> None:
    """Every schema shows at least one valid document."""
    shown = schemas.schema(name)["examples"]
    assert shown
    for example in shown:
        schemas.check(name, example, "example")


@pytest.mark.parametrize("name", NAMES)
def test_unknown_keys_are_refused_everywhere(name: str) -> None:
    """A key that the schema does not list is refused in every object of every example."""
    for example, path, _ in examples(name):
        document = copy.deepcopy(example)
        at(document, path)[STRANGE] = 1
        assert any(STRANGE in error.message for error in refusal(name, document)), path


@pytest.mark.parametrize("name", NAMES)
def test_missing_keys_are_refused_everywhere(name: str) -> None:
    """Each required key of every object of every example is missed when it is gone."""
    for example, path, node in examples(name):
        for key in node.get("required", ()):
            document = copy.deepcopy(example)
            del at(document, path)[key]
            assert any(f"missing key `{key}`" in error.message for error in refusal(name, document)), (path, key)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_types_are_refused_everywhere(name: str) -> None:
    """An array where an object belongs, and an object where anything else does."""
    for example, path, _ in examples(name):
        for key, value in at(example, path).items():
            document = copy.deepcopy(example)
            at(document, path)[key] = [[]] if isinstance(value, dict) else {STRANGE: 1}
            assert refusal(name, document), (path, key)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("stage-ledger", "prior_reflection_id"),
        ("stage-generalize", "contradicts_lesson_id"),
        ("stage-admit", "rejected_reason"),
        ("stage-lifecycle", "superseded_by"),
        ("stage-lifecycle", "confidence_cap"),
        ("lesson", "supersedes"),
        ("lesson", "superseded_by"),
    ],
)
def test_pointers_that_point_nowhere_are_null(name: str, field: str) -> None:
    """An unset pointer is null, not an empty text."""
    document = schemas.schema(name)["examples"][0]
    assert document[field] is None
    assert refusal(name, {**document, field: ""})


@pytest.mark.parametrize("blank", ["", "  ", "\n\t", "\u00a0", "\u200b\u200d", "\u3000", "\ufeff", "\u2800"])
def test_a_reflection_must_name_a_cause_that_can_be_read(blank: str) -> None:
    """At least one causal field says something; spaces that cannot be seen say nothing (R-c1, R-P2)."""
    document = schemas.schema("reflection")["examples"][0]
    document["failed_assumption"] = blank
    assert "at least one causal field" in refusal("reflection", document)[0].message


@pytest.mark.parametrize("field", ["failed_assumption", "overlooked_evidence", "strategy_error", "violated_invariant"])
def test_any_one_causal_field_is_enough(field: str) -> None:
    """Each of the four causal fields completes a reflection by itself (R-c1)."""
    document = schemas.schema("reflection")["examples"][0]
    schemas.check("reflection", {**document, "failed_assumption": "", field: "It never ran."}, "example")


@pytest.mark.parametrize(
    "change",
    [
        {"candidate_lesson": " "},
        {"confidence": 1.01},
        {"confidence": -0.1},
        {"confidence": True},
        {"evidence_ids": ["a", "a"]},
        {"evidence_ids": [f"i{number}" for number in range(257)]},
        {"evidence_ids": ["i1\n"]},
        {"outcome": None},
        {"scope": "x" * 65_537},
    ],
)
def test_a_reflection_out_of_bounds_is_refused(change: dict[str, Any]) -> None:
    """Empty lesson, confidence outside 0 to 1, repeated, malformed or too many citations (R-c1, R-L2)."""
    assert refusal("reflection", {**schemas.schema("reflection")["examples"][0], **change})


@pytest.mark.parametrize(
    ("skip", "tags", "with_reflection"),
    [
        (True, [], True),
        (False, ["a", "b"], False),
        (False, ["a"], True),
        (False, list("abcdef"), True),
        (False, ["a", "a"], True),
    ],
)
def test_a_response_is_a_skip_or_a_reflection_with_tags(skip: bool, tags: list[str], with_reflection: bool) -> None:
    """Nothing comes with a skip; two to five different tags come with a reflection (R-t3)."""
    reflection = schemas.schema("reflection")["examples"][0] if with_reflection else None
    assert refusal("response", {"skip": skip, "tags": tags, "reflection": reflection})
