"""From events to captured failures, under double firing, lost ends, lagging transcripts and parallel hooks."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from reflect_gate.capture.intake import take
from reflect_gate.hooks import sessions
from reflect_gate.hooks.collecting import collect
from reflect_gate.hooks.event import Event, Kind
from reflect_gate.hooks.running import DISABLE
from reflect_gate.hooks.sessions import Spool

if __package__:
    from .records import COMMAND, FAILS, PASSES, WRITERS
else:
    from records import COMMAND, FAILS, PASSES, WRITERS  # type: ignore[import-not-found, no-redef]


def event(kind: Kind, **known: Any) -> Event:
    """Return an event of one session."""
    return Event("goose", kind, kind, **{"session": "s-1", **known})


FAILURE = event("failure", tool="sh", action=COMMAND, output=FAILS, call="1")
PASS = event("tool_result", tool="sh", action=COMMAND, output=PASSES, call="3")
EDIT = event(
    "tool_result", tool="edit", action='{"file_path":"cart.py","new":"int(x or 0)"}', path="cart.py", output="ok", call="2"
)
TOKEN = "ghp_" + "a1B2c3D4" * 5
END = event("session_end")


class Captured(list[dict[str, Any]]):
    """What was captured, as it would be kept."""

    def __call__(self, termination: Any) -> object:
        """Take one in."""
        self.append(take(termination).termination)
        return None

    @property
    def outcomes(self) -> list[str]:
        """How the failures ended."""
        return [one["outcome"] for one in self]


@pytest.fixture
def captured() -> Captured:
    """Return where captures go."""
    return Captured()


def send(captured: Captured, *events: Event) -> Captured:
    """Let each event be a hook."""
    for one in events:
        collect(one, captured)
    return captured


def test_a_failure_that_is_repaired_is_captured_when_the_turn_ends(captured: Captured) -> None:
    """Prompt, failure, edit, success: without any transcript the events are the evidence."""
    send(captured, event("prompt", said="Count empty lines"), FAILURE, EDIT, PASS, event("turn_end"))
    assert captured.outcomes == ["resolved"]
    assert (captured[0]["task"], captured[0]["repair_delta"]["path"]) == ("Count empty lines", "cart.py")


def test_a_failure_at_the_sessions_end_is_escalated(captured: Captured) -> None:
    """While turns end it may still pass; the session's end is the last word, and nothing is left behind."""
    send(captured, FAILURE, event("turn_end"))
    assert captured.outcomes == []
    send(captured, END)
    assert captured.outcomes == ["escalated"]
    assert not Spool.of(END).exists


def test_a_failure_is_captured_once_a_session(captured: Captured) -> None:
    """Every later turn's end finds it again."""
    send(captured, FAILURE, PASS, *[event("turn_end", turn=str(number)) for number in range(5)], END)
    assert captured.outcomes == ["resolved"]


def test_double_firing_changes_nothing(captured: Captured) -> None:
    """The same hook in the settings and in a plugin: each event twice (anthropics/claude-code#76297)."""
    twice = [one for each in (FAILURE, EDIT, PASS, END) for one in (each, each)]
    once = Captured()
    send(captured, *twice)
    send(once, *(each._replace(session="s-1") for each in (FAILURE, EDIT, PASS, END)))
    assert captured == once


def test_a_session_without_failures_keeps_nothing(captured: Captured) -> None:
    """Successful tools cost no file."""
    send(captured, EDIT, PASS, event("turn_end"))
    assert not sessions.spools().exists()
    assert captured == []


def test_events_without_a_session_keep_nothing(captured: Captured) -> None:
    """What belongs to no session can never end."""
    send(captured, FAILURE._replace(session=""), END._replace(session=""))
    assert captured == []


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "swe-agent"])
def test_a_transcript_is_read_where_there_is_one(name: str, tmp_path: Path, captured: Captured) -> None:
    """It tells of failures that fired no event (anthropics/claude-code#24908, openai/codex#34289)."""
    file = str(WRITERS[name](tmp_path))
    send(captured, event("turn_end", transcript=file))
    assert captured.outcomes == ["resolved"]


def test_a_transcript_that_lags_leaves_the_events(tmp_path: Path, captured: Captured) -> None:
    """It is not there yet, or does not have the failure yet: the events have (anthropics/claude-code#15813)."""
    file = tmp_path / "late.jsonl"
    send(captured, FAILURE._replace(transcript=str(file)), END._replace(transcript=str(file)))
    assert captured.outcomes == ["escalated"]


def test_a_failure_that_the_transcript_lacks_is_not_lost(tmp_path: Path, captured: Captured) -> None:
    """It has an older failure, and not the last one yet: both are captured, neither twice."""
    file = str(WRITERS["claude-code"](tmp_path))
    late = FAILURE._replace(action="make docs", output="ValueError: late", exit_code=2, transcript=file)
    send(captured, FAILURE._replace(transcript=file), late, END._replace(transcript=file))
    assert sorted(captured.outcomes) == ["escalated", "resolved"]


