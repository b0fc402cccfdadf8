"""What the end of a session says of a lesson that it was given: by what was executed, and by nothing else (R-i1)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import reflect_gate.policy
from reflect_gate import load_bundle
from reflect_gate.hooks import sessions
from reflect_gate.hooks.collecting import collect, entries_of
from reflect_gate.hooks.concluding import TRIGGER, conclude, job_of, record_ended
from reflect_gate.hooks.event import Event
from reflect_gate.hooks.giving import START, Given, about, given_of, placed
from reflect_gate.hooks.outcomes import Ended, ended, signature_of
from reflect_gate.hooks.recalling import recall
from reflect_gate.hooks.sessions import Spool
from reflect_gate.hooks.transcripts import Evidence, read_transcript
from reflect_gate.memory.effects import effect_of
from reflect_store import StoreError, open_store
from reflect_store.queue import Skip, open_queue

from .at_once import make_store
from .records import COMMAND, TASK, WRITERS

ERROR: Final = "ValueError: int() fails on an empty text in the cart's line"
SIGNATURE: Final = signature_of(ERROR)
PROMPT: Final = Evidence("user", "Mend the cart", call="p")
GIVEN: Final = Given("l-cart", "r-1", False, "failure", "c-1", about("make test"), 1, (SIGNATURE,), "acme/shop", "4be1c07")
AT_PROMPT: Final = GIVEN._replace(kind="prompt", call="p", about=about("Mend the cart"), times=0)
TOKEN: Final = "ghp_" + "a1B2c3D4" * 5


def ran(command: str, code: int | None, text: str = "", call: str = "", **other: Any) -> Evidence:
    """Return what came back of a command that was executed."""
    failed = None if code is None else code != 0
    known: dict[str, Any] = {"failed": failed, "call": call, "executed": True, "exit_code": code, **other}
    return Evidence("tool_output", text, command, "sh", **known)


FAILED: Final = ran("make test", 2, ERROR, "c-1")
PASSED: Final = ran("make test", 0, "ok", "c-2")


def told(*entries: Evidence, given: Given = GIVEN, over: bool = True) -> Ended | None:
    """Return what entries say."""
    return ended(entries, given, over=over)


# -- by what was executed ----------------------------------------------------------------------------------------------


def test_a_command_that_passes_later_resolves() -> None:
    """The lesson was given for its failure, so the task stood failing; the exit code is kept."""
    assert told(PROMPT, FAILED, PASSED) == Ended("resolved", "failing", "make test", 0)


def test_a_command_that_still_fails_is_unchanged_when_the_session_ends() -> None:
    """While the session goes on it may still pass: nothing is said yet."""
    assert told(FAILED, over=False) is None
    assert told(FAILED, over=True) == Ended("unchanged", "failing", "make test", 2)


def test_how_the_command_ended_last_counts() -> None:
    """It passed for a moment, and the session left it failing."""
    assert told(FAILED, PASSED, ran("make test", 3, ERROR)) == Ended("unchanged", "failing", "make test", 3)


def test_what_passed_before_and_fails_alike_got_worse() -> None:
    """Another command broke after the lesson, with the very signature that the lesson is about."""
    broken = ran("make lint", 1, ERROR)
    assert told(ran("make lint", 0), FAILED, PASSED, broken) == Ended("worse", "passing", "make lint", 1)


def test_what_fails_otherwise_is_not_the_lessons_doing() -> None:
    """The same with another error: the lesson is not blamed."""
    broken = ran("make lint", 1, "OSError: the disk is full")
    assert told(ran("make lint", 0), FAILED, PASSED, broken) == Ended("resolved", "failing", "make test", 0)


def test_a_prompts_lesson_is_held_to_what_was_failing_then() -> None:
    """What failed before the prompt with a signature that the lesson explains."""
    assert told(FAILED, PROMPT, PASSED, given=AT_PROMPT) == Ended("resolved", "failing", "make test", 0)
    other = ran("make docs", 2, "OSError: the disk is full")
    assert told(other, PROMPT, given=AT_PROMPT) == Ended(None, why="nothing-failed")


def test_a_failure_that_shows_after_the_lesson_says_little() -> None:
    """How the task stood before is unknown, so that it counts as applied and no more."""
    assert told(PROMPT, FAILED, PASSED, given=AT_PROMPT) == Ended("resolved", "unknown", "make test", 0)
    assert told(PROMPT, FAILED, given=AT_PROMPT) == Ended("unchanged", "unknown", "make test", 2)


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([FAILED._replace(executed=False), PASSED], "not-executed"),
        ([ran("grep -r cart src", 1, "", "c-1")], "an-answer"),
        ([ran("make test", None, ERROR, "c-1", failed=True)], "no-exit-code"),
        ([PROMPT], "unplaced"),
        ([], "unplaced"),
    ],
)
def test_nothing_else_is_recorded_and_the_reason_is_told(entries: list[Evidence], why: str) -> None:
    """No command, an answer, no exit code, no place: nothing is said of the lesson, and why."""
    assert told(*entries) == Ended(None, why=why)  # type: ignore[arg-type]


def test_words_do_not_resolve() -> None:
    """A later run of which only the output's words say that it passed is none."""
    words = PASSED._replace(executed=False, exit_code=None)
    assert told(FAILED, words) == Ended("unchanged", "failing", "make test", 2)


