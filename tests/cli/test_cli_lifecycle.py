"""`reflect-gate record`, `lifecycle sweep` and `lessons effect`: a lesson's life after admission, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import Bundle, schemas
from reflect_gate.memory.applying import apply
from reflect_store import draft, open_store

from .conftest import Ran, RunHere, RunProcess

RECORD = ("record", "--before", "failing")
JUNIT = '<testsuite><testcase name="a"/><testcase name="b">{}</testcase></testsuite>'


class Kept:
    """A store in a file that holds one lesson."""

    def __init__(self, file: Path, lesson: str) -> None:
        self.file = str(file)
        self.lesson = lesson


@pytest.fixture
def kept(tmp_path: Path, structured: Bundle, request_document: dict[str, Any]) -> Kept:
    """A failure at acme/shop has taught a lesson."""
    file = tmp_path / "home" / "store.db"
    place = {"repository": "acme/shop", "task": "checkout", "session": "s-0"}
    with open_store(file, create=True) as store:
        done = apply(store, {**request_document, "project": place}, structured)
    assert done.lesson_id is not None
    return Kept(file, done.lesson_id)


def document(schema: str, ran: Ran) -> Any:
    """Return what a command printed, held to its schema."""
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    schemas.check(schema, found, "report")
    return found


def ends(here: RunHere, kept: Kept, outcome: str, task: str, *more: str) -> Any:
    """Record the end of a task in another repository."""
    where = ("--repository", f"acme/{task[0]}", "--task", task, "--exit-code", "0" if outcome == "resolved" else "1")
    ran = here(*RECORD, "--store", kept.file, "--lesson", kept.lesson, "--outcome", outcome, *where, "--format", "json", *more)
    return document("outcome-report", ran)


def test_a_life_from_rise_to_tombstone(here: RunHere, kept: Kept) -> None:
    """R-g1, R-i1: helped three times in two other repositories it rises; hurt three times it falls, three more and it goes."""
    said = [ends(here, kept, "resolved", task)["changes"] for task in ("a-1", "b-1", "b-2")]
    assert [[change["action"] for change in changes] for changes in said] == [[], [], ["promote"]]
    said = [ends(here, kept, "worse", f"c-{number}")["changes"] for number in range(6)]
    assert [change["action"] for changes in said for change in changes] == ["demote", "retire"]
    assert said[5][0]["superseded_by"].startswith("tombstone-")
    verified = here("store", "verify", "--store", kept.file)
    assert verified.code == 0
    told = here("lessons", "history", kept.lesson, "--store", kept.file)
    assert all(word in told.out for word in ("lesson-promoted", "lesson-demoted", "lifecycle/harmful"))


def test_recording_again_says_so(here: RunHere, kept: Kept) -> None:
    """R-i1: idempotent per task: the second time nothing is added, and the counts are the same."""
    first, again = (ends(here, kept, "resolved", "a-1") for _ in range(2))
    assert (first["added"], again["added"]) == (True, False)
    assert first["lessons"] == again["lessons"]
    assert first["lessons"][0]["times_helped"] == 1


def test_text_shows_counts_with_intervals(here: RunHere, kept: Kept) -> None:
    """R-i1: the shares have Wilson's interval, so that one task does not look like certainty."""
    where = ("--task", "a-1", "--exit-code", "0")
    ran = here(*RECORD, "--store", kept.file, "--lesson", kept.lesson, "--outcome", "resolved", *where)
    assert ran.code == 0
    assert ran.out.startswith("recorded: resolved, failing before\n")
    assert "20.7 to 100.0 %" in ran.out or "20.6 to 100.0 %" in ran.out


@pytest.mark.parametrize(
    ("inner", "outcome", "code"), [("", "resolved", 0), ("<failure/>", "resolved", 3), ("<failure/>", "worse", 0)]
)
def test_a_report_is_read(here: RunHere, kept: Kept, tmp_path: Path, inner: str, outcome: str, code: int) -> None:
    """R-i1: a test report decides; one that contradicts the claim is an error, exit code 3, and nothing is written."""
    report = tmp_path / "junit.xml"
    report.write_text(JUNIT.format(inner))
    ran = here(
        "record", "--store", kept.file, "--lesson", kept.lesson, "--task", "a", "--outcome", outcome, "--report", str(report)
    )
    assert ran.code == code
    if code:
        assert "[outcome-contradicted]" in ran.err