def test_a_transcript_without_results_leaves_the_events(tmp_path: Path, captured: Captured) -> None:
    """Cursor writes calls without what came back."""
    file = tmp_path / "cursor.jsonl"
    use = {"type": "tool_use", "name": "Shell", "input": {"command": COMMAND}}
    file.write_text(json.dumps({"role": "assistant", "message": {"content": [use]}}) + "\n", "utf-8")
    send(captured, *(one._replace(transcript=str(file)) for one in (FAILURE, EDIT, PASS, event("turn_end"))))
    assert captured.outcomes == ["resolved"]


@pytest.mark.parametrize("begins", ["session_start", "prompt"])
def test_a_session_that_never_ends_is_swept(begins: Kind, captured: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """SessionEnd may be killed or never come; the next session's start, or a prompt, finds what a day has passed over."""
    send(captured, FAILURE, event("session_start", session="s-2"))
    assert captured.outcomes == []
    monkeypatch.setattr(sessions, "_ABANDONED", -60.0)
    send(captured, event(begins, session="s-3", transcript="none.jsonl", said="Go on"))
    assert captured.outcomes == ["escalated"]
    assert list(sessions.spools().iterdir()) == []


def test_a_subagents_failures_are_its_own(captured: Captured) -> None:
    """The agent's end does not end the session, nor the other way round (anthropics/claude-code#7881)."""
    Spool.of(END).give("lesson-1")
    send(captured, FAILURE._replace(agent="a-7"), END)
    assert captured.outcomes == []
    send(captured, event("turn_end", agent="a-7"))
    assert [(one["outcome"], one["recalled_beside"]) for one in captured] == [("escalated", ["lesson-1"])]


def test_secrets_do_not_reach_the_disk(captured: Captured) -> None:
    """What is kept of a session is kept without them (supermemoryai/claude-supermemory#122)."""
    send(captured, FAILURE._replace(output=f"{FAILS}\ntoken {TOKEN}"))
    assert TOKEN not in Spool.of(FAILURE).file.read_text("utf-8")
    assert FAILS.splitlines()[1] in json.dumps(Spool.of(FAILURE).lines()).replace("\\n", "\n")


def test_what_is_started_is_marked(captured: Captured) -> None:
    """A worker that is started from a hook finds hooks switched off, and this process does not."""
    seen: list[str | None] = []
    collect(FAILURE, captured)
    collect(END, lambda _one: seen.append(os.environ.get(DISABLE)))
    assert (seen, os.environ.get(DISABLE)) == (["1"], None)


def test_a_capture_that_fails_keeps_the_failure(captured: Captured) -> None:
    """A queue that cannot be written today is tried at the next end."""

    def broken(_one: object) -> object:
        raise OSError("no space")

    collect(FAILURE, captured)
    with pytest.raises(OSError, match="no space"):
        collect(END, broken)
    assert send(captured, END).outcomes == ["escalated"]


def test_more_failures_than_a_hook_has_time_for_are_not_lost(captured: Captured) -> None:
    """The rest stays with the session, and goes at its next end or with the sweep (R-P1)."""
    many = [FAILURE._replace(action=f"make part-{number}", call=str(number)) for number in range(40)]
    send(captured, *many, END)
    assert len(captured) == 32
    send(captured, END)
    assert len({one["failure_id"] for one in captured}) == len(captured) == 40
    assert not Spool.of(END).exists


def test_half_a_line_is_none(captured: Captured) -> None:
    """A hook that was killed while it wrote costs its own line."""
    send(captured, FAILURE)
    with Spool.of(FAILURE).file.open("ab") as stream:
        stream.write(b'{"key": "x", "entries": [[')
    assert len(Spool.of(FAILURE).lines()) == 1
    assert send(captured, END).outcomes == ["escalated"]


def test_a_session_is_listened_to_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that fails for ever does not fill the disk."""
    monkeypatch.setattr(sessions, "_MOST_BYTES", 2_000)
    spool = Spool.of(FAILURE)
    for number in range(50):
        spool.add({"key": str(number), "text": "x" * 200})
    assert spool.file.stat().st_size < 2_600


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")
def test_what_is_kept_is_the_owners_alone(captured: Captured) -> None:
    """Prompts and outputs are nobody else's business."""
    send(captured, FAILURE)
    assert sessions.spools().stat().st_mode & 0o777 == 0o700
    assert Spool.of(FAILURE).file.stat().st_mode & 0o777 == 0o600


def test_a_session_is_given_a_lesson_once_and_three_at_most() -> None:
    """Whoever marks first, gives; the fourth finds the session full."""
    spool = Spool.of(END)
    assert [spool.give(name) for name in ("a", "a", "b", "c", "d")] == [True, False, True, True, False]
    assert set(spool.given()) == {"a", "b", "c"}
    assert spool.full
