"""A logged free-text reflection becomes a request: what is read, what it cites, and that nothing of its outcome leaks (R-m1)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate._canonical import canonical_bytes
from reflect_gate.corpus._reading import sentences
from reflect_gate.corpus.conversion import CONVERTERS, convert_file, converter
from reflect_gate.corpus.reflexion import convert, labels
from reflect_gate.errors import ReflectGateError

CORPORA = Path(os.environ.get("REFLECT_GATE_CORPORA") or Path(__file__).resolve().parents[3] / "shared" / "corpora")
LATER = {
    "transition": "fail->pass",
    "before_outcome": False,
    "before_internal_reexec": False,
    "next_attempt": "def mean(xs): return 1",
    "next_feedback": "Tested passed:\n",
    "next_internal": True,
    "next_outcome": True,
    "next_outcome_basis": "hidden_tests",
    "final_solved": True,
    "feedback_agrees_with_rerun": True,
    "feedback_kind": "logged",
    "harness_pollution": False,
    "model": "m",
    "trial": 3,
}
PROMPT = '''def mean(values: list) -> float:
    """Return the arithmetic mean; the mean of nothing is 0.
    >>> mean([2, 4])
    3.0
    """
'''
ATTEMPT = """def mean(values):
    total_sum = 0
    for value in values:
        total_sum += value
    return total_sum / len(values)
"""
FEEDBACK = """Tested passed:
assert mean([2, 4]) == 3.0

Tests failed:
assert mean([]) == 0 # output: division by zero
assert mean([17, 18]) == 17 # output: 17.5
"""


def _row(reflection: str = "The implementation does not handle an empty list.", **changes: Any) -> dict[str, Any]:
    row = {"id": "row-1", "lang": "py", "task_id": "toy/mean", "task_prompt": PROMPT, "failed_attempt": ATTEMPT}
    return {**row, "feedback": FEEDBACK, "reflection_text": reflection, **LATER, **changes}


def _reflection(text: str, **changes: Any) -> dict[str, Any]:
    reflection: dict[str, Any] = convert(_row(text, **changes))["reflection"]
    return reflection


def _cited(text: str, **changes: Any) -> list[str]:
    cited: list[str] = _reflection(text, **changes)["evidence_ids"]
    return cited


# -- the record -------------------------------------------------------------------------------------------------------------


def test_request_passes_its_schema() -> None:
    """What is converted is a request that `evaluate` takes."""
    schemas.check("request", convert(_row()), "row")


def test_record_holds_what_the_agent_saw() -> None:
    """R-a1: statement, attempt and one item a check, with their components and kinds."""
    traces = convert(_row())["record"]["traces"]
    assert [(item["id"], item["component"], item["kind"]) for item in traces] == [
        ("prompt", 11, "spec"),
        ("attempt", 11, "code"),
        ("test-1", 12, "test_output"),
        ("test-2", 12, "test_output"),
        ("test-3", 12, "test_output"),
    ]


def test_checks_are_parsed() -> None:
    """Expected and actual values, verdicts, and the class of a logged exception."""
    checks = convert(_row())["record"]["traces"][2:]
    keys = ("passed", "expected", "actual", "error_class")
    assert [tuple(item.get(key) for key in keys) for item in checks] == [
        (True, "3.0", "3.0", None),
        (False, "0", None, "ZeroDivisionError"),
        (False, "17", "17.5", None),
    ]


def test_only_the_repeated_example_is_trusted_more() -> None:
    """R-c2: a check that repeats the statement's example is not the agent's own invention."""
    assert [item["oracle"] for item in convert(_row())["record"]["traces"][2:]] == [
        "repeats_example",
        "self_written",
        "self_written",
    ]


def test_diagnosis_is_deterministic() -> None:
    """R-a1: the diagnosis names the exception, the function and the failing checks, and no cause."""
    found = convert(_row())["record"]["diagnosis"]
    assert (found["error_class"], found["site"], found["symptom"]) == ("ZeroDivisionError", "mean", "division by zero")
    assert (found["root_cause"], found["cited"]) == ("unknown", ["test-2", "test-3"])


@pytest.mark.parametrize("nothing", [None, "", "  \n"])
def test_statement_alone_is_no_trace(nothing: str | None) -> None:
    """R-a1: without attempt and checks the record has no traces, so it is incomplete and nothing can be cited."""
    request = convert(_row(failed_attempt=nothing, feedback=nothing))
    assert (request["record"]["traces"], request["record"]["diagnosis"]) == ([], None)
    assert request["reflection"]["evidence_ids"] == []


@pytest.mark.parametrize("key", sorted(LATER))
def test_no_outcome_leaks(key: str) -> None:
    """R-m1: nothing that came after the attempt changes one byte of the request."""
    other = {"transition": "pass->fail"}.get(key, "CHANGED")
    assert canonical_bytes(convert(_row(**{key: other}))) == canonical_bytes(convert(_row()))


def test_outcome_is_the_attempts_own() -> None:
    """R-m1: a record ends escalated whatever the chain did later."""
    request = convert(_row(final_solved=True))
    assert (request["record"]["outcome"], request["reflection"]["outcome"]) == ("escalated", "escalated")


def test_labels_stand_apart() -> None:
    """R-m1: labels join a report by the failure's id and never stand in the request."""
    row = _row()
    assert labels(row) == {"id": "row-1", "transition": "fail->pass", "before": False, "after": True}
    assert convert(row)["record"]["failure_id"] == "row-1"
    assert b"fail->pass" not in canonical_bytes(convert(row))


