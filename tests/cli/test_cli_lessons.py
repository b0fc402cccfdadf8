"""`evaluate --store`, `lessons` and `decisions` from the command line: what they print, write and end with."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from reflect_gate import schemas
from reflect_store import open_store

from .conftest import RunHere

Write: TypeAlias = Callable[..., str]

OPPOSITE = (
    "When a loader such as load_cart() may return None for a new session, never check its result before subscripting it, because "
    "the plan's assumption that it always returns a dict does not hold for empty state."
)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Return where the store of a test lies."""
    return str(tmp_path / "home" / "store.db")


@pytest.fixture
def write(tmp_path: Path, request_document: dict[str, Any]) -> Write:
    """Write the requests of some failures, one a line, and return the path."""

    def build(*numbers: int, **reflection: Any) -> str:
        lines = []
        for number in numbers:
            request = copy.deepcopy(request_document)
            request["record"]["failure_id"] = f"failure-{number}"
            request["reflection"] |= reflection
            request["project"] = {"repository": f"acme/shop-{number}", "task": f"t-{number}"}
            lines.append(json.dumps(request))
        path = tmp_path / f"{'-'.join(map(str, numbers))}.ndjson"
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    return build


def document(text: str, schema: str) -> Any:
    """Return machine output that holds to its schema."""
    found = json.loads(text)
    schemas.check(schema, found, "output")
    return found


# -- evaluate ----------------------------------------------------------------------------------------------------------------


def test_apply_says_what_was_written(here: RunHere, file: str, write: Write) -> None:
    """The decision carries what was committed: store, version, events, lesson."""
    ran = here("evaluate", write(1), "--store", file, "--apply", "--format", "json")
    found = document(ran.out, "decision")
    assert (ran.code, found["applied"]["action"], found["applied"]["version"]) == (0, "admitted", 3)
    assert found["applied"]["lesson_id"] == found["envelope"]["lesson_id"]
    assert found["applied"]["store"] == file
    with open_store(Path(file)) as store:
        assert [event.id for event in store.events()] == found["applied"]["events"]


def test_without_apply_nothing_is_written(here: RunHere, file: str, write: Write) -> None:
    """Judged against the store, the candidate would be merged; the store stays as it is."""
    here("evaluate", write(1), "--store", file, "--apply")
    ran = here("evaluate", write(2), "--store", file, "--format", "json")
    found = document(ran.out, "decision")
    assert (found["stages"]["calibrate"]["deduped"], "applied" in found) == ("merge", False)
    with open_store(Path(file)) as store:
        assert store.version == 3


def test_a_store_without_a_name_is_the_one_in_force(here: RunHere, file: str, write: Write) -> None:
    """`--store` alone, and `--apply` alone, mean the home folder's store; a store that is not there is not made by looking."""
    ran = here("evaluate", write(1), "--store")
    assert (ran.code, "[store-missing]" in ran.err) == (1, True)
    assert here("evaluate", write(1), "--apply").code == 0
    assert Path(file).is_file()
    assert here("evaluate", write(1), "--store").code == 0


def test_a_batch_is_committed_in_order(here: RunHere, file: str, write: Write) -> None:
    """Each request sees what the one before it left; applied again, all is known."""
    path = write(1, 2, 3)
    actions = []
    for _ in range(2):
        ran = here("evaluate", path, "--store", file, "--apply", "--format", "ndjson")
        found = [document(line, "decision")["applied"] for line in ran.out.splitlines()]
        actions.append([entry["action"] for entry in found])
        assert (ran.code, {entry["lesson_id"] for entry in found}) == (0, {found[0]["lesson_id"]})
    assert actions == [["admitted", "merged", "merged"], ["known"] * 3]


def test_a_batch_is_judged_against_the_store_by_several_processes(here: RunHere, file: str, write: Write) -> None:
    """Workers open the store for themselves and judge as one process does; committing takes one."""
    here("evaluate", write(1), "--store", file, "--apply")
    path = write(2, 3)
    one, two = (here("evaluate", path, "--store", file, "--format", "ndjson", "--jobs", jobs) for jobs in ("1", "2"))
    assert one.out == two.out
    assert here("evaluate", path, "--store", file, "--apply", "--jobs", "2").code == 64


def test_text_says_what_came_of_it(here: RunHere, file: str, write: Write) -> None:
    """One line for a commit, the action of each line of a batch."""
    lesson = document(here("evaluate", write(1), "--store", file, "--apply", "-f", "json").out, "decision")["applied"][
        "lesson_id"
    ]
    assert (
        f"applied   merged {lesson}, 3 events, store at version 6" in here("evaluate", write(2), "--store", file, "--apply").out
    )
    assert f"merged {lesson}" in here("evaluate", write(3, 4), "--store", file, "--apply").out


