"""Each form is known by what it holds, and read into records that keep apart what a gate may see."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.records import WRITERS

from reflect_gate import ReflectGateError, schemas
from reflect_gate.cli import main as run
from reflect_gate.corpus import attribution, exam, reflexion
from reflect_gate.corpus.importing import IMPORTERS
from reflect_gate.corpus.importing.reading import AUTO, People, claimed, importer, read_corpus, read_files
from reflect_gate.corpus.importing.record import labels_of, request_of

from .forms import FORM_ROWS, FORMS, JUNIT, LESSONS, PROGRAMMING, programming, written

Rows = Callable[..., str]


@pytest.fixture
def sample(tmp_path: Path) -> Callable[[str], str]:
    """Write a small log of a form and return its path."""

    def write(form: str) -> str:
        if form in FORM_ROWS:
            return written(tmp_path / "rows.jsonl", FORM_ROWS[form])
        if form == "openhands-eval":
            events = [json.loads(file.read_text()) for file in sorted(WRITERS["openhands"](tmp_path).iterdir())]
            row = {"instance_id": "acme__shop-17", "history": events, "test_result": {"report": {"resolved": False}}}
            return written(tmp_path / "output.jsonl", row)
        if form in WRITERS:
            return str(WRITERS[form](tmp_path))
        file = tmp_path / ("report.xml" if form == "junit" else "lessons.md")
        file.write_text(JUNIT if form == "junit" else LESSONS, encoding="utf-8")
        return str(file)

    return write


def records(name: str, *paths: str, people: People | None = None) -> list[dict[str, Any]]:
    """Return the records of files, none of which holds an error."""
    found = list(read_files(name, paths, people))
    for one in found:
        assert not isinstance(one, ReflectGateError), one
    return [one for one in found if isinstance(one, dict)]


def errors(name: str, *paths: str) -> list[ReflectGateError]:
    """Return what could not be read of files."""
    return [one for one in read_files(name, paths) if isinstance(one, ReflectGateError)]


def test_every_importer_has_a_sample() -> None:
    """A form that nothing here is written in would not be tested."""
    assert {known.name for known in IMPORTERS} == set(FORMS)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_known_by_what_it_holds(form: str, sample: Callable[[str], str]) -> None:
    """`auto` finds the importer that made the sample."""
    assert claimed(sample(form)).name == form


@pytest.mark.parametrize("form", FORMS)
def test_records_hold_to_their_schema(form: str, sample: Callable[[str], str]) -> None:
    """Each record is valid by itself, and names the importer that read it."""
    found = records(AUTO, sample(form))
    assert found
    for record in found:
        schemas.check("corpus-record", record, form)
        assert record["provenance"]["importer"] == form


@pytest.mark.parametrize("form", FORMS)
def test_the_same_file_gives_the_same_records(form: str, sample: Callable[[str], str]) -> None:
    """Reading is deterministic."""
    path = sample(form)
    assert json.dumps(records(form, path)) == json.dumps(records(form, path))


@pytest.mark.parametrize("form", [*FORM_ROWS, "lessons"])
def test_a_candidate_can_be_judged(form: str, sample: Callable[[str], str]) -> None:
    """The request of a record is one that a gate takes."""
    for record in records(form, sample(form)):
        request = request_of(record)
        assert request is not None
        schemas.check("request", request, form)


@pytest.mark.parametrize(
    ("form", "convert"), [("reflexion", reflexion.convert), ("renze", exam.convert), ("who-and-when", attribution.convert)]
)
def test_a_request_is_the_one_that_conversion_makes(
    form: str, convert: Callable[[Any], Any], sample: Callable[[str], str]
) -> None:
    """An imported record is judged as the same row is when it is converted."""
    assert request_of(records(form, sample(form))[0]) == convert(FORM_ROWS[form])


@pytest.mark.parametrize("key", ["next_outcome", "next_attempt", "before_outcome", "control_outcome", "next_outcome_basis"])
def test_nothing_that_came_later_is_in_a_request(key: str, rows: Rows) -> None:
    """R-m8: another outcome changes the labels at most, never what is judged."""
    changed = {**PROGRAMMING, key: "other" if key in {"next_attempt", "next_outcome_basis"} else True}
    assert request_of(records("reflexion", rows(changed))[0]) == request_of(records("reflexion", rows(PROGRAMMING))[0])


@pytest.mark.parametrize(
    ("changed", "kind", "trial"),
    [
        ({}, "executed", "same_task"),
        ({"next_outcome_basis": "internal_tests_inferred"}, "self_reported", "same_task"),
        ({"next_outcome_basis": None}, "self_reported", "same_task"),
        ({"next_outcome": None, "next_outcome_basis": "none"}, "none", "none"),
    ],
)
def test_a_record_says_how_its_outcome_is_known(changed: dict[str, Any], kind: str, trial: str, rows: Rows) -> None:
    """R-m8: what no check decided is not taken for executed."""
    outcome = records("reflexion", rows({**PROGRAMMING, **changed}))[0]["outcome"]
    assert (outcome["kind"], outcome["trial"]) == (kind, trial)


def test_a_retry_without_a_reflection_is_kept(sample: Callable[[str], str]) -> None:
    """Only where it is known are later trials comparable."""
    assert records("renze", sample("renze"))[0]["outcome"]["control"] is False


def test_a_reflection_without_feedback_must_be_refused(rows: Rows) -> None:
    """R-m2: the log says that it was written blind; where the log only did not keep the evidence, nobody knows."""
    blind = {**PROGRAMMING, "feedback": None, "failed_attempt": None}
    judged = [records("reflexion", rows({**blind, "feedback_kind": kind}))[0]["should_admit"] for kind in ("none", "not_kept")]
    assert judged == [{"admit": False, "by": "construction", "label": None}, None]


def test_a_cause_that_a_person_named_is_kept_apart(sample: Callable[[str], str]) -> None:
    """It is known beyond the request."""
    record = records("who-and-when", sample("who-and-when"))[0]
    assert record["known_cause"] == {"text": FORM_ROWS["who-and-when"]["reflection_text"], "by": "person"}


def test_labels_of_people_are_joined(rows: Rows) -> None:
    """A label says that a candidate should be admitted where it is among those that do; without such ones it says nothing."""
    path = rows(programming(1), programming(2), programming(3))
    known = {"run-1": "e", "run-2": "d"}
    found = [record["should_admit"] for record in records("reflexion", path, people=People(known, frozenset({"e"})))]
    assert [one and one["admit"] for one in found] == [True, False, None]
    assert records("reflexion", path, people=People(known))[0]["should_admit"] == {"admit": None, "by": "person", "label": "e"}


def test_what_a_call_cost_is_told_in_both_forms(rows: Rows, tmp_path: Path) -> None:
    """Cost and tokens stand in the labels of a corpus and of the direct form alike; what is no amount does not."""
    path, out = rows(programming(1, cost=0.002, tokens=900), programming(2, cost=True, tokens=-1)), tmp_path / "labels.ndjson"
    assert run(["corpus", "labels", "--from", "reflexion", path, "-o", str(out)]) == 0
    direct = [json.loads(line) for line in out.read_text().splitlines()]
    imported = [labels_of(one) for one in records("reflexion", path)]
    told = [[{key: one[key] for key in ("cost", "tokens") if key in one} for one in form] for form in (direct, imported)]
    assert told == [[{"cost": 0.002, "tokens": 900}, {}]] * 2


def test_labels_are_those_of_the_direct_form(rows: Rows) -> None:
    """A line of a labels file, with the group beside the task as the log names it."""
    line = labels_of(records("reflexion", rows({**PROGRAMMING, "tokens": 900, "cost": 0.01}))[0])
    assert line == {
        "id": "run-1",
        "task": "mbpp_12_mean",
        "group": "mbpp/12",
        "before": False,
        "after": True,
        "tokens": 900,
        "cost": 0.01,
    }


@pytest.mark.parametrize("form", ["atif", "openhands", "openhands-eval", "swe-agent", "mini-swe-agent"])
def test_a_run_holds_a_failure_and_no_candidate(form: str, sample: Callable[[str], str]) -> None:
    """The command that failed and passed later is a resolved failure, and nothing was said of it."""
    (record,) = records(form, sample(form))
    assert record["termination"]["outcome"] == "resolved"
    assert (record["candidate"], request_of(record)) == (None, None)
    assert (record["outcome"]["kind"], record["outcome"]["trial"]) == ("executed", "same_run")
    assert any(item["kind"] == "test_output" and item["passed"] is False for item in record["evidence"]["traces"])


def test_a_run_says_how_it_ended(sample: Callable[[str], str]) -> None:
    """In the harness's own words, which decide nothing."""
    assert records("swe-agent", sample("swe-agent"))[0]["provenance"]["ended"] == "submitted"
    assert records("openhands-eval", sample("openhands-eval"))[0]["provenance"]["ended"] == "not resolved"