def test_labels_of_an_unjudged_row_are_null() -> None:
    """A row that was never re-run has no labels, not false ones."""
    assert labels({"id": "row-2", "next_outcome": None}) == {"id": "row-2", "transition": None, "before": None, "after": None}


def test_scope_is_the_task_language_and_error() -> None:
    """The scope is as narrow as the evidence: one task, one language, and the exception where one was logged."""
    assert _reflection("It fails.")["scope"] == "task:toy/mean lang:py error:ZeroDivisionError"


@pytest.mark.parametrize("changes", [{"id": None}, {"reflection_text": " "}, {"feedback": 3}])
def test_bad_row_is_refused(changes: dict[str, Any]) -> None:
    """A row without its id or reflection, or with a field of another type, is an error that names the field."""
    with pytest.raises(ReflectGateError) as caught:
        convert(_row(**changes))
    assert caught.value.code == "corpus-bad-row"
    assert caught.value.source is not None
    assert caught.value.source.pointer == f"/{next(iter(changes))}"


# -- reading sentences ------------------------------------------------------------------------------------------------------

ROLES = [
    ("The function assumes that the list has an element.", "failed_assumption"),
    ("I thought that the mean of nothing is undefined.", "failed_assumption"),
    ("It treats an empty list as a single value.", "failed_assumption"),
    ("The implementation does not handle an empty list.", "overlooked_evidence"),
    ("The code doesn't properly account for an empty list.", "overlooked_evidence"),
    ("The loop ignores the last value.", "overlooked_evidence"),
    ("This misses the edge case of an empty list.", "overlooked_evidence"),
    ("According to the docstring the mean of nothing should be 0, but it raises.", "violated_invariant"),
    ("The divisor must be positive.", "violated_invariant"),
    ("The loop bound is off by one.", "violated_invariant"),
    ("The implementation is incorrect because it divides by the length of the list.", "strategy_error"),
    ("The value should be 0, but the function returns None.", "strategy_error"),
    ("This makes it return an empty list when it should return the first row.", "strategy_error"),
]


@pytest.mark.parametrize(("sentence", "field"), ROLES)
def test_claim_goes_to_its_field(sentence: str, field: str) -> None:
    """R-c1: cue words decide which causal field a claim populates, and only that one."""
    reflection = _reflection(sentence)
    causal = ("failed_assumption", "overlooked_evidence", "strategy_error", "violated_invariant")
    assert {name: reflection[name] for name in causal if reflection[name]} == {field: sentence}