def test_a_store_view_in_the_request_is_refused(here: RunHere, file: str, tmp_path: Path, request_document: Any) -> None:
    """Either the request brings a view, or a store is named."""
    path = tmp_path / "r.json"
    path.write_text(json.dumps({**request_document, "store_view": {"version": 0, "lessons": [], "edges": []}}))
    ran = here("evaluate", str(path), "--store", file, "--apply")
    assert (ran.code, "[request-view]" in ran.err) == (3, True)


def test_a_foreign_store_could_not_be_used(here: RunHere, tmp_path: Path, write: Write) -> None:
    """A file that is no store stays as it is."""
    other = tmp_path / "notes.txt"
    other.write_text("not a store")
    assert here("evaluate", write(1), "--store", str(other), "--apply").code in (1, 3)
    assert other.read_text() == "not a store"


# -- lessons -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def lesson(here: RunHere, file: str, write: Write) -> str:
    """Fill the store: a lesson learned from two failures, one candidate against it, one that is thin; return the lesson."""
    here("evaluate", write(1, 2), "--store", file, "--apply")
    here("evaluate", write(3, candidate_lesson=OPPOSITE), "--store", file, "--apply")
    here(
        "evaluate",
        write(4, scope="", candidate_lesson="When a cache is cold, warm it, because a cold cache times out."),
        "--apply",
    )
    found = document(here("lessons", "list", "-f", "json").out, "lessons-report")
    return str(found["lessons"][0]["id"])


@pytest.mark.parametrize("command", ["list", "candidates", "flags"])
def test_lists_hold_to_their_schema_and_go_on(here: RunHere, lesson: str, write: Write, command: str) -> None:
    """Each list is data of a schema; with a limit it ends with a cursor, and the pages together are the whole."""
    here("evaluate", write(5, candidate_lesson=OPPOSITE), "--apply")
    if command == "list":
        other = "When a file is read in text mode, name its encoding, because the default of the platform differs."
        here("evaluate", write(6, candidate_lesson=other), "--apply")
    name = "lessons" if command == "list" else command
    whole = document(here("lessons", command, "-f", "json").out, "lessons-report")
    entries: list[Any] = []
    cursor: list[str] = []
    while True:
        page = document(here("lessons", command, "-f", "json", "--limit", "1", *cursor).out, "lessons-report")
        entries += page[name]
        if page["cursor"] is None:
            break
        cursor = ["--after", page["cursor"]]
    assert entries == whole[name]
    assert whole["cursor"] is None
    oldest = document(here("lessons", command, "-f", "json", "--oldest").out, "lessons-report")
    assert oldest[name] == entries[::-1]
    assert lesson.startswith("lesson-")


def test_filters_choose(here: RunHere, lesson: str) -> None:
    """Standing, level and signature choose lessons; status chooses flags and candidates."""
    for filters, count in (
        (["--level", "episodic"], 1),
        (["--level", "procedural"], 0),
        (["--standing", "retired"], 0),
        (["--standing", "all"], 1),
        (["--signature", "0" * 64], 0),
    ):
        assert len(document(here("lessons", "list", "-f", "json", *filters).out, "lessons-report")["lessons"]) == count
    assert here("lessons", "flags", "--status", "resolved").out == ""
    assert here("lessons", "candidates", "--status", "released").out == ""
    assert lesson in here("lessons", "flags").out


def test_a_lesson_is_shown(here: RunHere, lesson: str) -> None:
    """`show` prints the lesson as it stands, in words and as data."""
    text = here("lessons", "show", lesson).out
    assert "failures     failure-1, failure-2\n" in text
    found = document(here("lessons", "show", lesson, "-f", "json").out, "lessons-report")
    assert found["lessons"][0]["id"] == lesson
    ran = here("lessons", "show", "lesson-0")
    assert (ran.code, ran.err) == (3, "error: no lesson `lesson-0` [lesson-unknown]\n")


def test_history_tells_every_event(here: RunHere, lesson: str) -> None:
    """R-g1: every step of a lesson's life is a line with its event, and says what caused it."""
    found = document(here("lessons", "history", lesson, "-f", "json").out, "lessons-report")["events"]
    kinds = [event["type"] for event in found]
    assert kinds == ["decision-made", "lesson-admitted", "decision-made", "lesson-merged", "flag-raised"]
    assert found[-1]["rule"].startswith("generalization/")
    text = here("lessons", "history", lesson).out
    assert [line.split()[1] for line in text.splitlines()] == [event["event"] for event in found]
    first = document(here("lessons", "history", lesson, "-f", "json", "-n", "2").out, "lessons-report")
    rest = document(here("lessons", "history", lesson, "-f", "json", "--after", first["cursor"]).out, "lessons-report")
    assert [*first["events"], *rest["events"]] == found