def test_a_report_comes_through_a_pipe(process: RunProcess, kept: Kept) -> None:
    """`--report -` reads stdin, and what the report counted is kept as the evidence."""
    arguments = ("record", "--store", kept.file, "--lesson", kept.lesson, "--task", "a", "--outcome", "resolved", "--report", "-")
    ran = process(*arguments, stdin=JUNIT.format("").encode())
    assert ran.code == 0, ran.err
    with open_store(Path(kept.file)) as store:
        payloads = [event.data() or {} for event in store.events() if event.type == "outcome-recorded"]
    assert payloads[0]["evidence"] == {"passed": 2, "failed": 0}


def test_say_so_counts_as_applied(here: RunHere, kept: Kept) -> None:
    """R-i1: without an exit code or a report nothing helped, and the text says why."""
    ran = here(
        *RECORD, "--store", kept.file, "--lesson", kept.lesson, "--task", "a", "--outcome", "resolved", "--evidence", "a link"
    )
    assert "resolved (nothing executed shows it)" in ran.out
    assert f"applied {kept.lesson}" in ran.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--outcome", "resolved", "--exit-code", "0"),
        ("--outcome", "resolved", "--lesson", "l-1"),
        ("--outcome", "better", "--lesson", "l-1", "--exit-code", "0"),
        ("--outcome", "resolved", "--lesson", "l-1", "--evidence", ""),
    ],
)
def test_what_is_missing_is_a_usage_error(here: RunHere, arguments: tuple[str, ...]) -> None:
    """No lesson, no evidence, no such outcome: exit code 64."""
    assert here("record", *arguments).code == 64


def test_a_sweep_is_tried_before_it_is_done(here: RunHere, kept: Kept) -> None:
    """R-g1: the dry run names what is due and writes nothing; the sweep does it; the next one finds nothing."""
    for task in ("a-1", "b-1", "b-2"):
        ends(here, kept, "resolved", task, "--disable", "lifecycle")
    sweep = ("lifecycle", "sweep", "--store", kept.file, "--format", "json")
    due = document("lifecycle-report", here(*sweep, "--dry-run"))
    done = document("lifecycle-report", here(*sweep))
    rest = document("lifecycle-report", here(*sweep))
    assert [change["action"] for change in due["changes"]] == ["promote"]
    assert [change["action"] for change in done["changes"]] == ["promote"]
    assert (rest["changes"], rest["head"]) == ([], done["head"])
    assert (due["dry_run"], due["changes"][0]["events"], done["head"]["seq"] - due["head"]["seq"]) == (True, [], 1)


def test_a_sweep_in_words(here: RunHere, kept: Kept) -> None:
    """The text names lesson, step and rule, and says when nothing was written."""
    for task in ("a-1", "b-1", "b-2"):
        ends(here, kept, "resolved", task, "--disable", "lifecycle")
    ran = here("lifecycle", "sweep", "--store", kept.file, "--lesson", kept.lesson, "--dry-run")
    assert ran.out == (
        f"promote {kept.lesson}  episodic → procedural  (lifecycle/helps-elsewhere: helped-elsewhere)\n"
        "1 change; nothing was written on a dry run\n"
    )
    assert here("lifecycle", "sweep", "--store", kept.file, "--set", "lifecycle.promote_after=4").out == "0 changes\n"
    unknown = here("lifecycle", "sweep", "--store", kept.file, "--lesson", "nope")
    assert (unknown.code, "[lesson-unknown]" in unknown.err) == (3, True)


def test_the_effect_is_honest_about_few_tasks(here: RunHere, kept: Kept) -> None:
    """R-i1: tasks that got the lesson beside those from which it was withheld; below the setting nothing is concluded."""
    with open_store(Path(kept.file)) as store:
        for number in range(8):
            shown = {"lesson_ids": [kept.lesson], "withheld": []} if number % 2 else {"lesson_ids": [], "withheld": [kept.lesson]}
            origin = {"task": f"t-{number}", "repository": "acme/a"}
            store.append([draft("lessons-recalled", {"retrieval_id": f"r-{number}", **shown, "origin": origin, "query": "q"})])
    for number in range(8):
        end = ("resolved", "0") if number % 2 else ("unchanged", "1")
        retrieval = ("--retrieval", f"r-{number}", "--outcome", end[0], "--exit-code", end[1])
        assert here(*RECORD, "--store", kept.file, *retrieval).code == 0
    found = document("lessons-effect", here("lessons", "effect", kept.lesson, "--store", kept.file, "--format", "json"))
    (effect,) = found["effects"]
    assert (effect["given"]["resolved"], effect["withheld"]["resolved"], effect["says"]) == (4, 0, "too few to tell")
    few = ("--set", "outcome.min_compared=4")
    ran = here("lessons", "effect", "--store", kept.file, *few)
    assert ran.out.splitlines()[1].startswith("  all lessons")
    assert "helps" in ran.out.splitlines()[2]
