"""Every dialect against its golden payloads, and against what no harness should send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reflect_gate.hooks.dialects import DIALECTS, dialect_of, read
from reflect_gate.hooks.event import LINE, TEXT
from reflect_gate.hooks.running import Options, respond

if __package__:
    from .golden import FILES, answer, event_of, load, told
else:
    from golden import FILES, answer, event_of, load, told  # type: ignore[import-not-found, no-redef]

WRONG: list[Any] = [
    None,
    True,
    17,
    2.5,
    "",
    "x\ud800y",
    [],
    [None, {}],
    {},
    {"error": {"message": ["x"]}, "command": 3},
    "{" * 50,
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_payload_is_read_as_written_down(file: Path) -> None:
    """What a payload tells is what the golden file says, and its dialect is the one in the file's name."""
    golden = load(file)
    assert told(event_of(golden["payload"])) == golden["event"]
    assert golden["event"]["dialect"] == file.name.split(".")[0]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_lesson_is_said_in_the_payloads_own_dialect(file: Path) -> None:
    """The answer is the golden file's one document, or silence."""
    golden = load(file)
    assert answer(golden["payload"]) == golden["answer"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_hint_does_not_overrule_the_payload(file: Path) -> None:
    """One command line meets the dialects of other harnesses: what the payload shows comes first."""
    golden = load(file)
    for dialect in DIALECTS:
        assert told(event_of(golden["payload"], dialect.name)) == golden["event"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_unknown_fields_change_nothing(file: Path) -> None:
    """A later version's field is passed over."""
    golden = load(file)
    assert told(event_of({**golden["payload"], "a_later_field": {"deep": [1]}})) == golden["event"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_fields_of_the_wrong_type_are_empty(file: Path) -> None:
    """Whatever stands in a field, at any depth, an event is read and an answer is bytes; nothing is raised."""
    payload = load(file)["payload"]
    for changed in _changes(payload):
        said = respond(changed, Options(file.name.split(".")[0]), lambda _event: None, lambda _event: "A lesson.")
        assert said == b"" or said.startswith(b"{")


def _changes(payload: dict[str, Any]) -> list[dict[str, Any]]:
    changes = []
    for key, value in payload.items():
        changes += [{**payload, key: wrong} for wrong in WRONG]
        if isinstance(value, dict):
            changes += [{**payload, key: inner} for inner in _changes(value)]
    return changes


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_an_event_that_is_not_known_is_ignored(dialect: Any) -> None:
    """A name of tomorrow is of no interest, whoever sends it."""
    assert dialect.read({}, "EventOfTomorrow").kind == "other"


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_every_kind_that_a_dialect_has_is_golden(dialect: Any) -> None:
    """There is a golden payload for a failure and for a turn's or session's end in each dialect."""
    kinds = {load(file)["event"]["kind"] for file in FILES if file.name.startswith(f"{dialect.name}.")}
    assert {"failure", "tool_result", "prompt", "turn_end" if dialect.name != "cline" else "session_end"} <= kinds


def test_only_the_hint_tells_a_payload_without_marks() -> None:
    """`hook_event_name` alone is nobody's; with a hint it is read as that harness would mean it."""
    payload: dict[str, Any] = {"session_id": "s", "hook_event_name": "PostToolUseFailure", "error": "Exit code 3"}
    assert dialect_of(payload) is None
    found = read(payload, "claude")
    assert found is not None
    assert (found[0].name, found[1].kind, found[1].exit_code) == ("claude-code", "failure", 3)


def test_the_command_line_names_the_event_where_the_payload_does_not() -> None:
    """Copilot's camel case has no event name; `--event` has."""
    found = read({"sessionId": "s", "cwd": "/w", "reason": "complete"}, "copilot", "sessionEnd")
    assert found is not None
    assert found[1].kind == "session_end"


def test_texts_and_names_are_bounded() -> None:
    """A megabyte of output keeps its beginning and its end; a name a line's length."""
    payload: dict[str, Any] = {"clineVersion": "1", "hookName": "PostToolUse", "taskId": "t" * 9_000}
    payload["postToolUse"] = {"result": "begin" + "x" * 1_000_000 + "end", "success": False}
    event = event_of(payload)
    assert len(event.session) == LINE
    assert len(event.output) == TEXT
    assert event.output.startswith("begin")
    assert event.output.endswith("end")


def test_the_same_event_has_the_same_key() -> None:
    """A hook that is registered twice delivers one event; another call is another event."""
    payload = load(next(file for file in FILES if file.stem == "claude-code.PostToolUseFailure"))["payload"]
    assert event_of(payload).key == event_of(dict(payload)).key
    assert event_of(payload).key != event_of({**payload, "tool_use_id": "toolu_10"}).key