# -- where it was given ------------------------------------------------------------------------------------------------


def test_a_place_is_found_by_the_call() -> None:
    """The same command failed before and after: the call tells which failure it was."""
    again = [ran("make test", 2, ERROR, f"c-{number}") for number in (0, 1, 2)]
    assert placed(again, GIVEN) == 1


def test_a_place_is_counted_where_calls_have_no_ids() -> None:
    """The second failure of the command, in a transcript that names its calls otherwise."""
    entries = [ran("make test", 2, ERROR, "x"), ran("make docs", 2, ERROR, "y"), ran("make test", 2, ERROR, "z")]
    assert placed(entries, GIVEN._replace(call="k", times=2)) == 2
    assert placed(entries, GIVEN._replace(call="k", times=3)) is None


@pytest.mark.parametrize(("said", "failures", "at"), [(TASK, 3, 0), ("Other words", 0, START), ("Other words", 1, None)])
def test_a_prompts_place_is_found_by_its_words(said: str, failures: int, at: int | None, tmp_path: Path) -> None:
    """A prompt that the transcript lacks came before everything, unless something was known to have failed by then."""
    entries = read_transcript(WRITERS["claude-code"](tmp_path)).entries
    assert placed(entries, AT_PROMPT._replace(call="k", about=about(said), times=failures)) == at


def test_the_transcripts_call_is_the_events(tmp_path: Path) -> None:
    """A harness that names its calls names them alike in both."""
    event = Event("claude-code", "PostToolUseFailure", "failure", "s", tool="Bash", action=COMMAND, output="x", call="1")
    entries = read_transcript(WRITERS["claude-code"](tmp_path)).entries
    given = given_of(event, [])
    at = placed(entries, given)
    assert at is not None
    assert (entries[at].action, entries[at].failed) == (COMMAND, True)
    assert ended(entries, given, over=True) == Ended("resolved", "failing", COMMAND, 0)


@pytest.mark.parametrize(("dialect", "executed"), [("codex", False), ("vscode", False), ("claude-code", True)])
def test_a_result_without_an_exit_code_may_say_nothing(dialect: str, executed: bool) -> None:
    """Codex and VS Code tell of failing commands in the same way: such a result shows no success (openai/codex#34289)."""
    event = Event(dialect, "PostToolUse", "tool_result", "s", tool="Bash", action="make test", output="done")
    assert entries_of(event)[-1].executed is executed


# -- from the session to the store -------------------------------------------------------------------------------------


@pytest.fixture
def store(home: Path) -> Iterator[Any]:
    """A store of one lesson."""
    make_store(home)
    with open_store(home / "store.db") as kept:
        yield kept


def failure(call: str = "c-1", **known: Any) -> Event:
    """Return a failing command of a session, as Goose would tell it with its text."""
    parts = {"session": "s-1", "tool": "sh", "action": "make test", "output": f"{ERROR}\nexit code 2", "exit_code": 2, **known}
    return Event("claude-code", "PostToolUseFailure", "failure", call=call, **parts)


PASS: Final = Event("claude-code", "PostToolUse", "tool_result", "s-1", tool="sh", action="make test", output="ok", call="c-2")
END: Final = Event("claude-code", "SessionEnd", "session_end", "s-1")


def ends(*events: Event) -> list[dict[str, Any]]:
    """Collect events, and return what was concluded."""
    concluded: list[dict[str, Any]] = []
    for event in events:
        collect(event, lambda _termination: None, lambda one: concluded.append(dict(one)))
    return concluded


def given_and_ended(*events: Event) -> dict[str, Any]:
    """Fail, be given the lesson for it, and go on; return the one thing that was concluded."""
    collect(failure(), lambda _termination: None)
    recall(failure())
    (one,) = ends(*events)
    return one


def told_end(end: Ended, **given: Any) -> dict[str, Any]:
    """Return what a hook hands over of a session's end."""
    known = {"dialect": "goose", "session": "s-1", "transcript": ""}
    return {**known, "given": {**GIVEN._asdict(), **given}, **end._asdict()}


