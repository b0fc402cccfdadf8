"""Holding a document to its schema: what is told, what is refused, and what a refusal costs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from reflect_gate import evaluate, load_bundle, schemas
from reflect_gate.errors import ReflectGateError


def refusal(name: str, document: object) -> list[ReflectGateError]:
    """Return why a document is refused; fail where it is not."""
    with pytest.raises(ReflectGateError) as caught:
        schemas.check(name, document, "example")
    return list(caught.value.errors)


def test_all_violations_are_told_at_once_with_place_and_nearest_name() -> None:
    """One run shows everything that is wrong, each on one line."""
    document = schemas.schema("request")["examples"][0]
    document["record"]["traces"][0]["knd"] = document["record"]["traces"][0].pop("kind")
    document["record"]["traces"][1]["oracle"] = "self_writen"
    document["reflection"]["confidence"] = 2
    assert [str(error) for error in refusal("request", document)] == [
        "example at /record/traces/0: missing key `kind` [schema]",
        'example at /record/traces/0: unknown key `"knd"`, did you mean `kind`? [schema]',
        (
            'example at /record/traces/1/oracle: expected `"none"`, `"self_written"`, `"repeats_example"` or `"authoritative"`, '
            'found `"self_writen"`, did you mean `self_written`? [schema]'
        ),
        "example at /reflection/confidence: expected at most 1, found `2` [schema]",
    ]


def test_an_alternative_is_told_by_the_one_that_was_meant() -> None:
    """A fault within an object that may also be null is told where it is, not as a failed choice."""
    document = schemas.schema("record")["examples"][0]
    document["diagnosis"]["seq"] = "two"
    assert [error.message for error in refusal("record", document)] == ['expected a whole number, found `"two"`']


def test_a_flood_of_violations_is_cut() -> None:
    """A document of wrong items costs its reader a page, not a book."""
    document = schemas.schema("record")["examples"][0]
    document["traces"] = [{}] * 2_000
    errors = refusal("record", document)
    assert len(errors) <= 101
    assert any("the rest is not shown" in error.message for error in errors)


def test_a_flood_of_unknown_keys_is_cut() -> None:
    """Comparing each of many unknown keys with the known ones would take minutes."""
    errors = refusal("item", {f"key{number}" * 50: 1 for number in range(20_000)})
    assert any(error.message == "`20000` unknown keys in all" for error in errors)
    assert len(errors) < 120


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("reflection", "evidence_ids"), [*(f"i{number}" for number in range(300_000)), 1]),
        (("record", "diagnosis", "cited"), [1] * 1_000_000),
        (("record", "traces"), [1] * 1_000_000),
        (("record", "repair_delta"), {f"key{number}": 1 for number in range(200_000)}),
        (("reflection", "candidate_lesson"), " " * 4_000_000),
        (("record", "failure_id"), "x" * 4_000_000 + "\n"),
        (("signature_context", "signature"), "a" * 4_000_000),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else "",
)
def test_a_large_wrong_document_is_refused_in_linear_time(path: tuple[str, ...], value: object) -> None:
    """Pairwise comparison or an error object for each of a million items would take hours or all memory."""
    document = schemas.schema("request")["examples"][1]
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    assert 1 <= len(refusal("request", document)) <= 120


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 2**70, 10**5_000, "\ud800", b"x", (1,), {1}, object(), {1: 2}, {"\udfff": 1}, ...],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_plain_json_is_refused_in_words(value: object) -> None:
    """A hostile object is a clear error of the document, never a crash."""
    document = schemas.schema("request")["examples"][0]
    document["reflection"]["confidence"] = value
    [error] = refusal("request", document)
    assert error.code == "document-type"
    assert error.source is not None
    assert error.source.pointer == "/reflection/confidence"


def test_the_checked_copy_is_the_callers_no_more() -> None:
    """What was checked cannot be changed afterwards through the caller's object."""
    document = schemas.schema("reflection")["examples"][0]
    kept = schemas.checked("reflection", document, "example")
    document["evidence_ids"].append("later")
    assert "later" not in kept["evidence_ids"]


def test_a_schema_is_a_fresh_copy() -> None:
    """Changing what `schema` returned changes no check."""
    schemas.schema("item")["required"].clear()
    assert refusal("item", {})


def test_an_unknown_schema_is_told_with_the_nearest_name() -> None:
    """A misspelt name is an error of its own."""
    with pytest.raises(ReflectGateError, match=r"unknown schema `reqest`, did you mean `request`\? \[schema-unknown\]"):
        schemas.check("reqest", {}, "example")


def test_a_valid_document_never_imports_the_slow_validator() -> None:
    """Jsonschema costs more to import than a whole evaluation; only a refusal pays for it."""
    program = (
        "import json, sys; from reflect_gate import schemas; "
        "schemas.check('request', schemas.schema('request')['examples'][0], 'x'); "
        "print(json.dumps([name for name in ('jsonschema', 'referencing', 'jsonschema_rs') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["jsonschema_rs"]


@pytest.mark.parametrize("bundle", ["structured", "introspect"])
def test_what_the_gate_decides_holds_to_the_schema_of_decisions(bundle: str) -> None:
    """The example requests are judged, and the explained decisions are what the schema `decision` promises."""
    policies = load_bundle(bundle, cache=False)
    for request in schemas.schema("request")["examples"]:
        decision = json.loads(evaluate(request, policies, explain=True).to_bytes())
        schemas.check("decision", decision, "decision")
        assert decision["firings"] or bundle == "introspect"


def test_the_first_example_is_admitted() -> None:
    """A reader who tries the example of `request` sees a lesson."""
    decision = evaluate(schemas.schema("request")["examples"][0], load_bundle("structured", cache=False))
    assert decision.status == "admitted"
    assert decision.lesson == schemas.schema("lesson")["examples"][0]