@pytest.mark.parametrize(
    "repair",
    [
        "To fix this, return 0 for an empty list.",
        "The function should return 0 for an empty list.",
        "We need to add a check for an empty list.",
        "One way to do this would be an early return.",
        "This can be fixed by returning 0 early.",
        "Instead, the function should return early.",
        "When a function divides by the size of its input, handle the empty input first, because a size of zero has no quotient.",
        "If a mapping may lack a key, read it with a default, since indexing raises for a missing one.",
        "Before a second pass over a generator, always copy its rows.",
        "Never compare floats with equality, because rounding differs.",
    ],
)
def test_repair_is_the_counterfactual(repair: str) -> None:
    """R-c1: what would have had to differ is no claim about the cause."""
    claim = "The code divides by the length of the list."
    reflection = _reflection(f"{claim} {repair}")
    assert (reflection["strategy_error"], reflection["counterfactual"]) == (claim, repair)


@pytest.mark.parametrize(
    "claim",
    [
        "When the list is empty, return values are wrong because of the division.",
        "If the input is negative, the loop never ends.",
        "When n is 0, list indexing runs out of its bounds.",
        "After the loop, it keeps the first element.",
        "When the loop ends, useful digits are lost.",
    ],
)
def test_a_condition_without_an_order_is_a_claim(claim: str) -> None:
    """R-c1: what happens under a condition is said of this failure; only an order is a rule for later."""
    assert _reflection(claim)["strategy_error"] == claim
    repair = "To fix this, return 0 early."
    assert _reflection(f"{claim} {repair}")["counterfactual"] == repair


def test_restated_test_is_no_claim() -> None:
    """Saying that a test failed says nothing about why."""
    reflection = _reflection("The implementation failed the test case where the list is empty. It divides by the length.")
    assert reflection["strategy_error"] == "It divides by the length."


def test_restated_test_stands_where_nothing_else_does() -> None:
    """R-c1: a reflection has a causal field, even where all it does is restate."""
    text = "The implementation failed the test case where the list is empty."
    assert _reflection(text)["strategy_error"] == text


def test_consequence_stays_with_its_cause() -> None:
    """A sentence that only carries on the one before it opens no field of its own."""
    text = "The code does not check for an empty list. This leads to a division by zero."
    assert (_reflection(text)["overlooked_evidence"], _reflection(text)["strategy_error"]) == (text, "")


def test_lesson_is_cause_and_repair_verbatim() -> None:
    """The lesson holds the claims and the repair in order, without restatement and consequence."""
    cause, repair = "The code does not check for an empty list.", "To fix this, return 0 early."
    text = f"The implementation failed the test case. {cause} As a result, it raises. {repair}"
    assert _reflection(text)["candidate_lesson"] == f"{cause} {repair}"


def test_confidence_is_not_stated() -> None:
    """0.5 stands for "not stated"."""
    assert _reflection("It fails.")["confidence"] == 0.5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.", ["One.", "Two."]),
        ("Use `a. B` here. Next.", ["Use `a. B` here.", "Next."]),
        ("E.g. This is one, i.e. The same. Two.", ["E.g. This is one, i.e. The same.", "Two."]),
        ("1. First\n2. Second\n\n- Third", ["First", "Second", "Third"]),
        ("It is 3.5 of it. and so on", ["It is 3.5 of it. and so on"]),
        (" \n ", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    """Sentences are cut at stops before a capital and at line breaks, never inside backticks or a number."""
    assert sentences(text) == expected


# -- what a sentence cites --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "cited"),
    [
        ("Empty lists are special.", []),
        ("The loop is wrong.", ["attempt", "test-2", "test-3"]),
        ("Here `total_sum` is never reset.", ["attempt"]),
        ("Something is off by one per the docstring.", ["prompt"]),
        ("According to the task statement nothing is 0.", ["prompt"]),
        ("The problem is elsewhere.", []),
        ("All tests went wrong.", ["test-2", "test-3"]),
        ("An exception is raised.", ["test-2", "test-3"]),
        ("A ZeroDivisionError is raised.", ["test-2"]),
        ("The call mean([17, 18]) is off.", ["test-3"]),
        ("It gives 17.5 instead of 17.", ["test-3"]),
        ("For [2, 4] all is well.", ["test-1"]),
        ("The expected value 0 is not reached.", ["test-2"]),
        ("It adds 0 to each.", []),
        ("The code fails for [17, 18] against the docstring.", ["prompt", "attempt", "test-3"]),
    ],
)
def test_sentence_cites_what_it_refers_to(sentence: str, cited: list[str]) -> None:
    """R-c2: quoted inputs and values name their check, else words for tests, code and task name theirs; nothing else is cited."""
    assert _cited(sentence) == cited