def test_a_transcript_that_was_late_is_read_again(store: Any, tmp_path: Path) -> None:
    """The session ended before its harness had written that the command passed (anthropics/claude-code#15813)."""
    file = WRITERS["claude-code"](tmp_path)
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.index(b"Edit")])
    event = Event("claude-code", "PostToolUseFailure", "failure", "s-1", tool="Bash", action=COMMAND, output=ERROR, call="1")
    event = event._replace(transcript=str(file))
    collect(event, lambda _termination: None)
    assert recall(event)
    (one,) = ends(END._replace(transcript=str(file)))
    assert one["after"] == "unchanged"
    file.write_bytes(whole)
    record_ended(store, load_bundle(), job_of(one, "15reflect").payload["ended"])
    assert [row["outcome"] for row in store.iterate("outcomes")] == ["resolved"]


def test_the_end_is_recorded_once(store: Any) -> None:
    """Told at the turn's end, at the session's end and again: one outcome; recorded twice, it counts once (R-i1)."""
    turn = END._replace(name="Stop", kind="turn_end")
    one = given_and_ended(PASS, turn, turn, END, END)
    assert (one["after"], one["before"], one["given"]["lesson"], one["exit_code"]) == ("resolved", "failing", "l-cart", 0)
    for _ in range(2):
        record_ended(store, load_bundle(), one)
    assert [(row["effect"], row["outcome"]) for row in store.iterate("outcomes")] == [("helped", "resolved")]
    assert store.get("lessons", "l-cart")["lesson"]["times_helped"] == 1


def test_what_was_withheld_is_recorded_alike(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook says nothing, and the task's end counts on the other side (`lessons effect`)."""
    plain_load = reflect_gate.policy.load_bundle
    monkeypatch.setattr(
        reflect_gate.policy, "load_bundle", lambda *args, **more: plain_load(*args, set_=("retrieval.holdout=1",), **more)
    )
    collect(failure(), lambda _termination: None)
    assert recall(failure()) == recall(failure("c-9")) == ""
    (one,) = ends(PASS, END)
    assert (one["given"]["withheld"], one["after"]) == (True, "resolved")
    record_ended(store, load_bundle(), one)
    effect = effect_of(store, "l-cart")
    assert (effect.given.tasks, effect.withheld.tasks, effect.withheld.resolved) == (0, 1, 1)
    assert store.get("lessons", "l-cart")["lesson"]["times_applied"] == 0


def test_why_nothing_was_recorded_is_written_down(store: Any) -> None:
    """A line a lesson beside the sessions, without the texts of the session."""
    del store
    collect(failure(), lambda _termination: None)
    recall(Event("claude-code", "UserPromptSubmit", "prompt", "s-2", said=ERROR))
    assert ends(END._replace(session="s-2")) == []
    (line,) = (sessions.spools() / "outcomes.ndjson").read_text("utf-8").splitlines()
    noted = json.loads(line)
    assert (noted["lesson"], noted["why"], noted["session"]) == ("l-cart", "nothing-failed", "s-2")


def test_an_outcome_that_cannot_be_kept_is_tried_at_the_next_end(store: Any) -> None:
    """A queue without room today: the session stays, and its next end hands the same over."""
    del store
    collect(failure(), lambda _termination: None)
    recall(failure())

    def full(_one: object) -> object:
        raise StoreError("queue-full", "no room")

    with pytest.raises(StoreError, match="no room"):
        collect(END, lambda _termination: None, full)
    assert Spool.of(END).exists
    assert [one["after"] for one in ends(END)] == ["unchanged"]


def test_a_job_is_of_a_session_and_a_lesson(home: Path) -> None:
    """Whatever two hooks that run at once make of the end, it is one job; secrets of the command are gone before the disk."""
    end = told_end(Ended("resolved", "failing", f"TOKEN={TOKEN} make", 0))
    conclude(end)
    conclude({**end, "after": "unchanged", "exit_code": 2})
    with open_queue(home / "queue") as queue:
        (waiting,) = queue.jobs()
    assert (waiting.job.trigger, waiting.job.payload["ended"]["after"]) == (TRIGGER, "resolved")
    assert TOKEN not in json.dumps(waiting.job.payload)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"lesson": "l-gone", "retrieval": ""}, "lesson-unknown"),
        ({"retrieval": "r-gone"}, "retrieval-unknown"),
        ({"withheld": True, "retrieval": ""}, "outcome-lessons"),
    ],
)
def test_what_the_store_does_not_know_is_skipped(store: Any, change: dict[str, Any], code: str) -> None:
    """No dead letter for what can never be recorded."""
    end = told_end(Ended("resolved", "failing", "make test", 0), **change)
    with pytest.raises(Skip, match=code):
        record_ended(store, load_bundle(), job_of(end, "15reflect").payload["ended"])


def test_what_was_recorded_by_hand_stands(store: Any) -> None:
    """Whoever followed the context's last line has said how the task ended: the hook does not say otherwise."""
    one = given_and_ended(PASS, END)
    record_ended(store, load_bundle(), {**one, "after": "unchanged", "exit_code": 2})
    with pytest.raises(Skip, match="outcome-conflict"):
        record_ended(store, load_bundle(), one)
    assert [row["outcome"] for row in store.iterate("outcomes")] == ["unchanged"]