def test_runs_of_one_instance_are_one_group(sample: Callable[[str], str]) -> None:
    """An instance that the run, or the name of its file, tells; else the first prompt, whatever the file is called."""
    assert records("openhands-eval", sample("openhands-eval"))[0]["group"] == "acme__shop-17"
    run = Path(sample("swe-agent"))
    prompted = records("swe-agent", str(run))[0]["group"]
    assert prompted.startswith("prompt/")
    assert records("swe-agent", str(run.rename(run.with_name("y.traj"))))[0]["group"] == prompted
    assert (
        records("swe-agent", str(run.with_name("y.traj").rename(run.with_name("acme__shop-17.traj"))))[0]["group"]
        == "acme__shop-17"
    )


def test_trials_of_one_run_are_one_session_and_other_runs_are_others(rows: Rows) -> None:
    """What a run repeats is no independent failure; another run, model, strategy or task is one, and no run tells nothing."""
    again = programming(1, id="again", trial=1)
    others = [programming(1, id=f"other-{key}", **{key: "another"}) for key in ("run", "model", "strategy", "source", "task_id")]
    found = records("reflexion", rows(programming(1), again, *others, programming(1, id="unknown", run=None)))
    sessions = [one["termination"]["project"].get("session") for one in found]
    assert sessions[0] == sessions[1] is not None
    assert len(set(sessions)) == 2 + len(others)
    assert sessions[-1] is None