def test_citations_are_the_union_in_record_order() -> None:
    """R-c1: one list for the whole reflection, each item once."""
    assert _cited("For mean([17, 18]) all is off. The loop stops early. See the docstring. The code stops early.") == [
        "prompt",
        "attempt",
        "test-3",
    ]


def test_what_the_record_lacks_is_not_cited() -> None:
    """R-c2: a sentence about code cites nothing where no attempt was kept."""
    assert _cited("The loop is wrong and the tests fail.", failed_attempt=None) == ["test-2", "test-3"]


def test_function_that_only_the_checks_call_names_them() -> None:
    """A name that the attempt does not hold is the checks' own."""
    feedback = "Tests failed:\nassert encode(1) == 2 # output: name 'encode' is not defined\n"
    assert _cited("Nobody wrote `encode`.", feedback=feedback) == ["test-1"]


# -- files and real corpora -------------------------------------------------------------------------------------------------


def test_bad_lines_do_not_stop_the_rest(tmp_path: Path) -> None:
    """Each bad line is reported with its number; the good ones are written in order."""
    source, out = tmp_path / "rows.jsonl", tmp_path / "out.ndjson"
    rows = [json.dumps(_row(id="a")), "{", "[]", json.dumps(_row(id="")), "", json.dumps(_row(id="b"))]
    source.write_text("\n".join(rows), encoding="utf-8")
    result = convert_file(source, out)
    written = [json.loads(line)["record"]["failure_id"] for line in out.read_text(encoding="utf-8").splitlines()]
    assert (result.written, written) == (2, ["a", "b"])
    assert [error.source.line for error in result.errors if error.source] == [2, 3, 4]


def test_a_failed_conversion_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output appears whole or not at all, and no draft stays behind."""
    source, out = tmp_path / "rows.jsonl", tmp_path / "out.ndjson"
    source.write_text(json.dumps(_row()), encoding="utf-8")
    out.write_text("old", encoding="utf-8")

    def broken(_value: object) -> bytes:
        raise OSError("disk full")

    monkeypatch.setattr("reflect_gate.corpus.conversion.canonical_bytes", broken)
    with pytest.raises(OSError, match="disk full"):
        convert_file(source, out)
    assert out.read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.ndjson", "rows.jsonl"]


def test_unknown_form_names_the_nearest() -> None:
    """A misspelt form is answered with the one that was meant."""
    with pytest.raises(ReflectGateError, match="did you mean `reflexion`"):
        converter("reflexon")


def test_every_form_is_documented() -> None:
    """The table of forms is what help and completion show."""
    assert all(form.name and form.doc for form in CONVERTERS)


def _real_rows(name: str) -> list[dict[str, Any]]:
    path = CORPORA / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.corpora
@pytest.mark.slow
@pytest.mark.parametrize("name", ["reflexion_programming", "reflexion_no_evidence", "lats_programming"])
def test_every_real_row_converts(name: str) -> None:
    """R-m1: each row becomes a valid request whose citations exist, whatever its outcome fields say."""
    for row in _real_rows(name):
        request = convert(row)
        schemas.check("request", request, row["id"])
        assert set(request["reflection"]["evidence_ids"]) <= {item["id"] for item in request["record"]["traces"]}
        blind = {key: value for key, value in row.items() if not key.startswith(("next_", "before_", "final_", "transition"))}
        assert canonical_bytes(convert(blind)) == canonical_bytes(request)


@pytest.mark.corpora
@pytest.mark.parametrize("name", ["reflexion_no_evidence"])
def test_real_rows_without_evidence_cite_nothing(name: str) -> None:
    """R-a1: reflections that were written without seeing a failure have records without traces."""
    for row in _real_rows(name):
        request = convert(row)
        assert (request["record"]["traces"], request["reflection"]["evidence_ids"]) == ([], [])
