"""The records of the store are S2's to the letter, and the package stands without the gate."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import reflect_store
from reflect_store import EMPTY_VIEW, LESSON_FIELDS, Envelope, Lesson, StoredLesson, StoreView, new_lesson

SCHEMAS = Path(__file__).parents[2] / "schemas"
S2_FIELDS = (
    "statement type scope derived_from evidence counterexamples confidence "
    "times_applied times_helped times_hurt supersedes superseded_by"
)


def lesson(**changes: Any) -> Lesson:
    """Return a lesson that is fine but for `changes`."""
    arguments: dict[str, Any] = {
        "statement": "Copy what a reader returns before the second pass, because a generator is exhausted after the first.",
        "scope": "lang:python",
        "failures": ["f-1"],
        "evidence": ["t-1"],
        "confidence": 0.5,
    }
    return new_lesson(**(arguments | changes))


def stored(name: str, signature: str = "s") -> StoredLesson:
    """Return a lesson as a store view holds it."""
    return {"id": name, "lesson": lesson(), "signature": signature}


def test_a_lesson_has_exactly_the_fields_of_the_specification() -> None:
    """R-f2: the twelve fields that S2 lists, no more, in its order."""
    assert tuple(S2_FIELDS.split()) == LESSON_FIELDS
    assert tuple(lesson()) == LESSON_FIELDS


def test_a_lesson_is_born_episodic_with_zero_counters() -> None:
    """R-f1: no candidate starts above the lowest level or with a history."""
    born = lesson()
    assert born["type"] == "episodic"
    assert (born["times_applied"], born["times_helped"], born["times_hurt"]) == (0, 0, 0)
    assert born["superseded_by"] is None


def test_a_lesson_keeps_its_provenance() -> None:
    """R-x2, invariant 3: failures, successes, evidence and counterexamples arrive as given."""
    born = lesson(failures=["f-1", "f-2"], successes=["ok-1"], evidence=["t-1", "t-2"], counterexamples=["f-0"], supersedes="l-0")
    assert born["derived_from"] == {"failures": ["f-1", "f-2"], "successes": ["ok-1"]}
    assert (born["evidence"], born["counterexamples"], born["supersedes"]) == (["t-1", "t-2"], ["f-0"], "l-0")


def test_a_lesson_is_json() -> None:
    """What is stored is what was judged: a round trip through JSON changes nothing."""
    assert json.loads(json.dumps(lesson())) == lesson()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"statement": " \n"}, "a lesson needs a statement"),
        ({"failures": []}, "a lesson needs at least one failure"),
        ({"evidence": []}, "a lesson needs at least one item of evidence"),
        ({"confidence": 1.01}, "confidence lies in 0..1, not `1.01`"),
        ({"confidence": float("nan")}, "confidence lies in 0..1, not `nan`"),
    ],
)
def test_a_lesson_without_grounds_is_not_made(changes: dict[str, Any], message: str) -> None:
    """R-x2, invariant 3: a lesson without statement, provenance, evidence or a sane confidence does not exist."""
    with pytest.raises(ValueError, match=message):
        lesson(**changes)


def test_every_defect_is_named_at_once() -> None:
    """A caller learns all that is wrong in one round."""
    with pytest.raises(ValueError, match=r"statement; .*failure.*; .*evidence"):
        lesson(statement="", failures=[], evidence=[])


def test_the_empty_view_knows_nothing() -> None:
    """A first evaluation needs no store."""
    assert EMPTY_VIEW.to_json() == {"version": 0, "lessons": [], "edges": []}
    assert EMPTY_VIEW.lessons_for("s") == ()


def test_lessons_are_found_by_the_signature_of_the_ledger() -> None:
    """R-P6: the edges join a signature to its lessons, in the order of their ids, each once."""
    view = StoreView(
        version=3,
        lessons=(stored("b", "s"), stored("a", "t"), stored("c", "s")),
        edges=(
            {"signature": "s", "lesson_id": "b"},
            {"signature": "s", "lesson_id": "a"},
            {"signature": "s", "lesson_id": "b"},
            {"signature": "t", "lesson_id": "c"},
        ),
    )
    assert [entry["id"] for entry in view.lessons_for("s")] == ["a", "b"]
    assert [entry["id"] for entry in view.lessons_for("t")] == ["c"]
    assert view.lessons_for("unknown") == ()


def test_a_view_survives_its_document() -> None:
    """`to_json` and `from_json` are inverse."""
    view = StoreView(version=1, lessons=(stored("a"),), edges=({"signature": "s", "lesson_id": "a"},))
    assert StoreView.from_json(json.loads(json.dumps(view.to_json()))) == view


def test_a_dangling_edge_is_refused() -> None:
    """R-g1: edges are cleaned with their lesson, never silently kept."""
    with pytest.raises(ValueError, match="the edge of signature `s` leads to `gone`"):
        StoreView(version=1, edges=({"signature": "s", "lesson_id": "gone"},))


def test_two_lessons_with_one_id_are_refused() -> None:
    """R-s1: nothing is overwritten in place, so an id names one lesson."""
    with pytest.raises(ValueError, match="two lessons have the id `a`"):
        StoreView(version=1, lessons=(stored("a"), stored("a")))


def test_a_version_counts_from_zero() -> None:
    """The version is what `apply` compares; a negative one is a mistake."""
    with pytest.raises(ValueError, match="counts from 0, not `-1`"):
        StoreView(version=-1)


def test_the_store_never_imports_the_gate() -> None:
    """Two packages in one wheel form no cycle: no module of the store names the gate."""
    modules = sorted(Path(reflect_store.__file__).parent.rglob("*.py"))
    imported = {
        name.partition(".")[0]
        for module in modules
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        for name in _names(node)
    }
    assert modules
    assert "typing" in imported
    assert "reflect_gate" not in imported


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [node.module or ""]
    return []


@pytest.mark.parametrize(("record", "schema"), [(Lesson, "lesson"), (Envelope, "lesson-envelope")])
def test_the_records_are_those_of_the_schemas(record: type, schema: str) -> None:
    """What the gate emits and what the store keeps are one and the same, field by field and required by required."""
    document = json.loads((SCHEMAS / f"{schema}.schema.json").read_text(encoding="utf-8"))
    assert set(document["properties"]) == set(record.__annotations__)
    assert set(document["required"]) == record.__required_keys__  # type: ignore[attr-defined]