@pytest.mark.parametrize(("name", "convert"), [("hotpot", exam.convert), ("who-and-when", attribution.convert)])
def test_every_form_of_rows_tells_its_session(name: str, convert: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """A run is told in one way by all logs."""
    row = FORM_ROWS[name]
    assert "session" not in convert({**row, "run": ""}).get("project", {})
    told = {convert({**row, "run": run})["project"]["session"] for run in ("first", "second")}
    assert len(told) == 2


def test_a_failure_of_a_run_is_of_its_session(sample: Callable[[str], str]) -> None:
    """Failures of one run are one session, whatever its file is called."""
    run = Path(sample("swe-agent"))
    [told] = {one["termination"]["project"]["session"] for one in records("swe-agent", str(run))}
    moved = records("swe-agent", str(run.rename(run.with_name("y.traj"))))
    assert {one["termination"]["project"]["session"] for one in moved} == {told}
    assert told


def test_each_failed_test_of_a_report_is_a_failure(sample: Callable[[str], str]) -> None:
    """A test that passed is none, and what one test said is no evidence for another."""
    found = records("junit", sample("junit"))
    assert [record["group"] for record in found] == ["tests.test_cart::test_empty", "tests.test_cart::test_other"]
    assert [len(record["evidence"]["traces"]) for record in found] == [1, 1]


def test_a_report_with_more_tests_than_a_transcript_may_have(tmp_path: Path) -> None:
    """A report is read test by test, from its first to its last."""
    case = '<testcase classname="t" name="case{}"><failure message="no {}"/></testcase>'
    cases = "".join(case.format(number, number) for number in range(2_100))
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>", encoding="utf-8")
    assert len(records("junit", str(report))) == 2_100


def test_a_lesson_says_what_it_lacks(sample: Callable[[str], str]) -> None:
    """A lessons file tells neither of a failure nor of what came later."""
    record = records("lessons", sample("lessons"))[0]
    assert record["termination"]["outcome"] is None
    assert (record["evidence"]["traces"], record["outcome"]["after"]) == ([], None)


def test_a_commit_is_evidence_of_a_logged_lesson(sample: Callable[[str], str]) -> None:
    """It names the commit that brought it in, and cites it."""
    record = records("lessons-log", sample("lessons-log"))[0]
    assert record["candidate"]["evidence_ids"] == ["commit"]
    assert "tests/test_cart.py" in record["evidence"]["traces"][0]["text"]


def test_files_of_several_forms_become_one_corpus(sample: Callable[[str], str]) -> None:
    """Each file is told by itself."""
    found = records(AUTO, sample("renze"), sample("junit"), sample("swe-agent"))
    assert [record["provenance"]["importer"] for record in found] == ["renze", "junit", "junit", "swe-agent"]


# -- what cannot be read ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b"{\n",
        b"[1]\n",
        b'{"id": "x"}\n',
        b'{"id": "x", "reflection_text": 7}\n',
        b'{"id": "x", "id": "y"}\n',
        b"\xff\xfe\n",
        b'{"id": "x\\u0000", "reflection_text": "The code is wrong."}\n',
        b"[" * 5_000 + b"\n",
        b'"' + b"x" * 9_000_000 + b'"\n',
    ],
)
def test_a_hostile_line_is_told_with_its_place_and_costs_no_other(line: bytes, rows: Rows) -> None:
    """The lines around it are read."""
    path = rows(programming(1), line, programming(2))
    found = list(read_files("reflexion", [path]))
    assert [one["termination"]["failure_id"] for one in found if isinstance(one, dict)] == ["run-1", "run-2"]
    (error,) = [one for one in found if isinstance(one, ReflectGateError)]
    assert error.source
    assert (error.source.file, error.source.line) == (path, 2)