def test_what_was_redacted_is_gone_from_history_and_why(here: RunHere, file: str, lesson: str) -> None:
    """The lesson stays; that a decision was behind it is not guessed at."""
    found = document(here("lessons", "history", lesson, "-f", "json").out, "lessons-report")["events"]
    here("store", "redact", "--store", file, "--event", found[0]["event"], "--reason", "x", "--yes")
    assert found[0]["event"] not in here("lessons", "history", lesson).out
    assert "a decision that was redacted" in here("lessons", "why", lesson).out
    assert document(here("lessons", "why", lesson, "-f", "json").out, "lessons-report")["why"]["decision"] is None


def test_why_names_rules_with_their_places_and_the_evidence(here: RunHere, lesson: str) -> None:
    """R-P2: the decision, the rules that admitted the lesson and where they stand, and the cited items word for word."""
    found = document(here("lessons", "why", lesson, "-f", "json").out, "lessons-report")["why"]
    assert {finding["source"].partition(":")[0] for finding in found["decision"]["findings"]} >= {"admission.yaml"}
    assert [item["id"] for item in found["evidence"]] == ["plan", "test"]
    assert [entry["failure_id"] for entry in found["corroborations"]] == ["failure-2"]
    text = here("lessons", "why", lesson).out
    assert "admission/earned" in text
    assert "'NoneType' object is not subscriptable" in text
    assert "in acme/shop-2" in text


def test_retire_and_undo(here: RunHere, lesson: str) -> None:
    """A person's change needs a reason, is data of a schema, and is taken back by its event."""
    assert here("lessons", "retire", lesson).code == 64
    ran = here("lessons", "retire", lesson, "--reason", "the API is gone", "-f", "json")
    found = document(ran.out, "lessons-report")
    assert (ran.code, found["subject"]) == (0, lesson)
    assert here("lessons", "list").out == ""
    why = document(here("lessons", "why", lesson, "-f", "json").out, "lessons-report")["why"]
    assert [(change["rule"], change["reason"]) for change in why["changes"]] == [("manual", "the API is gone")]
    assert here("lessons", "undo", found["written"][0], "--reason", "it is not").code == 0
    assert lesson in here("lessons", "list").out
    again = here("lessons", "undo", found["written"][0], "--reason", "once more")
    assert (again.code, "[event-overtaken]" in again.err) == (3, True)


# -- decisions ---------------------------------------------------------------------------------------------------------------


def test_decisions_are_listed_and_shown(here: RunHere, lesson: str, write: Write, file: str) -> None:
    """The list is filtered; a shown decision is what `evaluate` printed."""
    printed = json.loads(here("evaluate", write(1), "--store", file, "--apply", "-f", "json").out)
    del printed["applied"]
    found = document(here("decisions", "list", "-f", "json").out, "decisions-report")["decisions"]
    assert [row["failure_id"] for row in found] == [f"failure-{number}" for number in (4, 3, 2, 1)]
    admitted = document(here("decisions", "list", "-f", "json", "--status", "admitted").out, "decisions-report")["decisions"]
    assert {row["lesson_id"] for row in admitted} == {lesson}
    shown = here("decisions", "show", found[-1]["decision_id"], "-f", "json")
    assert document(shown.out, "decision") == printed
    assert "admitted" in here("decisions", "show", found[-1]["decision_id"]).out.splitlines()[0]
    assert here("decisions", "show", "0").code == 3


def test_replay_is_identical_or_names_what_changed(here: RunHere, lesson: str) -> None:
    """R-P5: exit code 0 where every byte is the same, 4 where something changed, and then it is named."""
    assert lesson
    ran = here("decisions", "replay", "--all", "-f", "json")
    found = document(ran.out, "decisions-report")
    assert (ran.code, found["identical"], len(found["replayed"])) == (0, 4, 4)
    name = found["replayed"][0]["decision_id"]
    ran = here("decisions", "replay", name, "--set", "calibration.min_words=60", "-f", "json")
    (changed,) = document(ran.out, "decisions-report")["replayed"]
    assert (ran.code, changed["identical"], changed["was"], changed["now"]) == (4, False, "admitted", "refused")
    assert {"bundle digest", "status"} <= {entry["what"] for entry in changed["changed"]}
    text = here("decisions", "replay", name, "--now")
    assert (text.code, "store view: " in text.out) == (4, True)
    assert here("decisions", "replay").code == 64
    assert here("decisions", "replay", name, "--all").code == 64