def test_no_id_comes_twice(rows: Rows) -> None:
    """Verdicts and labels are joined by it, over all files."""
    path = rows(programming(1))
    (error,) = errors("reflexion", path, path)
    assert error.code == "corpus-duplicate-id"


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("x.traj", '{"trajectory": [', "document-syntax"),
        ("x.xml", "<testsuites><testsuite>", "document-syntax"),
        ("x.xml", '<!DOCTYPE x [<!ENTITY a "b">]><testsuites/>', "document-syntax"),
        ("x.json", '{"unheard": "of"}', "corpus-unknown-form"),
        pytest.param("x.json", '{"unheard":\n' + "1" * 5_000 + "}", "document-number", id="digits"),
        ("x.xml", "<html/>", "corpus-unknown-form"),
    ],
)
def test_a_broken_or_unknown_file_is_told(name: str, text: str, code: str, tmp_path: Path) -> None:
    """Whatever its name promises."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert [error.code for error in errors(AUTO, str(path))] == [code]


def test_a_report_that_is_cut_off_is_told_and_read_up_to_there(tmp_path: Path) -> None:
    """The tests before the cut are failures; that there may have been more is an error."""
    path = tmp_path / "report.xml"
    path.write_text(JUNIT[: JUNIT.index("<testcase", JUNIT.index("test_full"))], encoding="utf-8")
    found = list(read_files("junit", [str(path)]))
    assert [type(one) is dict for one in found] == [False, True]


def test_a_broken_line_of_a_run_is_told(tmp_path: Path) -> None:
    """A hook passes over it; an import says where it is."""
    events = json.loads("[" + ",".join(file.read_text() for file in sorted(WRITERS["openhands"](tmp_path).iterdir())) + "]")
    lines = [json.dumps(event) for event in events]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join([*lines[:2], '{"half', *lines[2:]]) + "\n", encoding="utf-8")
    found = list(read_files("openhands", [str(path)]))
    assert [error.source.line for error in found if isinstance(error, ReflectGateError) and error.source] == [3]
    assert sum(isinstance(one, dict) for one in found) == 1


def test_a_file_that_is_not_there_ends_the_import(tmp_path: Path) -> None:
    """A name that was misspelt is no bad line."""
    for name in (AUTO, "reflexion", "lessons", "junit"):
        with pytest.raises(ReflectGateError, match="cannot read"):
            list(read_files(name, [str(tmp_path / "none.jsonl")]))


def test_an_unknown_format_is_named_with_the_nearest() -> None:
    """A misspelt format is answered."""
    with pytest.raises(ReflectGateError, match="did you mean `hotpot`"):
        importer("hotpott")


def test_a_corpus_is_no_log(rows: Rows, tmp_path: Path) -> None:
    """Whoever imports what was imported before is told so, not that it is broken."""
    kept = tmp_path / "corpus.ndjson"
    kept.write_text("".join(json.dumps(one) + "\n" for one in records("reflexion", rows(programming(1), programming(2)))))
    [error] = errors(AUTO, str(kept))
    assert (error.code, "a corpus already" in error.message) == ("corpus-unknown-form", True)


def test_a_corpus_is_held_to_its_schema(rows: Rows) -> None:
    """What was changed by hand is told with its line, and so is what never was a record."""
    good = records("reflexion", rows(programming(1)))[0]
    path = rows(good, {**good, "group": 7}, programming(2), good, name="corpus.ndjson")
    found = list(read_corpus(path))
    assert [type(one) is dict for one in found] == [True, False, False, False]
    assert [one.source.line for one in found if isinstance(one, ReflectGateError) and one.source] == [2, 3, 4]
